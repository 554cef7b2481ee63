//! How the tool itself behaves.

use super::row::Tool::{Salloc, Sbatch, Srun};
use super::row::{JobOption, SBATCH, flag, option};

/// What concerns the tool and not the job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolSettings {
    /// `--wrap`
    pub wrap: Option<String>,
    /// `--parsable`
    pub parsable: bool,
    /// `sbatch --wait`
    pub wait: bool,
    /// How often `--quiet` was said.
    pub quiet: u32,
    /// How often `--verbose` was said.
    pub verbose: u32,
}

pub(super) static ROWS: &[JobOption] = &[
    option("help", "Show the options.").short('h').tool(|_, _| Ok(())),
    option("parsable", "Print the job's number only, and the cluster after a semicolon.")
        .of(SBATCH)
        .tool(|tool, _| flag(&mut tool.parsable)),
    option("quiet", "Print errors only.").short('Q').tool(|tool, _| {
        tool.quiet += 1;
        Ok(())
    }),
    option("usage", "Show a summary of the options.").listed_as("usex").tool(|_, _| Ok(())),
    option("verbose", "Print more; may be said several times.")
        .short('v')
        .env(&[(Sbatch, "SBATCH_DEBUG"), (Srun, "SLURM_DEBUG"), (Salloc, "SALLOC_DEBUG")])
        .tool(|tool, times| {
            // A variable holds the number of times.
            tool.verbose += times.parse().unwrap_or(1);
            Ok(())
        }),
    option("version", "Show the version.").short('V').tool(|_, _| Ok(())),
    option("wait", "Wait for the job and end with its exit status.")
        .short('W')
        .of(SBATCH)
        .env(&[(Sbatch, "SBATCH_WAIT")])
        .tool(|tool, _| flag(&mut tool.wait)),
    option("wrap", "Run this command line in place of a script.").takes("command").of(SBATCH).tool(
        |tool, command| {
            tool.wrap = Some(command.to_owned());
            Ok(())
        },
    ),
];
