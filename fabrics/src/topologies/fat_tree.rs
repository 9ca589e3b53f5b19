//! A fat tree: a tree whose levels all have the same bandwidth, as a k-ary n-tree
//! of equal switches (Petrini and Vanneschi, "k-ary n-trees", 1997; Leiserson's
//! fat tree, 1985).
//!
//! ```text
//!   level 1    [ ]     [ ]         arity 2, levels 2:
//!              | \\   // |         k^n nodes, n levels of k^(n-1) switches,
//!   level 0   [ ]  \/  [ ]         k ports down and k up
//!             / \      / \
//!            0   1    2   3
//! ```
//!
//! A parcel goes up until a switch is above its destination, then down (up*/down*:
//! no link up follows one down, so no circle is possible with one lane). Down there
//! is one way; up any port will do. `deterministic` takes the port that the
//! destination's digit names, so all parcels for a node use one tree and keep their
//! order; `random` draws it anew at each switch, and parcels may overtake.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Broken, Hop, Peer, Topology};
use crate::packet::NodeId;

/// Levels of switches with as many ports up as down.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Ports down of a switch, and ports up.
    #[schemars(range(min = 2, max = 64))]
    pub arity: u32,
    /// Levels of switches: there is room for arity to the power of levels nodes.
    #[schemars(range(min = 1, max = 12))]
    pub levels: u32,
    /// How a parcel chooses its way up.
    pub ascent: Ascent,
}

/// How a parcel chooses its way up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Ascent {
    /// By its destination.
    Deterministic,
    /// By a random number, drawn anew at each switch.
    Random,
}

/// The most nodes that a machine has.
const MOST_PLACES: u64 = 4096;

impl Config {
    /// Switches of a level.
    fn width(&self) -> u32 {
        self.arity.pow(self.levels - 1)
    }

    /// A switch's level and its place in it.
    fn place(&self, switch: u32) -> (u32, u32) {
        (switch / self.width(), switch % self.width())
    }

    /// A number with its digit of this weight replaced.
    fn with_digit(&self, number: u32, weight: u32, digit: u32) -> u32 {
        let old = number / weight % self.arity;
        number - old * weight + digit * weight
    }

    /// The weight of the highest digit of the nodes below a switch of this level.
    fn weight(&self, level: u32) -> u32 {
        self.arity.pow(level)
    }

    fn is_above(&self, level: u32, place: u32, node: u32) -> bool {
        let weight = self.weight(level);
        place / weight == node / weight / self.arity
    }
}

impl Topology for Config {
    fn problems(&self) -> Vec<Broken> {
        let ranges = [("arity", self.arity, 2, 64), ("levels", self.levels, 1, 12)];
        let mut problems: Vec<Broken> = ranges
            .into_iter()
            .filter_map(|(key, value, from, to)| super::within(key, value, from, to))
            .collect();
        if problems.is_empty() && self.places() > MOST_PLACES {
            let (arity, levels, places) = (self.arity, self.levels, self.places());
            let message = format!(
                "{levels} is too large with arity {arity}: a tree for {places} nodes, and a machine has at most \
                 {MOST_PLACES}"
            );
            problems.push(("levels", message));
        }
        problems
    }

    fn size_key(&self) -> &'static str {
        "levels"
    }

    fn places(&self) -> u64 {
        u64::from(self.arity).saturating_pow(self.levels)
    }

    fn switches(&self) -> u32 {
        self.levels * self.width()
    }

    fn ports(&self) -> u16 {
        2 * self.arity as u16
    }

    fn attachment(&self, node: NodeId) -> (u32, u16) {
        let node = u32::from(node.0);
        (node / self.arity, (node % self.arity) as u16)
    }

    fn peer(&self, switch: u32, port: u16) -> Peer {
        let (level, place) = self.place(switch);
        let digit = u32::from(port) % self.arity;
        let is_up = u32::from(port) >= self.arity;
        if is_up && level + 1 == self.levels {
            return Peer::Nothing;
        }
        if !is_up && level == 0 {
            return Peer::Node(NodeId((place * self.arity + digit) as u16));
        }
        let lower = if is_up { level } else { level - 1 };
        let weight = self.weight(lower);
        let own = place / weight % self.arity;
        let other_level = if is_up { level + 1 } else { lower };
        let back = if is_up { own } else { self.arity + own };
        let other = other_level * self.width() + self.with_digit(place, weight, digit);
        Peer::Switch { switch: other, port: back as u16 }
    }

    fn is_random(&self) -> bool {
        self.ascent == Ascent::Random
    }

    #[inline]
    fn alternatives(&self, switch: u32, destination: NodeId) -> u32 {
        if self.ascent == Ascent::Deterministic {
            return 1;
        }
        let (level, place) = self.place(switch);
        if self.is_above(level, place, destination.0.into()) { 1 } else { self.arity }
    }

    #[inline]
    fn route(&self, switch: u32, destination: NodeId, pick: u32) -> Hop {
        let (level, place) = self.place(switch);
        let node = u32::from(destination.0);
        let digit = node / self.weight(level) % self.arity;
        let port = match (self.is_above(level, place, node), self.ascent) {
            (true, _) => digit,
            (false, Ascent::Deterministic) => self.arity + digit,
            (false, Ascent::Random) => self.arity + pick,
        };
        Hop { port: port as u16, lane: 0 }
    }

    fn name(&self, switch: u32) -> String {
        let (level, place) = self.place(switch);
        format!("switch {place} of level {level}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topologies::path;

    fn tree(ascent: Ascent) -> Config {
        Config { arity: 4, levels: 2, ascent }
    }

    #[test]
    fn a_parcel_goes_no_higher_than_it_has_to() {
        let tree = tree(Ascent::Deterministic);
        assert_eq!(path(&tree, NodeId(0), NodeId(3)), [0]);
        assert_eq!(path(&tree, NodeId(0), NodeId(6)), [0, 6, 1], "up by the destination's last digit, 2");
    }

    #[test]
    fn all_ports_up_are_alternatives_on_a_random_way_and_none_is_down() {
        let tree = tree(Ascent::Random);
        assert_eq!((tree.alternatives(0, NodeId(9)), tree.alternatives(0, NodeId(3))), (4, 1));
        let ports: Vec<u16> = (0..4).map(|pick| tree.route(0, NodeId(9), pick).port).collect();
        assert_eq!(ports, [4, 5, 6, 7]);
    }

    #[test]
    fn a_tree_for_more_nodes_than_a_machine_has_is_refused() {
        let tree = Config { arity: 16, levels: 4, ascent: Ascent::Random };
        assert_eq!(tree.problems()[0].0, "levels");
    }
}
