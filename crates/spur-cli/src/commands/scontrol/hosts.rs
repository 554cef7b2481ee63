//! `scontrol show hostnames | hostlist | hostlistsorted`: needs no controller.

use spur_core::hostlist::{self, Hostlist};

use crate::output::{complain, print};

/// One name a line; without a list, the nodes of the job this runs in.
pub fn names(list: Option<&str>) -> u8 {
    let variables = ["SLURM_JOB_NODELIST", "SLURM_NODELIST"];
    let job = || variables.iter().find_map(|name| std::env::var(name).ok());
    let list = list.map(str::to_string).or_else(job);
    let Some(list) = list else {
        complain("scontrol", "host list is empty");
        return 0;
    };
    match hostlist::parse(&list) {
        Ok(hosts) => {
            hosts.skipped().iter().for_each(complain_of);
            print(&hosts.names().map(|name| name + "\n").collect::<String>());
            0
        }
        Err(error) => {
            refuse(&list, &error);
            // Slurm calls this a success.
            0
        }
    }
}

/// The names as they stand, made shorter.
pub fn list(list: Option<&str>) -> u8 {
    encoded(list, hostlist::parse)
}

/// The same in order.
pub fn sorted(list: Option<&str>) -> u8 {
    encoded(list, hostlist::sorted)
}

fn encoded(list: Option<&str>, encode: fn(&str) -> Result<Hostlist, hostlist::Error>) -> u8 {
    let Some(list) = list else {
        eprintln!("invalid encode argument");
        print(&super::help());
        return 1;
    };
    // A path names a file with one list, or one host a line.
    let text = match list.starts_with('/') {
        true => std::fs::read_to_string(list).map(|text| text.trim_end().replace('\n', ",")),
        false => Ok(list.to_string()),
    };
    let text = match text {
        Ok(text) => text,
        Err(_) => {
            eprintln!("Can not open {list}");
            return 1;
        }
    };
    match encode(&text) {
        Ok(encoded) => {
            encoded.skipped().iter().for_each(complain_of);
            print(&format!("{encoded}\n"));
            0
        }
        Err(error) => refuse(&text, &error),
    }
}

fn refuse(list: &str, error: &hostlist::Error) -> u8 {
    complain_of(error);
    eprintln!("Invalid hostlist: {list}");
    1
}

fn complain_of(error: &hostlist::Error) {
    if let Some(line) = error.logged() {
        complain("scontrol", line);
    }
}
