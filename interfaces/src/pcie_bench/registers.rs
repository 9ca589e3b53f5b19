//! What programs see of pcie-bench's card.

use crate::programming::{Constant, Register};

pub(super) const WINDOW: u64 = 0x00;
pub(super) const UNITS: u64 = 0x08;
pub(super) const UNIT: u64 = 0x10;
pub(super) const OFFSET: u64 = 0x18;
pub(super) const SIZE: u64 = 0x20;
pub(super) const PATTERN: u64 = 0x28;
pub(super) const COUNT: u64 = 0x30;
pub(super) const START: u64 = 0x38;
pub(super) const LEFT: u64 = 0x40;
pub(super) const SAMPLE: u64 = 0x48;
pub(super) const ELAPSED: u64 = 0x50;
pub(super) const TIMER: u64 = 0x58;

/// The card's registers.
pub const REGISTERS: &[Register] = &[
    ("BENCH_WINDOW", WINDOW, "store: the address of the window"),
    ("BENCH_UNITS", UNITS, "store: how many units the window has"),
    ("BENCH_UNIT", UNIT, "store: bytes from one unit to the next"),
    ("BENCH_OFFSET", OFFSET, "store: where in its unit an access begins"),
    ("BENCH_SIZE", SIZE, "store: bytes of an access"),
    ("BENCH_PATTERN", PATTERN, "store: 0, units in turn; else the seed of random ones"),
    ("BENCH_COUNT", COUNT, "store: accesses of a test"),
    ("BENCH_START", START, "store: the test that begins, with BENCH_DMA for the DMA engine"),
    ("BENCH_LEFT", LEFT, "load: accesses of the test that are not over"),
    ("BENCH_SAMPLE", SAMPLE, "load: the next latency, in steps of the timer"),
    ("BENCH_ELAPSED", ELAPSED, "load: the time of the last test, in picoseconds"),
    ("BENCH_TIMER", TIMER, "load: a step of the timer, in picoseconds"),
];

/// Where the engine's flag is in what `START` gets.
pub(super) const DMA: u64 = 16;

/// The numbers of tests.
pub const CONSTANTS: &[Constant] = &[
    ("BENCH_LAT_RD", 0, "the latency of reads"),
    ("BENCH_LAT_WRRD", 1, "the latency of a write and a read of the same bytes behind it"),
    ("BENCH_BW_RD", 2, "the time of reads, as many under way as there may be"),
    ("BENCH_BW_WR", 3, "the same of writes"),
    ("BENCH_BW_RW", 4, "the same of reads and writes in turn"),
    ("BENCH_DMA", DMA, "by the DMA engine; without it by the command path"),
];
