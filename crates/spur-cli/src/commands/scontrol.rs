//! `scontrol`: shows and changes the cluster. So far: host lists, `ping` and `version`.

use spur_core::getopt::{Flag, flag};
use spur_core::hostlist;
use spur_proto::slurm::PingRequest;

use crate::cluster;
use crate::output::{complain, print};

const FLAGS: &[Flag] = &[
    flag("all", Some('a')),
    flag("details", Some('d')),
    flag("oneliner", Some('o')),
    flag("quiet", Some('Q')),
    flag("verbose", Some('v')),
    flag("version", Some('V')),
    flag("help", Some('h')),
];

const USAGE: &str = "Usage: scontrol [OPTION …] show hostnames [LIST] | show hostlist LIST | \
show hostlistsorted LIST | ping | version\n";

/// Keywords of Slurm's scontrol that have no effect here yet.
const LATER: &[&str] = &[
    "abort",
    "cancel_reboot",
    "cluster",
    "completing",
    "create",
    "delete",
    "hold",
    "holdu",
    "uhold",
    "listpids",
    "notify",
    "pidinfo",
    "reboot",
    "reconfigure",
    "release",
    "requeue",
    "requeuehold",
    "resume",
    "schedloglevel",
    "setdebug",
    "setdebugflags",
    "shutdown",
    "suspend",
    "takeover",
    "token",
    "top",
    "update",
    "wait_job",
    "write",
];

/// Runs the command.
pub fn run(args: &[String]) -> u8 {
    let words = match super::read("scontrol", FLAGS, args) {
        Ok(words) => words,
        Err(status) => return status,
    };
    if words.options.iter().any(|(flag, _)| flag.long == "version") {
        return version();
    }
    if words.options.iter().any(|(flag, _)| flag.long == "help") {
        print(USAGE);
        return 0;
    }
    let rest: Vec<&str> = words.rest.iter().map(String::as_str).collect();
    match rest[..] {
        ["show", entity, ref arguments @ ..] => show(entity, arguments),
        ["version"] => version(),
        ["ping"] => ping(),
        [keyword, ..] if keyword == "show" || LATER.contains(&keyword) => later(keyword),
        [keyword, ..] => {
            eprintln!("invalid keyword: {keyword}");
            1
        }
        [] => {
            eprint!("{USAGE}");
            1
        }
    }
}

fn version() -> u8 {
    print(&format!("{}\n", super::VERSION));
    0
}

fn later(what: &str) -> u8 {
    complain("scontrol", format!("\"{what}\" is not available in this release"));
    1
}

fn show(entity: &str, arguments: &[&str]) -> u8 {
    // The shortest beginnings that Slurm takes.
    let is = |name: &str, least: usize| entity.len() >= least && name.starts_with(entity);
    if arguments.len() > 1 {
        eprintln!("too many arguments for keyword:show");
        return 1;
    }
    let list = arguments.first().copied();
    if is("hostnames", "hostn".len()) {
        return names(list);
    }
    if is("hostlist", "hostl".len()) {
        return encoded(list, |list| hostlist::parse(list).map(|hosts| hosts.to_string()));
    }
    if is("hostlistsorted", "hostlists".len()) {
        return encoded(list, hostlist::sorted);
    }
    if ENTITIES.iter().any(|name| name.starts_with(entity)) {
        return later(&format!("show {entity}"));
    }
    eprintln!("invalid entity:{entity} for keyword:show ");
    1
}

/// What real scontrol can show beside host lists.
const ENTITIES: &[&str] = &[
    "aliases",
    "assoc_mgr",
    "bbstat",
    "burstbuffer",
    "config",
    "daemons",
    "dwstat",
    "federation",
    "frontend",
    "job",
    "licenses",
    "node",
    "partition",
    "reservation",
    "slurmd",
    "step",
    "topology",
];

/// One name a line; without a list, the nodes of the job this runs in.
fn names(list: Option<&str>) -> u8 {
    let list = list.map(str::to_string).or_else(|| std::env::var("SLURM_JOB_NODELIST").ok());
    let Some(list) = list else {
        complain("scontrol", "host list is empty");
        return 0;
    };
    match hostlist::parse(&list) {
        Ok(hosts) => {
            print(&hosts.names().map(|name| name + "\n").collect::<String>());
            0
        }
        Err(error) => refuse(&list, &error),
    }
}

fn encoded(list: Option<&str>, encode: impl Fn(&str) -> Result<String, hostlist::Error>) -> u8 {
    let Some(list) = list else {
        eprintln!("invalid encode argument");
        eprint!("{USAGE}");
        return 1;
    };
    // A path names a file with one list, or one host a line.
    let text = match list.starts_with('/') {
        true => std::fs::read_to_string(list).map(|text| text.trim_end().replace('\n', ",")),
        false => Ok(list.to_string()),
    };
    let text = match text {
        Ok(text) => text,
        Err(error) => {
            complain("scontrol", format!("could not read {list}: {error}"));
            return 1;
        }
    };
    match encode(&text) {
        Ok(encoded) => {
            print(&format!("{encoded}\n"));
            0
        }
        Err(error) => refuse(&text, &error),
    }
}

fn refuse(list: &str, error: &hostlist::Error) -> u8 {
    if let Some(line) = error.logged() {
        complain("scontrol", line);
    }
    eprintln!("Invalid hostlist: {list}");
    1
}

fn ping() -> u8 {
    let mut caller = cluster::caller();
    let ask = |mut client: spur_proto::slurm::controller_client::ControllerClient<_>| async move {
        client.ping(PingRequest {}).await
    };
    let host = nix::unistd::gethostname().map(|name| name.to_string_lossy().into_owned());
    let up = cluster::block_on(caller.call(ask)).is_ok();
    let state = if up { "UP" } else { "DOWN" };
    print(&format!("Slurmctld(primary) at {} is {state}\n", host.unwrap_or_default()));
    u8::from(!up)
}
