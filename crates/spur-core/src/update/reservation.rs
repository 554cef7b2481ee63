//! `scontrol create reservation` and its relatives: what can be said of a reservation.

use crate::errors::SlurmError;
use crate::hostlist;
use crate::license;
use crate::reservation::{Flags, Reservation};
use crate::state::Assignment;
use crate::time::{Timestamp, duration};

/// A reservation in the making, and what is said about its nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Draft {
    /// What is known.
    pub made: Reservation,
    /// `Nodes=`, as it was said.
    pub nodes: Option<String>,
    /// `NodeCnt=`
    pub count: Option<u32>,
    /// `CoreCnt=`: for each node, or together.
    pub cores: Vec<u32>,
    /// `Duration=`, in seconds.
    pub secs: Option<i64>,
    /// A start, an end was said.
    pub start_said: bool,
    /// The same of its end.
    pub end_said: bool,
    /// `Skip`: on to its next turn.
    pub skip: bool,
}

type Set = fn(&mut Draft, &str, Sign) -> Result<(), SlurmError>;

/// Whether names are put in place of the former ones, added, or taken away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sign {
    Set,
    Add,
    Take,
}

struct Key {
    names: &'static [&'static str],
    set: Set,
}

const fn key(names: &'static [&'static str], set: Set) -> Key {
    Key { names, set }
}

use SlurmError as E;

static KEYS: &[Key] = &[
    key(&["Accounts"], |draft, text, sign| names(&mut draft.made.accounts, text, sign)),
    key(&["Comment"], |draft, text, _| {
        draft.made.comment = text.to_string();
        Ok(())
    }),
    key(&["CoreCnt"], |draft, text, _| {
        let numbers: Result<Vec<u32>, _> = text.split(',').map(|it| it.trim().parse()).collect();
        draft.cores = numbers.map_err(|_| E::InvalidCpuCount)?;
        Ok(())
    }),
    key(&["Duration"], |draft, text, sign| {
        const YEAR: u64 = 365 * 24 * 60;
        let limit = duration::parse_limit(text).map_err(|_| E::InvalidTimeValue)?;
        let secs = limit.number().unwrap_or(YEAR).min(YEAR) as i64 * 60;
        let now = draft.secs.unwrap_or(draft.made.end.0 - draft.made.start.0);
        draft.secs = Some(match sign {
            Sign::Set => secs,
            Sign::Add => now + secs,
            Sign::Take => now - secs,
        });
        Ok(())
    }),
    key(&["EndTime"], |draft, text, _| {
        (draft.made.end, draft.end_said) = (moment(text)?, true);
        Ok(())
    }),
    key(&["Features"], |draft, text, _| {
        draft.made.features = text.to_string();
        Ok(())
    }),
    key(&["Flags"], |draft, text, sign| {
        let mut words: Vec<&str> = text.split(',').collect();
        words.retain(|word| !purge(&mut draft.made.purge_secs, word, sign));
        let text = words.join(",");
        let said = match sign {
            Sign::Set => text,
            _ if text.is_empty() => return Ok(()),
            Sign::Add => format!("+{}", text.replace(',', ",+")),
            Sign::Take => format!("-{}", text.replace(',', ",-")),
        };
        let kept = draft.made.flags.0 & (Flags::SPEC_NODES.0 | Flags::ALL_NODES.0);
        let flags = draft.made.flags.parse(&said).ok_or(E::NotSupported)?;
        draft.made.flags = flags.with(Flags(kept));
        Ok(())
    }),
    key(&["Groups"], |draft, text, sign| names(&mut draft.made.groups, text, sign)),
    key(&["Licenses"], |draft, text, _| {
        let read = license::parse(text).map_err(|_| E::InvalidLicenses)?;
        draft.made.licenses = read.into_iter().map(|it| (it.name, it.count)).collect();
        Ok(())
    }),
    key(&["MaxStartDelay"], |draft, text, _| {
        let limit = duration::parse_limit(text).map_err(|_| E::InvalidTimeValue)?;
        draft.made.max_start_delay_secs = limit.number().unwrap_or(0) as u32 * 60;
        Ok(())
    }),
    key(&["NodeCnt", "NodeCount"], |draft, text, _| {
        draft.count = Some(text.parse().map_err(|_| E::InvalidNodeCount)?);
        draft.nodes = None;
        Ok(())
    }),
    key(&["Nodes", "NodeList"], |draft, text, sign| {
        let said = hostlist::expand(text).map_err(|_| E::InvalidNodeName)?;
        let mut names: Vec<String> = draft.made.nodes.iter().map(ToString::to_string).collect();
        match sign {
            Sign::Set => names = vec![text.to_string()],
            Sign::Add => names.extend(said),
            Sign::Take => names.retain(|name| !said.contains(name)),
        }
        draft.nodes = Some(names.join(","));
        Ok(())
    }),
    key(&["PartitionName"], |draft, text, _| {
        draft.made.partition = text.to_string();
        Ok(())
    }),
    key(&["ReservationName"], |draft, text, _| {
        draft.made.name = text.to_string();
        Ok(())
    }),
    key(&["Skip"], |draft, _, _| {
        draft.skip = true;
        Ok(())
    }),
    key(&["StartTime"], |draft, text, _| {
        (draft.made.start, draft.start_said) = (moment(text)?, true);
        Ok(())
    }),
    key(&["TRES"], |draft, text, _| {
        for word in text.split(',') {
            let (what, count) = word.split_once('=').ok_or(E::InvalidTres)?;
            let count: u32 = count.parse().map_err(|_| E::InvalidTres)?;
            match what.to_ascii_lowercase().as_str() {
                "node" => draft.count = Some(count),
                "cpu" => draft.cores = vec![count],
                other => match other.strip_prefix("license/") {
                    Some(name) => draft.made.licenses.push((name.to_string(), count)),
                    None => return Err(E::NotSupported),
                },
            }
        }
        Ok(())
    }),
    key(&["Users"], |draft, text, sign| names(&mut draft.made.users, text, sign)),
];

