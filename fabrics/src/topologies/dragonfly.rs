//! A dragonfly: groups of switches that are all linked to each other, and links
//! between any two groups (Kim, Dally, Scott and Abts, "Technology-Driven,
//! Highly-Scalable Dragonfly Topology", 2008).
//!
//! A group's global links are dealt to the other groups in turns: link 0 leads to the
//! next group, link 1 to the one behind it, and so on around, as often as all of them
//! get one. So any two groups have equally many links, on as many switches as
//! possible. Links of a last turn that are too few for all groups are not wired:
//!
//! ```text
//!   3 groups of 2 switches with 2 global links each:      switch 0       switch 1
//!                                                   link  0      1       2      3
//!                                       to the group  +1     +2      +1     +2
//! ```
//!
//! A parcel takes a minimal route: to a switch of its group that has a link to the
//! destination's group, over it, and to the destination's switch. It takes a link of
//! its own switch, if that has one, and the destination decides between several. Where
//! some switches have more links to a group than others, the destination decides
//! between all of the group's, so that all carry as much. In the destination's group a
//! parcel is in lane 1, before it in lane 0: a local link that waits for a global one
//! and a local link that follows one are then two lanes (the same, Section 4.1), and
//! no circle is possible.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Broken, Hop, NODE_LINKS, Peer, Topology};
use crate::packet::NodeId;

/// Groups of switches, every two of them linked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Nodes at a switch.
    #[schemars(range(min = 1, max = 64))]
    pub nodes_per_switch: u32,
    /// Switches of a group.
    #[schemars(range(min = 1, max = 64))]
    pub switches_per_group: u32,
    /// Links of a switch to other groups; those of a group are shared by the other groups evenly.
    #[schemars(range(min = 0, max = 64))]
    pub global_links_per_switch: u32,
    /// Groups; a group's links to others must be enough for all of them.
    #[schemars(range(min = 1, max = 4096))]
    pub groups: u32,
}

impl Config {
    /// A switch's group and its place in it.
    fn place(&self, switch: u32) -> (u32, u32) {
        (switch / self.switches_per_group, switch % self.switches_per_group)
    }

    fn switch_of(&self, node: u32) -> u32 {
        node / self.nodes_per_switch
    }

    /// The first port to another group.
    fn first_global(&self) -> u32 {
        self.nodes_per_switch + self.switches_per_group - 1
    }

    /// The port to another switch of the group.
    fn local_port(&self, own: u32, other: u32) -> u16 {
        (self.nodes_per_switch + if other < own { other } else { other - 1 }) as u16
    }

    /// The links of a group to others, wired or not.
    fn global_links(&self) -> u32 {
        self.switches_per_group * self.global_links_per_switch
    }

    /// Links between any two groups.
    fn links_to_each(&self) -> u32 {
        self.global_links().checked_div(self.groups - 1).unwrap_or(0)
    }

    /// How many groups further another one is, around the circle of groups.
    fn distance(&self, from: u32, to: u32) -> u32 {
        (to + self.groups - from) % self.groups
    }

    /// How many of the links to the group at a distance a group's first switches have.
    fn links_of_first(&self, switches: u32, distance: u32) -> u32 {
        let turns = switches * self.global_links_per_switch + self.groups - 1 - distance;
        (turns / (self.groups - 1)).min(self.links_to_each())
    }

    /// Whether each switch has as many links to a group as any other, or one at most.
    fn is_even(&self) -> bool {
        let others = self.groups - 1;
        self.global_links_per_switch <= others || self.global_links_per_switch.is_multiple_of(others)
    }

    /// Which of a group's links a parcel at this switch takes to the group at a distance.
    fn link_towards(&self, own: u32, distance: u32, destination: u32) -> u32 {
        let all = 0..self.links_to_each();
        let of_own = self.links_of_first(own, distance)..self.links_of_first(own + 1, distance);
        let choice = if of_own.is_empty() || !self.is_even() { all } else { of_own };
        // Nodes of as many switches as possible, before a switch's further nodes.
        let (switch, slot) = (destination / self.nodes_per_switch, destination % self.nodes_per_switch);
        let number = self.place(switch).1 + slot * self.switches_per_group;
        let turn = choice.start + number % (choice.end - choice.start);
        turn * (self.groups - 1) + distance - 1
    }
}

