//! Answers the tasks of one node. What they put is shared with the other nodes at each fence.

use std::collections::BTreeMap;

use prost::Message;
use spur_proto::internal::pmi_name::Verb;
use spur_proto::internal::{PmiName, PmiPut, PmiPuts};

use super::wire::{self, Request, Version};

/// What the tasks of a step may put, all together and on their nodes.
const MOST_BYTES: usize = 64 << 20;

/// As Slurm tells them to PMI-1.
const MAXES: &[(&str, &str)] =
    &[("rc", "0"), ("kvsname_max", "256"), ("keylen_max", "64"), ("vallen_max", "1024")];

/// The step as its tasks know it.
#[derive(Clone, Debug, Default)]
pub struct World {
    /// `12.0`, which names the space of keys too.
    pub name: String,
    /// Tasks over all nodes.
    pub size: u32,
    /// Which ranks are on which nodes, in PMI's words.
    pub mapping: String,
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Act {
    /// A task is told this.
    Tell(usize, Vec<u8>),
    /// All tasks here have come to a fence: what they have put goes to the other nodes.
    Share(Vec<u8>),
    /// A task asks for a name that others may have published.
    Ask(usize, Vec<u8>),
    /// A task wants the step to end.
    Abort,
}

/// What is known of a task.
#[derive(Debug, Default)]
struct Task {
    rank: u32,
    version: Version,
    heard: Vec<u8>,
    at_fence: bool,
    /// Waits for an attribute of the node.
    wants: Option<String>,
    /// What it said when it asked for a name.
    asked: String,
    garbled: bool,
}

/// The server of one node.
#[derive(Debug)]
pub struct Server {
    world: World,
    tasks: Vec<Task>,
    /// Put since the last fence.
    put: Vec<PmiPut>,
    shared: BTreeMap<String, String>,
    node: BTreeMap<String, String>,
    bytes: usize,
}

impl Server {
    /// For the tasks of these ranks.
    pub fn new(world: World, ranks: impl IntoIterator<Item = u32>) -> Server {
        let tasks = ranks.into_iter().map(|rank| Task { rank, ..Task::default() }).collect();
        let mut shared = BTreeMap::new();
        shared.insert("PMI_process_mapping".to_string(), world.mapping.clone());
        Server { world, tasks, put: Vec::new(), shared, node: BTreeMap::new(), bytes: 0 }
    }

    /// A task has said something.
    pub fn hear(&mut self, at: usize, bytes: &[u8]) -> Vec<Act> {
        let mut acts = Vec::new();
        self.tasks[at].heard.extend_from_slice(bytes);
        while !self.tasks[at].garbled {
            let task = &mut self.tasks[at];
            match wire::take(&mut task.heard, task.version) {
                Ok(Some(request)) => self.obey(at, &request, &mut acts),
                Ok(None) => break,
                // Who does not speak it is not listened to any more.
                Err(wire::Garbled) => task.garbled = true,
            }
        }
        acts
    }

    /// All nodes have come to the fence; this is what all tasks have put.
    pub fn share(&mut self, all: &[u8]) -> Vec<Act> {
        let puts = PmiPuts::decode(all).unwrap_or_default().puts;
        self.shared.extend(puts.into_iter().map(|put| (put.key, put.value)));
        let mut acts = Vec::new();
        for (at, task) in self.tasks.iter_mut().enumerate() {
            if std::mem::take(&mut task.at_fence) {
                let command = match task.version {
                    Version::One => "barrier_out",
                    Version::Two => "kvs-fence-response",
                };
                acts.push(Act::Tell(at, wire::answer(task.version, command, &[("rc", "0")])));
            }
        }
        acts
    }

    /// The answer about a name.
    pub fn named(&mut self, at: usize, answer: &PmiName) -> Vec<Act> {
        let Some(task) = self.tasks.get(at) else { return Vec::new() };
        let rc = if answer.done { "0" } else { "1" };
        let mut pairs = vec![("rc", rc)];
        if answer.verb() == Verb::LookUp && answer.done {
            let key = if task.version == Version::One { "port" } else { "value" };
            pairs.push((key, &answer.port));
        }
        vec![Act::Tell(at, wire::answer(task.version, &task.asked, &pairs))]
    }

