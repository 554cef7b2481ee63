//! What the daemon goes by, in the words and the order of `sacctmgr show config`.

use spur_core::config::words::Private;

use crate::serve::Options;

/// `key=value`, one a line. `BOOT_TIME` is in seconds since the epoch.
pub fn told(options: &Options, booted: i64) -> Vec<String> {
    let keep = &options.keep;
    let archived = |age: Option<i64>| yes(keep.archive.is_some() && age.is_some());
    let archive = keep.archive.as_ref().map(|dir| dir.display().to_string());
    let host = nix::unistd::gethostname().ok().and_then(|name| name.into_string().ok());
    let (address, port) = (options.socket.display().to_string(), "N/A".to_string());
    let private: Vec<&str> = options.private.iter().map(|word: &Private| word.word()).collect();
    let rows = [
        ("ArchiveDir", archive.unwrap_or_else(|| "(null)".to_string())),
        ("ArchiveEvents", archived(keep.events)),
        ("ArchiveJobs", archived(keep.jobs)),
        ("ArchiveSteps", archived(keep.steps)),
        ("ArchiveTXN", archived(keep.transactions)),
        ("ArchiveUsage", archived(keep.usage)),
        ("BOOT_TIME", booted.to_string()),
        ("DbdAddr", address),
        ("DbdHost", host.unwrap_or_default()),
        ("DbdPort", port),
        ("MaxQueryTimeRange", options.max_span.map_or("UNLIMITED".to_string(), days)),
        ("PrivateData", if private.is_empty() { "none".to_string() } else { private.join(",") }),
        ("PurgeEventAfter", after(keep.events)),
        ("PurgeJobAfter", after(keep.jobs)),
        ("PurgeStepAfter", after(keep.steps)),
        ("PurgeTXNAfter", after(keep.transactions)),
        ("PurgeUsageAfter", after(keep.usage)),
        ("SLURMDBD_VERSION", env!("CARGO_PKG_VERSION").to_string()),
        ("StorageType", options.database.engine().to_string()),
    ];
    rows.into_iter().map(|(key, value)| format!("{key}={value}")).collect()
}

fn yes(is: bool) -> String {
    if is { "Yes" } else { "No" }.to_string()
}

fn after(age: Option<i64>) -> String {
    age.map_or("NONE".to_string(), days)
}

fn days(secs: i64) -> String {
    match secs % 86_400 {
        0 => format!("{} days", secs / 86_400),
        _ => format!("{} hours", secs / 3600),
    }
}
