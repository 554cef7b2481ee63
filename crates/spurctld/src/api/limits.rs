//! What a request may have at most. Whoever asks for more is told which limit it is.

use prost::Message;
use spur_core::errors::SlurmError;
use spur_core::job::JobSpec;
use spur_core::state::Assignment;
use spur_core::step::StepSpec;
use spur_proto::internal::Hello;
use spur_proto::slurm::SubmitJobRequest;
use spur_proto::status::remarked;
use tonic::Status;

/// One limit, and the words for it.
struct Limit {
    what: &'static str,
    unit: &'static str,
    most: usize,
}

const fn limit(what: &'static str, most: usize, unit: &'static str) -> Limit {
    Limit { what, unit, most }
}

const SCRIPT: Limit = limit("script", 4 << 20, "bytes");
const ENVIRONMENT: Limit = limit("environment", 1 << 20, "bytes");
const VARIABLES: Limit = limit("environment", 4_096, "variables");
/// Everything that is said about a job but its script and environment.
const DESCRIPTION: Limit = limit("job description", 256 << 10, "bytes");
/// As in Slurm.
const COMPONENTS: Limit = limit("job", 128, "components");
/// As in Slurm.
const NAME: Limit = limit("name", 1 << 10, "bytes");
const COMMENT: Limit = limit("comment", 1 << 10, "bytes");
const DEPENDENCIES: Limit = limit("dependency", 10_000, "jobs");
/// Everything that is said about a step: the names of its nodes for each task among it.
const STEP: Limit = limit("step description", 1 << 20, "bytes");
const LISTED: Limit = limit("question", 10_000, "names in a list");
const NAMED: Limit = limit("question", 10_000, "jobs by number");
/// What a node says of itself when it comes.
const HELLO: Limit = limit("greeting of a node", 1 << 20, "bytes");
const CPUS: Limit = limit("node", 1 << 16, "processors");
const WORDS: Limit = limit("message", 4 << 10, "bytes");
const CHANGES: Limit = limit("change", 256 << 10, "bytes");

/// The most jobs on one page.
pub(super) const PAGE: usize = 10_000;

impl Limit {
    fn check(&self, found: usize) -> Result<(), Status> {
        let Limit { what, unit, most } = self;
        if found <= *most {
            return Ok(());
        }
        let message = format!("the {what} has {found} {unit}, the limit is {most}");
        Err(remarked(SlurmError::PathnameTooLong, &message))
    }
}

/// A submission.
pub(super) fn submission(request: &SubmitJobRequest) -> Result<(), Status> {
    SCRIPT.check(request.script.len())?;
    components(request.spec.iter().chain(&request.others))?;
    ENVIRONMENT.check(request.environment.len())?;
    VARIABLES.check(request.environment.iter().filter(|byte| **byte == 0).count())
}

/// The components of a job.
pub(super) fn components<'a>(
    specs: impl Iterator<Item = &'a JobSpec> + Clone,
) -> Result<(), Status> {
    COMPONENTS.check(specs.clone().count())?;
    for spec in specs {
        DESCRIPTION.check(spec.encoded_len())?;
        NAME.check(spec.name.len())?;
        COMMENT.check(spec.rare().comment.as_ref().map_or(0, String::len))?;
        DEPENDENCIES.check(dependencies(&spec.dependency))?;
    }
    Ok(())
}

/// A node that comes. What is beyond all hardware would only break sums.
pub(super) fn greeting(hello: &Hello) -> Result<(), Status> {
    HELLO.check(hello.encoded_len())?;
    let Some(inventory) = &hello.inventory else { return Ok(()) };
    CPUS.check(inventory.cpus as usize)?;
    let many =
        inventory.gres.iter().map(|it| it.count).chain([inventory.memory_mb, inventory.tmp_mb]);
    match many.max().unwrap_or_default() >> 48 {
        0 => Ok(()),
        _ => Err(remarked(SlurmError::PathnameTooLong, "a node has more than there is")),
    }
}

/// A step.
pub(super) fn step(spec: &StepSpec) -> Result<(), Status> {
    STEP.check(spec.encoded_len())
}

/// Names and numbers by which something is asked for.
pub(super) fn listed(counts: &[usize]) -> Result<(), Status> {
    counts.iter().try_for_each(|count| LISTED.check(*count))
}

/// A word to somebody.
pub(super) fn words(words: &str) -> Result<&str, Status> {
    WORDS.check(words.len()).map(|()| words)
}

/// Changes to something that is there.
pub(super) fn changes(to: &str, assignments: &[Assignment]) -> Result<(), Status> {
    let said: usize = assignments.iter().map(|it| it.key.len() + it.value.len()).sum();
    CHANGES.check(to.len() + said)?;
    for Assignment { key, value } in assignments {
        match key.to_ascii_lowercase().as_str() {
            "name" | "jobname" => NAME.check(value.len())?,
            "comment" | "admincomment" => COMMENT.check(value.len())?,
            "dependency" => DEPENDENCIES.check(dependencies(value))?,
            _ => {}
        }
    }
    Ok(())
}

