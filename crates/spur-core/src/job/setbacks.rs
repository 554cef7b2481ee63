//! What has kept a job from ending well so far, each cause counted by itself.

use crate::ids::NodeName;

/// How often a job was thrown back, and by what.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Setbacks {
    /// Runs that failed by themselves and were begun again.
    pub failures: u32,
    /// Runs that made room for others.
    pub preemptions: u32,
    /// Runs that were lost with their node, or could not begin there.
    pub node_losses: u32,
    /// Runs that their nodes could not start.
    pub failed_launches: u32,
    /// Nodes where that happened, the last one last: the next run is elsewhere while there is an elsewhere.
    pub avoid: Vec<NodeName>,
}

/// More are not kept: a job that has failed on so many nodes fails by itself.
const MOST_AVOIDED: usize = 64;

impl Setbacks {
    /// Notes a node that something went wrong on.
    pub fn shun(&mut self, node: &NodeName) {
        self.avoid.retain(|other| other != node);
        self.avoid.push(node.clone());
        if self.avoid.len() > MOST_AVOIDED {
            self.avoid.remove(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_is_noted_once_and_the_oldest_are_forgotten() {
        let mut setbacks = Setbacks::default();
        for number in (0..70).chain([69]) {
            setbacks.shun(&NodeName::from(format!("n{number}")));
        }
        assert_eq!(setbacks.avoid.len(), MOST_AVOIDED);
        assert_eq!(setbacks.avoid.last().map(NodeName::as_str), Some("n69"));
    }
}
