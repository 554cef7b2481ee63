//! Jobs submitted without a process for each: calls of the API, many under way at a time.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

use anyhow::{Context, Result};
use spur_core::job::JobSpec;
use spur_proto::client::{self, Address};
use spur_proto::slurm::SubmitJobRequest;

use super::site::Site;

/// Connections, and calls under way on each.
const LINES: u32 = 4;
const AT_ONCE: u32 = 64;

/// How many submissions are answered in a second. They are held, so that only the submitting is measured.
pub fn submits(site: &Site, count: u32, array: &str) -> Result<f64> {
    let begun = Instant::now();
    submit(site, count, array)?;
    let rate = f64::from(count) / begun.elapsed().as_secs_f64();
    site.clear()?;
    Ok(rate)
}

/// Leaves so many held jobs in the queue; returns the number of one of them.
pub fn fill(site: &Site, count: u32) -> Result<u32> {
    submit(site, count, "")
}

fn submit(site: &Site, count: u32, array: &str) -> Result<u32> {
    let address = Address::Unix(site.socket()?);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let next = Arc::new(AtomicU32::new(0));
        let last = Arc::new(AtomicU32::new(0));
        let life = Instant::now();
        let mut callers = tokio::task::JoinSet::new();
        for line in 0..LINES {
            let channel = client::connect(&address).await.context("could not connect")?;
            for place in 0..AT_ONCE {
                let mut client = client::controller(channel.clone());
                let (next, last, array) = (next.clone(), last.clone(), array.to_string());
                callers.spawn(async move {
                    while next.fetch_add(1, Ordering::Relaxed) < count {
                        let mark = (u64::from(line) << 32) | u64::from(place);
                        let message = request(mark, life.elapsed().as_nanos() as u64, &array);
                        let reply = client.submit_job(message).await?;
                        last.store(reply.into_inner().job_id, Ordering::Relaxed);
                    }
                    anyhow::Ok(())
                });
            }
        }
        while let Some(caller) = callers.join_next().await {
            caller??;
        }
        Ok(last.load(Ordering::Relaxed))
    })
}

/// As `sbatch -H --wrap true` asks.
fn request(mark: u64, moment: u64, array: &str) -> SubmitJobRequest {
    let spec = JobSpec {
        name: "wrap".to_string(),
        work_dir: "/tmp".to_string(),
        output: "/dev/null".to_string(),
        array: array.to_string(),
        hold: true,
        ..JobSpec::default()
    };
    let marks = [mark ^ u64::from(std::process::id()) << 48, moment];
    SubmitJobRequest {
        request_id: marks.iter().flat_map(|mark| mark.to_le_bytes()).collect(),
        spec: Some(spec),
        script: b"#!/bin/sh\ntrue\n".to_vec(),
        environment: b"PATH=/usr/bin:/bin\0".to_vec(),
        others: Vec::new(),
    }
}
