//! Configurations, Slurm's and ours, and scripts are read or refused, line by line.
#![no_main]

use libfuzzer_sys::fuzz_target;
use spur_core::config;
use spur_core::options::directive;
use spur_core::script::header;

fuzz_target!(|text: &str| {
    let _ = config::read(text);
    let _ = config::import::slurm(&[("slurm.conf", text), ("gres.conf", text)]);
    let _ = header::check(text.as_bytes());
    let _ = directive::read_script(text, "job.sh", false);
});
