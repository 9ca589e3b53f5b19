//! Who sends to whom (Dally and Towles, Section 3.2).

use narthex_kernel::random::Stream;
use serde::{Deserialize, Serialize};

use crate::packet::NodeId;

/// The destinations of a node's packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pattern {
    /// Each packet goes to any node, itself included, with equal probability.
    Uniform,
    /// The nodes are a square; that in column x and row y sends to column y and row x.
    Transpose,
    /// As uniform, but each tenth packet goes to node 0.
    HotSpot,
    /// Each node sends to the next, the last to the first.
    Neighbour,
}

/// Of this many packets one goes to the hot spot.
const HOT_ONE_IN: u64 = 10;

impl Pattern {
    /// Why it does not go with this many nodes.
    pub(super) fn problems(self, nodes: u32) -> Vec<(&'static str, String)> {
        let side = nodes.isqrt();
        if self == Pattern::Transpose && side * side != nodes {
            return vec![(
                "pattern",
                format!("transpose needs a square number of nodes, and there are {nodes}"),
            )];
        }
        Vec::new()
    }

    /// To whom the next packet of a node goes.
    pub(super) fn destination(self, own: NodeId, nodes: u32, random: &mut Stream) -> NodeId {
        let number = u32::from(own.0);
        let destination = match self {
            Pattern::Uniform => random.below(nodes.into()) as u32,
            Pattern::Transpose => {
                let side = nodes.isqrt();
                number % side * side + number / side
            }
            Pattern::HotSpot if random.below(HOT_ONE_IN) == 0 => 0,
            Pattern::HotSpot => random.below(nodes.into()) as u32,
            Pattern::Neighbour => (number + 1) % nodes,
        };
        NodeId(destination as u16)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transposing_twice_is_to_stay_and_neighbours_are_a_ring() {
        let mut random = Stream::new(1, "test");
        let mut to = |pattern: Pattern, node| pattern.destination(NodeId(node), 16, &mut random).0;
        assert_eq!([1, 4, 7, 15].map(|node| to(Pattern::Transpose, node)), [4, 1, 13, 15]);
        assert_eq!([0, 15].map(|node| to(Pattern::Neighbour, node)), [1, 0]);
        let hot = (0..1000).filter(|_| to(Pattern::HotSpot, 3) == 0).count();
        assert!((110..210).contains(&hot), "{hot} of 1000, expected 100 + 900 / 16");
        assert_eq!(Pattern::Transpose.problems(15)[0].0, "pattern");
    }
}