/// Jobs that are asked for by number.
pub(super) fn named(jobs: &[u32]) -> Result<(), Status> {
    NAMED.check(jobs.len())
}

/// How many jobs are named; nothing is read but the commas and colons.
fn dependencies(text: &str) -> usize {
    let jobs = |term: &str| term.matches(':').count().max(1);
    text.split([',', '?']).filter(|term| !term.is_empty()).map(jobs).sum()
}

#[cfg(test)]
mod tests {
    use spur_core::node::{Gres, Inventory};
    use spur_proto::status::{from_status, remark};

    use super::*;

    fn spec(change: impl FnOnce(&mut JobSpec)) -> SubmitJobRequest {
        let mut spec = JobSpec::default();
        change(&mut spec);
        SubmitJobRequest { spec: Some(spec), ..SubmitJobRequest::default() }
    }

    fn after(jobs: usize) -> String {
        format!("afterany{}", ":1".repeat(jobs))
    }

    #[test]
    fn every_limit_lets_in_what_it_says_and_names_itself_beyond() {
        let bytes = |count| vec![b'x'; count];
        let text = |count| "x".repeat(count);
        let plain = SubmitJobRequest::default;
        let table: &[(SubmitJobRequest, SubmitJobRequest, &str)] = &[
            (
                SubmitJobRequest { script: bytes(4 << 20), ..plain() },
                SubmitJobRequest { script: bytes((4 << 20) + 1), ..plain() },
                "the script has 4194305 bytes, the limit is 4194304",
            ),
            (
                SubmitJobRequest { environment: bytes(1 << 20), ..plain() },
                SubmitJobRequest { environment: bytes((1 << 20) + 1), ..plain() },
                "the environment has 1048577 bytes, the limit is 1048576",
            ),
            (
                SubmitJobRequest { environment: b"A=\0".repeat(4096), ..plain() },
                SubmitJobRequest { environment: b"A=\0".repeat(4097), ..plain() },
                "the environment has 4097 variables, the limit is 4096",
            ),
            (
                SubmitJobRequest { others: vec![JobSpec::default(); 127], ..spec(|_| ()) },
                SubmitJobRequest { others: vec![JobSpec::default(); 128], ..spec(|_| ()) },
                "the job has 129 components, the limit is 128",
            ),
            (
                spec(|it| it.rare_mut().comment = Some(text(1024))),
                spec(|it| it.rare_mut().comment = Some(text(1025))),
                "the comment has 1025 bytes, the limit is 1024",
            ),
            (
                spec(|it| it.dependency = after(10_000)),
                spec(|it| it.dependency = after(10_001)),
                "the dependency has 10001 jobs, the limit is 10000",
            ),
            (
                spec(|it| it.name = text(1024)),
                spec(|it| it.name = text(1025)),
                "the name has 1025 bytes, the limit is 1024",
            ),
            (
                spec(|it| it.submit_line = text(262_000)),
                spec(|it| it.submit_line = text(262_144)),
                "the job description has",
            ),
        ];
        for (within, beyond, words) in table {
            assert!(submission(within).is_ok(), "{words}");
            let refusal = submission(beyond).expect_err(words);
            assert_eq!(from_status(&refusal), Some(SlurmError::PathnameTooLong));
            let told = remark(&refusal).unwrap_or_default();
            assert!(told.starts_with(words), "{told}");
        }
    }

    #[test]
    fn a_node_is_no_larger_than_nodes_are() {
        let hello = |change: fn(&mut Inventory)| {
            let mut inventory =
                Inventory { cpus: 65_536, memory_mb: 1 << 40, ..Inventory::default() };
            change(&mut inventory);
            greeting(&Hello { inventory: Some(Box::new(inventory)), ..Hello::default() })
        };
        assert!(hello(|_| ()).is_ok());
        assert!(hello(|it| it.cpus = u32::MAX).is_err());
        assert!(hello(|it| it.memory_mb = u64::MAX).is_err());
        assert!(hello(|it| it.features = vec!["x".repeat(1 << 20)]).is_err());
        assert!(hello(|it| it.gres.push(Gres { count: u64::MAX, ..Gres::default() })).is_err());
    }

    #[test]
    fn changes_are_held_to_the_same() {
        let say = |key: &str, value: String| vec![Assignment { key: key.to_string(), value }];
        assert!(changes("", &say("Comment", "x".repeat(1024))).is_ok());
        assert!(changes("", &say("Comment", "x".repeat(1025))).is_err());
        assert!(changes("", &say("Dependency", after(10_001))).is_err());
        assert!(changes("", &say("Name", "x".repeat(256 << 10))).is_err());
        assert!(changes(&"x".repeat(256 << 10), &say("State", "UP".to_string())).is_err());
        assert!(listed(&[10_000, 0]).is_ok());
        assert!(listed(&[0, 10_001]).is_err());
        let long = StepSpec { gres: "x".repeat(1 << 20), ..StepSpec::default() };
        assert!(step(&StepSpec::default()).is_ok());
        assert!(step(&long).is_err());
        assert!(named(&[1; 10_000]).is_ok());
        assert!(named(&[1; 10_001]).is_err());
    }
}
