//! How the tool itself behaves.

use super::json::Form;
use super::number::positive;
use super::row::Tool::{Salloc, Sbatch, Srun};
use super::row::{
    JobOption, SALLOC, SBATCH, SBATCH_SRUN, SRUN, Tool, flag, option, put, text, variable,
};

/// What concerns the tool and not the job, and what only the tool can find out.
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
    /// `--test-only`
    pub test_only: bool,
    /// `--ignore-pbs`
    pub ignore_pbs: bool,
    /// `--begin` as given; [`super::resolve::fill_defaults`] knows the time.
    pub begin: String,
    /// `--deadline` as given.
    pub deadline: String,
    /// `--nodefile`: a file that names nodes.
    pub nodefile: String,
    /// `--bbf`: a file that says what is asked of a burst buffer.
    pub burst_buffer_file: String,
    /// `--export-file`: a file or descriptor with variables.
    pub export_file: String,
    /// `--get-user-env`, with its timeout and mode.
    pub get_user_env: Option<String>,
    /// `--uid`: a name or number.
    pub uid: String,
    /// `--gid`: a name or number.
    pub gid: String,
    /// `srun --jobid`: the job to make a step in.
    pub job_id: Option<u32>,
    /// `srun --no-allocate`
    pub no_allocate: bool,
    /// `srun --disable-status`
    pub disable_status: bool,
    /// `srun --quit-on-interrupt`
    pub quit_on_interrupt: bool,
    /// `srun --prolog`: run by srun before the step.
    pub prolog: String,
    /// `srun --epilog`: run by srun after the step.
    pub epilog: String,
    /// `salloc --bell` (true) or `--no-bell` (false).
    pub bell: Option<bool>,
    /// `salloc --no-shell`
    pub no_shell: bool,
    /// `salloc --kill-command`: the signal's number.
    pub kill_command: Option<u16>,
    /// `--autocomplete`: the option whose values a shell asks for.
    pub autocomplete: Option<String>,
    /// `SLURM_EXIT_ERROR`: the exit status for errors after the options were read.
    pub exit_error: Option<String>,
    /// `SLURM_EXIT_IMMEDIATE`: the exit status when `--immediate` cannot be met.
    pub exit_immediate: Option<String>,
    /// `SLURM_UMASK`: the mask of output files.
    pub umask: Option<String>,
    /// `SLURM_DEBUG_FLAGS`
    pub debug_flags: String,
    /// `SLURM_TEST_EXEC`: look for the program before the step is made.
    pub test_exec: bool,
    /// `SLURM_SRUN_REDUCE_TASK_EXIT_MSG`: say equal things about tasks once.
    pub reduce_task_exit_messages: bool,
}

const SRUN_SALLOC: &[Tool] = &[Tool::Srun, Tool::Salloc];

