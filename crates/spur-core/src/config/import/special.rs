//! Keys of Slurm that are said differently here.

use super::carry::{Import, by_slurm_name, origin};
use super::lines::Record;
use super::written::{Origin, Part};
use super::{Outcome, left_out};
use crate::config::amounts::{Minutes, Seconds};
use crate::config::things::ControllerHost;
use crate::config::values::{Setting, quote, split_list};
use crate::config::words::Consume;
use crate::limit::Limit;

/// Handles a key of slurm.conf that is no row; whether it did.
pub(super) fn handle(import: &mut Import<'_>, origin: &Origin) -> bool {
    let value = origin.value.as_str();
    match origin.key.to_ascii_lowercase().as_str() {
        // Gathered from all lines at the end.
        "slurmctldhost" | "controlmachine" | "controladdr" | "backupcontroller" | "backupaddr" => {}
        "slurmctldport" => match value.split('-').next().unwrap_or(value).parse::<u16>() {
            Ok(port) => {
                set(import, "controller", "listen_addr", quote(&format!("[::]:{port}")), origin)
            }
            Err(_) => import.note(origin, Outcome::Lost, "expected a port"),
        },
        "slurmdport" => match value.parse::<u16>() {
            Ok(port) => set(import, "agent", "listen_addr", quote(&format!("[::]:{port}")), origin),
            Err(_) => import.note(origin, Outcome::Lost, "expected a port"),
        },
        "prioritydecayhalflife" => match Minutes::from_slurm(value) {
            Ok(Minutes(Limit::Is(minutes))) => {
                let days = (minutes as f64 / 1_440.0).toml();
                set(import, "scheduler", "fairshare_halflife_days", days, origin);
            }
            _ => import.note(origin, Outcome::Lost, "expected a span, as 7-0"),
        },
        "selecttype" if value.eq_ignore_ascii_case("select/linear") => {
            set(import, "scheduler", "consume", Consume::Node.toml(), origin);
        }
        "selecttype" => {
            import.note(origin, Outcome::NotNeeded, "resources are always given one by one");
        }
        "selecttypeparameters" => select(import, origin),
        "jobacctgatherfrequency" => {
            let task = split_list(value).into_iter().find_map(|part| {
                part.strip_prefix("task=").or((!part.contains('=')).then_some(part))
            });
            match task.map(Seconds::from_slurm) {
                Some(Ok(seconds)) => {
                    set(import, "accounting", "sample_interval", seconds.toml(), origin);
                }
                _ => import.note(origin, Outcome::Lost, "only the interval of tasks is known"),
            }
        }
        "jobdefaults" => {
            for (key, value) in split_list(value).iter().filter_map(|part| part.split_once('=')) {
                let one = Origin { key: key.into(), value: value.into(), ..origin.clone() };
                let row = by_slurm_name(import.document.once("jobs").table, key);
                match row {
                    Some(row) => import.set_once("jobs", row, &one),
                    None => import.leave_out(&one, left_out::SLURM),
                }
            }
        }
        "authaltparameters" => match value.strip_prefix("jwt_key=") {
            Some(path) => set(import, "rest", "jwt_key", quote(path), origin),
            None => import.note(origin, Outcome::NotNeeded, left_out::IDENTITY),
        },
        "authinfo" => {
            for part in split_list(value) {
                let one = Origin { value: part.into(), ..origin.clone() };
                // Slurm's manual: it also says how long a requeued job waits.
                match part.strip_prefix("cred_expire=").map(Seconds::from_slurm) {
                    Some(Ok(secs)) => set(import, "jobs", "requeue_delay", secs.toml(), &one),
                    _ => import.note(&one, Outcome::NotNeeded, left_out::IDENTITY),
                }
            }
        }
        "slurmdparameters" => {
            for part in split_list(value) {
                let reason = match part {
                    // Gathered at the end, for every node.
                    "config_overrides" => "nodes are marked as trial nodes",
                    _ => "no such switch",
                };
                let one = Origin { value: part.into(), ..origin.clone() };
                let changed = part == "config_overrides";
                let outcome = if changed { Outcome::Changed } else { Outcome::Lost };
                import.note(&one, outcome, reason);
            }
        }
        "schedulerparameters" => {
            for part in split_list(value) {
                let one = Origin { value: part.into(), ..origin.clone() };
                let tuning = ["bf_", "sched_", "default_queue_depth", "defer", "max_rpc_cnt"];
                if tuning.iter().any(|prefix| part.starts_with(prefix)) {
                    import.note(&one, Outcome::NotNeeded, "every pass looks at all pending jobs");
                } else {
                    import.note(&one, Outcome::Lost, "no such switch");
                }
            }
        }
        // Put together at the end.
        "accountingstoragehost" | "accountingstorageport" | "dbdhost" => {}
        "dbdport" => match value.parse::<u16>() {
            Ok(port) => {
                let listen = quote(&format!("[::]:{port}"));
                set(import, "accounting", "listen_addr", listen, origin);
            }
            Err(_) => import.note(origin, Outcome::Lost, "expected a port"),
        },
        "priorityflags" => {
            let (tree, others): (Vec<&str>, Vec<&str>) = split_list(value)
                .into_iter()
                .partition(|flag| flag.eq_ignore_ascii_case("FAIR_TREE"));
            if let [tree, ..] = tree.as_slice() {
                let one = Origin { value: tree.to_string(), ..origin.clone() };
                import.note(&one, Outcome::NotNeeded, "fair-share goes by the tree anyway");
            }
            let row = import.document.once("priority").table.key("flags");
            if let Some(row) = row.filter(|_| !others.is_empty()) {
                let rest = Origin { value: others.join(","), ..origin.clone() };
                import.set_once("priority", row, &rest);
            }
        }
        _ => return false,
    }
    true
}