fn moment(text: &str) -> Result<Timestamp, SlurmError> {
    text.parse().map(Timestamp).map_err(|_| E::InvalidTimeValue)
}

/// Takes `PURGE_COMP` and `PURGE_COMP=5` for what they are.
fn purge(secs: &mut Option<u32>, word: &str, sign: Sign) -> bool {
    let bare = word.trim().trim_start_matches(['+', '-']);
    let (name, time) = bare.split_once('=').unwrap_or((bare, ""));
    if !name.eq_ignore_ascii_case("purge_comp") {
        return false;
    }
    let said = match time {
        "" => Some(300),
        time => duration::parse_seconds(time).ok().and_then(|limit| limit.number()),
    };
    let take = sign == Sign::Take || word.trim().starts_with('-');
    *secs = said.filter(|_| !take).and_then(|secs| u32::try_from(secs).ok());
    true
}

/// `a,b`, `+a`, `-b`; where there were none before, `-a` keeps out.
fn names(all: &mut Vec<String>, text: &str, sign: Sign) -> Result<(), SlurmError> {
    let said = || text.split(',').map(str::trim).filter(|name| !name.is_empty());
    if all.is_empty() && (sign == Sign::Take || said().all(|name| name.starts_with('-'))) {
        all.extend(said().map(|name| format!("-{}", name.trim_start_matches('-'))));
        return Ok(());
    }
    if sign == Sign::Set && !text.contains(['+', '-']) {
        all.clear();
    }
    for name in text.split(',').filter(|name| !name.is_empty()) {
        let (take, name) = match name.strip_prefix('-') {
            Some(name) => (true, name),
            None => (sign == Sign::Take, name.strip_prefix('+').unwrap_or(name)),
        };
        if take {
            all.retain(|it| it != name);
        } else if !all.iter().any(|it| it == name) {
            all.push(name.to_string());
        }
    }
    Ok(())
}

