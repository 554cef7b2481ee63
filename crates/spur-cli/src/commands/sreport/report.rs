//! Reports: sums in, tables out.

use std::collections::{BTreeMap, BTreeSet};

use spur_core::time::{Timestamp, display};
use spur_core::tres;
use spur_core::views::{EventView, UsageView};

use super::Facts;
use super::idle::{self, Counts};
use super::query::{Kind, Query, Unit};
use crate::zone;

/// What is printed.
pub struct Report {
    pub title: String,
    pub unit: String,
    pub table: Table,
}

/// Columns with their widths, and rows.
#[derive(Default)]
pub struct Table {
    pub columns: Vec<(&'static str, usize)>,
    pub rows: Vec<Vec<String>>,
    /// How many columns at the end are there whatever is asked for.
    pub fixed: usize,
}

/// Makes the report that is asked for.
pub fn make(query: &Query, facts: &Facts) -> Report {
    let (name, table) = match query.kind {
        Kind::Utilization => ("Cluster Utilization".to_string(), utilization(query, facts)),
        Kind::AccountsByUser => {
            ("Cluster/Account/User Utilization".to_string(), accounts_by_user(query, facts))
        }
        Kind::UsersByAccount => {
            ("Cluster/User/Account Utilization".to_string(), users_by_account(query, facts))
        }
        Kind::UsersByWckey => {
            ("Cluster/User/WCKey Utilization".to_string(), by_wckey(query, facts, true))
        }
        Kind::WckeysByUser => {
            ("Cluster/WCKey/User Utilization".to_string(), by_wckey(query, facts, false))
        }
        Kind::Sizes => {
            let by = |it: &UsageView| match query.flat {
                true => it.account.clone(),
                false => top_of(query, facts, it),
            };
            ("Job Sizes".to_string(), sizes(query, facts, by))
        }
        Kind::SizesByWckey => {
            ("Job Sizes by Wckey".to_string(), sizes(query, facts, |it| it.wckey.clone()))
        }
        Kind::SizesByAccountAndWckey => {
            let by = |it: &UsageView| format!("{}:{}", it.account, it.wckey);
            ("Job Sizes".to_string(), sizes(query, facts, by))
        }
        Kind::Reservations => ("Reservation Utilization".to_string(), reservations(query, facts)),
        Kind::TopUsers => (format!("Top {} Users", query.top), top_users(query, facts)),
    };
    let show = |at: i64| display::moment(Timestamp(at), &zone::Local);
    let length = match query.kind {
        Kind::Utilization | Kind::Reservations => String::new(),
        _ => format!(" ({} secs)", query.end - query.start),
    };
    let title = format!("{name} {} - {}{length}", show(query.start), show(query.end - 1));
    let of = match query.tres.as_slice() {
        _ if query.unit == Unit::Percent => "",
        [only] if only == "cpu" && query.kind != Kind::Reservations => "CPU ",
        _ => "TRES ",
    };
    let other = query.tres.first().filter(|tres| *tres != "cpu");
    let of_sizes = other.map_or_else(String::new, |tres| format!("TRES type is {tres}\n"));
    let unit = match query.kind {
        Kind::Sizes | Kind::SizesByWckey | Kind::SizesByAccountAndWckey if query.count_jobs => {
            format!("{of_sizes}Units are in number of jobs ran")
        }
        Kind::Sizes | Kind::SizesByWckey | Kind::SizesByAccountAndWckey => {
            format!("{of_sizes}Time reported in {}", unit_name(query.unit))
        }
        _ => format!("Usage reported in {of}{}", unit_name(query.unit)),
    };
    Report { title, unit, table }
}

fn unit_name(unit: Unit) -> &'static str {
    match unit {
        Unit::Seconds => "Seconds",
        Unit::Minutes => "Minutes",
        Unit::Hours => "Hours",
        Unit::Percent => "Percentage of Total",
        Unit::SecondsAndPercent => "Seconds/Percentage of Total",
        Unit::MinutesAndPercent => "Minutes/Percentage of Total",
        Unit::HoursAndPercent => "Hours/Percentage of Total",
    }
}

