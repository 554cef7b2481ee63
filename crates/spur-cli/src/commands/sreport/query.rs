//! What `sreport` is asked.

use spur_core::fields::render::Layout;
use spur_core::time::Timestamp;
use spur_core::time::moment::{self, Toward};
use spur_core::tools::sreport::TOOL;
use spur_core::tres;

use crate::commands::VERSION;
use crate::output::{complain, print};
use crate::zone;

const COMMANDS: &str = "\nValid <COMMAND> values are:\n     \
cluster <REPORT> [<OPTIONS>]      AccountUtilizationByUser, UserUtilizationByAccount,\n     \
                                  UserUtilizationByWckey, Utilization, WCKeyUtilizationByUser\n     \
job <REPORT> [<OPTIONS>]          SizesByAccount, SizesByAccountAndWckey, SizesByWckey\n     \
reservation <REPORT> [<OPTIONS>]  Utilization\n     \
user <REPORT> [<OPTIONS>]         TopUsage\n";

/// The reports there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Utilization,
    AccountsByUser,
    UsersByAccount,
    UsersByWckey,
    WckeysByUser,
    Sizes,
    SizesByWckey,
    SizesByAccountAndWckey,
    Reservations,
    TopUsers,
}

const REPORTS: &[(&str, &str, Kind)] = &[
    ("cluster", "accountutilizationbyuser", Kind::AccountsByUser),
    ("cluster", "accountutilizationbyqos", Kind::AccountsByUser),
    ("cluster", "userutilizationbyaccount", Kind::UsersByAccount),
    ("cluster", "userutilizationbywckey", Kind::UsersByWckey),
    ("cluster", "utilization", Kind::Utilization),
    ("cluster", "wckeyutilizationbyuser", Kind::WckeysByUser),
    ("job", "sizesbyaccountandwckey", Kind::SizesByAccountAndWckey),
    ("job", "sizesbyaccount", Kind::Sizes),
    ("job", "sizesbywckey", Kind::SizesByWckey),
    ("reservation", "utilization", Kind::Reservations),
    ("resv", "utilization", Kind::Reservations),
    ("user", "topusage", Kind::TopUsers),
];

/// In what amounts are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    Seconds,
    Minutes,
    Hours,
    Percent,
    SecondsAndPercent,
    MinutesAndPercent,
    HoursAndPercent,
}

/// What is asked for, and how to show it.
pub struct Query {
    pub kind: Kind,
    pub start: i64,
    pub end: i64,
    pub clusters: Vec<String>,
    pub all_clusters: bool,
    pub accounts: Vec<String>,
    pub users: Vec<String>,
    pub tres: Vec<String>,
    pub unit: Unit,
    pub layout: Layout,
    pub header: bool,
    /// `topcount=`
    pub top: usize,
    /// `group`: a user's accounts on one line.
    pub group: bool,
    /// `tree`: accounts indented.
    pub tree: bool,
    /// `grouping=`: where sizes begin.
    pub sizes: Vec<u64>,
    /// `format=`: the columns, each with its width behind a `%` if it has one.
    pub format: Vec<String>,
    /// `PrintJobCount`: jobs instead of their time.
    pub count_jobs: bool,
    /// `FlatView`: each account by itself.
    pub flat: bool,
    /// `gid=`
    pub gids: Vec<u32>,
    /// `wckeys=`
    pub wckeys: Vec<String>,
    /// `jobs=`, `nodes=`, `partitions=`: only what these used.
    pub jobs: Vec<u32>,
    pub nodes: Vec<String>,
    pub partitions: Vec<String>,
    /// `names=`: only these reservations.
    pub names: Vec<String>,
    /// The exit status where something was wrong that a report is made in spite of, as by Slurm.
    pub status: u8,
}