impl Topology for Config {
    fn problems(&self) -> Vec<Broken> {
        let ranges = [
            ("nodes_per_switch", self.nodes_per_switch, 1, 64),
            ("switches_per_group", self.switches_per_group, 1, 64),
            ("global_links_per_switch", self.global_links_per_switch, 0, 64),
            ("groups", self.groups, 1, 4096),
        ];
        let mut problems: Vec<Broken> = ranges
            .into_iter()
            .filter_map(|(key, value, from, to)| super::within(key, value, from, to))
            .collect();
        let links = self.global_links();
        if problems.is_empty() && self.groups > links + 1 {
            let message = format!(
                "{} is too many: the {links} links of a group to others are enough for {} groups",
                self.groups,
                links + 1
            );
            problems.push(("groups", message));
        }
        problems
    }

    fn warnings(&self) -> Vec<Broken> {
        let (links, to_each, others) = (self.global_links(), self.links_to_each(), self.groups - 1);
        let unused = links - to_each * others;
        let wired = match (to_each, others) {
            (_, 0) => "there is no other group".to_owned(),
            (1, others) => format!("each of {others} other groups has one"),
            (to_each, 1) => format!("the only other group has {to_each}"),
            (to_each, others) => format!("each of {others} other groups has {to_each}"),
        };
        let message = format!("{unused} of the {links} global links of a group are not wired: {wired}");
        if unused == 0 { Vec::new() } else { vec![("global_links_per_switch", message)] }
    }

