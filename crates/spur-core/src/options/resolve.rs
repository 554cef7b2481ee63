//! Precedence between sources, then the defaults that span options.

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
    pub tool_name: Tool,
    pub job: JobSpec,
    pub step: StepSpec,
    pub tool: ToolSettings,
    /// Who had the last word on each option, by long name.
    pub set_by: BTreeMap<&'static str, Source>,
}

impl Request {
    /// Nothing asked for yet.
    pub fn new(tool_name: Tool) -> Request {
        Request {
            tool_name,
            job: JobSpec::default(),
            step: StepSpec::default(),
            tool: ToolSettings::default(),
            set_by: BTreeMap::new(),
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
    let mut request = Request::new(tool);
    for setting in &settings {
        setting.option.apply(&mut request, &setting.value)?;
        request.set_by.insert(setting.option.long, setting.source);
    }
    Ok(request)
}

/// Facts that options leave open and the front end knows.
#[derive(Clone, Copy, Debug, Default)]
pub struct Surroundings<'a> {
    /// The script's path or the command as given; empty for `--wrap` and standard input.
    pub command: &'a str,
    /// Where the tool was called.
    pub work_dir: &'a str,
}

/// Fills in what was left open and follows from other options, once for all front ends.
pub fn fill_defaults(request: &mut Request, around: Surroundings<'_>) {
    let job = &mut request.job;
    if job.name.is_empty() {
        job.name = match around.command.rsplit('/').next() {
            _ if request.tool.wrap.is_some() => "wrap".to_owned(),
            Some(name) if !name.is_empty() => name.to_owned(),
            _ => "sbatch".to_owned(),
        };
    }
    if job.work_dir.is_empty() {
        around.work_dir.clone_into(&mut job.work_dir);
    }
    if job.output.is_empty() && request.tool_name == Tool::Sbatch {
        job.output = "slurm-%j.out".to_owned();
    }
}