/// Writes what is said into a draft.
pub fn set(draft: &mut Draft, assignments: &[Assignment]) -> Result<(), SlurmError> {
    for Assignment { key, value } in assignments {
        let (word, sign) = match (key.strip_suffix('+'), key.strip_suffix('-')) {
            (Some(key), _) => (key, Sign::Add),
            (_, Some(key)) => (key, Sign::Take),
            _ => (key.as_str(), Sign::Set),
        };
        let row = super::find(KEYS, |row| row.names, word).ok_or(E::NotSupported)?;
        (row.set)(draft, value, sign)?;
    }
    if let Some(secs) = draft.secs {
        draft.made.end = draft.made.start.plus_secs(secs);
    }
    Ok(())
}

/// What `scontrol` says of one word before it asks anybody; `end` is what becomes of the request.
pub fn misspelt(said: &Assignment, end: &str) -> Option<String> {
    let Assignment { key, value } = said;
    let word = key.trim_end_matches(['+', '-']);
    // What could be nodes, or a number of them, must say which.
    let is_short = ["nod", "node", "cor", "core"].contains(&word.to_ascii_lowercase().as_str());
    let Some(row) = super::find(KEYS, |row| row.names, word).filter(|_| !is_short) else {
        return Some(format!("Unknown parameter {key}={value}.  {end}"));
    };
    set(&mut Draft::default(), std::slice::from_ref(said)).err()?;
    match row.names[0] {
        "Duration" => Some(format!("Invalid duration {key}={value}.  {end}")),
        "Flags" => Some(format!("Error parsing flags {value}.  {end}")),
        _ => None,
    }
}

