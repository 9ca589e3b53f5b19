//! A fat tree: levels of switches, each linked to all that stand for its subtree one level above
//! (Petrini and Vanneschi, "k-ary n-trees", 1997; Leiserson's fat tree, 1985).
//!
//! ```text
//!   level 1    [ ]     [ ]         arity 2, levels 2:
//!              | \\   // |         k^n nodes, n levels of k^(n-1) switches,
//!   level 0   [ ]  \/  [ ]         k ports down and k up
//!             / \      / \
//!            0   1    2   3
//! ```
//!
//! With as many ports up as down all levels have the same bandwidth. `up` states another number
//! for each level, and fewer than down *taper* the tree: four down and two up halve what a level
//! can carry upwards (Öhring, Ibel, Das and Kumar, "On Generalized Fat Trees", 1995). A subtree
//! of a level then has as many switches as the product of the ports up below it.
//!
//! A parcel goes up until a switch is above its destination, then down (up*/down*:
//! no link up follows one down, so no circle is possible with one lane). Down there
//! is one way; up any port will do. `deterministic` takes the port that the
//! destination's digit names, so all parcels for a node use one tree and keep their
//! order; `by-flow` takes one by source and destination, as switches do that hash flows; `random`
//! draws it anew at each switch, and `adaptive` takes the one for which least waits, so parcels may
//! overtake.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Broken, Choice, Hop, NODE_LINKS, Peer, Topology};
use crate::packet::NodeId;

/// Levels of switches, each with ports to all switches above its subtree.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Ports down of a switch, and ports up.
    #[schemars(range(min = 2, max = 64))]
    pub arity: u32,
    /// Levels of switches: there is room for arity to the power of levels nodes.
    #[schemars(range(min = 1, max = 12))]
    pub levels: u32,
    /// Ports up of a switch of each level but the highest, if not as many as down.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 11), inner(range(min = 1, max = 64)))]
    pub up: Vec<u32>,
    /// How a parcel chooses its way up.
    pub ascent: Choice,
}

/// The most nodes that a machine has.
const MOST_PLACES: u64 = 4096;

/// A switch's place in the tree.
#[derive(Clone, Copy)]
struct SwitchPlace {
    level: u32,
    /// The first switch of the level.
    first: u32,
    /// Nodes below each port down of the level.
    nodes_each: u32,
    /// Switches that stand for a subtree of the level.
    replicas: u32,
    /// Its subtree, and its place among those that stand for it.
    subtree: u32,
    replica: u32,
}

impl SwitchPlace {
    fn is_above(&self, node: u32, arity: u32) -> bool {
        node / self.nodes_each / arity == self.subtree
    }
}

impl Config {
    /// Ports up of a level's switches.
    fn ports_up(&self, level: u32) -> u32 {
        self.up.get(level as usize).copied().unwrap_or(self.arity)
    }

    /// Switches of all levels.
    fn all_switches(&self) -> u64 {
        let (mut width, mut all) = (u64::from(self.arity).pow(self.levels - 1), 0);
        for level in 0..self.levels {
            all = width.saturating_add(all);
            width = (width / u64::from(self.arity)).saturating_mul(self.ports_up(level).into());
        }
        all
    }

    /// Where a switch stands.
    #[inline]
    fn place(&self, switch: u32) -> SwitchPlace {
        let mut width = self.arity.pow(self.levels - 1);
        let (mut level, mut first, mut nodes_each, mut replicas) = (0, 0, 1, 1);
        while switch - first >= width {
            let up = self.ports_up(level);
            first += width;
            width = width / self.arity * up;
            nodes_each *= self.arity;
            replicas *= up;
            level += 1;
        }
        let (subtree, replica) = ((switch - first) / replicas, (switch - first) % replicas);
        SwitchPlace { level, first, nodes_each, replicas, subtree, replica }
    }

    /// The other end of a port up.
    fn above(&self, place: SwitchPlace, port: u32) -> Peer {
        let SwitchPlace { level, first, replicas, subtree, replica, .. } = place;
        let width = self.arity.pow(self.levels - 1 - level) * replicas;
        let above = subtree / self.arity * replicas * self.ports_up(level) + port * replicas + replica;
        Peer::Switch { switch: first + width + above, port: (subtree % self.arity) as u16 }
    }

    /// The other end of a port down.
    fn below(&self, place: SwitchPlace, port: u32) -> Peer {
        let SwitchPlace { level, first, replicas, subtree, replica, .. } = place;
        let child = subtree * self.arity + port;
        if level == 0 {
            return Peer::Node(NodeId(child as u16));
        }
        let its_replicas = replicas / self.ports_up(level - 1);
        let its_width = self.arity.pow(self.levels - level) * its_replicas;
        let switch = first - its_width + child * its_replicas + replica % its_replicas;
        Peer::Switch { switch, port: (self.arity + replica / its_replicas) as u16 }
    }
}

