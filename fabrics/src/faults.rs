//! Faults: frames that a node's end of the network loses on purpose, to see what
//! a design or a program does without them.
//!
//! ```text
//!   flow control ── frames ──►( lost? )──► network
//! ```
//!
//! A fault names one frame by what it is, by its ends and by its number among
//! those: "acknowledgement 3 from node 1 to node 0". So a run with faults is as
//! repeatable as any other. Neither flow control nor network knows.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::packet::{Frame, FrameKind, NodeId};

/// What is lost, on the whole machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Frames that the network loses, each as "KIND NUMBER from node A to node B":
    /// the kinds are packet, acknowledgement and returned packet; the number counts
    /// A's frames of the kind to B from 1 on, those that are sent again too.
    pub lose: Vec<Lost>,
}

impl Config {
    /// The rules that the faults break on a machine of this many nodes, as
    /// (key, what is wrong) pairs.
    pub fn problems(&self, nodes: u32) -> Vec<(&'static str, String)> {
        let is_unknown = |node: &&NodeId| u32::from(node.0) >= nodes;
        let unknown = |lost: &Lost| {
            let node = [lost.from, lost.to].iter().find(is_unknown).copied()?;
            Some(("lose", format!("\"{lost}\" names node {}; nodes are 0 to {}", node.0, nodes - 1)))
        };
        self.lose.iter().filter_map(unknown).collect()
    }
}

/// A frame that is lost.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub struct Lost {
    kind: FrameKind,
    number: u64,
    from: NodeId,
    to: NodeId,
}

impl Lost {
    /// Whether a packet is lost with it.
    pub fn has_packet(&self) -> bool {
        matches!(self.kind, FrameKind::Packet | FrameKind::ReturnedPacket)
    }

    /// The node that would have got it.
    pub fn to(&self) -> NodeId {
        self.to
    }
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Lost { kind, number, from, to } = self;
        write!(f, "{} {number} from node {} to node {}", kind.name(), from.0, to.0)
    }
}

impl From<Lost> for String {
    fn from(lost: Lost) -> String {
        lost.to_string()
    }
}

impl TryFrom<String> for Lost {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl FromStr for Lost {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let read = || {
            let words: Vec<&str> = text.split_whitespace().collect();
            let [kind @ .., number, "from", "node", from, "to", "node", to] = &words[..] else { return None };
            let kind = kind.join(" ");
            let kind = FrameKind::ALL.into_iter().find(|known| known.name() == kind)?;
            let number = number.parse().ok().filter(|&number| number > 0)?;
            Some(Lost { kind, number, from: NodeId(from.parse().ok()?), to: NodeId(to.parse().ok()?) })
        };
        read().ok_or_else(|| {
            format!(
                "\"{text}\" is no frame; expected \"acknowledgement 1 from node 1 to node 0\", with packet, \
                 acknowledgement, returned packet or notice, numbers from 1 on"
            )
        })
    }
}

/// The faults of one node's end of the network.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Faults {
    /// What it has still to lose, and how many frames of the kind it will have let
    /// pass before.
    ahead: Vec<(Lost, u64)>,
    /// What it has lost.
    lost: Vec<Lost>,
}

impl Faults {
    /// Those among the machine's faults that happen at node `own`.
    pub fn of(config: &Config, own: NodeId) -> Self {
        let own = config.lose.iter().filter(|lost| lost.from == own);
        Faults { ahead: own.map(|&lost| (lost, lost.number - 1)).collect(), lost: Vec::new() }
    }

    /// What has been lost.
    pub fn lost(&self) -> &[Lost] {
        &self.lost
    }

    /// Whether the frame that leaves for node `to` now is lost.
    #[inline]
    pub(crate) fn lose(&mut self, to: NodeId, frame: &Frame) -> bool {
        !self.ahead.is_empty() && self.lose_next(to, frame)
    }

    /// The same where it has still to lose any.
    fn lose_next(&mut self, to: NodeId, frame: &Frame) -> bool {
        let kind = frame.kind();
        let mut is_lost = false;
        self.ahead.retain_mut(|(lost, before)| {
            let matches = (lost.kind, lost.to) == (kind, to);
            if matches && *before == 0 {
                self.lost.push(*lost);
                is_lost = true;
                return false;
            }
            *before -= u64::from(matches);
            true
        });
        is_lost
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Rank;

    fn lost(text: &str) -> Lost {
        text.parse().expect(text)
    }

    #[test]
    fn a_fault_reads_as_it_is_written() {
        for text in ["acknowledgement 3 from node 1 to node 0", "returned packet 1 from node 4 to node 12"] {
            assert_eq!(lost(text).to_string(), text);
        }
        for text in [
            "",
            "packet 0 from node 1 to node 0",
            "package 1 from node 1 to node 0",
            "packet 1 from 1 to 0",
            "packet 1 from node 1 to node 99999",
        ] {
            let problem = text.parse::<Lost>().unwrap_err();
            assert!(problem.contains("expected \"acknowledgement 1 from node 1 to node 0\""), "{problem}");
        }
    }

    #[test]
    fn a_fault_is_a_string_in_a_file_and_a_wrong_one_is_refused_there() {
        let text = "\"returned packet 1 from node 4 to node 12\"";
        let read: Lost = serde_json::from_str(text).expect(text);
        assert_eq!(read, lost("returned packet 1 from node 4 to node 12"));
        assert_eq!(serde_json::to_string(&read).expect("a string"), text);
        assert!(serde_json::from_str::<Lost>("\"packet 0 from node 1 to node 0\"").is_err());
    }

    #[test]
    fn a_fault_tells_whether_an_acknowledgement_is_lost_and_at_which_node_it_is_missed() {
        let [acknowledgement, packet] =
            ["acknowledgement 1 from node 0 to node 3", "packet 1 from node 0 to node 2"].map(lost);
        assert!(packet.has_packet() && !acknowledgement.has_packet());
        assert_eq!((acknowledgement.to(), packet.to()), (NodeId(3), NodeId(2)));
    }

    #[test]
    fn nodes_that_do_not_exist_are_refused() {
        let config = Config { lose: vec![lost("packet 1 from node 0 to node 2")] };
        assert!(config.problems(3).is_empty());
        let problem = "\"packet 1 from node 0 to node 2\" names node 2; nodes are 0 to 1";
        assert_eq!(config.problems(2), [("lose", problem.to_owned())]);
    }

    #[test]
    fn the_named_frame_is_lost_and_no_other() {
        let config = Config {
            lose: vec![
                lost("acknowledgement 2 from node 1 to node 0"),
                lost("acknowledgement 1 from node 0 to node 1"),
            ],
        };
        let mut faults = Faults::of(&config, NodeId(1));
        let acknowledgement = Frame::Acknowledgement { from: Rank(1), to: Rank(0), sequence: 7 };
        let fates: Vec<bool> = [0, 2, 0, 0].map(|to| faults.lose(NodeId(to), &acknowledgement)).to_vec();
        assert_eq!(fates, [false, false, true, false]);
        assert_eq!(faults.lost(), [lost("acknowledgement 2 from node 1 to node 0")]);
    }
}
