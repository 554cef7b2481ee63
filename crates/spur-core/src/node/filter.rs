//! Which nodes `sinfo -t` lets through: `idle,drain`, `idle&no_respond`.

use super::state::{NodeFlag, NodeState, NodeStatus};

/// One word of `-t`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Word {
    Base(NodeState),
    Flag(NodeFlag),
    /// Closed and empty.
    Drained,
    /// Closed with jobs still on it.
    Draining,
}

/// Every word, with the short forms.
const WORDS: &[(&str, Word)] = &[
    ("alloc", Word::Base(NodeState::Allocated)),
    ("allocated", Word::Base(NodeState::Allocated)),
    ("cloud", Word::Flag(NodeFlag::Cloud)),
    ("comp", Word::Flag(NodeFlag::Completing)),
    ("completing", Word::Flag(NodeFlag::Completing)),
    ("down", Word::Base(NodeState::Down)),
    ("drain", Word::Flag(NodeFlag::Drain)),
    ("drained", Word::Drained),
    ("draining", Word::Draining),
    ("drng", Word::Draining),
    ("fail", Word::Flag(NodeFlag::Fail)),
    ("failing", Word::Flag(NodeFlag::Fail)),
    ("future", Word::Base(NodeState::Future)),
    ("futr", Word::Base(NodeState::Future)),
    ("idle", Word::Base(NodeState::Idle)),
    ("inval", Word::Flag(NodeFlag::InvalidReg)),
    ("maint", Word::Flag(NodeFlag::Maintenance)),
    ("mix", Word::Base(NodeState::Mixed)),
    ("mixed", Word::Base(NodeState::Mixed)),
    ("no_respond", Word::Flag(NodeFlag::NotResponding)),
    ("npc", Word::Flag(NodeFlag::PerfCtrs)),
    ("perfctrs", Word::Flag(NodeFlag::PerfCtrs)),
    ("planned", Word::Flag(NodeFlag::Planned)),
    ("plnd", Word::Flag(NodeFlag::Planned)),
    ("power_down", Word::Flag(NodeFlag::PowerDown)),
    ("powered_down", Word::Flag(NodeFlag::PoweredDown)),
    ("powering_down", Word::Flag(NodeFlag::PoweringDown)),
    ("powering_up", Word::Flag(NodeFlag::PoweringUp)),
    ("reboot", Word::Flag(NodeFlag::RebootRequested)),
    ("reboot^", Word::Flag(NodeFlag::RebootIssued)),
    ("reboot_issued", Word::Flag(NodeFlag::RebootIssued)),
    ("reboot_requested", Word::Flag(NodeFlag::RebootRequested)),
    ("resv", Word::Flag(NodeFlag::Reserved)),
    ("reserved", Word::Flag(NodeFlag::Reserved)),
    ("unk", Word::Base(NodeState::Unknown)),
    ("unknown", Word::Base(NodeState::Unknown)),
];

/// The names sinfo lists after refusing a word, in its order.
pub const VALID_STATES: &str = "unknown,down,idle,allocated,?,mixed,future,drain,drained,draining,\
no_respond,reserved,perfctrs,cloud,completing,powering_down,powered_down,power_down,powering_up,fail,\
maint,reboot,reboot^,unknown";

/// Which nodes to show: those that are all of some group of words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeFilter(Vec<Vec<Word>>);

impl NodeFilter {
    /// Reads the argument of `-t`; `all` lets everything through. The error is the word nobody knows.
    pub fn parse(list: &str) -> Result<NodeFilter, String> {
        if list.eq_ignore_ascii_case("all") {
            return Ok(NodeFilter(vec![Vec::new()]));
        }
        if list.is_empty() {
            return Ok(NodeFilter(Vec::new()));
        }
        let groups = list.split(',').map(|group| group.split('&').map(word).collect());
        groups.collect::<Result<_, _>>().map(NodeFilter)
    }

    /// Whether a node in this state is shown.
    pub fn lets_through(&self, status: NodeStatus) -> bool {
        self.0.iter().any(|group| group.iter().all(|word| word.fits(status)))
    }
}

fn word(text: &str) -> Result<Word, String> {
    let found = WORDS.iter().find(|(name, _)| name.eq_ignore_ascii_case(text));
    found.map(|(_, word)| *word).ok_or_else(|| text.to_string())
}

impl Word {
    fn fits(self, status: NodeStatus) -> bool {
        let busy = matches!(status.base(), NodeState::Allocated | NodeState::Mixed)
            || status.has(NodeFlag::Completing);
        match self {
            // A closed or planned node is still idle to `-t idle`, as sinfo shows it.
            // A node that gives some of what it has is allocated as well.
            Word::Base(NodeState::Allocated) => {
                matches!(status.base(), NodeState::Allocated | NodeState::Mixed)
            }
            Word::Base(base) => status.base() == base,
            Word::Flag(flag) => status.has(flag),
            Word::Drained => status.has(NodeFlag::Drain) && !busy,
            Word::Draining => status.has(NodeFlag::Drain) && busy,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_groups() {
        let drained = NodeStatus::from(NodeState::Idle).with(NodeFlag::Drain);
        let mixed = NodeStatus::from(NodeState::Mixed);
        let shows = |list: &str, status| NodeFilter::parse(list).unwrap().lets_through(status);
        assert!(shows("idle", drained) && shows("DRAIN", drained) && shows("drained", drained));
        assert!(!shows("draining", drained) && !shows("mix", drained));
        assert!(shows("down,mixed", mixed) && !shows("mix&drain", mixed) && shows("all", mixed));
        assert!(shows("alloc", mixed) && shows("mix&alloc", mixed) && !shows("", mixed));
        assert!(!shows("mix", NodeStatus::from(NodeState::Allocated)));
        assert!(shows("drng", mixed.with(NodeFlag::Drain)));
        assert_eq!(NodeFilter::parse("idle,BOGUS"), Err("BOGUS".into()));
    }
}