fn set(import: &mut Import<'_>, section: &str, key: &'static str, toml: String, origin: &Origin) {
    import.document.once(section).set(key, toml, origin);
}

fn select(import: &mut Import<'_>, origin: &Origin) {
    for part in split_list(&origin.value) {
        let one = Origin { value: part.into(), ..origin.clone() };
        if let Ok(consume) = Consume::from_slurm(part) {
            set(import, "scheduler", "consume", consume.toml(), &one);
        } else if part.eq_ignore_ascii_case("CR_LLN") {
            set(import, "scheduler", "least_loaded", true.toml(), &one);
        } else if part.eq_ignore_ascii_case("CR_Pack_Nodes") {
            set(import, "scheduler", "pack_nodes", true.toml(), &one);
        } else {
            import.note(&one, Outcome::Lost, "no such switch");
        }
    }
}

/// Handles a key of a node or partition that is no row; whether it did.
pub(super) fn on_a_line(import: &mut Import<'_>, part: &mut Part, origin: &Origin) -> bool {
    match (part.table.name, origin.key.to_ascii_lowercase().as_str()) {
        ("partitions", "priority") => {
            for key in ["priority_tier", "priority_job_factor"] {
                if let Some(row) = part.table.key(key)
                    && let Some(toml) = import.convert(row, origin)
                {
                    part.set(row.name, toml, origin);
                }
            }
            import.note(origin, Outcome::Changed, "said as PriorityTier and PriorityJobFactor");
        }
        ("partitions", "jobdefaults") => {
            for (key, value) in split_list(&origin.value).iter().filter_map(|it| it.split_once('='))
            {
                let one = Origin { key: key.into(), value: value.into(), ..origin.clone() };
                import.set(part, &one, left_out::LINES);
            }
        }
        _ => return false,
    }
    true
}

/// The controllers, from Slurm's present and former ways to name them.
pub(super) fn controllers(import: &mut Import<'_>, records: &[Record]) {
    let mut hosts: Vec<ControllerHost> = Vec::new();
    let mut first: Option<Origin> = None;
    for (record, pair) in records.iter().flat_map(|it| it.pairs.iter().map(move |pair| (it, pair)))
    {
        let origin = origin(record, pair);
        match pair.key.to_ascii_lowercase().as_str() {
            "slurmctldhost" | "controlmachine" | "backupcontroller" => {
                match ControllerHost::from_slurm(&pair.value) {
                    Ok(host) => hosts.push(host),
                    Err(what) => import.note(&origin, Outcome::Lost, what),
                }
                first.get_or_insert(origin);
            }
            "controladdr" | "backupaddr" => {
                if let Some(host) = hosts.last_mut() {
                    host.address = Some(pair.value.clone());
                }
            }
            _ => {}
        }
    }
    let Some(origin) = first else { return };
    if hosts.len() > 1 {
        let reason =
            "each controller keeps its own copy of the state; three survive the loss of one";
        import.note(&origin, Outcome::Changed, reason);
    }
    if !hosts.is_empty() {
        set(import, "controller", "hosts", hosts.toml(), &origin);
    }
}

/// What Slurm does unless told, where Spur does something else.
pub(super) fn defaults(import: &mut Import<'_>, records: &[Record]) {
    let pairs = || records.iter().flat_map(|record| &record.pairs);
    let said = |key: &str| pairs().any(|pair| pair.key.eq_ignore_ascii_case(key));
    let file = records.first().map(|record| record.file.clone()).unwrap_or_default();
    let whole = Origin { file, ..Origin::default() };
    if !said("ReturnToService") {
        set(import, "controller", "return_to_service", quote("never"), &whole);
    }
    if !["DefMemPerCPU", "DefMemPerNode", "DefMemPerGPU"].into_iter().any(said) {
        let reason = "a job that asks for no memory gets its share by CPU here, all of the node in \
                      Slurm; def_mem_per_node = 0 in [jobs] keeps Slurm's way";
        import.note(&whole, Outcome::Changed, reason);
    }
    let overrides = pairs().any(|pair| {
        pair.key.eq_ignore_ascii_case("SlurmdParameters") && pair.value.contains("config_overrides")
    });
    let parts = &mut import.document.parts;
    if overrides {
        for node in parts.iter_mut().filter(|part| part.table.name == "nodes") {
            node.set("trial", true.toml(), &whole);
        }
    }
    // Here a partition that is alone is the default.
    let mut partitions = parts.iter_mut().filter(|part| part.table.name == "partitions");
    if let (Some(alone), None) = (partitions.next(), partitions.next())
        && !alone.has("default")
    {
        alone.set("default", false.toml(), &whole);
    }
}

/// Where accounting is found: slurm.conf says it to clients, slurmdbd.conf to the daemon.
pub(super) fn accounting_address(import: &mut Import<'_>, main: &[Record], daemon: &[Record]) {
    let find = |records: &[Record], key: &str| {
        let mut pairs = records.iter().flat_map(|it| it.pairs.iter().map(move |pair| (it, pair)));
        let found = pairs.rfind(|(_, pair)| pair.key.eq_ignore_ascii_case(key));
        found.map(|(record, pair)| origin(record, pair))
    };
    let host = find(main, "AccountingStorageHost").or_else(|| find(daemon, "DbdHost"));
    let port = find(main, "AccountingStoragePort").or_else(|| find(daemon, "DbdPort"));
    let Some(from) = host.clone().or(port.clone()) else { return };
    let host = host.map_or("localhost".to_string(), |host| host.value);
    let port = port.and_then(|port| port.value.parse::<u16>().ok()).unwrap_or(6819);
    set(import, "accounting", "address", quote(&format!("http://{host}:{port}")), &from);
}
