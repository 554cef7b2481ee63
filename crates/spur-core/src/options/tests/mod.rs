//! The table as a whole, the readers on arbitrary input, and both on recorded lines.

mod recorded;
mod scripts;
mod shown;

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::limit::Limit;
use crate::time::Timestamp;

/// A day on which the recorded lines mean what they meant.
const AROUND: Surroundings<'static> = Surroundings {
    command: "",
    arguments: &[],
    work_dir: "/home/alice",
    now: Timestamp(1_794_000_000),
    zone: &crate::time::FixedOffset::UTC,
    core_spec_allowed: false,
    inside_job: false,
};

const TOOLS: [Tool; 3] = [Tool::Sbatch, Tool::Srun, Tool::Salloc];

#[test]
fn within_one_tool_nothing_has_two_meanings() {
    for tool in TOOLS {
        let mut meanings: BTreeMap<String, &JobOption> = BTreeMap::new();
        for option in options(tool) {
            let flags = option.names().map(|name| format!("--{name}"));
            let letter = option.short.map(|letter| format!("-{letter}"));
            let variables = option.env.iter().filter(|(owner, _)| *owner == tool);
            let variables = variables.map(|(_, name)| (*name).to_owned());
            for word in flags.chain(letter).chain(variables) {
                let other = meanings.insert(word.clone(), option);
                assert_eq!(other, None, "{word} of {}", tool.name());
            }
        }
    }
}

#[test]
fn every_row_has_help() {
    for option in LISTS.iter().flat_map(|rows| rows.iter()) {
        assert!(option.help.ends_with('.'), "{option:?}");
    }
}

/// What the readers make of a command line: the exit status, the first line on standard error, and
/// the request if there is one.
fn submit(tool: Tool, env: &[(&str, &str)], words: &[&str]) -> (i32, String, Option<Request>) {
    let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    let mut notes = Vec::new();
    let outcome = argv::read(tool, &words).and_then(|argv| {
        let mut settings = environment::read(tool, |name| {
            env.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        });
        settings.extend(argv.settings);
        let mut request = resolve(tool, settings)?;
        let (command, arguments) = match argv.rest.split_first() {
            Some((command, arguments)) => (command.as_str(), arguments),
            None => ("", &[][..]),
        };
        let filled = fill_defaults(&mut request, Surroundings { command, arguments, ..AROUND });
        notes = request.notes.iter().map(|note| format!("{}: {note}", tool.name())).collect();
        filled?;
        Ok(request)
    });
    match outcome {
        Ok(request) => (0, notes.first().cloned().unwrap_or_default(), Some(request)),
        Err(error) => {
            notes.extend(error.lines(tool));
            (error.exit, notes.first().cloned().unwrap_or_default(), None)
        }
    }
}

