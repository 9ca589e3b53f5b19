//! A PCIe link as a machine's file describes it: `[node.interconnects.NAME]` with `kind = "pcie"`.

use std::sync::Arc;

use narthex_kernel::Duration;
use narthex_kernel::quantity::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::Interconnect;
use super::super::part::{Above, Admits, Broken, InterconnectKind, MachineFile, Plan, Site};
use super::link::{LANES, most_tags};
use super::packets::{CREDIT_BYTES, Credits};
use super::{Pcie, iommu};

/// A PCIe link between a root complex, which is an agent of the host's interconnect, and devices.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Keys {
    /// The host's interconnect, on which the root complex is; on a directory's network on chip it has the
    /// interface's place.
    pub behind: String,
    /// Generation, 1 to 6: 2.5, 5, 8, 16, 32 and 64 GT/s a lane.
    #[schemars(range(min = 1, max = 6))]
    pub generation: u32,
    /// Lanes: 1, 2, 4, 8, 12 or 16.
    pub lanes: u32,
    /// The most bytes of data in a packet (MPS): a power of two, 128B to 4096B.
    pub max_payload: Bytes,
    /// The most bytes that one read asks for (MRRS): a power of two, 128B to 4096B, and no less than
    /// a block.
    pub max_read_request: Bytes,
    /// Boundary at which every completion of a read ends but the last (RCB): 64B or 128B.
    pub read_completion_boundary: Bytes,
    /// The root complex gathers so many bytes for a completion, or all of its read: a multiple of
    /// `read_completion_boundary`, at most `max_payload`; without it `read_completion_boundary`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completion_size: Option<Bytes>,
    /// Bytes of a write or a read request besides its data: framing, sequence number, header and link
    /// checksum; 24B with addresses of 64 bits.
    pub request_header: Bytes,
    /// The same of a completion: 20B.
    pub completion_header: Bytes,
    /// Bytes of the end-to-end checksum of each packet: 4B, or 0B if there is none.
    pub ecrc: Bytes,
    /// The share of the rate that acknowledgements and flow control take, 0 to 0.5: about 0.04.
    #[schemars(range(min = 0, max = 0.5))]
    pub link_layer_share: f64,
    /// The most read requests of devices under way: up to 256 until generation 3, 768 until 5, 15360 in 6.
    #[schemars(range(min = 1, max = 15360))]
    pub tags: u32,
    /// Blocks of devices' writes that the root complex obtains before older ones are in memory, 1 to 64;
    /// without it a block is written when the one before is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 64))]
    pub writes_ahead: Option<u32>,
    /// Whether packets of devices have ID-based ordering: they may pass writes of other ports of the interface;
    /// without it they do not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id_based_ordering: Option<bool>,
    /// The translation of devices' addresses; without it there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iommu: Option<Box<iommu::Config>>,
    /// Buffers of the root complex for packets of devices.
    pub root_complex_credits: ReceiveBuffers,
    /// Buffers of the device's end for packets of the host.
    pub endpoint_credits: ReceiveBuffers,
    /// Time of each packet in the root complex, either way.
    pub root_complex_latency: Duration,
    /// Time from when a read or a write of a device may begin at the root complex until it asks for the
    /// first block: of several at the same time; without it none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_time: Option<Duration>,
    /// Time of each packet, and of each credit, on the wires.
    pub link_latency: Duration,
    /// Time of each packet in switches between; 0ns without any.
    pub switch_latency: Duration,
    /// Time of each packet in the device's end, either way.
    pub endpoint_latency: Duration,
}

/// The buffers of one end, which it advertises to the other as credits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReceiveBuffers {
    /// Writes.
    #[schemars(range(min = 1))]
    pub posted_headers: u32,
    /// Units of 16 bytes of their data.
    #[schemars(range(min = 1))]
    pub posted_data: u32,
    /// Read requests.
    #[schemars(range(min = 1))]
    pub non_posted_headers: u32,
    /// Completions.
    #[schemars(range(min = 1))]
    pub completion_headers: u32,
    /// Units of 16 bytes of their data.
    #[schemars(range(min = 1))]
    pub completion_data: u32,
}

impl ReceiveBuffers {
    /// The credits by class.
    pub(super) fn credits(&self) -> [Credits; 3] {
        [
            Credits { headers: self.posted_headers, data: self.posted_data },
            Credits { headers: self.non_posted_headers, data: 0 },
            Credits { headers: self.completion_headers, data: self.completion_data },
        ]
    }