impl Query {
    /// Reads the words; the error is the exit status.
    pub fn read(args: &[String]) -> Result<Query, u8> {
        let words = crate::commands::read(&TOOL, args)?;
        let (start, end) = yesterday();
        let mut query = Query {
            kind: Kind::Utilization,
            start,
            end,
            clusters: Vec::new(),
            all_clusters: false,
            accounts: Vec::new(),
            users: Vec::new(),
            tres: vec!["cpu".to_string()],
            unit: Unit::Minutes,
            layout: Layout::Fixed,
            header: true,
            top: 10,
            group: false,
            tree: false,
            sizes: vec![0, 50, 250, 500, 1000],
            format: Vec::new(),
            count_jobs: false,
            flat: false,
            gids: Vec::new(),
            wckeys: Vec::new(),
            jobs: Vec::new(),
            nodes: Vec::new(),
            partitions: Vec::new(),
            names: Vec::new(),
            status: 0,
        };
        let parsable = |ends| Layout::Parsable { delimiter: "|".to_string(), ends };
        for (flag, value) in &words.options {
            match flag.long {
                "all_clusters" => query.all_clusters = true,
                "cluster" => query.clusters.extend(list(value)),
                "noheader" => query.header = false,
                "parsable" => query.layout = parsable(true),
                "parsable2" => query.layout = parsable(false),
                "t" => query.unit = unit(value).unwrap_or(query.unit),
                "tres" => query.tres = tres(value)?,
                "version" => {
                    print(&format!("{VERSION}\n"));
                    return Err(0);
                }
                "help" | "usage" => {
                    print(&(TOOL.help() + COMMANDS));
                    return Err(0);
                }
                _ => {}
            }
        }
        let mut rest = words.rest.iter().map(|word| word.to_lowercase());
        let Some(noun) = rest.next() else { return Err(0) };
        match noun.as_str() {
            "help" => {
                print(&(TOOL.help() + COMMANDS));
                return Err(0);
            }
            "version" => {
                print(&format!("{VERSION}\n"));
                return Err(0);
            }
            // They are for those who go on, of whom there is none here.
            "quit" | "exit" => return Err(0),
            _ => {}
        }
        let of_noun = |known: &str| noun.len() >= 2 && known.starts_with(&noun);
        if !REPORTS.iter().any(|(known, ..)| of_noun(known)) {
            eprintln!("invalid keyword: {noun}");
            return Err(1);
        }
        let Some(report) = rest.next() else {
            eprintln!("too few arguments for keyword:{noun}");
            return Err(1);
        };
        let of = || REPORTS.iter().filter(|(known, ..)| of_noun(known));
        let found = of()
            .find(|(_, name, _)| *name == report)
            .or_else(|| of().find(|(_, name, _)| name.starts_with(&report)));
        let Some((.., kind)) = found else {
            eprintln!("Not valid report {report}\nValid {noun} reports are, {}", valid(&noun));
            return Err(1);
        };
        query.kind = *kind;
        for word in &words.rest[2..] {
            query.option(word)?;
        }
        let of_sizes =
            matches!(kind, Kind::Sizes | Kind::SizesByWckey | Kind::SizesByAccountAndWckey);
        if of_sizes && (query.tres.len() != 1 || query.tres[0] == "all") {
            eprintln!(
                " Job report only supports a single --tres type.\n Generate a separate report for each TRES type."
            );
            return Err(1);
        }
        if query.kind == Kind::Utilization && query.tres.iter().any(|it| it == "node") {
            eprintln!(
                "sreport: fatal: TRES node usage is no longer reported in the Cluster Utilization \
                 report.  Please use TRES CPU instead."
            );
            return Err(1);
        }
        // Nothing is known of hours that have not begun.
        let known = zone::now().0 + (-zone::now().0).rem_euclid(3600);
        if query.start < known {
            query.end = query.end.min(known);
        }
        if query.end <= query.start {
            query.end = query.start + 3600;
        }
        Ok(query)
    }

    /// The time that is asked about.
    pub fn window(&self) -> (i64, i64) {
        (self.start, self.end)
    }

    /// Whether it tells what reservations left unused: of parts of a cluster it is not known.
    pub fn charges_reservations(&self) -> bool {
        let by_all = self.jobs.is_empty() && self.nodes.is_empty() && self.partitions.is_empty();
        let tells = matches!(
            self.kind,
            Kind::Utilization | Kind::AccountsByUser | Kind::UsersByAccount | Kind::TopUsers
        );
        by_all && tells
    }

