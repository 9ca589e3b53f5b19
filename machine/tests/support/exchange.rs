//! Programs that exchange packets: guest/programs/tests/exchange.c, which does the
//! steps that a test states, through the drivers that every program has.

use std::borrow::Cow;
use std::sync::LazyLock;

use super::Guest;
use compiled_guest::{compiled_guest, compiled_guest_for};

#[path = "../../../cores/tests/support/compiled_guest.rs"]
mod compiled_guest;

static PROGRAM: LazyLock<Vec<u8>> = LazyLock::new(|| compiled_guest("tests/exchange.c"));
/// The same with the driver of Ring, which not every program has.
static PROGRAM_OF_RING: LazyLock<Vec<u8>> = LazyLock::new(|| compiled_guest_for("Ring", "tests/exchange.c"));

/// The same with the driver of CoherentRing.
static PROGRAM_OF_COHERENT_RING: LazyLock<Vec<u8>> =
    LazyLock::new(|| compiled_guest_for("CoherentRing", "tests/exchange.c"));
/// The same with the driver of PioCoherent.
static PROGRAM_OF_PIO_COHERENT: LazyLock<Vec<u8>> =
    LazyLock::new(|| compiled_guest_for("PioCoherent", "tests/exchange.c"));
/// The same with the driver of CxlNic.
static PROGRAM_OF_CXL_NIC: LazyLock<Vec<u8>> =
    LazyLock::new(|| compiled_guest_for("CxlNic", "tests/exchange.c"));
/// The same with the driver of CxlNic2.
static PROGRAM_OF_CXL_NIC2: LazyLock<Vec<u8>> =
    LazyLock::new(|| compiled_guest_for("CxlNic2", "tests/exchange.c"));
/// The same with the driver of Virtio.
static PROGRAM_OF_VIRTIO: LazyLock<Vec<u8>> =
    LazyLock::new(|| compiled_guest_for("Virtio", "tests/exchange.c"));
/// The same with the driver of Verbs.
static PROGRAM_OF_VERBS: LazyLock<Vec<u8>> =
    LazyLock::new(|| compiled_guest_for("Verbs", "tests/exchange.c"));
/// The same with the driver of RegisterFile.
static PROGRAM_OF_REGISTER_FILE: LazyLock<Vec<u8>> =
    LazyLock::new(|| compiled_guest_for("RegisterFile", "tests/exchange.c"));

/// The same with all of these.
static PROGRAM_OF_MOST: LazyLock<Vec<u8>> = LazyLock::new(|| compiled_guest_for("MOST", "tests/exchange.c"));

/// Nodes that send to node 0 in [`all_to_one`].
pub const SENDERS: u64 = 4;
/// Messages of each.
pub const MESSAGES: u64 = 60;

/// The steps of all nodes, as exchange.c states them.
pub struct Exchange {
    steps: String,
    program: &'static LazyLock<Vec<u8>>,
}

impl Exchange {
    /// The same steps with the driver of Ring.
    pub fn over_ring(self) -> Self {
        self.over("Ring")
    }

    /// The same steps with the drivers that an interface, or each of its halves, needs.
    pub fn over(self, interface: &str) -> Self {
        let apart: [(&str, &'static LazyLock<Vec<u8>>); 8] = [
            ("CoherentRing", &PROGRAM_OF_COHERENT_RING),
            ("Ring", &PROGRAM_OF_RING),
            ("PioCoherent", &PROGRAM_OF_PIO_COHERENT),
            ("CxlNic2", &PROGRAM_OF_CXL_NIC2),
            ("CxlNic", &PROGRAM_OF_CXL_NIC),
            ("Virtio", &PROGRAM_OF_VIRTIO),
            ("Verbs", &PROGRAM_OF_VERBS),
            ("RegisterFile", &PROGRAM_OF_REGISTER_FILE),
        ];
        let halves = interface.trim_start_matches('(').split(")S(");
        let of_half =
            |half: &str| apart.iter().find(|(name, _)| half.starts_with(name)).map(|(name, _)| *name);
        let needs = |name: &str| halves.clone().any(|half| of_half(half) == Some(name));
        let mut needed = apart.iter().filter(|(name, _)| needs(name)).map(|&(_, program)| program);
        let program = match (needed.next(), needed.next()) {
            (None, _) => &PROGRAM,
            (Some(one), None) => one,
            (Some(_), Some(_)) => &PROGRAM_OF_MOST,
        };
        Exchange { program, ..self }
    }
}

impl Guest for Exchange {
    fn elf(&self) -> Cow<'_, [u8]> {
        Cow::Borrowed(self.program)
    }

    fn arguments(&self) -> Vec<String> {
        self.steps.split_whitespace().map(str::to_owned).collect()
    }
}

/// The program that does these steps.
pub fn exchange(steps: impl Into<String>) -> Exchange {
    Exchange { steps: steps.into(), program: &PROGRAM }
}

/// Nodes 0 and 1, and so each pair of nodes, exchange `turns` messages of `bytes`
/// of payload in each direction, one after the other, and report their `cycles`.
pub fn ping_pong(turns: u64, bytes: u64) -> Exchange {
    exchange(format!(
        "on even repeat {turns} send ^1 {bytes} receive ^1 end report cycles
         on odd repeat {turns} receive ^1 send ^1 {bytes} end report cycles"
    ))
}

/// As [`ping_pong`], but both nodes speak at once: each is `lead` messages ahead
/// of what it has heard.
pub fn both_ways(turns: u64, bytes: u64, lead: u64) -> Exchange {
    exchange(format!(
        "repeat {lead} send ^1 {bytes} end
         repeat {} send ^1 {bytes} receive ^1 end
         repeat {lead} receive ^1 end",
        turns - lead
    ))
}

/// Every node but 0 sends messages to it; node 0 takes its time, until all
/// buffers are full, and receives all.
pub fn all_to_one() -> Exchange {
    exchange(format!(
        "on others repeat {MESSAGES} send 0 128 end
         on 0 pause 10000 repeat {} receive any end",
        SENDERS * MESSAGES
    ))
}

/// A header for `bytes` of payload: one packet, the only one of its message,
/// for handler 7.
pub fn header(peer: u64, bytes: u64) -> u64 {
    peer | bytes << 16 | 7 << 24 | 1 << 61
}
