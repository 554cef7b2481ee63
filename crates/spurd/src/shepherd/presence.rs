//! A job as such on a node: there before its first task where the site wants that, and until everything of it
//! is tidied up.

use std::path::Path;

use anyhow::Result;
use spur_core::jobenv::GpuFacts;
use spur_proto::internal::Launch;

use super::hooks;
use super::watch::Signals;
use crate::ending::{Ending, LastWord};

/// Waits until the job has left the node, and has the epilog run.
pub fn run(spool: &Path, launch: &Launch, gpus: Option<GpuFacts>) -> Result<LastWord> {
    let signals = Signals::listen()?;
    let mut ending = Ending::Exited(0);
    if launch.hooks.as_ref().is_some_and(|hooks| hooks.at_once)
        && let Err(error) = hooks::ensure_prolog(spool, launch, gpus.clone())
    {
        ending = Ending::PrologFailed(format!("{error:#}"));
    }
    // The controller says when everything else of the job is gone.
    while ending == Ending::Exited(0) && !signals.wait(None)?.end {}
    if let Err(error) = hooks::run_epilog(spool, launch, gpus) {
        eprintln!("spurd shepherd: job {}: {error:#}", launch.job);
        if ending == Ending::Exited(0) {
            ending = Ending::EpilogFailed(format!("{error:#}"));
        }
    }
    Ok(ending.into())
}