/// What `scontrol create` says of a line before it asks anybody.
pub fn complaint(assignments: &[Assignment]) -> Option<String> {
    const END: &str = "No reservation created.";
    let (mut draft, mut ends) = (Draft::default(), None);
    for assignment in assignments {
        if let Some(complaint) = misspelt(assignment, END) {
            return Some(complaint);
        }
        let Assignment { key, value } = assignment;
        match super::find(KEYS, |row| row.names, key).map(|row| row.names[0]) {
            Some("Users") if !draft.made.users.is_empty() => {
                return Some(format!("Parameter {key}={value} specified more than once"));
            }
            // Of the draft the duration has the last word.
            Some("EndTime") => ends = moment(value).ok(),
            _ => {}
        }
        let _ = set(&mut draft, std::slice::from_ref(assignment));
    }
    let made = &draft.made;
    let text = match () {
        () if !draft.start_said => "A start time must be given.",
        () if !draft.end_said && draft.secs.is_none() => "An end time or duration must be given.",
        () if draft.end_said && made.end < made.start => "Start time cannot be after end time.",
        () if ends.is_some_and(|end| {
            draft.secs.is_some_and(|secs| made.start.plus_secs(secs) != end)
        }) =>
        {
            "StartTime + Duration does not equal EndTime."
        }
        () if draft.nodes.is_none()
            && draft.count.is_none()
            && draft.cores.is_empty()
            && made.licenses.is_empty() =>
        {
            "CoreCnt, Nodes, NodeCnt, BurstBuffer, Licenses or Watts must be specified."
        }
        () if made.flags.has(Flags::PART_NODES)
            && (made.partition.is_empty()
                || !draft.nodes.as_ref().is_some_and(|it| it.eq_ignore_ascii_case("all"))) =>
        {
            "PART_NODES flag requires specifying a Partition and ALL nodes."
        }
        () if !made.users.is_empty() && !made.groups.is_empty() => {
            "Users and Groups are mutually exclusive.  You can have one or the other, but not both."
        }
        () if made.users.is_empty() && made.accounts.is_empty() && made.groups.is_empty() => {
            "Either Users/Groups and/or Accounts must be specified."
        }
        () => return None,
    };
    Some(format!("{text}  {END}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(line: &str) -> Vec<Assignment> {
        line.split(' ').filter_map(super::super::split).collect()
    }

    #[test]
    fn what_is_missing_is_named() {
        let told = |line| complaint(&said(line)).unwrap_or_default();
        assert_eq!(told("StartTime=10 Duration=60 user=root nodes=n1"), "");
        assert_eq!(
            told("starttime=10 user=root"),
            "An end time or duration must be given.  No reservation created."
        );
        assert_eq!(
            told("duration=10 user=root"),
            "A start time must be given.  No reservation created."
        );
        assert_eq!(
            told("starttime=1 duration=10 nodes=n1"),
            "Either Users/Groups and/or Accounts must be specified.  No reservation created."
        );
        assert_eq!(
            told("starttime=10 duration=soon nodes=n1"),
            "Invalid duration duration=soon.  No reservation created."
        );
        assert_eq!(
            told("starttime=1 duration=10 users=a"),
            "CoreCnt, Nodes, NodeCnt, BurstBuffer, Licenses or Watts must be specified.  No reservation \
             created."
        );
        for (line, text) in [
            ("starttime=1 duration=1 user=a users=b", "Parameter users=b specified more than once"),
            (
                "starttime=1 duration=1 user=a node=n1",
                "Unknown parameter node=n1.  No reservation created.",
            ),
            (
                "starttime=1 duration=1 endtime=99 user=a nodes=n1",
                "StartTime + Duration does not equal EndTime.  No reservation created.",
            ),
            (
                "starttime=1 duration=1 user=a groups=b nodes=n1",
                "Users and Groups are mutually exclusive.  You can have one or the other, but not both.  \
                 No reservation created.",
            ),
        ] {
            assert_eq!(told(line), text);
        }
        assert_eq!(told("starttime=0 duration=1 endtime=60 user=a nodes=n1"), "");
        let word = Assignment { key: "color".into(), value: "red".into() };
        assert_eq!(
            misspelt(&word, "No reservation update.").as_deref(),
            Some("Unknown parameter color=red.  No reservation update.")
        );
        assert_eq!(
            told("starttime=10 duration=10 users=root flags=weekly,bogus"),
            "Error parsing flags weekly,bogus.  No reservation created."
        );
    }

    #[test]
    fn names_are_set_added_and_taken_away() {
        let mut draft = Draft::default();
        set(&mut draft, &said("StartTime=100 Duration=2 users=a,b")).unwrap();
        set(&mut draft, &said("Users+=c Users-=a flags=maint")).unwrap();
        assert_eq!(draft.made.users, ["b", "c"]);
        assert_eq!(draft.made.end, Timestamp(220));
        set(&mut draft, &said("Users=-b,+d flags=+daily")).unwrap();
        assert_eq!(draft.made.users, ["c", "d"]);
        assert_eq!(draft.made.flags.words(), ["MAINT", "DAILY"]);
        assert_eq!(set(&mut draft, &said("Watts=3")), Err(SlurmError::NotSupported));
        draft.made.nodes = vec!["n1".into(), "n2".into()];
        for (line, nodes) in
            [("nodes+=n3", "n1,n2,n3"), ("nodes-=n1", "n2"), ("nodes=n[5-6]", "n[5-6]")]
        {
            set(&mut draft, &said(line)).unwrap();
            assert_eq!(draft.nodes.as_deref(), Some(nodes));
        }
        let mut out = Draft::default();
        set(&mut out, &said("Users=-a,-b flags=purge_comp=2,magnetic licenses=x:2,y")).unwrap();
        assert_eq!(out.made.users, ["-a", "-b"]);
        assert_eq!(out.made.purge_secs, Some(120));
        assert_eq!(out.made.flags.words(), ["MAGNETIC"]);
        set(&mut out, &said("flags+=purge_comp=00:00:05")).unwrap();
        assert_eq!(out.made.purge_secs, Some(5));
        assert_eq!(out.made.licenses, [("x".to_string(), 2), ("y".to_string(), 1)]);
    }
}
