//! A dragonfly: groups of switches that are all linked to each other, and a link
//! between any two groups (Kim, Dally, Scott and Abts, "Technology-Driven,
//! Highly-Scalable Dragonfly Topology", 2008).
//!
//! A parcel takes the minimal route: to the switch of its group that has the link
//! to the destination's group, over it, and to the destination's switch. In the
//! destination's group it is in lane 1, before it in lane 0: a local link that waits
//! for a global one and a local link that follows one are then two lanes (the same,
//! Section 4.1), and no circle is possible.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Broken, Hop, Peer, Topology};
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
    /// Links of a switch to other groups.
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

    /// Which of a group's links leads to another group.
    fn link_to(&self, own: u32, other: u32) -> u32 {
        (other + self.groups - own - 1) % self.groups
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
        let links = self.switches_per_group * self.global_links_per_switch;
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
        if link + 1 >= self.groups {
            return Peer::Nothing;
        }
        let other_group = (group + link + 1) % self.groups;
        let back = self.link_to(other_group, group);
        let (other, its) = (back / self.global_links_per_switch, back % self.global_links_per_switch);
        let switch = other_group * self.switches_per_group + other;
        Peer::Switch { switch, port: (self.first_global() + its) as u16 }
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
        let link = self.link_to(group, to_group);
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

    #[test]
    fn more_groups_than_links_between_them_are_refused() {
        let dragonfly =
            Config { nodes_per_switch: 2, switches_per_group: 4, global_links_per_switch: 2, groups: 10 };
        let problem = "10 is too many: the 8 links of a group to others are enough for 9 groups";
        assert_eq!(dragonfly.problems(), [("groups", problem.to_owned())]);
    }
}