/// Writes seconds of something, as a part of all where asked for.
fn amount(query: &Query, seconds: u64, all: u64) -> String {
    let percent = || match all {
        0 => "0.00%".to_string(),
        all => format!("{:.2}%", seconds as f64 * 100.0 / all as f64),
    };
    // To the nearest whole one.
    let minutes = (seconds + 30) / 60;
    let hours = (seconds + 1800) / 3600;
    match query.unit {
        Unit::Seconds => seconds.to_string(),
        Unit::Minutes => minutes.to_string(),
        Unit::Hours => hours.to_string(),
        Unit::Percent => percent(),
        Unit::SecondsAndPercent => format!("{seconds}({})", percent()),
        Unit::MinutesAndPercent => format!("{minutes}({})", percent()),
        Unit::HoursAndPercent => format!("{hours}({})", percent()),
    }
}

pub(super) fn used(row: &UsageView, tres: &str) -> u64 {
    row.seconds.iter().filter(|it| it.name == tres).map(|it| it.seconds).sum()
}

pub(super) fn amount_of(tres_list: &str, tres: &str) -> u64 {
    let all = tres::read(tres_list);
    let found = all.iter().find(|(name, _)| name.to_string() == tres);
    found.and_then(|(_, amount)| *amount).unwrap_or(0)
}

/// Seconds of an event that are within a time.
pub(super) fn overlap(event: &EventView, (start, end): (i64, i64)) -> u64 {
    let until = if event.end_time > 0 { event.end_time } else { zone::now().0 };
    (until.min(end) - event.start_time.max(start)).max(0) as u64
}

/// What a cluster had over the time.
fn total(query: &Query, facts: &Facts, cluster: &str, tres: &str) -> u64 {
    let own = facts.events.iter().filter(|it| it.node.is_empty() && it.cluster == cluster);
    own.map(|it| amount_of(&it.tres, tres) * overlap(it, query.window())).sum()
}

/// What a cluster could have had, as large as it was at the end, over all of the time.
fn possible(query: &Query, facts: &Facts, cluster: &str, tres: &str) -> u64 {
    let own = facts.events.iter().filter(|it| it.node.is_empty() && it.cluster == cluster);
    let last = own.max_by_key(|it| it.start_time);
    let length = (query.end - query.start).max(0) as u64;
    last.map_or(0, |it| amount_of(&it.tres, tres) * length)
}

fn clusters(facts: &Facts) -> BTreeSet<String> {
    let known = facts.events.iter().map(|it| it.cluster.clone());
    known.chain(facts.usage.iter().map(|it| it.cluster.clone())).collect()
}

/// Whether each line names its resource.
fn names_tres(query: &Query) -> bool {
    query.tres.len() != 1
        || query.tres[0] != "cpu"
        || query.format.iter().any(|word| word.starts_with("tres"))
}

/// Amounts with percents want room.
fn amount_width(query: &Query) -> usize {
    match query.unit {
        Unit::SecondsAndPercent | Unit::MinutesAndPercent | Unit::HoursAndPercent => 17,
        _ => 8,
    }
}

