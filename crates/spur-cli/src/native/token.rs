//! `spur token create`: lets machines in.

use clap::{Parser, Subcommand};
use spur_proto::slurm::CreateTokenRequest;
use spur_proto::slurm::controller_client::ControllerClient;

use crate::cluster;
use crate::output::{complain, print};

/// Makes tokens that let machines join the cluster.
#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Makes a token and prints it; whoever has it may join.
    Create {
        /// What the machine will be: compute, login, controller or dbd.
        #[arg(long, default_value = "compute")]
        role: String,
        /// How long the token is good for, as in 30m, 1h, 2d.
        #[arg(long, default_value = "1h", value_parser = lifetime)]
        ttl: u64,
        /// Print JSON.
        #[arg(long)]
        json: bool,
        /// How many machines may join with it.
        #[arg(long, default_value_t = 1)]
        uses: u32,
    },
}

/// Runs the command.
pub fn run(args: &[String]) -> u8 {
    let arguments: Arguments = match super::read("token", args) {
        Ok(arguments) => arguments,
        Err(status) => return status,
    };
    let Verb::Create { role, ttl, uses, json } = arguments.verb;
    let request_id = cluster::request_id();
    let request = CreateTokenRequest { role: role.clone(), lifetime_secs: ttl, uses, request_id };
    let ask = |mut client: ControllerClient<_>| {
        let request = request.clone();
        async move { client.create_token(request).await }
    };
    match cluster::block_on(cluster::caller().call(ask)) {
        Ok(reply) if json => {
            let told = serde_json::json!({
                "token": reply.token, "role": role, "lifetime_secs": ttl, "uses": uses,
            });
            print(&format!("{told}\n"));
            0
        }
        Ok(reply) => {
            print(&format!("{}\n", reply.token));
            0
        }
        Err(error) => {
            complain("spur token", error);
            1
        }
    }
}

/// `90`, `30m`, `1h`, `2d` in seconds.
pub fn lifetime(text: &str) -> Result<u64, String> {
    let split = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let unit = match unit {
        "" | "s" => 1,
        "m" => 60,
        "h" => 3600,
        "d" => 24 * 3600,
        _ => return Err("say it as in 30m, 1h, 2d".to_string()),
    };
    let number: u64 = number.parse().map_err(|_| "say it as in 30m, 1h, 2d".to_string())?;
    number.checked_mul(unit).ok_or_else(|| "that is too long".to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lifetimes_are_read_in_seconds_and_larger_units() {
        assert_eq!(lifetime("90"), Ok(90));
        assert_eq!(lifetime("30m"), Ok(1800));
        assert_eq!(lifetime("2d"), Ok(172_800));
        for odd in ["", "h", "1w", "99999999999999999999", "18446744073709551615d"] {
            assert!(lifetime(odd).is_err(), "{odd}");
        }
    }
}
