//! The time of a packet on the wires: generations, lanes, and the share of the rate that is left for
//! packets.

use narthex_kernel::Duration;

use super::part::Keys;

/// What a lane of a generation carries (PCI Express Base Specification 6.0, Sections 4.2 and 8.3).
struct Generation {
    /// Bits a second, in units of 100 Mb/s.
    rate: u64,
    /// Bits (generation 6: bytes of a flit) on the wires for each `useful` ones.
    sent: u64,
    /// Those of them that belong to packets.
    useful: u64,
    /// The most tags of a requester: a field of 8, 10 or 14 bits.
    tags: u32,
}

/// 8b/10b; then 128b/130b; then flits of 256 bytes, of which 236 belong to packets.
const GENERATIONS: [Generation; 6] = [
    Generation { rate: 25, sent: 10, useful: 8, tags: 256 },
    Generation { rate: 50, sent: 10, useful: 8, tags: 256 },
    Generation { rate: 80, sent: 130, useful: 128, tags: 256 },
    Generation { rate: 160, sent: 130, useful: 128, tags: 768 },
    Generation { rate: 320, sent: 130, useful: 128, tags: 768 },
    Generation { rate: 640, sent: 256, useful: 236, tags: 15_360 },
];

/// Lanes that a link may have.
pub(in super::super) const LANES: [u32; 6] = [1, 2, 4, 8, 12, 16];

/// The most tags of a generation, from 1 on; none if there is no such generation.
pub(super) fn most_tags(generation: u32) -> Option<u32> {
    Some(GENERATIONS.get(generation.checked_sub(1)? as usize)?.tags)
}

/// The time of a byte of a flit of CXL in one lane, in picoseconds as a fraction: the wires of this generation,
/// whose encoding below 6 is 128b/130b.
pub(in super::super) fn flit_byte(generation: u32) -> (u64, u64) {
    let Generation { rate, sent, useful, .. } = GENERATIONS[generation as usize - 1];
    // In generation 6 a flit is all that is on the wires.
    let (sent, useful) = if generation == 6 { (1, 1) } else { (sent, useful) };
    (80_000 * sent, rate * useful)
}

/// The whole rate, of which shares are counted in millionths.
const WHOLE: u64 = 1_000_000;

/// A link in one direction, without its queues.
#[derive(Clone, Debug)]
pub(super) struct Link {
    /// The time of a byte in picoseconds, times `divisor`.
    picoseconds: u64,
    divisor: u64,
    /// From the end of a packet on the wires until the other end works on it.
    pub latency: Duration,
    /// From the release of a buffer at one end to the arrival of its credit at the other.
    pub credit_latency: Duration,
    /// Bytes of a request besides its payload.
    request_overhead: u32,
    /// The same of a completion.
    completion_overhead: u32,
}

impl Link {
    /// The link that a machine's file describes.
    pub fn new(keys: &Keys) -> Self {
        let Generation { rate, sent, useful, .. } = GENERATIONS[keys.generation as usize - 1];
        let left = WHOLE - (keys.link_layer_share * WHOLE as f64).round() as u64;
        let overhead =
            |header: narthex_kernel::quantity::Bytes| (header.as_u64() + keys.ecrc.as_u64()) as u32;
        Link {
            // 8 bits at 100 Mb/s are 80,000 ps.
            picoseconds: 80_000 * sent * WHOLE,
            divisor: rate * useful * u64::from(keys.lanes) * left,
            latency: keys.root_complex_latency
                + keys.link_latency
                + keys.switch_latency
                + keys.endpoint_latency,
            credit_latency: keys.link_latency,
            request_overhead: overhead(keys.request_header),
            completion_overhead: overhead(keys.completion_header),
        }
    }

    /// The time of this many bytes on the wires, in whole picoseconds.
    pub fn time(&self, bytes: u32) -> Duration {
        Duration::from_ps((u64::from(bytes) * self.picoseconds).div_ceil(self.divisor))
    }

    /// Bytes of a packet besides its payload.
    pub fn overhead(&self, is_completion: bool) -> u32 {
        if is_completion { self.completion_overhead } else { self.request_overhead }
    }
}