/// Names the resource before this place; energy has a line of its own then.
fn with_tres(query: &Query, columns: &mut Vec<(&'static str, usize)>, place: usize) {
    for (name, width) in columns.iter_mut() {
        let is_amount = !["Cluster", "Account", "Login", "Proper Name", "WCKey"].contains(name);
        if is_amount {
            *width = amount_width(query);
        }
    }
    if names_tres(query) {
        columns.retain(|(name, _)| *name != "Energy");
        columns.insert(place, ("TRES Name", 14));
    }
}

fn tres_cell(query: &Query, row: &mut Vec<String>, place: usize, tres: &str) {
    if names_tres(query) {
        // Only tables of users have their energy behind what they used.
        if row.len() == place + 2 {
            row.pop();
        }
        row.insert(place, tres.to_string());
    }
}

fn utilization(query: &Query, facts: &Facts) -> Table {
    let mut columns = vec![
        ("Cluster", 9),
        ("Allocated", 8),
        ("Down", 8),
        ("PLND Down", 8),
        ("Idle", 8),
        ("Planned", 8),
        ("Reported", 8),
    ];
    with_tres(query, &mut columns, 1);
    let mut rows = Vec::new();
    for cluster in clusters(facts) {
        for tres in &query.tres {
            let all = total(query, facts, &cluster, tres);
            // Of everything, what is always counted is told also where there is none.
            let always = ["energy", "fs/disk", "vmem", "pages"].contains(&tres.as_str());
            if all == 0 && !(always && query.tres.len() > 1) {
                continue;
            }
            let of = || facts.usage.iter().filter(|it| it.cluster == cluster);
            // Reservations keep processors, and are as good as jobs on them.
            let kept = |how: Counts| -> u64 {
                let own = facts.reservations.iter().filter(|(it, _)| {
                    tres == "cpu" && it.cluster == cluster && idle::counts(it) == how
                });
                let window = (query.start, query.end.min(zone::now().0));
                own.map(|(it, usage)| idle::unused(it, usage, window)).sum()
            };
            let by_jobs: u64 = of().map(|it| used(it, tres)).sum();
            let allocated = (by_jobs + kept(Counts::Allocated)).min(all);
            // A node that drains is down to those who wait for it.
            let nodes =
                facts.events.iter().filter(|it| it.cluster == cluster && !it.node.is_empty());
            let down: u64 =
                nodes.map(|it| amount_of(&it.tres, tres) * overlap(it, query.window())).sum();
            let down = down.min(all - allocated);
            let planned_down = kept(Counts::PlannedDown).min(all - allocated - down);
            let waited: u64 = of().map(|it| it.planned_cpu_seconds).sum();
            let planned =
                if tres == "cpu" { waited.min(all - allocated - down - planned_down) } else { 0 };
            let idle = all - allocated - down - planned_down - planned;
            let cells = [allocated, down, planned_down, idle, planned, all];
            let mut row = vec![cluster.clone()];
            row.extend(cells[..5].iter().map(|seconds| amount(query, *seconds, all)));
            // What is reported is a part of the whole time.
            row.push(amount(query, all, possible(query, facts, &cluster, tres)));
            tres_cell(query, &mut row, 1, tres);
            rows.push(row);
        }
    }
    Table { columns, rows, fixed: 0 }
}

fn is_wanted(query: &Query, row: &UsageView) -> bool {
    let is = |list: &[String], word: &String| list.is_empty() || list.contains(word);
    is(&query.accounts, &row.account) && is_theirs(query, row)
}

/// Whether a row is wanted, whatever its account.
fn is_theirs(query: &Query, row: &UsageView) -> bool {
    let is = |list: &[String], word: &String| list.is_empty() || list.contains(word);
    is(&query.users, &row.user_name)
        && is(&query.wckeys, &row.wckey)
        && (query.gids.is_empty() || query.gids.contains(&row.gid))
}

/// Whether a row is wanted where accounts stand for what is below them, too.
fn is_below(query: &Query, facts: &Facts, row: &UsageView) -> bool {
    is_theirs(query, row) && is_in(query, facts, &row.cluster, &row.account)
}

/// Whether an account is one of those that are asked for, or below one.
fn is_in(query: &Query, facts: &Facts, cluster: &str, account: &str) -> bool {
    let line = || facts.rules.lineage(cluster, account);
    query.accounts.is_empty()
        || query.accounts.iter().any(|name| name == account)
        || line().iter().any(|above| query.accounts.contains(&above.account))
}

fn accounts_by_user(query: &Query, facts: &Facts) -> Table {
    let mut columns = vec![
        ("Cluster", 9),
        ("Account", 15),
        ("Login", 9),
        ("Proper Name", 15),
        ("Used", 8),
        ("Energy", 8),
    ];
    with_tres(query, &mut columns, 4);
    // By what they are about, and then by resource.
    let mut rows = Vec::new();
    for cluster in clusters(facts) {
        for (number, tres) in query.tres.iter().enumerate() {
            let all = total(query, facts, &cluster, tres);
            let mut own: BTreeMap<(String, String), u64> = BTreeMap::new();
            let mine = |it: &&UsageView| it.cluster == cluster && is_below(query, facts, it);
            for row in facts.charged().filter(mine) {
                let key = (row.account.clone(), row.user_name.clone());
                *own.entry(key).or_default() += used(row, tres);
            }
            let mut tree = facts.rules.tree(&cluster);
            tree.retain(|(one, _)| is_in(query, facts, &cluster, &one.account));
            let top = tree.iter().map(|(_, depth)| *depth).min().unwrap_or(0);
            for (place, (one, depth)) in tree.iter().enumerate() {
                // Who asks for users asks for nothing else.
                if one.user_name.is_empty() && !query.users.is_empty() {
                    continue;
                }
                let below = |account: &str| {
                    facts
                        .rules
                        .lineage(&cluster, account)
                        .iter()
                        .any(|it| it.account == one.account)
                };
                let seconds: u64 = match one.user_name.is_empty() {
                    true => own.iter().filter(|((name, _), _)| below(name)).map(|(_, it)| it).sum(),
                    false => {
                        own.get(&(one.account.clone(), one.user_name.clone())).copied().unwrap_or(0)
                    }
                };
                // Whoever did nothing at all has no line.
                let did = |((account, user), _): (&(String, String), &u64)| match &one.user_name {
                    name if name.is_empty() => below(account),
                    name => *account == one.account && user == name,
                };
                if !own.iter().any(did) {
                    continue;
                }
                let indent = if query.tree { " ".repeat(depth - top) } else { String::new() };
                let mut row = vec![
                    cluster.clone(),
                    format!("{indent}{}", one.account),
                    one.user_name.clone(),
                    proper_name(&one.user_name),
                    amount(query, seconds, all),
                    amount(query, 0, all),
                ];
                tres_cell(query, &mut row, 4, tres);
                rows.push(((cluster.clone(), place, number), row));
            }
        }
    }
    rows.sort_by(|(one, _), (other, _)| one.cmp(other));
    Table { columns, rows: rows.into_iter().map(|(_, row)| row).collect(), fixed: 0 }
}

fn user_columns(query: &Query) -> Vec<(&'static str, usize)> {
    let mut columns = vec![
        ("Cluster", 9),
        ("Login", 9),
        ("Proper Name", 15),
        ("Account", 15),
        ("Used", 8),
        ("Energy", 8),
    ];
    with_tres(query, &mut columns, 4);
    columns
}

/// By what was used of processors, each with all resources that are asked for.
fn users_by_account(query: &Query, facts: &Facts) -> Table {
    let columns = user_columns(query);
    let cpus = by_user(query, facts, "cpu");
    let mut keys: Vec<_> = cpus.keys().collect();
    keys.sort_by_key(|key| std::cmp::Reverse(cpus[*key]));
    let sums: Vec<ByUser> = query.tres.iter().map(|tres| by_user(query, facts, tres)).collect();
    let mut rows = Vec::new();
    for key @ (cluster, user, account) in keys {
        for (tres, sums) in query.tres.iter().zip(&sums) {
            let all = total(query, facts, cluster, tres);
            let mut row = vec![
                cluster.clone(),
                user.clone(),
                proper_name(user),
                account.clone(),
                amount(query, sums[key], all),
                amount(query, 0, all),
            ];
            tres_cell(query, &mut row, 4, tres);
            rows.push(row);
        }
    }
    Table { columns, rows, fixed: 0 }
}

type ByUser = BTreeMap<(String, String, String), u64>;

fn by_user(query: &Query, facts: &Facts, tres: &str) -> ByUser {
    let mut sums = ByUser::new();
    // What is charged to an account as such is no user's.
    let is_theirs = |it: &&UsageView| !it.user_name.is_empty() && is_wanted(query, it);
    for row in facts.charged().filter(is_theirs) {
        let key = (row.cluster.clone(), row.user_name.clone(), row.account.clone());
        *sums.entry(key).or_default() += used(row, tres);
    }
    sums
}

/// What somebody used of each resource, and in which accounts.
type Used = (Vec<u64>, BTreeSet<String>);

/// By the first resource that is asked for, each with all of them.
fn top_users(query: &Query, facts: &Facts) -> Table {
    let mut table = Table { columns: user_columns(query), rows: Vec::new(), fixed: 0 };
    // `group` puts what somebody did in several accounts on one line.
    let mut sums: BTreeMap<(String, String, String), Used> = BTreeMap::new();
    for (place, tres) in query.tres.iter().enumerate() {
        for ((cluster, user, account), seconds) in by_user(query, facts, tres) {
            let apart = if query.group { String::new() } else { account.clone() };
            let empty = || (vec![0; query.tres.len()], BTreeSet::new());
            let sum = sums.entry((cluster, user, apart)).or_insert_with(empty);
            sum.0[place] += seconds;
            sum.1.insert(account);
        }
    }
    let mut sums: Vec<_> = sums.into_iter().collect();
    sums.sort_by_key(|(_, (seconds, _))| std::cmp::Reverse(seconds.first().copied()));
    for ((cluster, user, _), (seconds, accounts)) in sums.into_iter().take(query.top) {
        // Accounts in the order in which the user came into them.
        let mut accounts: Vec<String> = accounts.into_iter().collect();
        accounts.sort_by_key(|account| {
            let mut own = facts.rules.associations.iter().filter(|one| {
                one.cluster == cluster && one.user_name == user && one.account == *account
            });
            own.next().map_or(u32::MAX, |one| one.id)
        });
        for (tres, seconds) in query.tres.iter().zip(seconds) {
            let all = total(query, facts, &cluster, tres);
            let mut row = vec![
                cluster.clone(),
                user.clone(),
                proper_name(&user),
                accounts.join(", "),
                amount(query, seconds, all),
                amount(query, 0, all),
            ];
            tres_cell(query, &mut row, 4, tres);
            table.rows.push(row);
        }
    }
    table
}

fn by_wckey(query: &Query, facts: &Facts, user_first: bool) -> Table {
    let mut columns = match user_first {
        true => vec![("Cluster", 9), ("Login", 9), ("Proper Name", 15), ("WCKey", 15), ("Used", 8)],
        false => {
            vec![("Cluster", 9), ("WCKey", 15), ("Login", 9), ("Proper Name", 15), ("Used", 8)]
        }
    };
    with_tres(query, &mut columns, 4);
    let mut sums: BTreeMap<(String, String, String), Vec<u64>> = BTreeMap::new();
    for row in facts.usage.iter().filter(|it| is_wanted(query, it) && !it.wckey.is_empty()) {
        let key = match user_first {
            true => (row.cluster.clone(), row.user_name.clone(), row.wckey.clone()),
            false => (row.cluster.clone(), row.wckey.clone(), row.user_name.clone()),
        };
        let sum = sums.entry(key).or_insert_with(|| vec![0; query.tres.len()]);
        for (sum, tres) in sum.iter_mut().zip(&query.tres) {
            *sum += used(row, tres);
        }
    }
    let mut rows = Vec::new();
    for ((cluster, first, second), seconds) in sums {
        for (tres, seconds) in query.tres.iter().zip(seconds) {
            let used = amount(query, seconds, total(query, facts, &cluster, tres));
            let (cluster, first, second) = (cluster.clone(), first.clone(), second.clone());
            let name = proper_name(if user_first { &first } else { &second });
            let mut row = match user_first {
                true => vec![cluster, first, name, second, used],
                false => vec![cluster, first, second, name, used],
            };
            tres_cell(query, &mut row, 4, tres);
            rows.push(row);
        }
    }
    Table { columns, rows, fixed: 0 }
}

/// The highest account of those asked for that a job is below; without any it is the root of all.
fn top_of(query: &Query, facts: &Facts, row: &UsageView) -> String {
    let line = facts.rules.lineage(&row.cluster, &row.account);
    let found = match query.accounts.is_empty() {
        true => line.last(),
        false => line.iter().rev().find(|above| query.accounts.contains(&above.account)),
    };
    found.map_or_else(|| row.account.clone(), |above| above.account.clone())
}

fn sizes(query: &Query, facts: &Facts, by: impl Fn(&UsageView) -> String) -> Table {
    let tres = query.tres.first().map_or("cpu", String::as_str);
    let units = if tres == "cpu" { "CPUs" } else { "TRES" };
    let count = |row: &UsageView| if query.count_jobs { row.jobs } else { used(row, tres) };
    let second = match query.kind {
        Kind::SizesByWckey => ("Wckey", 9),
        Kind::SizesByAccountAndWckey => ("Account", 20),
        _ => ("Account", 9),
    };
    let mut columns: Vec<(&'static str, usize)> = vec![("Cluster", 9), second];
    let names_count = query.format.iter().any(|word| word.starts_with("jobc"));
    if names_count {
        columns.push(("Job Count", 9));
    }
    for (place, from) in query.sizes.iter().enumerate() {
        let name = match query.sizes.get(place + 1) {
            Some(next) => format!("{from}-{} {units}", next - 1),
            None => format!(">= {from} {units}"),
        };
        // A handful of names, made once for one answer.
        columns.push((Box::leak(name.into_boxed_str()), 13));
    }
    columns.push(("% of cluster", 12));
    let mut sums: BTreeMap<(String, String), (u64, Vec<u64>)> = BTreeMap::new();
    // What has no key is in no report by keys.
    let by_key = matches!(query.kind, Kind::SizesByWckey | Kind::SizesByAccountAndWckey);
    let is_meant = |it: &UsageView| match query.kind == Kind::Sizes && !query.flat {
        true => is_below(query, facts, it),
        false => is_wanted(query, it),
    };
    // Neither is what was over in the second it began.
    let counts = |it: &&UsageView| {
        is_meant(it)
            && !(by_key && it.wckey.is_empty())
            && it.seconds.iter().any(|it| it.seconds > 0)
    };
    for row in facts.usage.iter().filter(counts) {
        let place = query.sizes.iter().rposition(|from| u64::from(row.cpus) >= *from).unwrap_or(0);
        let empty = || (0, vec![0; query.sizes.len()]);
        let (jobs, cells) = sums.entry((row.cluster.clone(), by(row))).or_insert_with(empty);
        *jobs += row.jobs;
        cells[place] += count(row);
    }
    let row = |((cluster, name), (jobs, cells)): ((String, String), (u64, Vec<u64>))| {
        // Of those that are asked for.
        let mine = facts.usage.iter().filter(|it| it.cluster == cluster && counts(it));
        let all: u64 = mine.map(count).sum();
        let own: u64 = cells.iter().sum();
        let part = if all == 0 { 0.0 } else { own as f64 * 100.0 / all as f64 };
        let mut row = vec![cluster, name];
        row.extend(names_count.then(|| jobs.to_string()));
        row.extend(cells.iter().map(|cell| match query.count_jobs {
            true => cell.to_string(),
            false => amount(query, *cell, all),
        }));
        row.push(format!("{part:.2}%"));
        row
    };
    Table { columns, rows: sums.into_iter().map(row).collect(), fixed: query.sizes.len() + 1 }
}

fn reservations(query: &Query, facts: &Facts) -> Table {
    let width = match query.unit {
        Unit::SecondsAndPercent | Unit::MinutesAndPercent | Unit::HoursAndPercent => 29,
        _ => 20,
    };
    let columns = vec![
        ("Cluster", 9),
        ("Name", 9),
        ("Start", 19),
        ("End", 19),
        ("TRES Name", 14),
        ("Allocated", width),
        ("Idle", width),
    ];
    let show = |at: i64| display::moment(Timestamp(at), &zone::Local);
    let mut rows = Vec::new();
    let wanted = |it: &EventView| query.names.is_empty() || query.names.contains(&it.reservation);
    for (it, usage) in facts.reservations.iter().filter(|(it, _)| wanted(it)) {
        for tres in &query.tres {
            let all = amount_of(&it.tres, tres) * overlap(it, (it.start_time, it.end_time));
            let taken: u64 = usage.iter().map(|row| used(row, tres)).sum();
            rows.push(vec![
                it.cluster.clone(),
                it.reservation.clone(),
                show(it.start_time),
                show(it.end_time),
                tres.clone(),
                amount(query, taken, all),
                amount(query, all.saturating_sub(taken), all),
            ]);
        }
    }
    Table { columns, rows, fixed: 0 }
}

/// What the user database says somebody is called.
fn proper_name(user: &str) -> String {
    let found = nix::unistd::User::from_name(user).ok().flatten();
    let gecos = found.map(|user| user.gecos.to_string_lossy().into_owned()).unwrap_or_default();
    gecos.split(',').next().unwrap_or_default().to_string()
}

#[cfg(test)]
mod tests {
    use spur_core::views::{AssociationView, RulesView, TresSeconds};

    use super::*;

    fn row(account: &str, user: &str, cpus: u32, seconds: u64) -> UsageView {
        let seconds = vec![TresSeconds { name: "cpu".to_string(), seconds }];
        UsageView {
            cluster: "c".to_string(),
            account: account.to_string(),
            user_name: user.to_string(),
            cpus,
            jobs: 1,
            seconds,
            ..UsageView::default()
        }
    }

    /// A cluster of four processors for an hour.
    fn facts(usage: Vec<UsageView>) -> Facts {
        let has = EventView {
            cluster: "c".to_string(),
            start_time: 3600,
            end_time: 7200,
            tres: "cpu=4,node=1".to_string(),
            ..EventView::default()
        };
        let rules = RulesView::default();
        Facts { usage, events: vec![has], rules, reservations: Vec::new(), idle: Vec::new() }
    }

    fn query(line: &str) -> Query {
        let words: Vec<String> = line.split(' ').map(str::to_string).collect();
        let mut query = Query::read(&words).expect("a query");
        (query.start, query.end) = (3600, 7200);
        query
    }

    fn lines(line: &str, facts: &Facts) -> Vec<String> {
        make(&query(line), facts).table.rows.iter().map(|row| row.join("|")).collect()
    }

    #[test]
    fn a_cluster_is_allocated_idle_or_down() {
        let facts = facts(vec![row("a", "ann", 2, 3600), row("a", "bob", 1, 1800)]);
        assert_eq!(lines("cluster utilization", &facts), ["c|90|0|0|150|0|240"]);
        assert_eq!(
            lines("-t percent cluster utilization", &facts),
            ["c|37.50%|0.00%|0.00%|62.50%|0.00%|100.00%"]
        );
    }

    #[test]
    fn a_node_that_drains_is_down_and_what_is_reported_is_part_of_the_time() {
        let mut facts = facts(vec![row("a", "ann", 2, 3600)]);
        facts.events[0].start_time = 5400;
        facts.events.push(EventView {
            cluster: "c".to_string(),
            node: "n1".to_string(),
            state: "DRAIN".to_string(),
            start_time: 6600,
            end_time: 7200,
            tres: "cpu=4,node=1".to_string(),
            ..EventView::default()
        });
        assert_eq!(
            lines("-t secper cluster utilization", &facts),
            ["c|3600(50.00%)|2400(33.33%)|0(0.00%)|1200(16.67%)|0(0.00%)|7200(50.00%)"]
        );
    }

    #[test]
    fn an_account_stands_for_what_is_below_it() {
        let one = |id, account: &str, parent: &str, user: &str| AssociationView {
            id,
            cluster: "c".to_string(),
            account: account.to_string(),
            parent: parent.to_string(),
            user_name: user.to_string(),
            ..AssociationView::default()
        };
        let mut facts = facts(vec![row("phys", "nosuch1", 2, 600), row("nano", "nosuch2", 2, 60)]);
        facts.rules.associations = vec![
            one(1, "root", "", ""),
            one(2, "phys", "root", ""),
            one(3, "nano", "phys", ""),
            one(4, "phys", "", "nosuch1"),
            one(5, "nano", "", "nosuch2"),
        ];
        assert_eq!(
            lines("cluster accountutilizationbyuser accounts=phys tree", &facts),
            ["c|phys|||11|0", "c| phys|nosuch1||10|0", "c| nano|||1|0", "c|  nano|nosuch2||1|0"]
        );
        let sizes = |more: &str| lines(&format!("job sizesbyaccount accounts={more}"), &facts);
        assert_eq!(sizes("phys,nano"), ["c|phys|11|0|0|0|0|100.00%"]);
        assert_eq!(sizes("phys flatview"), ["c|phys|10|0|0|0|0|100.00%"]);
        assert_eq!(lines("user top accounts=phys", &facts), ["c|nosuch1||phys|10|0"]);
    }

    #[test]
    fn sizes_are_parts_of_what_is_asked_for() {
        let some = facts(vec![row("a", "ann", 2, 600), row("b", "bob", 2, 6000)]);
        assert_eq!(lines("job sizesbyaccount accounts=a", &some), ["c|a|10|0|0|0|0|100.00%"]);
        assert_eq!(lines("job sizesbyaccount acct=a", &some), ["c|a|10|0|0|0|0|100.00%"]);
        let mut at_once = vec![row("a", "ann", 2, 600), row("b", "bob", 2, 6000)];
        at_once[1].seconds.clear();
        assert_eq!(
            lines("job sizesbyaccount flatview", &facts(at_once)),
            ["c|a|10|0|0|0|0|100.00%"]
        );
        let mut both = vec![row("a", "ann", 2, 600), row("b", "ann", 2, 6000)];
        both.push(row("b", "bob", 2, 60));
        assert_eq!(lines("user top group users=ann", &facts(both)), ["c|ann||a, b|110|0"]);
    }

    #[test]
    fn what_reservations_left_unused_counts_as_used_by_those_they_were_for() {
        let one = |id, account: &str, parent: &str, user: &str| AssociationView {
            id,
            cluster: "c".to_string(),
            account: account.to_string(),
            parent: parent.to_string(),
            user_name: user.to_string(),
            ..AssociationView::default()
        };
        let kept = |end_time, flags: &str, users: &[&str], accounts: &[&str]| EventView {
            cluster: "c".to_string(),
            reservation: "kept".to_string(),
            start_time: 3600,
            end_time,
            state: flags.to_string(),
            tres: "cpu=4,node=1".to_string(),
            users: users.iter().map(|it| it.to_string()).collect(),
            accounts: accounts.iter().map(|it| it.to_string()).collect(),
            ..EventView::default()
        };
        let of = |usage: Vec<UsageView>, reservations: Vec<(EventView, Vec<UsageView>)>| {
            let mut facts = facts(usage);
            facts.events[0].tres = "cpu=16,node=4".to_string();
            facts.rules.associations = vec![
                one(1, "root", "", ""),
                one(2, "root", "", "nosuch0"),
                one(3, "physics", "root", ""),
                one(5, "bio", "root", ""),
                one(6, "physics", "", "nosuch5"),
                one(7, "bio", "", "nosuch5"),
                one(8, "physics", "", "nosuch8"),
                one(10, "bio", "", "nosuch0"),
            ];
            facts.idle = idle::charged(&reservations, &facts.rules, (3600, 7200));
            facts.reservations = reservations;
            facts
        };
        // One of two users of a kept node has a job in it, and somebody else one beside it.
        let inside = row("physics", "nosuch5", 2, 3600);
        let both = vec![inside.clone(), row("bio", "nosuch0", 1, 600)];
        let used = of(both, vec![(kept(7200, "SPEC_NODES", &["nosuch5"], &[]), vec![inside])]);
        let of_cluster = "-t seconds cluster utilization";
        assert_eq!(lines(of_cluster, &used), ["c|15000|0|0|42600|0|57600"]);
        assert_eq!(
            lines("-t seconds cluster userutilizationbyaccount", &used),
            ["c|nosuch5||physics|9000|0", "c|nosuch5||bio|5400|0", "c|nosuch0||bio|600|0"]
        );
        assert_eq!(
            lines("-t seconds user top group", &used),
            ["c|nosuch5||physics, bio|14400|0", "c|nosuch0||bio|600|0"]
        );
        let several = lines("-t seconds -T mem,cpu user top topcount=1", &used);
        assert_eq!(several, ["c|nosuch0||bio|mem|0", "c|nosuch0||bio|cpu|600"]);
        assert_eq!(lines("-t seconds job sizesbyaccount", &used), ["c|root|4200|0|0|0|0|100.00%"]);
        // Maintenance is planned, what runs over jobs of others is nobody's, and accounts are charged as such.
        let unused = of(
            Vec::new(),
            vec![
                (kept(5400, "MAINT,SPEC_NODES", &["nosuch0"], &["root"]), Vec::new()),
                (kept(7200, "IGNORE_JOBS,SPEC_NODES", &["nosuch8"], &[]), Vec::new()),
                (kept(7200, "SPEC_NODES", &[], &["physics"]), Vec::new()),
            ],
        );
        assert_eq!(lines(of_cluster, &unused), ["c|14400|0|7200|36000|0|57600"]);
        assert_eq!(
            lines("-t seconds cluster accountutilizationbyuser", &unused),
            [
                "c|root|||36000|0",
                "c|root|nosuch0||7200|0",
                "c|physics|||28800|0",
                "c|physics|nosuch8||14400|0",
            ]
        );
        assert_eq!(
            lines("-t seconds cluster userutilizationbyaccount", &unused),
            ["c|nosuch8||physics|14400|0", "c|nosuch0||root|7200|0"]
        );
        // It is told of as a whole, also where it goes on after the time.
        let after = of(Vec::new(), vec![(kept(10_800, "", &[], &[]), Vec::new())]);
        let told = lines("-t seconds reservation utilization", &after);
        assert!(told[0].ends_with("|cpu|0|28800"), "{told:?}");
    }

    #[test]
    fn those_who_used_most_come_first() {
        let facts = facts(vec![row("a", "nosuch1", 2, 600), row("b", "nosuch2", 60, 6000)]);
        assert_eq!(lines("user top", &facts), ["c|nosuch2||b|100|0", "c|nosuch1||a|10|0"]);
        assert_eq!(
            lines("job sizesbyaccount", &facts),
            ["c|a|10|0|0|0|0|9.09%", "c|b|0|100|0|0|0|90.91%"]
        );
    }
}
