//! The tests of pcie-bench, and which bytes of the window an access is for.

use serde::{Deserialize, Serialize};

/// The most bytes of an access on the command path, and by the DMA engine (the paper's Section 4).
const MOST_BYTES: [u64; 2] = [64, 2048];
/// The most accesses of a test.
const MOST_ACCESSES: u64 = 1 << 20;
/// The largest window.
const LARGEST_WINDOW: u64 = 1 << 30;

/// A test.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Kind {
    /// The latency of reads.
    LatencyOfRead,
    /// The latency of a write and a read of the same bytes behind it.
    LatencyOfWriteAndRead,
    /// The time of reads.
    Reads,
    /// The time of writes.
    Writes,
    /// The time of both in turn.
    ReadsAndWrites,
}

impl Kind {
    const ALL: [Kind; 5] =
        [Kind::LatencyOfRead, Kind::LatencyOfWriteAndRead, Kind::Reads, Kind::Writes, Kind::ReadsAndWrites];

    /// The one that programs know by this number.
    pub fn numbered(number: u64) -> Option<Kind> {
        Kind::ALL.get(usize::try_from(number).ok()?).copied()
    }

    /// Whether an access begins when the one before is over.
    pub fn is_latency(self) -> bool {
        matches!(self, Kind::LatencyOfRead | Kind::LatencyOfWriteAndRead)
    }

    /// Whether the access with this number writes, and whether it reads.
    pub fn writes_and_reads(self, number: u64) -> (bool, bool) {
        match self {
            Kind::LatencyOfRead | Kind::Reads => (false, true),
            Kind::LatencyOfWriteAndRead => (true, true),
            Kind::Writes => (true, false),
            Kind::ReadsAndWrites => (number % 2 == 1, number.is_multiple_of(2)),
        }
    }
}

/// What the registers say of a test.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub struct Setup {
    /// The address of the window.
    pub window: u64,
    /// Units of the window, and bytes from one to the next.
    pub units: u64,
    /// The same.
    pub unit: u64,
    /// Where in its unit an access begins, and how many bytes it has.
    pub offset: u64,
    /// The same.
    pub size: u64,
    /// 0: units in turn; else the seed of random ones.
    pub pattern: u64,
    /// Accesses.
    pub count: u64,
}

impl Setup {
    /// Why it is no test; none if it is one.
    pub fn problem(&self, is_dma: bool) -> Option<String> {
        let Setup { units, unit, offset, size, count, .. } = *self;
        let most = MOST_BYTES[usize::from(is_dma)];
        let most_units = LARGEST_WINDOW.checked_div(unit).unwrap_or(0);
        let wrong = |name: &str, value: u64, allowed: String| {
            Some(format!("pcie-bench's card: {name} is {value}; expected {allowed}"))
        };
        match () {
            () if !(1..=most).contains(&size) => wrong("BENCH_SIZE", size, format!("1 to {most} bytes")),
            () if offset.saturating_add(size) > unit => wrong(
                "BENCH_UNIT",
                unit,
                format!("at least BENCH_OFFSET + BENCH_SIZE, {}", offset.saturating_add(size)),
            ),
            () if !(1..=most_units).contains(&units) => wrong(
                "BENCH_UNITS",
                units,
                format!("1 to {most_units}, windows of up to {LARGEST_WINDOW} bytes"),
            ),
            () if !(1..=MOST_ACCESSES).contains(&count) => {
                wrong("BENCH_COUNT", count, format!("1 to {MOST_ACCESSES}"))
            }
            () => None,
        }
    }

    /// The address of the access with this number.
    pub fn address(&self, number: u64) -> u64 {
        let place = match self.pattern {
            0 => number,
            seed => mixed(seed.wrapping_add(number.wrapping_mul(0x9e37_79b9_7f4a_7c15))),
        };
        self.window + place % self.units * self.unit + self.offset
    }
}

/// A number that looks random (the finaliser of SplitMix64: Steele, Lea and Flood, OOPSLA 2014).
fn mixed(mut number: u64) -> u64 {
    number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accesses_are_in_their_window_and_those_that_cannot_be_are_refused() {
        let setup = Setup { window: 0x1000, units: 4, unit: 128, offset: 8, size: 100, pattern: 0, count: 9 };
        assert_eq!(setup.problem(true), None);
        assert_eq!([0, 3, 4].map(|number| setup.address(number)), [0x1008, 0x1188, 0x1008]);
        let random = Setup { pattern: 7, ..setup };
        let mut met = [0; 4];
        (0..400).for_each(|number| met[((random.address(number) - 0x1008) / 128) as usize] += 1);
        assert!(met.iter().all(|count| (70..130).contains(count)), "{met:?}");
        for (wrong, is_dma, says) in [
            (setup, false, "BENCH_SIZE is 100; expected 1 to 64 bytes"),
            (
                Setup { offset: 64, ..setup },
                true,
                "BENCH_UNIT is 128; expected at least BENCH_OFFSET + BENCH_SIZE, 164",
            ),
            (Setup { units: 0, ..setup }, true, "BENCH_UNITS is 0; expected 1 to 8388608"),
            (Setup { unit: 0, ..setup }, true, "BENCH_UNIT is 0"),
            (Setup { count: 0, ..setup }, true, "BENCH_COUNT is 0; expected 1 to 1048576"),
        ] {
            let problem = wrong.problem(is_dma).expect("it is refused");
            assert!(problem.contains(says), "{problem}");
        }
    }
}