#[test]
fn recorded_lines_come_out_as_they_did() {
    let mut wrong = Vec::new();
    for (tool, env, words, exit, line, attributes) in recorded::LINES {
        let (our_exit, our_line, request) = submit(*tool, env, words);
        let expected: BTreeMap<String, String> =
            attributes.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        let ours = match &request {
            Some(request) if *tool == Tool::Sbatch => shown::attributes(request),
            _ => BTreeMap::new(),
        };
        // What a step or an allocation ends with is not the readers' doing.
        if (our_exit, our_line.as_str()) != (*exit, *line) || ours != expected {
            wrong.push(format!(
                "{env:?} {} {words:?}\n    slurm: {exit} {line:?} {expected:?}\n    ours:  {our_exit} {our_line:?} {ours:?}",
                tool.name()
            ));
        }
    }
    assert!(wrong.is_empty(), "{} lines differ:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn recorded_scripts_come_out_as_they_did() {
    let mut wrong = Vec::new();
    for (lines, exit, line, attributes) in scripts::SCRIPTS {
        let script = format!("#!/bin/sh\n{lines}\n");
        let outcome = directive::read_script(&script, "d.sh", false).and_then(|mut components| {
            let mut request = resolve(Tool::Sbatch, components.remove(0))?;
            let around = Surroundings { command: "d.sh", work_dir: "/home/alice", ..AROUND };
            fill_defaults(&mut request, around)?;
            Ok(request)
        });
        let (our_exit, our_line, ours) = match outcome {
            Ok(request) => {
                let note = request.notes.first().map(|note| format!("sbatch: {note}"));
                let mut shown = shown::attributes(&request);
                shown.retain(|name, value| name != "JobName" || value != "d.sh");
                (0, note.unwrap_or_default(), shown)
            }
            Err(error) => (error.exit, error.lines(Tool::Sbatch)[0].clone(), BTreeMap::new()),
        };
        let expected: BTreeMap<String, String> =
            attributes.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        if (our_exit, our_line.as_str()) != (*exit, *line) || ours != expected {
            wrong.push(format!(
                "{lines}\n    slurm: {exit} {line:?} {expected:?}\n    ours:  {our_exit} {our_line:?} {ours:?}"
            ));
        }
    }
    assert!(wrong.is_empty(), "{} scripts differ:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn later_components_take_over_what_concerns_the_whole_job() {
    let script = "#!/bin/sh\n#SBATCH -N2 -J one -c2 -m cyclic\n#SBATCH hetjob\n#SBATCH -N1 -n3\n";
    let script = directive::read(script, "d.sh").unwrap();
    let words = ["-t5", ":", "-p", "gpu", ":", "d.sh", ":", "x"].map(str::to_owned);
    let components = argv::read_components(Tool::Sbatch, &words, |_, _| Ok(())).unwrap();
    assert_eq!(components[2].rest, ["d.sh", ":", "x"]);
    let command_line: Vec<Vec<Setting>> =
        components.into_iter().map(|component| component.settings).collect();
    let requests = resolve_components(Tool::Sbatch, &script, &[], &command_line).unwrap();
    let said: Vec<_> = requests
        .iter()
        .map(|request| {
            let job = &request.job;
            (job.name.as_str(), job.nodes_min, job.cpus_per_task, job.partition.as_str())
        })
        .collect();
    assert_eq!(
        said,
        [("one", Some(2), Some(2), ""), ("one", Some(1), None, "gpu"), ("one", None, None, "")]
    );
    assert!(requests.iter().all(|request| request.job.time_limit == Some(Limit::Is(5))));
    let laid_out = requests.iter().map(|request| request.job.layout().distribution.as_str());
    assert_eq!(laid_out.collect::<Vec<_>>(), ["cyclic", "", ""], "each is laid out by itself");
}

#[test]
fn threads_of_a_node_are_tasks_to_srun_only_when_all_three_counts_are_said() {
    let tasks = |tool, words: &[&str]| {
        let (exit, line, request) = submit(tool, &[], words);
        let job = request.unwrap_or_else(|| panic!("{exit} {line}")).job;
        (job.ntasks, job.ntasks_said)
    };
    assert_eq!(tasks(Tool::Srun, &["-B", "2:4", "true"]), (Some(1), false));
    assert_eq!(tasks(Tool::Srun, &["-B", "2:4:1", "true"]), (Some(8), true));
    assert_eq!(tasks(Tool::Srun, &["-N2", "--cores-per-socket=4", "true"]), (Some(2), false));
    assert_eq!(tasks(Tool::Salloc, &["-B", "2:4", "true"]), (Some(8), true));
    assert_eq!(tasks(Tool::Salloc, &["-N2", "--cores-per-socket=4", "true"]), (Some(8), true));
}

#[test]
fn what_has_no_effect_is_a_short_list() {
    let rows = LISTS.iter().flat_map(|rows| rows.iter());
    assert!(rows.filter(|option| !option.no_effect.is_empty()).count() < 20);
}

#[test]
fn verbose_lists_what_was_said() {
    let words = ["-v", "-N2-3", "-t", "90", "--mem=2G", "-J", "foo", "--gres=gpu:1", "--exclusive"];
    let words =
        [&words[..], &["-b", "2030-01-20T12:34", "-o", "o", "--nice", "-H", "j.sh"]].concat();
    let (_, _, request) = submit(Tool::Sbatch, &[], &words);
    let lines = report::defined_options(&request.unwrap(), &crate::time::FixedOffset::UTC);
    assert_eq!(
        lines,
        [
            "defined options",
            "-------------------- --------------------",
            "begin               : 2030-01-20T12:34:00",
            "exclusive           : exclusive",
            "gres                : gres:gpu:1",
            "hold                : set",
            "job-name            : foo",
            "mem                 : 2G",
            "nice                : 100",
            "nodes               : 2-3",
            "output              : /home/alice/o",
            "time                : 01:30:00",
            "verbose             : 1",
            "-------------------- --------------------",
            "end of defined options",
        ]
    );
}

#[test]
fn a_jobs_name_is_not_taken_for_its_steps() {
    let inside = |name: &str| match name {
        "SLURM_JOB_NAME" => Some("batch".to_owned()),
        "SLURM_JOB_ID" => Some("7".to_owned()),
        _ => None,
    };
    let names: Vec<_> =
        environment::read(Tool::Srun, inside).iter().map(|said| said.option.long).collect();
    assert_eq!(names, ["jobid"]);
}

proptest! {
    #[test]
    fn readers_never_panic(words in prop::collection::vec(".*", 0..6), script in "(#SBATCH.*\n)*") {
        for tool in TOOLS {
            let _ = argv::read(tool, &words);
        }
        let _ = directive::read(&script, "script");
        let _ = crate::script::pbs::read(&script.replace("SBATCH", "PBS"), "script");
    }
}

#[test]
fn a_node_has_as_many_tasks_as_it_has_places_in_an_arbitrary_list() {
    let tasks = |tool, words: &[&str]| {
        let (_, line, request) = submit(tool, &[], words);
        request.unwrap_or_else(|| panic!("{line}")).job.ntasks
    };
    assert_eq!(tasks(Tool::Srun, &["-m", "arbitrary", "-w", "n2,n1,n2", "true"]), Some(3));
    assert_eq!(tasks(Tool::Srun, &["-w", "n2,n1,n2", "true"]), Some(2));
    let words = ["-m", "arbitrary", "-w", "n2,n1,n2", "--wrap", "true"];
    assert_eq!(tasks(Tool::Sbatch, &words), Some(2));
}
