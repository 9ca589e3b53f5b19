//! What a program reads is what was written last, whatever happens to the blocks
//! on the way: evictions, write-backs, other protocols, messages.

use narthex_memory::protocols;
use proptest::prelude::*;
use proptest::sample::select;

use crate::interfaces_of_1998;
use crate::reorder::windowed;
use crate::support::exchange::ping_pong;
use crate::support::{DATA, alone, reported_word, request, result, statistic, with};

/// The memory that random programs use: four times their cache.
const BYTES: u64 = 4096;

/// One step of a random program, on `1 << shift` bytes at an offset.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step {
    Load {
        shift: u32,
        signed: bool,
        offset: u64,
    },
    Store {
        shift: u32,
        offset: u64,
        value: u64,
    },
    /// An atomic, by its place in [`ATOMICS`].
    Atomic {
        which: usize,
        shift: u32,
        offset: u64,
        value: u64,
    },
    /// A reservation and the store that it allows.
    Conditional {
        shift: u32,
        offset: u64,
        value: u64,
    },
    /// A conditional store for which there is no reservation.
    Refused {
        offset: u64,
        value: u64,
    },
}

/// An atomic and what it stores, from what was there and its operand; 32-bit
/// ones work on sign-extended values.
type Atomic = (&'static str, fn(i64, i64) -> i64);

const ATOMICS: [Atomic; 9] = [
    ("amoswap", |_, operand| operand),
    ("amoadd", i64::wrapping_add),
    ("amoxor", |old, operand| old ^ operand),
    ("amoand", |old, operand| old & operand),
    ("amoor", |old, operand| old | operand),
    ("amomin", std::cmp::min),
    ("amomax", std::cmp::max),
    ("amominu", |old, operand| (old as u64).min(operand as u64) as i64),
    ("amomaxu", |old, operand| (old as u64).max(operand as u64) as i64),
];

pub(crate) fn step() -> impl Strategy<Value = Step> {
    // A few sets of the cache are used often, so that blocks are evicted.
    let place =
        prop_oneof![0..BYTES - 8, (0..BYTES / 1024, 0..64u64).prop_map(|(way, byte)| way * 1024 + byte)];
    let aligned = |shift: u32| move |offset: u64| offset >> shift << shift;
    prop_oneof![
        (0..4u32, any::<bool>(), place.clone()).prop_map(|(shift, signed, offset)| Step::Load {
            shift,
            signed,
            offset
        }),
        (0..4u32, place.clone(), any::<u64>()).prop_map(|(shift, offset, value)| Step::Store {
            shift,
            offset,
            value
        }),
        (0..ATOMICS.len(), 2..4u32, place.clone(), any::<u64>()).prop_map(
            move |(which, shift, offset, value)| {
                Step::Atomic { which, shift, offset: aligned(shift)(offset), value }
            }
        ),
        (2..4u32, place.clone(), any::<u64>()).prop_map(move |(shift, offset, value)| Step::Conditional {
            shift,
            offset: aligned(shift)(offset),
            value
        }),
        (place, any::<u64>())
            .prop_map(move |(offset, value)| Step::Refused { offset: aligned(3)(offset), value }),
    ]
}

impl Step {
    /// The instructions, with what was read in t2 (zero where nothing was).
    fn source(self) -> String {
        let at = |offset: u64| format!("li t0, {offset}\n add t0, t0, s2\n li t2, 0\n");
        let suffix = |shift: u32| if shift == 2 { "w" } else { "d" };
        match self {
            Step::Load { shift, signed, offset } => {
                let name = ["b", "h", "w", "d"][shift as usize];
                let unsigned = if signed || shift == 3 { "" } else { "u" };
                format!("{}l{name}{unsigned} t2, 0(t0)", at(offset))
            }
            Step::Store { shift, offset, value } => {
                let name = ["b", "h", "w", "d"][shift as usize];
                format!("{}li t1, {}\n s{name} t1, 0(t0)", at(offset), value as i64)
            }
            Step::Atomic { which, shift, offset, value } => {
                let (name, suffix) = (ATOMICS[which].0, suffix(shift));
                format!("{}li t1, {}\n {name}.{suffix} t2, t1, (t0)", at(offset), value as i64)
            }
            Step::Conditional { shift, offset, value } => {
                let suffix = suffix(shift);
                let value = value as i64;
                format!(
                    "{}li t1, {value}\n lr.{suffix} t2, (t0)\n sc.{suffix} t3, t1, (t0)\n beqz t3, 8\n j wrong",
                    at(offset)
                )
            }
            Step::Refused { offset, value } => {
                format!("{}li t1, {}\n sc.d t3, t1, (t0)\n bnez t3, 8\n j wrong", at(offset), value as i64)
            }
        }
    }

    /// What the step does to flat memory; gives what it reads.
    fn apply(self, memory: &mut [u8]) -> u64 {
        match self {
            Step::Load { shift, signed, offset } => match signed {
                true => signed_at(memory, offset, shift) as u64,
                false => unsigned_at(memory, offset, shift),
            },
            Step::Store { shift, offset, value } => {
                write_at(memory, offset, shift, value);
                0
            }
            Step::Atomic { which, shift, offset, value } => {
                let old = signed_at(memory, offset, shift);
                let unused_bits = 64 - (8 << shift);
                let operand = (value as i64) << unused_bits >> unused_bits;
                write_at(memory, offset, shift, ATOMICS[which].1(old, operand) as u64);
                old as u64
            }
            Step::Conditional { shift, offset, value } => {
                let old = signed_at(memory, offset, shift);
                write_at(memory, offset, shift, value);
                old as u64
            }
            Step::Refused { .. } => 0,
        }
    }
}

fn unsigned_at(memory: &[u8], offset: u64, shift: u32) -> u64 {
    let mut bytes = [0; 8];
    let length = 1 << shift;
    bytes[..length].copy_from_slice(&memory[offset as usize..][..length]);
    u64::from_le_bytes(bytes)
}

fn signed_at(memory: &[u8], offset: u64, shift: u32) -> i64 {
    let unused_bits = 64 - (8 << shift);
    (unsigned_at(memory, offset, shift) as i64) << unused_bits >> unused_bits
}

fn write_at(memory: &mut [u8], offset: u64, shift: u32, value: u64) {
    let length = 1 << shift;
    memory[offset as usize..][..length].copy_from_slice(&value.to_le_bytes()[..length]);
}

/// A program of these steps; it reports a checksum of everything that it read,
/// and then of all of the memory.
pub(crate) fn checksumming(steps: &[Step]) -> String {
    let add = "slli t3, s3, 5\n sub s3, t3, s3\n add s3, s3, t2\n";
    let steps: String = steps.iter().map(|step| format!("{}\n{add}", step.source())).collect();
    format!(
        "
        li   s2, {DATA}
        li   s3, 0
        {steps}
        li   s4, {end}
    sweep:
        ld   t2, 0(s2)
        {add}
        addi s2, s2, 8
        bne  s2, s4, sweep
        report_word checksum, s3
        exit 0
    wrong:
        exit 9
    ",
        end = DATA + BYTES
    )
}

/// The checksum that the program has to report.
pub(crate) fn checksum(steps: &[Step]) -> u64 {
    let mut memory = vec![0; BYTES as usize];
    let mut read: Vec<u64> = steps.iter().map(|step| step.apply(&mut memory)).collect();
    read.extend((0..BYTES).step_by(8).map(|offset| unsigned_at(&memory, offset, 3)));
    read.into_iter().fold(0, |sum: u64, value| sum.wrapping_mul(31).wrapping_add(value))
}

/// A prefetcher of this kind in a cache's table, if any.
pub(crate) fn prefetching(table: &str, kind: &str) -> Vec<String> {
    let keys: &[&str] = match kind {
        "" => &[],
        "stream" => &["kind=stream", "streams=4", "degree=2", "distance=4"],
        _ => &["kind=next-line", "degree=2", "distance=1"],
    };
    keys.iter().map(|key| format!("{table}.prefetcher.{key}")).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn every_read_returns_the_last_write_through_a_small_cache(
        steps in proptest::collection::vec(step(), 1..80),
        protocol in select(vec!["MOESI", "MESI", "MSI"]),
        associativity in select(vec![1, 2, 4]),
        block in select(vec![16, 64, 128]),
        (misses, overlaps) in select(vec![(1, false), (3, false), (3, true)]),
        prefetcher in select(vec!["", "next-line", "stream"]),
    ) {
        let mut settings = vec![
            "data_cache.size=1KiB".to_owned(),
            format!("data_cache.block={block}B"),
            format!("data_cache.associativity={associativity}"),
            format!("data_cache.protocol={protocol}"),
            format!("processor.misses={misses}"),
            "bus.width=16B".to_owned(),
        ];
        settings.extend(prefetching("data_cache", prefetcher));
        let request = settings.iter().fold(alone("hpca98"), |request, setting| with(request, setting));
        let request = if overlaps { windowed(request) } else { request };
        let document = result(&request, &checksumming(&steps));
        prop_assert_eq!(reported_word(&document, 0, "checksum"), checksum(&steps));
    }
}

#[test]
fn every_protocol_delivers_the_same_messages() {
    assert_eq!(protocols::coherent(), ["MESI", "MESI-OneRead", "MOESI", "MSI"]);
    for interface in interfaces_of_1998() {
        for protocol in protocols::coherent() {
            let request = with(request("hpca98", interface), &format!("data_cache.protocol={protocol}"));
            // The program checks every word that it receives.
            let document = result(&request, &ping_pong(200, 120));
            assert_eq!(statistic(&document, 1, "packets_delivered"), 200, "{interface} with {protocol}");
        }
    }
}

#[test]
fn a_message_survives_a_cache_that_holds_only_two_blocks() {
    for interface in interfaces_of_1998() {
        let small = with(request("hpca98", interface), "data_cache.size=128B");
        let document = result(&small, &ping_pong(150, 248));
        assert!(statistic(&document, 0, "bus_write_backs") > 150, "blocks leave all the time");
    }
}