impl Topology for Config {
    fn problems(&self) -> Vec<Broken> {
        let ranges = [("arity", self.arity, 2, 64), ("levels", self.levels, 1, 12)];
        let ranges = ranges.into_iter().chain(self.up.iter().map(|&up| ("up", up, 1, 64)));
        let mut problems: Vec<Broken> =
            ranges.filter_map(|(key, value, from, to)| super::within(key, value, from, to)).collect();
        if !problems.is_empty() {
            return problems;
        }
        if !self.up.is_empty() && self.up.len() as u32 != self.levels - 1 {
            let (given, needed) = (self.up.len(), self.levels - 1);
            let message = format!("{given} levels have ports up; expected {needed}: all but the highest");
            problems.push(("up", message));
        } else if self.places() > MOST_PLACES {
            let (arity, levels, places) = (self.arity, self.levels, self.places());
            let message = format!(
                "{levels} is too large with arity {arity}: a tree for {places} nodes, and a machine has at most \
                 {MOST_PLACES}"
            );
            problems.push(("levels", message));
        } else if self.all_switches() > super::MOST_SWITCHES {
            let (all, most) = (self.all_switches(), super::MOST_SWITCHES);
            problems
                .push(("up", format!("{:?} makes {all} switches; a network has at most {most}", self.up)));
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
        self.all_switches() as u32
    }

    fn ports(&self) -> u16 {
        let most_up = self.up.iter().copied().max().unwrap_or(self.arity);
        (self.arity + most_up) as u16
    }

    fn attachment(&self, node: NodeId) -> (u32, u16) {
        let node = u32::from(node.0);
        (node / self.arity, (node % self.arity) as u16)
    }

    fn peer(&self, switch: u32, port: u16) -> Peer {
        let (place, port) = (self.place(switch), u32::from(port));
        if port < self.arity {
            return self.below(place, port);
        }
        let is_wired = place.level + 1 < self.levels && port - self.arity < self.ports_up(place.level);
        if is_wired { self.above(place, port - self.arity) } else { Peer::Nothing }
    }

    fn link_kinds(&self) -> Vec<String> {
        let of_levels = (1..self.levels).map(|level| format!("level-{level}"));
        std::iter::once(NODE_LINKS.to_owned()).chain(of_levels).collect()
    }

    fn link_kind(&self, switch: u32, port: u16) -> u8 {
        let level = self.place(switch).level as u8;
        let is_up = u32::from(port) >= self.arity && u32::from(level) + 1 < self.levels;
        level + u8::from(is_up)
    }

    fn choice(&self) -> Choice {
        self.ascent
    }

    #[inline]
    fn alternatives(&self, switch: u32, destination: NodeId) -> u32 {
        if self.ascent == Choice::Deterministic {
            return 1;
        }
        let place = self.place(switch);
        if place.is_above(destination.0.into(), self.arity) { 1 } else { self.ports_up(place.level) }
    }

    #[inline]
    fn route(&self, switch: u32, destination: NodeId, pick: u32) -> Hop {
        let place = self.place(switch);
        let node = u32::from(destination.0);
        let digit = node / place.nodes_each % self.arity;
        let port = match (place.is_above(node, self.arity), self.ascent) {
            (true, _) => digit,
            (false, Choice::Deterministic) => self.arity + digit % self.ports_up(place.level),
            (false, _) => self.arity + pick,
        };
        Hop { port: port as u16, lane: 0 }
    }

    fn name(&self, switch: u32) -> String {
        let SwitchPlace { level, first, .. } = self.place(switch);
        format!("switch {} of level {level}", switch - first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topologies::path;

    fn tree(ascent: Choice) -> Config {
        Config { arity: 4, levels: 2, up: vec![], ascent }
    }

    #[test]
    fn a_parcel_goes_no_higher_than_it_has_to() {
        let tree = tree(Choice::Deterministic);
        assert_eq!(path(&tree, NodeId(0), NodeId(3)), [0]);
        assert_eq!(path(&tree, NodeId(0), NodeId(6)), [0, 6, 1], "up by the destination's last digit, 2");
    }

    #[test]
    fn all_ports_up_are_alternatives_on_a_random_way_and_none_is_down() {
        let tree = tree(Choice::Random);
        assert_eq!((tree.alternatives(0, NodeId(9)), tree.alternatives(0, NodeId(3))), (4, 1));
        let ports: Vec<u16> = (0..4).map(|pick| tree.route(0, NodeId(9), pick).port).collect();
        assert_eq!(ports, [4, 5, 6, 7]);
    }

    #[test]
    fn a_tree_for_more_nodes_than_a_machine_has_is_refused() {
        let tree = Config { arity: 16, levels: 4, up: vec![], ascent: Choice::Random };
        assert_eq!(tree.problems()[0].0, "levels");
    }

    #[test]
    fn a_tapered_tree_has_fewer_switches_above_and_all_of_its_ports_up_carry_as_much() {
        let tree = Config { arity: 4, levels: 3, up: vec![2, 1], ascent: Choice::Deterministic };
        assert_eq!((tree.problems(), tree.switches(), tree.ports()), (vec![], 16 + 8 + 2, 6));
        assert_eq!(path(&tree, NodeId(0), NodeId(21)), [0, 17, 25, 19, 5]);
        let ports_up: Vec<u16> = (4..16).map(|node| tree.route(0, NodeId(node), 0).port).collect();
        assert_eq!(ports_up, [4, 5].repeat(6));
    }

    #[test]
    fn ports_up_for_other_levels_than_the_tree_has_are_refused() {
        let tree = Config { arity: 4, levels: 3, up: vec![2], ascent: Choice::Random };
        let message = "1 levels have ports up; expected 2: all but the highest";
        assert_eq!(tree.problems(), [("up", message.to_owned())]);
    }
}
