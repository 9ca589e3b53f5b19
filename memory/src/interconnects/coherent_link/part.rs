//! A coherent link as a machine's file describes it: `[node.interconnects.NAME]` with `kind = "coherent-link"`.

use std::sync::Arc;

use narthex_kernel::Duration;
use narthex_kernel::quantity::Frequency;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::Interconnect;
use super::super::cxl::dialect::{Limits, Line};
use super::super::cxl::part::{Flit, needs_copies_known};
use super::super::part::{Admits, Broken, InterconnectKind, MachineFile, Plan, Site};
use super::CoherentLink;

/// Of eight words on the wires seven carry messages; the other one has their channels, credits and a checksum. Assumed:
/// as public descriptions of ECI's blocks have it.
const FRAME: Flit = Flit { bytes: 64, slots: 7 };

/// A coherent link between a port of the host's directory and a device that is its peer: it caches the host's blocks,
/// the host caches the device's, and the device may hold answers back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Keys {
    /// The host's interconnect, a directory: the port has the interface's place on its network on chip.
    pub behind: String,
    /// Lanes in each direction, 1 to 64.
    #[schemars(range(min = 1, max = 64))]
    pub lanes: u32,
    /// Bits that a lane moves a second: 10GHz for 10 Gbit/s.
    pub lane_rate: Frequency,
    /// The most requests of the device's cache under way, 1 to 64.
    #[schemars(range(min = 1, max = 64))]
    pub requests: u32,
    /// Buffers of either end for requests, 1 to 64. A load that the device holds keeps one.
    #[schemars(range(min = 1, max = 64))]
    pub request_credits: u32,
    /// Buffers of either end for what the other one's home asks of its caches, 1 to 64.
    #[schemars(range(min = 1, max = 64))]
    pub forward_credits: u32,
    /// Buffers of either end for responses, 1 to 64.
    #[schemars(range(min = 1, max = 64))]
    pub response_credits: u32,
    /// Stores to registers that the device's end takes before its devices have worked on them, 1 to 256.
    #[schemars(range(min = 1, max = 256))]
    pub stores: u32,
    /// Time of each message in the host's port, either way.
    pub host_port_latency: Duration,
    /// Time of each message on the wires; a credit takes as long.
    pub link_latency: Duration,
    /// Time of each message in the device's port, either way.
    pub device_port_latency: Duration,
}

impl Keys {
    /// What they come to.
    pub(super) fn limits(&self) -> Limits {
        let &Keys { lanes, lane_rate, requests, stores, .. } = self;
        let picoseconds = 8 * Duration::from_ns(1_000_000_000).as_ps();
        let line = Line {
            byte: (picoseconds, lane_rate.as_hz() * u64::from(lanes)),
            flit: FRAME,
            latency: self.host_port_latency + self.link_latency + self.device_port_latency,
            credit_latency: self.link_latency,
        };
        let credits = [self.request_credits, self.forward_credits, self.response_credits];
        Limits { line, requests, stores, credits: Some(credits) }
    }
}

impl InterconnectKind for Keys {
    fn behind(&self) -> Option<&str> {
        Some(&self.behind)
    }

    fn is_link(&self) -> bool {
        true
    }

    fn lets_devices_cache(&self) -> bool {
        true
    }

    fn lets_devices_hold(&self) -> bool {
        true
    }

    fn sits_above(&self) -> (&'static str, fn(Admits) -> bool) {
        ("ports of coherent links, which need a home that knows the copies of the device,", |admits| {
            admits.root_complexes
        })
    }

    fn problems(&self, name: &str, file: &dyn MachineFile) -> Vec<Broken> {
        let ranges = [
            ("lanes", self.lanes, 64),
            ("requests", self.requests, 64),
            ("request_credits", self.request_credits, 64),
            ("forward_credits", self.forward_credits, 64),
            ("response_credits", self.response_credits, 64),
            ("stores", self.stores, 256),
        ];
        let wrong = ranges.into_iter().filter(|(_, value, most)| !(1..=*most).contains(value));
        let mut problems: Vec<Broken> = wrong
            .map(|(key, value, most)| {
                let message = format!("{value} is not allowed; expected 1 to {most}");
                (format!("node.interconnects.{name}.{key}"), message)
            })
            .collect();
        let (block, key) = file.block();
        if ![64, 128].contains(&block.as_u64()) {
            let message =
                format!("{block} is not allowed; a coherent link ({name}) carries blocks of 64B or 128B");
            problems.push((key.to_owned(), message));
        }
        problems.extend(needs_copies_known(&format!("a coherent link ({name})"), file));
        problems
    }

    fn plan(&self, _name: &str, _file: &dyn MachineFile) -> Arc<dyn Plan> {
        Arc::new(self.clone())
    }
}

impl Plan for Keys {
    fn build(&self, site: Site) -> Interconnect {
        CoherentLink::at(site, self).into()
    }
}