    fn obey(&mut self, at: usize, request: &Request, acts: &mut Vec<Act>) {
        let (version, rank) = (self.tasks[at].version, self.tasks[at].rank);
        let mut tell = |command: &str, pairs: &[(&str, &str)]| {
            acts.push(Act::Tell(at, wire::answer(version, command, pairs)));
        };
        let ok = ("rc", "0");
        match request.command.as_str() {
            "init" => {
                let two = request.get("pmi_version") == "2";
                let (major, minor) = if two { ("2", "0") } else { ("1", "1") };
                tell("response_to_init", &[ok, ("pmi_version", major), ("pmi_subversion", minor)]);
                self.tasks[at].version = if two { Version::Two } else { Version::One };
            }
            "fullinit" => {
                let (rank, size) = (rank.to_string(), self.world.size.to_string());
                tell(
                    "fullinit-response",
                    &[
                        ok,
                        ("pmi-version", "2"),
                        ("pmi-subversion", "0"),
                        ("rank", &rank),
                        ("size", &size),
                        ("appnum", "-1"),
                        ("debugged", "FALSE"),
                        ("pmiverbose", "FALSE"),
                    ],
                );
            }
            "get_maxes" => tell("maxes", MAXES),
            "get_appnum" => tell("appnum", &[ok, ("appnum", "-1")]),
            "get_universe_size" => {
                tell("universe_size", &[ok, ("size", &self.world.size.to_string())]);
            }
            "get_my_kvsname" => tell("my_kvsname", &[ok, ("kvsname", &self.world.name)]),
            "job-getid" => tell("job-getid-response", &[ok, ("jobid", &self.world.name)]),
            "put" => tell("put_result", &[("rc", self.put(request))]),
            "kvs-put" => tell("kvs-put-response", &[("rc", self.put(request))]),
            "get" => match self.shared.get(request.get("key")) {
                Some(value) => tell("get_result", &[ok, ("value", value)]),
                None => tell("get_result", &[("rc", "1")]),
            },
            "kvs-get" => tell("kvs-get-response", &found(self.shared.get(request.get("key")))),
            "info-getjobattr" => {
                let size = self.world.size.to_string();
                let value = match request.get("key") {
                    "PMI_process_mapping" => Some(&self.world.mapping),
                    "universeSize" => Some(&size),
                    _ => None,
                };
                tell("info-getjobattr-response", &found(value));
            }
            "info-putnodeattr" => {
                let (key, value) = (request.get("key"), request.get("value"));
                if !self.has_room(key, value) {
                    return tell("info-putnodeattr-response", &[("rc", "1")]);
                }
                self.node.insert(key.to_string(), value.to_string());
                tell("info-putnodeattr-response", &[ok]);
                self.serve_waiting(acts);
            }
            "info-getnodeattr" => {
                let key = request.get("key");
                match self.node.get(key) {
                    None if request.get("wait") == "TRUE" => {
                        self.tasks[at].wants = Some(key.to_string());
                    }
                    value => tell("info-getnodeattr-response", &found(value)),
                }
            }
            "barrier_in" | "kvs-fence" => {
                self.tasks[at].at_fence = true;
                if self.tasks.iter().all(|task| task.at_fence) {
                    let puts = std::mem::take(&mut self.put);
                    acts.push(Act::Share(PmiPuts { puts }.encode_to_vec()));
                }
            }
            "publish_name" | "name-publish" | "lookup_name" | "name-lookup" | "unpublish_name"
            | "name-unpublish" => acts.push(self.ask(at, request)),
            "finalize" => match version {
                Version::One => tell("finalize_ack", &[ok]),
                Version::Two => tell("finalize-response", &[ok]),
            },
            "abort" => acts.push(Act::Abort),
            "spawn" => match version {
                Version::One => tell("spawn_result", &[("rc", "1"), ("status", "no_spawn")]),
                Version::Two => {
                    tell("spawn-response", &[("rc", "1"), ("errmsg", "spawn is not there")])
                }
            },
            other => match version {
                Version::One => tell(other, &[("rc", "1")]),
                Version::Two => tell(&format!("{other}-response"), &[("rc", "1")]),
            },
        }
    }

