//! Precedence between sources: directives, then the environment, then the command line.

use std::collections::BTreeMap;

use super::error::OptionError;
use super::row::Tool;
use super::tool::ToolSettings;
use super::{Setting, Source};
use crate::job::JobSpec;
use crate::step::StepSpec;

/// What a command line, its script and its environment ask for together.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    pub asked_by: Tool,
    pub job: JobSpec,
    pub step: StepSpec,
    pub tool: ToolSettings,
    /// Who had the last word on each option, by long name.
    pub set_by: BTreeMap<&'static str, Source>,
    /// The last word itself, as it was said.
    pub values: BTreeMap<&'static str, String>,
    /// What the tool says on standard error after its name, and goes on.
    pub notes: Vec<String>,
}

impl Request {
    /// Nothing asked for yet.
    pub fn new(asked_by: Tool) -> Request {
        Request {
            asked_by,
            job: JobSpec::default(),
            step: StepSpec::default(),
            tool: ToolSettings::default(),
            set_by: BTreeMap::new(),
            values: BTreeMap::new(),
            notes: Vec::new(),
        }
    }

    /// Whether anybody said this option.
    pub fn said(&self, long: &str) -> bool {
        self.set_by.contains_key(long)
    }
}

/// Directives first, then the environment, then the command line; the last word wins.
pub fn resolve(tool: Tool, mut settings: Vec<Setting>) -> Result<Request, OptionError> {
    settings.sort_by_key(|setting| setting.source);
    one_kind_of_memory(&mut settings)?;
    let mut request = Request::new(tool);
    for setting in &settings {
        setting.option.apply(&mut request, &setting.value)?;
        if !setting.option.long.is_empty() {
            request.set_by.insert(setting.option.long, setting.source);
            request.values.insert(setting.option.long, setting.value.clone());
        }
    }
    Ok(request)
}

/// Resolves a job of several components, or of one. Later components take over from the first what
/// concerns the whole job, unless they say otherwise.
pub fn resolve_components(
    tool: Tool,
    script: &[Vec<Setting>],
    environment: &[Setting],
    command_line: &[Vec<Setting>],
) -> Result<Vec<Request>, OptionError> {
    let settings_of = |at: usize| {
        let mut settings = script.get(at).cloned().unwrap_or_default();
        settings.extend_from_slice(environment);
        settings.extend(command_line.get(at).cloned().unwrap_or_default());
        settings
    };
    let first = settings_of(0);
    let count = script.len().max(command_line.len()).max(1);
    let mut requests = Vec::with_capacity(count);
    for at in 1..count {
        let inherited = first.iter().filter(|setting| setting.option.whole_job).cloned();
        requests.push(resolve(tool, inherited.chain(settings_of(at)).collect())?);
    }
    requests.insert(0, resolve(tool, first)?);
    Ok(requests)
}

/// Memory is asked for by node, CPU or GPU. What the script or the command line says makes the
/// variables void; two kinds in equally strong places are refused.
fn one_kind_of_memory(settings: &mut Vec<Setting>) -> Result<(), OptionError> {
    let kind = |setting: &Setting| match setting.option.long {
        kind @ ("mem" | "mem-per-cpu" | "mem-per-gpu") => Some(kind),
        _ => None,
    };
    let from_environment = |setting: &Setting| setting.source == Source::Environment;
    let differ = |environment: bool| {
        let mut kinds: Vec<&str> = settings
            .iter()
            .filter(|setting| from_environment(setting) == environment)
            .filter_map(kind)
            .collect();
        kinds.sort_unstable();
        kinds.dedup();
        kinds.len()
    };
    match (differ(false), differ(true)) {
        (0, 0 | 1) => Ok(()),
        (0, _) => Err(OptionError::fatal(
            "SLURM_MEM_PER_CPU, SLURM_MEM_PER_GPU, and SLURM_MEM_PER_NODE are mutually exclusive.",
        )),
        (1, _) => {
            settings.retain(|setting| kind(setting).is_none() || !from_environment(setting));
            Ok(())
        }
        _ => Err(OptionError::fatal(
            "--mem, --mem-per-cpu, and --mem-per-gpu are mutually exclusive.",
        )),
    }
}
