//! Slurm's commands, a file each.

pub mod sbatch;
pub mod scancel;
pub mod scontrol;
pub mod sinfo;
pub mod squeue;

use spur_core::getopt::{self, Flag, Words};

/// What `-V` prints: clients parse it, so it is Slurm's form and the version we are compatible with.
pub const VERSION: &str = "slurm 25.11.0";

/// Reads the words of a tool whose bad options end with exit status 1.
fn read(tool: &str, flags: &[Flag], args: &[String]) -> Result<Words, u8> {
    getopt::read(flags, args).map_err(|message| {
        eprintln!("{tool}: {message}");
        eprintln!("Try \"{tool} --help\" for more information");
        1
    })
}
