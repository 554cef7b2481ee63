//! Settings about sharing: who gives way to whom, and how much a job gets unasked.

use super::amounts::Megabytes;
use super::values::{Setting, Value, expected, quote};
use super::words::PreemptAction;

/// What becomes of displaced jobs, and whether jobs of one partition take turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PreemptMode {
    pub action: PreemptAction,
    /// Jobs that share resources take turns; also resumes suspended jobs.
    pub gang: bool,
    /// Jobs of one partition and QOS may displace each other by priority.
    pub within: bool,
}

impl Setting for PreemptMode {
    fn kind() -> String {
        "\"off\", \"cancel\", \"requeue\", or \"suspend\", with \"gang\", \"within\"".to_string()
    }

    fn read(value: &Value) -> Result<PreemptMode, String> {
        let mut mode = PreemptMode { action: PreemptAction::Off, gang: false, within: false };
        for word in Vec::<String>::read(value).map_err(|_| expected::<PreemptMode>())? {
            match word.to_ascii_lowercase().as_str() {
                "gang" => mode.gang = true,
                "within" => mode.within = true,
                other => {
                    mode.action = PreemptAction::read(&Value::Text(other.to_string()))
                        .map_err(|_| expected::<PreemptMode>())?;
                }
            }
        }
        Ok(mode)
    }

    fn toml(&self) -> String {
        let mut words = vec![self.action.word()];
        words.extend(self.gang.then_some("gang"));
        words.extend(self.within.then_some("within"));
        quote(&words.join(","))
    }
}

/// Whether a resource of a partition is given to several jobs at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OverSubscribe {
    /// One job at a time.
    No,
    /// Up to this many jobs that ask for it.
    Yes(u32),
    /// Up to this many jobs, asked or not.
    Force(u32),
    /// Whole nodes only.
    Exclusive,
}

impl OverSubscribe {
    /// As `scontrol show partition` writes it.
    pub fn slurm(self) -> String {
        match self {
            OverSubscribe::No => "NO".to_string(),
            OverSubscribe::Yes(count) => format!("YES:{count}"),
            OverSubscribe::Force(count) => format!("FORCE:{count}"),
            OverSubscribe::Exclusive => "EXCLUSIVE".to_string(),
        }
    }
}

impl Setting for OverSubscribe {
    fn kind() -> String {
        "\"no\", \"yes\", \"yes:4\", \"force:4\", or \"exclusive\"".to_string()
    }

    fn read(value: &Value) -> Result<OverSubscribe, String> {
        let Value::Text(text) = value else { return Err(expected::<OverSubscribe>()) };
        let text = text.to_ascii_lowercase();
        let (word, count) = text.split_once(':').unwrap_or((&text, "4"));
        let count = count.parse().map_err(|_| expected::<OverSubscribe>())?;
        match word {
            "no" => Ok(OverSubscribe::No),
            "yes" => Ok(OverSubscribe::Yes(count)),
            "force" => Ok(OverSubscribe::Force(count)),
            "exclusive" => Ok(OverSubscribe::Exclusive),
            _ => Err(expected::<OverSubscribe>()),
        }
    }

    fn toml(&self) -> String {
        match self {
            OverSubscribe::No => quote("no"),
            OverSubscribe::Yes(count) => quote(&format!("yes:{count}")),
            OverSubscribe::Force(count) => quote(&format!("force:{count}")),
            OverSubscribe::Exclusive => quote("exclusive"),
        }
    }
}

/// Memory a job gets when it asks for none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DefaultMemory {
    /// The node's memory, divided by its CPUs, for each CPU of the job.
    Share,
    PerCpu(Megabytes),
    /// Zero is all of the node.
    PerNode(Megabytes),
    PerGpu(Megabytes),
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text<T: Setting>(text: &str) -> Result<T, String> {
        T::read(&Value::Text(text.to_string()))
    }

    #[test]
    fn modes_combine_as_in_slurm() {
        let mode: PreemptMode = text("SUSPEND,GANG").unwrap();
        assert_eq!((mode.action, mode.gang), (PreemptAction::Suspend, true));
        assert_eq!(mode.toml(), "\"suspend,gang\"");
        assert!(text::<PreemptMode>("kill").is_err());
    }

    #[test]
    fn sharing_counts_to_four_unless_told() {
        assert_eq!(text("FORCE"), Ok(OverSubscribe::Force(4)));
        assert_eq!(text("yes:2"), Ok(OverSubscribe::Yes(2)));
        assert!(text::<OverSubscribe>("maybe").is_err());
    }
}
