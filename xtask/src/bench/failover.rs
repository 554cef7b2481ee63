//! How long nobody takes submissions when the leader of three controllers is killed.

use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use spur_proto::client::{self, Address};
use spur_proto::slurm::PingRequest;

use super::site::Site;

/// How often it is tried.
const TIMES: usize = 3;

/// From the kill to the next submission that was taken, in milliseconds; the middle one of several times.
pub fn after_a_kill() -> Result<f64> {
    let mut taken = (0..TIMES).map(|_| once()).collect::<Result<Vec<f64>>>()?;
    taken.sort_by(f64::total_cmp);
    Ok(taken[taken.len() / 2])
}

fn once() -> Result<f64> {
    let site = Site::spur(&["--nodes", "n1", "--controllers", "3"])?;
    let submit = ["-H", "-o", "/dev/null", "--wrap", "true"];
    site.run("sbatch", &submit)?;
    let leader = leader(&site)?;
    let begun = Instant::now();
    let killed = Command::new("kill").args(["-9", &leader]).status()?;
    ensure!(killed.success(), "could not kill the leader");
    site.run("sbatch", &submit)?;
    Ok(begun.elapsed().as_secs_f64() * 1000.0)
}

/// The leader's process.
fn leader(site: &Site) -> Result<String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    for socket in sockets(site)? {
        let leads = runtime.block_on(async {
            let channel = client::connect(&Address::Unix(socket.clone())).await?;
            let reply = client::controller(channel).ping(PingRequest {}).await?;
            anyhow::Ok(reply.into_inner().leads)
        });
        if leads.unwrap_or(false) {
            let told = std::fs::read_to_string(socket.with_extension("pid"))?;
            return told.split_whitespace().next().map(String::from).context("no process is named");
        }
    }
    anyhow::bail!("no controller leads")
}

fn sockets(site: &Site) -> Result<Vec<PathBuf>> {
    let folder = site.socket()?.parent().map(PathBuf::from).context("sockets are in a folder")?;
    let files = std::fs::read_dir(folder)?.flatten().map(|entry| entry.path());
    let is_controller = |file: &PathBuf| {
        let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.starts_with("spurctld") && name.ends_with(".sock")
    };
    Ok(files.filter(is_controller).collect())
}
