use proptest::prelude::*;

use super::*;

/// Two channels of four banks with rows of 256 bytes (four blocks); the times are easy to add.
fn config() -> Config {
    Config {
        channels: 2,
        interleave: Bytes::new(64),
        banks: 4,
        row: Bytes::new(256),
        row_policy: RowPolicy::Open,
        activate_time: Duration::from_ns(14),
        precharge_time: Duration::from_ns(10),
        column_time: Duration::from_ns(12),
        row_active_time: Duration::from_ns(32),
        write_recovery_time: Duration::from_ns(15),
        burst_time: Duration::from_ns(4),
        refresh_interval: Duration::from_ns(8_000),
        refresh_time: Duration::from_ns(300),
        write_queue: 2,
    }
}

/// Blocks of channel 0: the next column of a row, the next bank's row, another row of the bank.
const COLUMN: u64 = 128;
const BANK: u64 = 512;
const ROW: u64 = 4 * BANK;

fn at(nanoseconds: u64) -> Time {
    Time::ZERO + Duration::from_ns(nanoseconds)
}

/// The time of each read, in nanoseconds.
fn reads<const N: usize>(dram: &mut Dram, accesses: [(u64, u64); N]) -> [u64; N] {
    accesses.map(|(now, address)| (dram.read(at(now), address) - at(now)).as_ps() / 1_000)
}

#[test]
fn a_row_is_opened_hit_and_closed_for_another_one() {
    let mut dram = Dram::new(&config(), 64);
    assert_eq!(reads(&mut dram, [(0, 0), (100, COLUMN), (200, ROW)]), [14 + 12, 12, 10 + 14 + 12]);
    let Statistics { row_hits, row_activations, row_conflicts, data_bus_time, .. } = dram.statistics;
    assert_eq!([row_hits, row_activations, row_conflicts].map(|count| count.get()), [1, 1, 1]);
    assert_eq!(data_bus_time.get(), Duration::from_ns(3 * 4));
}

#[test]
fn a_row_stays_open_for_its_least_time() {
    let mut dram = Dram::new(&config(), 64);
    // Opened at 0, so it closes at 32; its burst has ended at 30.
    assert_eq!(reads(&mut dram, [(0, 0), (26, ROW)]), [26, 32 + 10 + 14 + 12 - 26]);
}

#[test]
fn bursts_of_two_banks_share_the_data_bus_and_those_of_two_channels_do_not() {
    let mut dram = Dram::new(&config(), 64);
    assert_eq!(reads(&mut dram, [(0, 0), (0, BANK), (0, 64)]), [26, 26 + 4, 26]);
    assert_eq!(
        reads(&mut dram, [(100, 0), (100, COLUMN), (100, 2 * COLUMN)]),
        [12, 16, 20],
        "a stream of hits"
    );
}

#[test]
fn with_the_policy_closed_each_block_opens_its_row() {
    let mut dram = Dram::new(&Config { row_policy: RowPolicy::Closed, ..config() }, 64);
    // Closed at 32, the least time, and open again 10 after.
    assert_eq!(reads(&mut dram, [(0, 0), (100, COLUMN), (130, ROW)]), [26, 26, 100 + 32 + 10 + 26 - 130]);
}

#[test]
fn reads_go_before_writes_that_wait_and_find_what_they_hold() {
    let mut dram = Dram::new(&config(), 64);
    assert_eq!(dram.read(at(0), 0), at(26));
    // Until 30 the channel is taken.
    assert_eq!(
        [dram.write(at(10), ROW), dram.write(at(10), BANK), dram.write(at(11), BANK)],
        [at(10), at(10), at(11)]
    );
    assert_eq!(reads(&mut dram, [(12, COLUMN), (13, ROW)]), [30 - 12, 0]);
    assert_eq!(dram.statistics.queue_reads.get(), 1);
    // From 34 on the writes have their turn: the row of the first closes the one that is open.
    assert_eq!(reads(&mut dram, [(500, 0), (600, BANK)]), [36, 12]);
    assert_eq!(dram.statistics.row_conflicts.get(), 2);
}

#[test]
fn a_write_that_finds_the_queue_full_waits_for_the_oldest() {
    let mut dram = Dram::new(&config(), 64);
    let taken = [0, BANK, 2 * BANK].map(|address| dram.write(at(0), address));
    assert_eq!(taken, [at(0), at(0), at(26)], "the first one's bytes go out at 26");
    assert_eq!(dram.statistics.full_queue_waits.get(), 1);
    // A row that was written stays open until 15 behind its burst.
    assert_eq!(reads(&mut dram, [(31, ROW)]), [26 + 4 + 15 + 10 + 14 + 12 - 31]);
}

#[test]
fn a_refresh_closes_rows_and_lets_accesses_wait() {
    let mut dram = Dram::new(&config(), 64);
    assert_eq!(reads(&mut dram, [(7_900, 0), (7_990, COLUMN)]), [26, 12]);
    assert_eq!(reads(&mut dram, [(8_100, COLUMN), (9_000, 0)]), [200 + 26, 12]);
    assert_eq!(dram.statistics.refresh_waits.get(), 1);
}

#[test]
fn what_cannot_be_is_refused_with_its_key() {
    let wrong = Config {
        channels: 3,
        interleave: Bytes::new(32),
        banks: 0,
        row: Bytes::new(96),
        activate_time: Duration::from_ns(40),
        column_time: Duration::ZERO,
        refresh_time: Duration::from_ns(8_000),
        write_queue: 0,
        ..config()
    };
    assert_eq!(config().problems(Bytes::new(64)), []);
    let keys: Vec<_> = wrong.problems(Bytes::new(64)).into_iter().map(|(key, _)| key).collect();
    let expected = [
        "channels",
        "banks",
        "interleave",
        "row",
        "column_time",
        "row_active_time",
        "refresh_time",
        "write_queue",
    ];
    assert_eq!(keys, expected);
}

proptest! {
    #[test]
    fn no_read_is_quicker_than_a_hit_and_a_channel_never_carries_two_bursts_at_once(
        accesses in proptest::collection::vec((0u64..60, 0u64..64, any::<bool>()), 1..200),
        closed in any::<bool>(),
    ) {
        let row_policy = if closed { RowPolicy::Closed } else { RowPolicy::Open };
        let mut dram = Dram::new(&Config { row_policy, ..config() }, 64);
        let (mut now, mut last_end) = (Time::ZERO, [Time::ZERO; 2]);
        for (pause, block, is_write) in accesses {
            now += Duration::from_ns(pause);
            let address = block * 64;
            if is_write {
                prop_assert!(dram.write(now, address) >= now);
                continue;
            }
            let from_queue = dram.statistics.queue_reads.get();
            let first = dram.read(now, address);
            if dram.statistics.queue_reads.get() == from_queue {
                prop_assert!(first >= now + Duration::from_ns(12));
                let end = &mut last_end[(block % 2) as usize];
                prop_assert!(first >= *end);
                *end = first + Duration::from_ns(4);
            }
        }
        let Statistics { row_hits, row_activations, row_conflicts, data_bus_time, .. } = dram.statistics;
        let bursts: u64 = [row_hits, row_activations, row_conflicts].iter().map(|count| count.get()).sum();
        prop_assert_eq!(data_bus_time.get(), Duration::from_ns(4) * bursts);
    }
}
