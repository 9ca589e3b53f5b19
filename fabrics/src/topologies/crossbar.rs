//! One switch to which every node is attached: no two parcels meet but those for
//! the same node.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Broken, Hop, NODE_LINKS, Peer, Topology};
use crate::packet::NodeId;

/// One switch with a port for each node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Ports of the switch: at least as many as there are nodes.
    #[schemars(range(min = 1, max = 512))]
    pub ports: u32,
}

impl Topology for Config {
    fn problems(&self) -> Vec<Broken> {
        super::within("ports", self.ports, 1, 512).into_iter().collect()
    }

    fn size_key(&self) -> &'static str {
        "ports"
    }

    fn places(&self) -> u64 {
        self.ports.into()
    }

    fn switches(&self) -> u32 {
        1
    }

    fn ports(&self) -> u16 {
        self.ports as u16
    }

    fn link_kinds(&self) -> Vec<String> {
        vec![NODE_LINKS.into()]
    }

    fn attachment(&self, node: NodeId) -> (u32, u16) {
        (0, node.0)
    }

    fn peer(&self, _switch: u32, port: u16) -> Peer {
        Peer::Node(NodeId(port))
    }

    fn route(&self, _switch: u32, destination: NodeId, _pick: u32) -> Hop {
        Hop { port: destination.0, lane: 0 }
    }

    fn name(&self, _switch: u32) -> String {
        "the crossbar".into()
    }
}