    /// The rules that they break: a packet with the largest payload has to fit.
    fn problems(&self, table: &str, max_payload: Bytes) -> Vec<Broken> {
        let least = (max_payload.as_u64() / u64::from(CREDIT_BYTES)).max(1);
        let why =
            format!("expected {least} or more, for the data of a packet of max_payload = {max_payload}");
        let header = "expected 1 or more".to_owned();
        [
            ("posted_headers", self.posted_headers, 1, &header),
            ("posted_data", self.posted_data, least, &why),
            ("non_posted_headers", self.non_posted_headers, 1, &header),
            ("completion_headers", self.completion_headers, 1, &header),
            ("completion_data", self.completion_data, least, &why),
        ]
        .into_iter()
        .filter(|&(_, value, least, _)| u64::from(value) < least)
        .map(|(key, value, _, why)| (format!("{table}.{key}"), format!("{value} is too few; {why}")))
        .collect()
    }
}

impl InterconnectKind for Keys {
    fn behind(&self) -> Option<&str> {
        Some(&self.behind)
    }

    fn is_link(&self) -> bool {
        true
    }

    fn knows_relaxed_ordering(&self) -> bool {
        true
    }

    fn carries_interrupts(&self) -> bool {
        true
    }

    /// A snooping bus is held by a load until its completion comes, and that completion may stay
    /// behind writes of devices that need the same bus: a deadlock.
    fn sits_above(&self) -> (&'static str, fn(Admits) -> bool) {
        ("root complexes, whose answers may wait for writes of devices,", |admits| admits.root_complexes)
    }

    fn problems(&self, name: &str, file: &dyn MachineFile) -> Vec<Broken> {
        let at = |key: &str| format!("node.interconnects.{name}.{key}");
        let mut problems = Vec::new();
        let mut check = |is_right: bool, key: &str, value: &dyn std::fmt::Display, expected: &str| {
            if !is_right {
                problems.push((at(key), format!("{value} is not allowed; expected {expected}")));
            }
        };
        let most = most_tags(self.generation);
        check(most.is_some(), "generation", &self.generation, "1 to 6");
        check(LANES.contains(&self.lanes), "lanes", &self.lanes, "1, 2, 4, 8, 12 or 16");
        let is_size = |size: Bytes| size.as_u64().is_power_of_two() && (128..=4096).contains(&size.as_u64());
        let sizes = "128B, 256B, 512B, 1024B, 2048B or 4096B";
        check(is_size(self.max_payload), "max_payload", &self.max_payload, sizes);
        check(is_size(self.max_read_request), "max_read_request", &self.max_read_request, sizes);
        let (block, block_key) = file.block();
        let block_fits = self.max_read_request.as_u64() >= block.as_u64();
        let expected = format!("no less than the block of {block} ({block_key})");
        check(block_fits, "max_read_request", &self.max_read_request, &expected);
        let boundary = self.read_completion_boundary;
        let is_boundary = [64, 128].contains(&boundary.as_u64());
        check(is_boundary, "read_completion_boundary", &boundary, "64B or 128B");
        if let Some(size) = self.completion_size {
            let (bytes, most) = (size.as_u64(), self.max_payload);
            let fits = bytes.is_power_of_two() && (boundary.as_u64()..=most.as_u64()).contains(&bytes);
            let expected =
                format!("a power of two from read_completion_boundary = {boundary} to max_payload = {most}");
            check(fits, "completion_size", &size, &expected);
        }
        for (key, header) in
            [("request_header", self.request_header), ("completion_header", self.completion_header)]
        {
            check((1..=64).contains(&header.as_u64()), key, &header, "1B to 64B");
        }
        check([0, 4].contains(&self.ecrc.as_u64()), "ecrc", &self.ecrc, "0B or 4B");
        let share = self.link_layer_share;
        check((0.0..=0.5).contains(&share), "link_layer_share", &share, "0 to 0.5");
        if let Some(most) = most {
            let expected = format!("1 to {most}, what the field of generation {} holds", self.generation);
            check((1..=most).contains(&self.tags), "tags", &self.tags, &expected);
        }
        if let Some(ahead) = self.writes_ahead {
            check((1..=64).contains(&ahead), "writes_ahead", &ahead, "1 to 64, or none");
        }
        let of_iommu = self.iommu.iter().flat_map(|iommu| iommu.problems());
        problems.extend(of_iommu.map(|(key, message)| (at(&format!("iommu.{key}")), message)));
        problems.extend(self.root_complex_credits.problems(&at("root_complex_credits"), self.max_payload));
        problems.extend(self.endpoint_credits.problems(&at("endpoint_credits"), self.max_payload));
        problems
    }

    fn plan(&self, _name: &str, _file: &dyn MachineFile) -> Arc<dyn Plan> {
        Arc::new(self.clone())
    }
}

impl Plan for Keys {
    fn build(&self, site: Site) -> Interconnect {
        let Site { names, ports, homes, above, block_bytes, .. } = site;
        let Above { on, bridge, .. } = above.expect("a root complex is in front of it");
        Pcie::new(names, self, (on, bridge), (ports, homes), block_bytes).into()
    }
}
