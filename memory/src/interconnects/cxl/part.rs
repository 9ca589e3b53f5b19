//! A CXL link as a machine's file describes it: `[node.interconnects.NAME]` with `kind = "cxl"`.

use std::sync::Arc;

use narthex_kernel::Duration;
use narthex_kernel::quantity::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::Interconnect;
use super::super::part::{Above, Admits, Broken, InterconnectKind, MachineFile, Plan, Site};
use super::super::pcie::link::flit_byte;
use super::dialect::{Dialect, Line};
use super::{Cxl, Link};
use crate::directory::protocols;

/// Lanes that a link may have (Compute Express Link Specification 3.0, Section 6.2: x1 and x2 are degraded).
const LANES: [u32; 5] = [1, 2, 4, 8, 16];

/// The most requests of a device under way here; the field of their number has 12 bits.
const MOST_REQUESTS: u32 = 64;

/// A CXL link between a port of the host's directory and a device that caches its blocks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Keys {
    /// The host's interconnect, a directory: the port has the interface's place on its network on chip.
    pub behind: String,
    /// Generation of the wires, 3 to 6: 8, 16, 32 and 64 GT/s a lane.
    #[schemars(range(min = 3, max = 6))]
    pub generation: u32,
    /// Lanes: 1, 2, 4, 8 or 16.
    pub lanes: u32,
    /// Bytes of a flit: 68B, of which four slots of 16 bytes carry messages; or 256B with 15 slots, which
    /// generation 6 needs.
    pub flit: Bytes,
    /// The most requests of the device's cache under way, 1 to 64.
    #[schemars(range(min = 1, max = 64))]
    pub requests: u32,
    /// Stores to registers that the device's end takes before its devices have worked on them, 1 to 256.
    #[schemars(range(min = 1, max = 256))]
    pub stores: u32,
    /// Time of each message in the host's port, either way.
    pub host_port_latency: Duration,
    /// Time of each message on the wires, and in retimers.
    pub link_latency: Duration,
    /// Time of each message in the device's port, either way.
    pub device_port_latency: Duration,
}

/// Bytes of a flit, and slots that carry messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in super::super) struct Flit {
    pub bytes: u64,
    pub slots: u64,
}

/// The wires and ports of a link, whatever is behind it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Physical {
    pub generation: u32,
    pub lanes: u32,
    pub flit: Bytes,
    pub host_port_latency: Duration,
    pub link_latency: Duration,
    pub device_port_latency: Duration,
}

impl Physical {
    /// The flit; none if there is no such format.
    pub fn flit_format(&self) -> Option<Flit> {
        let slots = match self.flit.as_u64() {
            68 => 4,
            256 => 15,
            _ => return None,
        };
        Some(Flit { bytes: self.flit.as_u64(), slots })
    }

    /// The rules that they break, as (key, what is wrong) pairs.
    pub fn problems(&self) -> Vec<(&'static str, String)> {
        let mut problems = Vec::new();
        let mut check = |is_right: bool, key: &'static str, value: &dyn std::fmt::Display, expected: &str| {
            if !is_right {
                problems.push((key, format!("{value} is not allowed; expected {expected}")));
            }
        };
        check((3..=6).contains(&self.generation), "generation", &self.generation, "3 to 6");
        check(LANES.contains(&self.lanes), "lanes", &self.lanes, "1, 2, 4, 8 or 16");
        match self.flit_format() {
            None => check(false, "flit", &self.flit, "68B or 256B"),
            Some(Flit { bytes, .. }) => {
                let fits = self.generation < 6 || bytes == 256;
                check(fits, "flit", &self.flit, "256B with generation = 6");
            }
        }
        problems
    }
}

impl Physical {
    /// The wires of a link that breaks no rule.
    pub fn line(&self) -> Line {
        let (picoseconds, rate) = flit_byte(self.generation);
        Line {
            byte: (picoseconds, rate * u64::from(self.lanes)),
            flit: self.flit_format().expect("checked with the machine"),
            latency: self.host_port_latency + self.link_latency + self.device_port_latency,
            credit_latency: self.link_latency,
        }
    }
}

impl Keys {
    pub(super) fn physical(&self) -> Physical {
        let &Keys { generation, lanes, flit, host_port_latency, link_latency, device_port_latency, .. } =
            self;
        Physical { generation, lanes, flit, host_port_latency, link_latency, device_port_latency }
    }
}

/// The rule that a protocol breaks whose homes do not know of copies.
pub(in super::super) fn needs_copies_known(link: &str, file: &dyn MachineFile) -> Option<Broken> {
    let protocol = file.protocol();
    protocols::by_name(protocol).filter(|table| !table.tracks_copies())?;
    let message = format!(
        "{protocol:?} is not allowed; the home of {link} knows the copies of its device: expected one of {}",
        protocols::coherent().join(", ")
    );
    Some(("data_cache.protocol".to_owned(), message))
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

    fn sits_above(&self) -> (&'static str, fn(Admits) -> bool) {
        ("CXL ports, which need a home that knows the copies of the device,", |admits| admits.root_complexes)
    }

    fn problems(&self, name: &str, file: &dyn MachineFile) -> Vec<Broken> {
        let mut problems = self.physical().problems();
        let mut check = |is_right: bool, key, value: u32, expected: &str| {
            if !is_right {
                problems.push((key, format!("{value} is not allowed; expected {expected}")));
            }
        };
        check((1..=MOST_REQUESTS).contains(&self.requests), "requests", self.requests, "1 to 64");
        check((1..=256).contains(&self.stores), "stores", self.stores, "1 to 256");
        let of_link = |(key, message)| (format!("node.interconnects.{name}.{key}"), message);
        let mut problems: Vec<Broken> = problems.into_iter().map(of_link).collect();
        let (block, key) = file.block();
        if block.as_u64() != 64 {
            let message = format!("{block} is not allowed; a CXL link ({name}) carries blocks of 64B");
            problems.push((key.to_owned(), message));
        }
        problems.extend(needs_copies_known(&format!("a CXL link ({name})"), file));
        problems
    }

    fn plan(&self, _name: &str, _file: &dyn MachineFile) -> Arc<dyn Plan> {
        Arc::new(self.clone())
    }
}

impl<D: Dialect> Link<D> {
    /// An idle link where a machine's file puts it, below a port of a directory.
    pub(in super::super) fn at(site: Site, keys: &D::Keys) -> Self {
        let Site { names, ports, homes, above, block_bytes, .. } = site;
        let Above { on, plan, bridge } = above.expect("a port is in front of it");
        let table = plan.table().expect("a directory is above");
        Link::new(names, keys, (on, bridge, table), (ports, homes), block_bytes)
    }
}

impl Plan for Keys {
    fn build(&self, site: Site) -> Interconnect {
        Cxl::at(site, self).into()
    }
}
