//! `sacctmgr show event`: what clusters had, and nodes that were out of service.

use spur_core::accounts::manage::Word;
use spur_core::time::moment::{self, Toward};
use spur_core::tres::{self, Tres};
use spur_core::views::EventView;
use spur_proto::slurm::ListEventsRequest;

use super::show::Wanted;
use crate::{names, zone};

/// What is told of clusters alone.
pub const OF_CLUSTERS: &str = "Cluster,TRES,TimeStart,TimeEnd,ClusterNodes";

/// States that nodes of an event can be asked for by.
const STATES: [&str; 8] =
    ["DRAIN", "FAIL", "UNKNOWN", "DOWN", "IDLE", "ALLOCATED", "MIXED", "FUTURE"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Cluster,
    Node,
}

/// What is asked for beyond times, clusters and nodes.
#[derive(Debug, Default, PartialEq)]
pub struct Asked {
    kind: Option<Kind>,
    reasons: Vec<String>,
    states: Vec<String>,
    uids: Vec<u32>,
    least_cpus: u64,
    most_cpus: Option<u64>,
}

impl Asked {
    /// Reads the conditions, or says what is wrong with one.
    pub fn read(conditions: &[Word]) -> Result<Asked, String> {
        let mut asked = Asked::default();
        for word in conditions {
            let values = || word.value.split(',').filter(|one| !one.is_empty());
            let count = || word.value.parse::<u64>().map_err(|_| unknown(word));
            match word {
                word if word.name.is_empty() => match word.value.to_lowercase().as_str() {
                    "all_clusters" | "all_time" => {}
                    _ => asked.kind = Some(kind(&word.value)?),
                },
                word if word.is(&["clusters"]) || word.is(&["nodes"]) => {}
                word if word.is(&["condflags"]) => {
                    if let Some(bad) = values().find(|it| !it.eq_ignore_ascii_case("open")) {
                        return Err(format!("sacctmgr: error: Unknown condition flag {bad}"));
                    }
                }
                word if word.is(&["events"]) => {
                    for value in values() {
                        asked.kind = Some(kind(value)?);
                    }
                }
                word if word.is(&["mincpus"]) => asked.least_cpus = count()?,
                word if word.is(&["maxcpus"]) => asked.most_cpus = Some(count()?),
                word if word.is(&["reasons"]) => {
                    asked.reasons.extend(values().map(str::to_lowercase));
                }
                word if word.is(&["states"]) => {
                    asked.kind = Some(Kind::Node);
                    for value in values() {
                        let state = value.to_uppercase();
                        if !STATES.iter().any(|known| known.starts_with(&state)) {
                            let known = STATES.join(" ");
                            let why = format!("Invalid state: {value}\nValid node states are: ");
                            return Err(format!("{why}{known} "));
                        }
                        asked.states.push(state);
                    }
                }
                word if word.is(&["users"]) => {
                    asked.kind = Some(Kind::Node);
                    for value in values() {
                        let uid = value.parse().ok().or_else(|| names::uid(value));
                        asked
                            .uids
                            .push(uid.ok_or(format!("sacctmgr: error: Invalid user id: {value}"))?);
                    }
                }
                word => return Err(unknown(word)),
            }
        }
        Ok(asked)
    }

    /// Whether it is about clusters alone, which are told otherwise.
    pub fn is_about_clusters(&self) -> bool {
        self.kind == Some(Kind::Cluster)
    }

    /// Whether an event is one of those.
    pub fn meets(&self, event: &EventView) -> bool {
        let kind = if event.node.is_empty() { Kind::Cluster } else { Kind::Node };
        let cpus = tres::read(&event.tres).get(&Tres::Cpu).copied().flatten().unwrap_or(0);
        let reason = event.reason.to_lowercase();
        let one_of =
            |list: &[String], is: &dyn Fn(&String) -> bool| list.is_empty() || list.iter().any(is);
        self.kind.is_none_or(|asked| asked == kind)
            && one_of(&self.reasons, &|part| reason.contains(part))
            && one_of(&self.states, &|state| event.state.starts_with(state.as_str()))
            && (self.uids.is_empty() || event.uid.is_some_and(|uid| self.uids.contains(&uid)))
            && cpus >= self.least_cpus
            && self.most_cpus.is_none_or(|most| cpus <= most)
    }
}

