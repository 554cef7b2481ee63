//! Configurations, Slurm's and ours, and scripts are read or refused, line by line.

use spur_core::config;
use spur_core::options::directive;
use spur_core::script::header;

/// Reads what may be anything.
pub fn run(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let _ = config::read(text);
    let _ = config::import::slurm(&[("slurm.conf", text), ("gres.conf", text)]);
    let _ = header::check(text.as_bytes());
    let _ = directive::read_script(text, "job.sh", false);
}