pub(super) static ROWS: &[JobOption] = &[
    option("autocomplete", "Print the values that a shell may complete an option with.")
        .takes("option")
        .tool(|tool, name| put(&mut tool.autocomplete, Ok(name.to_owned()))),
    option("bell", "Ring the terminal's bell when the job is granted.")
        .of(SALLOC)
        .env(&[(Salloc, "SALLOC_BELL")])
        .tool(|tool, _| put(&mut tool.bell, Ok(true))),
    option("disable-status", "Let the first interrupt end the step.")
        .short('X')
        .of(SRUN)
        .env(&[(Srun, "SLURM_DISABLE_STATUS")])
        .tool(|tool, _| flag(&mut tool.disable_status)),
    option("epilog", "Let srun run this program after the step.")
        .whole_job()
        .takes("program")
        .of(SRUN)
        .env(&[(Srun, "SLURM_EPILOG")])
        .tool(|tool, program| text(&mut tool.epilog, program)),
    option("help", "Show the options.").short('h').tool(|_, _| Ok(())),
    option("jobid", "Make a step in this job.")
        .takes("jobid")
        .of(SRUN)
        .env(&[(Srun, "SLURM_JOB_ID")])
        .listed_as("job")
        .tool(|tool, id| put(&mut tool.job_id, positive(id))),
    option("no-allocate", "Run on the nodes without asking the controller; for administrators.")
        .whole_job()
        .short('Z')
        .of(SRUN)
        .tool(|tool, _| flag(&mut tool.no_allocate)),
    option("no-bell", "Never ring the terminal's bell.")
        .of(SALLOC)
        .env(&[(Salloc, "SALLOC_NO_BELL")])
        .tool(|tool, _| put(&mut tool.bell, Ok(false))),
    option("no-shell", "Leave the job running and end without a command.")
        .of(SALLOC)
        .tool(|tool, _| flag(&mut tool.no_shell)),
    option("parsable", "Print the job's number only, and the cluster after a semicolon.")
        .whole_job()
        .of(SBATCH)
        .tool(|tool, _| flag(&mut tool.parsable)),
    option("prolog", "Let srun run this program before the step.")
        .whole_job()
        .takes("program")
        .of(SRUN)
        .env(&[(Srun, "SLURM_PROLOG")])
        .tool(|tool, program| text(&mut tool.prolog, program)),
    option("quiet", "Print errors only.").whole_job().short('Q').tool(|tool, _| {
        tool.quiet = tool.quiet.saturating_add(1);
        Ok(())
    }),
    option("quit-on-interrupt", "End the step at the first interrupt.")
        .whole_job()
        .of(SRUN)
        .tool(|tool, _| flag(&mut tool.quit_on_interrupt)),
    option("test-only", "Say when the job would start, and do not submit it.")
        .whole_job()
        .of(SBATCH_SRUN)
        .tool(|tool, _| flag(&mut tool.test_only)),
    option("usage", "Show a summary of the options.").listed_as("vf").tool(|_, _| Ok(())),
    option("verbose", "Print more; may be said several times.")
        .whole_job()
        .short('v')
        .env(&[(Sbatch, "SBATCH_DEBUG"), (Srun, "SLURM_DEBUG"), (Salloc, "SALLOC_DEBUG")])
        .tool(|tool, times| {
            // A variable holds the number of times.
            let times = if times.is_empty() { 1 } else { super::number::not_negative(times)? };
            tool.verbose = tool.verbose.saturating_add(times);
            Ok(())
        }),
    option("version", "Show the version.").short('V').tool(|_, _| Ok(())),
    option("wait", "Wait for the job and end with its exit status.")
        .whole_job()
        .short('W')
        .of(SBATCH)
        .env(&[(Sbatch, "SBATCH_WAIT")])
        .tool(|tool, _| flag(&mut tool.wait)),
    option("x11", "Pass X11 windows on from these nodes.")
        .json("x11", Form::List)
        .may_take("all|first|last")
        .of(SRUN_SALLOC)
        .job(|job, nodes| {
            text(&mut job.rare_mut().x11, if nodes.is_empty() { "all" } else { nodes })
        }),
    variable("flags", "Print what these parts do.")
        .env(&[
            (Sbatch, "SLURM_DEBUG_FLAGS"),
            (Srun, "SLURM_DEBUG_FLAGS"),
            (Salloc, "SLURM_DEBUG_FLAGS"),
        ])
        .tool(|tool, flags| text(&mut tool.debug_flags, flags)),
    variable("status", "End with this status on errors.")
        .env(&[
            (Sbatch, "SLURM_EXIT_ERROR"),
            (Srun, "SLURM_EXIT_ERROR"),
            (Salloc, "SLURM_EXIT_ERROR"),
        ])
        .tool(|tool, status| put(&mut tool.exit_error, Ok(status.to_owned()))),
    variable("status", "End with this status when --immediate cannot be met.")
        .of(SRUN_SALLOC)
        .env(&[(Srun, "SLURM_EXIT_IMMEDIATE"), (Salloc, "SLURM_EXIT_IMMEDIATE")])
        .tool(|tool, status| put(&mut tool.exit_immediate, Ok(status.to_owned()))),
    variable("mask", "Make output files with this mask.")
        .of(SBATCH_SRUN)
        .env(&[(Sbatch, "SLURM_UMASK"), (Srun, "SLURM_UMASK")])
        .tool(|tool, mask| put(&mut tool.umask, Ok(mask.to_owned()))),
    variable("", "Look for the program before the step is made.")
        .of(SRUN)
        .env(&[(Srun, "SLURM_TEST_EXEC")])
        .tool(|tool, _| flag(&mut tool.test_exec)),
    variable("0|1", "Say once what several tasks ended with.")
        .of(SRUN)
        .env(&[(Srun, "SLURM_SRUN_REDUCE_TASK_EXIT_MSG")])
        .tool(|tool, value| {
            tool.reduce_task_exit_messages = value != "0";
            Ok(())
        }),
];