    /// What is to be told as `rc`.
    fn put(&mut self, request: &Request) -> &'static str {
        let (key, value) = (request.get("key"), request.get("value"));
        if !self.has_room(key, value) {
            return "1";
        }
        self.put.push(PmiPut { key: key.to_string(), value: value.to_string() });
        "0"
    }

    fn has_room(&mut self, key: &str, value: &str) -> bool {
        let bytes = self.bytes + key.len() + value.len();
        if bytes > MOST_BYTES {
            return false;
        }
        self.bytes = bytes;
        true
    }

    fn serve_waiting(&mut self, acts: &mut Vec<Act>) {
        for (at, task) in self.tasks.iter_mut().enumerate() {
            let Some(value) = task.wants.as_ref().and_then(|key| self.node.get(key)) else {
                continue;
            };
            let pairs = found(Some(value));
            acts.push(Act::Tell(
                at,
                wire::answer(task.version, "info-getnodeattr-response", &pairs),
            ));
            task.wants = None;
        }
    }

    /// Names are kept by who started the step, for tasks of all nodes.
    fn ask(&mut self, at: usize, request: &Request) -> Act {
        let (verb, one, two) = match request.command.as_str() {
            "publish_name" | "name-publish" => {
                (Verb::Publish, "publish_result", "name-publish-response")
            }
            "lookup_name" | "name-lookup" => {
                (Verb::LookUp, "lookup_result", "name-lookup-response")
            }
            _ => (Verb::Unpublish, "unpublish_result", "name-unpublish-response"),
        };
        let task = &mut self.tasks[at];
        task.asked = if task.version == Version::One { one } else { two }.to_string();
        let name = match request.get("service") {
            "" => request.get("name"),
            service => service,
        };
        let port = request.get("port").to_string();
        let name = PmiName { verb: verb.into(), name: name.to_string(), port, done: false };
        Act::Ask(at, name.encode_to_vec())
    }
}

fn found(value: Option<&String>) -> Vec<(&'static str, &str)> {
    match value {
        Some(value) => vec![("rc", "0"), ("found", "TRUE"), ("value", value)],
        None => vec![("rc", "0"), ("found", "FALSE")],
    }
}