    fn option(&mut self, word: &str) -> Result<(), u8> {
        let (name, value) = word.split_once('=').unwrap_or((word, ""));
        let name = name.to_lowercase();
        let is = |known: &str, shortest: usize| name.len() >= shortest && known.starts_with(&name);
        match () {
            () if is("start", 1) => self.start = time(value).unwrap_or(self.start),
            () if is("end", 1) => self.end = time(value).unwrap_or(self.end),
            () if is("clusters", 1) => self.clusters.extend(list(value)),
            () if is("accounts", 2) || name == "acct" => self.accounts.extend(list(value)),
            () if is("users", 1) => self.users.extend(list(value)),
            () if is("topcount", 3) => match value.parse() {
                Ok(top) => self.top = top,
                Err(_) => {
                    complain("sreport", format!("Invalid value for TopCount ({value})"));
                    self.status = 1;
                }
            },
            () if is("tree", 3) => self.tree = true,
            () if is("group", 5) => self.group = true,
            () if is("grouping", 6) => {
                let sizes = value.split(',').map(|size| size.trim().parse());
                let sizes = sizes.collect::<Result<Vec<u64>, _>>();
                let mut sizes = sizes.map_err(|_| {
                    complain("sreport", format!("Invalid value for Grouping ({value})"));
                    1
                })?;
                if sizes.first() != Some(&0) {
                    sizes.insert(0, 0);
                }
                self.sizes = sizes;
            }
            () if is("all_clusters", 3) => self.all_clusters = true,
            () if is("tres", 2) => self.tres = tres(value)?,
            () if is("format", 1) => self.format = list(value),
            () if is("printjobcount", 2) => self.count_jobs = true,
            () if is("flatview", 2) || is("flat_view", 5) => self.flat = true,
            () if is("acctastree", 3) => self.tree = true,
            () if is("gid", 2) => {
                self.gids.extend(list(value).iter().filter_map(|gid| gid.parse::<u32>().ok()));
            }
            () if is("wckeys", 1) => self.wckeys.extend(list(value)),
            () if is("names", 2) => self.names.extend(list(value)),
            () if is("jobs", 1) => {
                self.jobs.extend(list(value).iter().filter_map(|job| job.parse::<u32>().ok()));
            }
            () if is("nodes", 1) => {
                self.nodes.extend(spur_core::hostlist::expand(value).map_err(|_| 1)?);
            }
            () if is("partitions", 1) => self.partitions.extend(list(value)),
            () => {
                eprintln!(" Unknown condition: {word}\nUse keyword set to modify value");
                self.status = 1;
            }
        }
        Ok(())
    }
}

fn valid(noun: &str) -> &'static str {
    match noun.chars().next() {
        Some('c') => {
            "\"AccountUtilizationByUser\", \"UserUtilizationByAccount\", \
             \"UserUtilizationByWckey\", \"Utilization\", and \"WCKeyUtilizationByUser\""
        }
        Some('j') => "\"SizesByAccount, SizesByAccountAndWcKey, and  SizesByWckey\"",
        Some('r') => "\"Utilization\"",
        _ => "\"Top\"",
    }
}

/// Resources; those that nobody counts are left out, and there must be one.
fn tres(value: &str) -> Result<Vec<String>, u8> {
    let mut named = list(value);
    if named.iter().any(|name| name == "all") {
        return Ok(vec!["all".to_string()]);
    }
    named.retain(|name| tres::parse_name(name).is_ok());
    if named.is_empty() {
        eprintln!("sreport: fatal: No valid TRES given");
        return Err(1);
    }
    Ok(named)
}

fn list(value: &str) -> Vec<String> {
    value
        .split(',')
        .map(|word| word.trim().to_lowercase())
        .filter(|word| !word.is_empty())
        .collect()
}

/// Reports are by the hour: an hour that has begun is over. Slurm goes on without a time it cannot read.
fn time(value: &str) -> Option<i64> {
    match moment::parse(value, Toward::Past, zone::now(), &zone::Local) {
        Ok(at) => Some(at.0 + (-at.0).rem_euclid(3600)),
        Err(error @ moment::Error::Malformed { .. }) => {
            eprintln!("{error}");
            None
        }
        Err(_) => {
            eprintln!("Invalid time specification (pos=0): {value}");
            None
        }
    }
}

fn yesterday() -> (i64, i64) {
    let now = zone::now();
    let midnight = moment::parse("00:00:00", Toward::Past, now, &zone::Local);
    let end = midnight.unwrap_or(Timestamp(now.0 - now.0.rem_euclid(86_400))).0;
    (end - 86_400, end)
}

fn unit(value: &str) -> Result<Unit, u8> {
    let said = value.to_lowercase();
    let units = [
        ("secper", Unit::SecondsAndPercent),
        ("minper", Unit::MinutesAndPercent),
        ("hourper", Unit::HoursAndPercent),
        ("seconds", Unit::Seconds),
        ("minutes", Unit::Minutes),
        ("hours", Unit::Hours),
        ("percent", Unit::Percent),
    ];
    let exact = units.iter().find(|(name, _)| *name == said);
    let begins = || units.iter().find(|(name, _)| !said.is_empty() && name.starts_with(&said));
    // `sec` means seconds, not seconds with percent.
    let plain = || units[3..].iter().find(|(name, _)| !said.is_empty() && name.starts_with(&said));
    match exact.or_else(plain).or_else(begins) {
        Some((_, unit)) => Ok(*unit),
        None => {
            eprint!("unknown time format {value}");
            Err(1)
        }
    }
}
