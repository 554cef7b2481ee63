//! What the tasks of an MPI program tell each other through us, who are connected to every node: all they have put by each
//! fence, and names.

use std::collections::BTreeMap;

use spur_proto::internal::PmiName;
use spur_proto::internal::pmi_name::Verb;

/// More names than this nobody needs.
const MOST_NAMES: usize = 10_000;

/// What was said so far.
#[derive(Debug, Default)]
pub struct Exchange {
    nodes: Vec<Part>,
    names: BTreeMap<String, String>,
}

/// What one node has said since the last fence.
#[derive(Debug, Default)]
struct Part {
    said: Vec<u8>,
    is_there: bool,
}

impl Exchange {
    /// Between so many nodes.
    pub fn new(nodes: usize) -> Exchange {
        Exchange {
            nodes: std::iter::repeat_with(Part::default).take(nodes).collect(),
            ..Exchange::default()
        }
    }

    /// A node says something, or that this was all; once all of them have, what all have said.
    pub fn hear(&mut self, node: usize, said: &[u8]) -> Option<Vec<u8>> {
        let part = self.nodes.get_mut(node)?;
        part.said.extend_from_slice(said);
        part.is_there = said.is_empty();
        if !self.nodes.iter().all(|part| part.is_there) {
            return None;
        }
        let parts = self.nodes.iter_mut().map(std::mem::take);
        Some(parts.flat_map(|part| part.said).collect())
    }

    /// Answers a question about a name.
    pub fn name(&mut self, mut name: PmiName) -> PmiName {
        name.done = match name.verb() {
            Verb::Publish => {
                let may = self.names.len() < MOST_NAMES && !self.names.contains_key(&name.name);
                if may {
                    self.names.insert(name.name.clone(), name.port.clone());
                }
                may
            }
            Verb::LookUp => match self.names.get(&name.name) {
                Some(port) => {
                    name.port.clone_from(port);
                    true
                }
                None => false,
            },
            Verb::Unpublish => self.names.remove(&name.name).is_some(),
        };
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_are_told_when_the_last_has_spoken_and_then_anew() {
        let mut exchange = Exchange::new(2);
        for _ in 0..2 {
            assert_eq!(exchange.hear(1, b"c"), None);
            assert_eq!(exchange.hear(1, b""), None);
            assert_eq!(exchange.hear(0, b"a"), None);
            assert_eq!(exchange.hear(0, b"b"), None);
            assert_eq!(exchange.hear(0, b""), Some(b"abc".to_vec()));
        }
        assert_eq!(exchange.hear(7, b""), None, "nobody has this number");
    }

    #[test]
    fn names_are_found_until_they_are_taken_back() {
        let mut exchange = Exchange::new(1);
        let mut ask = |verb: Verb, port: &str| {
            let name =
                PmiName { verb: verb.into(), name: "svc".into(), port: port.into(), done: false };
            let answer = exchange.name(name);
            (answer.done, answer.port)
        };
        assert!(!ask(Verb::LookUp, "").0);
        assert!(ask(Verb::Publish, "p1").0);
        assert!(!ask(Verb::Publish, "p2").0);
        assert_eq!(ask(Verb::LookUp, ""), (true, "p1".into()));
        assert!(ask(Verb::Unpublish, "").0);
        assert!(!ask(Verb::Unpublish, "").0);
    }
}