/// `(vector,(0,2,4))`: from node 0 on, two nodes with four tasks each. Which ranks each node has is told by node.
pub fn mapping(ranks: &[Vec<u32>]) -> String {
    let mut homes: Vec<(u32, usize)> = Vec::new();
    for (node, ranks) in ranks.iter().enumerate() {
        homes.extend(ranks.iter().map(|rank| (*rank, node)));
    }
    homes.sort_unstable();
    let mut runs: Vec<(usize, u32)> = Vec::new();
    for (_, node) in homes {
        match runs.last_mut() {
            Some((last, count)) if *last == node => *count += 1,
            _ => runs.push((node, 1)),
        }
    }
    let mut blocks: Vec<(usize, usize, u32)> = Vec::new();
    for (node, count) in runs {
        match blocks.last_mut() {
            Some((first, nodes, each)) if *first + *nodes == node && *each == count => *nodes += 1,
            _ => blocks.push((node, 1, count)),
        }
    }
    let blocks: String =
        blocks.iter().map(|(first, nodes, each)| format!(",({first},{nodes},{each})")).collect();
    format!("(vector{blocks})")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(ranks: &[u32]) -> Server {
        let world = World { name: "5.0".into(), size: 4, mapping: "(vector,(0,2,2))".into() };
        Server::new(world, ranks.iter().copied())
    }

    fn said(server: &mut Server, at: usize, line: &str) -> Vec<String> {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("is text");
        let shown = |act: Act| match act {
            Act::Tell(at, bytes) => format!("{at} {}", text(bytes)),
            Act::Share(bytes) => format!("share {}", bytes.len()),
            Act::Ask(at, _) => format!("ask {at}"),
            Act::Abort => "abort".to_string(),
        };
        server.hear(at, line.as_bytes()).into_iter().map(shown).collect()
    }

    /// All tasks of the node are there, so that what they put goes to the others.
    fn shared(acts: Vec<Act>) -> Vec<u8> {
        match acts.as_slice() {
            [Act::Share(bytes)] => bytes.clone(),
            other => panic!("not only a share: {other:?}"),
        }
    }

    #[test]
    fn what_one_node_puts_the_other_gets_after_a_fence() {
        let (mut first, mut second) = (server(&[0, 1]), server(&[2, 3]));
        let told = said(&mut first, 0, "cmd=init pmi_version=1 pmi_subversion=1\ncmd=get_maxes\n");
        assert_eq!(
            told,
            [
                "0 cmd=response_to_init rc=0 pmi_version=1 pmi_subversion=1\n",
                "0 cmd=maxes rc=0 kvsname_max=256 keylen_max=64 vallen_max=1024\n"
            ]
        );
        assert_eq!(
            said(&mut first, 1, "cmd=put kvsname=5.0 key=a value=1\n"),
            ["1 cmd=put_result rc=0\n"]
        );
        assert_eq!(said(&mut first, 1, "cmd=get kvsname=5.0 key=a\n"), ["1 cmd=get_result rc=1\n"]);
        assert!(said(&mut first, 0, "cmd=barrier_in\n").is_empty());
        let mut all = shared(first.hear(1, b"cmd=barrier_in\n"));
        second.hear(0, b"cmd=put kvsname=5.0 key=b value=2\ncmd=barrier_in\n");
        let more = shared(second.hear(1, b"cmd=barrier_in\n"));
        all.extend(more);
        assert_eq!(second.share(&all).len(), 2);
        let out = Act::Tell(0, b"cmd=barrier_out rc=0\n".to_vec());
        assert_eq!(first.share(&all)[0], out);
        assert_eq!(said(&mut second, 1, "cmd=get key=a\n"), ["1 cmd=get_result rc=0 value=1\n"]);
        assert_eq!(said(&mut first, 1, "cmd=get key=b\n"), ["1 cmd=get_result rc=0 value=2\n"]);
    }

    #[test]
    fn an_attribute_of_the_node_can_be_waited_for() {
        let mut server = server(&[0, 1]);
        for at in [0, 1] {
            server.hear(at, b"cmd=init pmi_version=2 pmi_subversion=0\n");
        }
        assert!(said(&mut server, 0, "38    cmd=info-getnodeattr;key=na;wait=TRUE;").is_empty());
        let told = said(&mut server, 1, "37    cmd=info-putnodeattr;key=na;value=nv;");
        assert_eq!(told[1], "0 55    cmd=info-getnodeattr-response;rc=0;found=TRUE;value=nv;");
    }

    #[test]
    fn who_speaks_something_else_is_not_listened_to_any_more() {
        let mut server = server(&[0]);
        assert!(said(&mut server, 0, "what?\ncmd=get_maxes\n").is_empty());
        assert!(said(&mut server, 0, "cmd=get_maxes\n").is_empty());
    }

    #[test]
    fn ranks_are_mapped_to_nodes_in_blocks() {
        let rows: &[(&[&[u32]], &str)] = &[
            (&[&[0], &[1], &[2]], "(vector,(0,3,1))"),
            (&[&[0, 1], &[2]], "(vector,(0,1,2),(1,1,1))"),
            (&[&[0, 2], &[1, 3]], "(vector,(0,2,1),(0,2,1))"),
            (&[&[0, 1, 2, 3, 4], &[5], &[6], &[7]], "(vector,(0,1,5),(1,3,1))"),
        ];
        for (ranks, expected) in rows {
            let ranks: Vec<Vec<u32>> = ranks.iter().map(|it| it.to_vec()).collect();
            assert_eq!(mapping(&ranks), *expected);
        }
    }
}
