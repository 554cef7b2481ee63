//! Measures durable submits a second: `submits ADDRESSES CONNECTIONS SECONDS`.

use std::time::{Duration, Instant};

use spur_core::job::JobSpec;
use spur_proto::caller::Caller;
use spur_proto::client::Address;
use spur_proto::slurm::SubmitJobRequest;
use spur_proto::slurm::controller_client::ControllerClient;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [addresses, connections, seconds] = words.as_slice() else {
        anyhow::bail!("submits ADDRESSES CONNECTIONS SECONDS");
    };
    let addresses = Address::parse_list(addresses).unwrap_or_default();
    let (connections, seconds): (u128, u64) = (connections.parse()?, seconds.parse()?);
    let until = Instant::now() + Duration::from_secs(seconds);
    let one = |number: u128| {
        let addresses = addresses.clone();
        async move {
            let mut caller = Caller::new(addresses, Duration::from_secs(30));
            let mut done: u128 = 0;
            while Instant::now() < until {
                let spec = JobSpec {
                    name: "bench".to_string(),
                    work_dir: "/".to_string(),
                    output: "/dev/null".to_string(),
                    ..JobSpec::default()
                };
                let id = (u128::from(std::process::id()) << 96) | number << 64 | done;
                let request = SubmitJobRequest {
                    others: Vec::new(),
                    request_id: id.to_le_bytes().to_vec(),
                    spec: Some(spec),
                    script: b"#!/bin/sh\ntrue\n".to_vec(),
                    environment: b"A=b\0".to_vec(),
                };
                let ask = |mut client: ControllerClient<_>| {
                    let request = request.clone();
                    async move { client.submit_job(request).await }
                };
                caller.call(ask).await?;
                done += 1;
            }
            anyhow::Ok(done)
        }
    };
    let tasks: Vec<_> = (0..connections).map(|number| tokio::spawn(one(number))).collect();
    let mut total = 0;
    for task in tasks {
        total += task.await??;
    }
    println!("{} submits/s over {connections} connections", total / u128::from(seconds));
    Ok(())
}