fn kind(word: &str) -> Result<Kind, String> {
    let said = word.to_lowercase();
    match () {
        () if !said.is_empty() && "clusters".starts_with(&said) => Ok(Kind::Cluster),
        () if !said.is_empty() && "nodes".starts_with(&said) => Ok(Kind::Node),
        () => Err(format!(" Unknown event type: '{word}'  Valid events are Cluster and Node.")),
    }
}

fn unknown(word: &Word) -> String {
    format!(" Unknown condition: {}", word.text)
}

/// Which time, clusters and nodes are asked for: since yesterday, if nothing is said; with states, those of now.
pub fn request(wanted: &Wanted) -> ListEventsRequest {
    let mut request =
        ListEventsRequest { start: wanted.start, end: wanted.end, ..Default::default() };
    for word in &wanted.conditions {
        match word.name.as_str() {
            name if name.starts_with("node") => request.nodes.extend(hosts(&word.value)),
            name if name.starts_with("cluster") => request.clusters.extend(word.list()),
            name if name.starts_with("cond") => {
                request.open |= word.value.eq_ignore_ascii_case("open")
            }
            "" if word.value.eq_ignore_ascii_case("all_time") => request.start = 1,
            _ => {}
        }
    }
    if request.start == 0 {
        let now = zone::now();
        let midnight = moment::parse("00:00:00", Toward::Past, now, &zone::Local);
        request.start = match wanted.conditions.iter().any(|word| word.is(&["states"])) {
            true => now.0,
            false => midnight.map_or(now.0, |midnight| midnight.0) - 86_400,
        };
    }
    request
}

fn hosts(list: &str) -> Vec<String> {
    spur_core::hostlist::expand(list).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(line: &str) -> Result<Asked, String> {
        Asked::read(&line.split(';').map(Word::parse).collect::<Vec<_>>())
    }

    fn drained() -> EventView {
        EventView {
            node: "n4".to_string(),
            state: "DRAIN".to_string(),
            reason: "bad disk".to_string(),
            uid: Some(0),
            tres: "cpu=8,mem=32000M,node=1,billing=8".to_string(),
            ..EventView::default()
        }
    }

    #[test]
    fn events_are_found_by_what_they_are() {
        for line in [
            "node",
            "event=node",
            "reason=bad",
            "reason=Bad disk",
            "states=drain",
            "user=root",
            "user=0",
            "mincpus=8",
            "maxcpus=8;event=node",
        ] {
            assert!(asked(line).unwrap().meets(&drained()), "{line}");
        }
        for line in
            ["cluster", "event=cluster", "reason=fan", "states=down", "user=12345", "mincpus=9"]
        {
            assert!(!asked(line).unwrap().meets(&drained()), "{line}");
        }
        assert!(!asked("states=drain").unwrap().meets(&EventView::default()));
    }

    #[test]
    fn what_is_no_condition_is_refused_in_slurms_words() {
        let wrong = |line: &str| asked(line).unwrap_err();
        assert_eq!(wrong("bogus=1"), " Unknown condition: bogus=1");
        assert_eq!(
            wrong("bogus"),
            " Unknown event type: 'bogus'  Valid events are Cluster and Node."
        );
        assert_eq!(wrong("user=nosuch"), "sacctmgr: error: Invalid user id: nosuch");
        assert_eq!(wrong("condflags=x"), "sacctmgr: error: Unknown condition flag x");
        assert!(wrong("states=bogus").starts_with("Invalid state: bogus\n"));
    }
}