    fn size_key(&self) -> &'static str {
        "groups"
    }

    fn places(&self) -> u64 {
        u64::from(self.groups) * u64::from(self.switches_per_group) * u64::from(self.nodes_per_switch)
    }

    fn switches(&self) -> u32 {
        self.groups * self.switches_per_group
    }

    fn ports(&self) -> u16 {
        (self.first_global() + self.global_links_per_switch) as u16
    }

    fn groups(&self) -> u32 {
        self.groups
    }

    fn attachment(&self, node: NodeId) -> (u32, u16) {
        let node = u32::from(node.0);
        (self.switch_of(node), (node % self.nodes_per_switch) as u16)
    }

    fn peer(&self, switch: u32, port: u16) -> Peer {
        let (group, own) = self.place(switch);
        let port = u32::from(port);
        if port < self.nodes_per_switch {
            return Peer::Node(NodeId((switch * self.nodes_per_switch + port) as u16));
        }
        if port < self.first_global() {
            let index = port - self.nodes_per_switch;
            let other = if index < own { index } else { index + 1 };
            let switch = group * self.switches_per_group + other;
            return Peer::Switch { switch, port: self.local_port(other, own) };
        }
        let link = own * self.global_links_per_switch + port - self.first_global();
        let others = self.groups - 1;
        if link >= self.links_to_each() * others {
            return Peer::Nothing;
        }
        let (turn, distance) = (link / others, link % others + 1);
        // The way back around the circle of groups, in the same turn.
        let back = turn * others + others - distance;
        let (other, its) = (back / self.global_links_per_switch, back % self.global_links_per_switch);
        let switch = (group + distance) % self.groups * self.switches_per_group + other;
        Peer::Switch { switch, port: (self.first_global() + its) as u16 }
    }

    fn link_kinds(&self) -> Vec<String> {
        [NODE_LINKS, "local", "global"].map(str::to_owned).into()
    }

    fn link_kind(&self, _switch: u32, port: u16) -> u8 {
        let port = u32::from(port);
        u8::from(port >= self.nodes_per_switch) + u8::from(port >= self.first_global())
    }

    fn route_lanes(&self) -> u8 {
        2
    }

    #[inline]
    fn route(&self, switch: u32, destination: NodeId, _pick: u32) -> Hop {
        let node = u32::from(destination.0);
        let target = self.switch_of(node);
        let ((group, own), (to_group, to_own)) = (self.place(switch), self.place(target));
        if switch == target {
            return Hop { port: (node % self.nodes_per_switch) as u16, lane: 0 };
        }
        if group == to_group {
            return Hop { port: self.local_port(own, to_own), lane: 1 };
        }
        let link = self.link_towards(own, self.distance(group, to_group), node);
        let (gate, its) = (link / self.global_links_per_switch, link % self.global_links_per_switch);
        let port = if gate == own { (self.first_global() + its) as u16 } else { self.local_port(own, gate) };
        Hop { port, lane: 0 }
    }

    fn name(&self, switch: u32) -> String {
        let (group, own) = self.place(switch);
        format!("switch {own} of group {group}")
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::topologies::path;

    #[test]
    fn a_parcel_takes_one_link_between_groups_at_most() {
        let dragonfly =
            Config { nodes_per_switch: 2, switches_per_group: 4, global_links_per_switch: 2, groups: 9 };
        // Group 0's links 0 and 1, to groups 1 and 2, are those of its switch 0.
        assert_eq!(path(&dragonfly, NodeId(7), NodeId(8)), [3, 0, 7, 4]);
        assert_eq!(path(&dragonfly, NodeId(0), NodeId(6)), [0, 3]);
    }

    /// How many routes between two nodes take each global link, by its switch and port.
    fn routes_by_link(dragonfly: &Config) -> BTreeMap<(u32, u16), u32> {
        let mut routes = BTreeMap::new();
        for (source, destination) in pairs(dragonfly.places() as u16) {
            let mut switch = dragonfly.attachment(source).0;
            loop {
                let Hop { port, .. } = dragonfly.route(switch, destination, 0);
                let Peer::Switch { switch: next, .. } = dragonfly.peer(switch, port) else { break };
                if u32::from(port) >= dragonfly.first_global() {
                    *routes.entry((switch, port)).or_default() += 1;
                }
                switch = next;
            }
        }
        routes
    }

    fn pairs(nodes: u16) -> impl Iterator<Item = (NodeId, NodeId)> {
        (0..nodes).flat_map(move |from| (0..nodes).map(move |to| (NodeId(from), NodeId(to))))
    }

    #[test]
    fn all_links_between_two_groups_are_wired_and_carry_as_much() {
        for (switches, links, groups, to_each) in [(4, 1, 2, 4), (4, 2, 2, 8), (2, 3, 3, 3), (4, 2, 5, 2)] {
            let dragonfly = Config {
                nodes_per_switch: 3,
                switches_per_group: switches,
                global_links_per_switch: links,
                groups,
            };
            assert_eq!((dragonfly.problems(), dragonfly.warnings()), (vec![], vec![]));
            let routes = routes_by_link(&dragonfly);
            let ends = groups * (groups - 1) * to_each;
            assert_eq!(routes.len() as u32, ends, "{dragonfly:?}: {routes:?}");
            let crossing = groups * (groups - 1) * (switches * 3).pow(2);
            let each = routes.values().all(|&count| count == crossing / ends);
            assert!(each, "{dragonfly:?}: {crossing} routes over {ends} ends: {routes:?}");
        }
    }

    #[test]
    fn a_parcel_takes_a_link_of_its_own_switch_if_that_has_one() {
        let dragonfly =
            Config { nodes_per_switch: 1, switches_per_group: 3, global_links_per_switch: 2, groups: 4 };
        // Links 0 to 2 and 3 to 5 of group 0 lead to groups 1 to 3.
        assert_eq!(path(&dragonfly, NodeId(0), NodeId(3)), [0, 4, 3]);
        assert_eq!(path(&dragonfly, NodeId(1), NodeId(3)), [1, 5, 3]);
        // Switch 2 has none to group 1: the destination decides between switches 0 and 1.
        assert_eq!(path(&dragonfly, NodeId(2), NodeId(3)), [2, 0, 4, 3]);
        assert_eq!(path(&dragonfly, NodeId(2), NodeId(4)), [2, 1, 5, 4]);
    }

    #[test]
    fn links_that_are_too_few_for_all_groups_are_told() {
        let warned = |global_links_per_switch, groups| {
            let config =
                Config { nodes_per_switch: 2, switches_per_group: 4, global_links_per_switch, groups };
            config.warnings().into_iter().map(|(_, message)| message).collect::<Vec<_>>()
        };
        let of_eight = "1 of the 8 global links of a group are not wired: each of 7 other groups has one";
        assert_eq!(warned(2, 8), [of_eight]);
        let of_twelve = "2 of the 12 global links of a group are not wired: each of 5 other groups has 2";
        assert_eq!(warned(3, 6), [of_twelve]);
        let alone = "4 of the 4 global links of a group are not wired: there is no other group";
        assert_eq!(warned(1, 1), [alone]);
        assert_eq!([warned(2, 9), warned(1, 2), warned(0, 1)], [const { Vec::<String>::new() }; 3]);
    }

    #[test]
    fn more_groups_than_links_between_them_are_refused() {
        let dragonfly =
            Config { nodes_per_switch: 2, switches_per_group: 4, global_links_per_switch: 2, groups: 10 };
        let problem = "10 is too many: the 8 links of a group to others are enough for 9 groups";
        assert_eq!(dragonfly.problems(), [("groups", problem.to_owned())]);
    }
}
