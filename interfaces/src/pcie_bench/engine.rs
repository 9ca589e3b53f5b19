//! The accesses of a test: when they begin, what is under way, and how long they take.
//!
//! ```text
//!   latency     begin ── (dma_time) ── packets ── data: a sample ── the next one begins
//!   bandwidth   begin, as long as fewer than `operations` are under way ── the time of all of them
//! ```
//!
//! The command path issues at once, a write and the read behind it together. The DMA engine takes `dma_time` for
//! each access and copies its data between link and card's memory in pieces of 128 bytes. A write fetches its pieces
//! one after the other, and the next access begins behind the last one, after `write_interval`. A read behind a write is
//! enqueued when the write is over, as the card's firmware does (pciebench-nfp, `dma_lat` of me/pcie_dma.c). A sample
//! is the difference of what the timer shows at both ends: whole steps.
//!
//! Each write carries a byte of its own number, and a read behind a write must find it.

use std::collections::VecDeque;

use narthex_kernel::{Duration, Time};
use narthex_memory::{AgentId, BlockData, Kind as TransactionKind, Response, Transaction, TransactionTag};
use serde::{Deserialize, Serialize};

use super::config::Config;
use super::test::{Kind, Setup};

narthex_kernel::statistics! {
    /// What pcie-bench's card did.
    pub struct Statistics {
        reads: Counter, "bench_reads", "reads", "reads of memory by pcie-bench's card";
        writes: Counter, "bench_writes", "writes", "writes of memory by pcie-bench's card";
        bytes: Counter, "bench_bytes", "bytes", "bytes that it read and wrote";
    }
}

/// Bytes that the DMA engine copies at a time. No source states them: writes of 129 to 192 bytes, and of 257 to 320, take
/// the same time each (pcie-bench's data, BW_DMA_WR).
const PIECE_BYTES: u64 = 128;

/// What changes in the engine.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub(super) struct Engine {
    run: Option<Run>,
    /// Latencies that no program has loaded, in steps.
    samples: VecDeque<u64>,
    elapsed: Duration,
}

/// A test that is under way.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
struct Run {
    kind: Kind,
    setup: Setup,
    is_dma: bool,
    started: Time,
    /// Accesses that have begun, and that are over.
    begun: u64,
    over: u64,
    /// When the last of them began.
    since: Time,
    /// From when on the engine begins another one.
    free_at: Time,
    /// What will be issued, and when, in order.
    waiting: VecDeque<(Time, Operation)>,
    /// What is under way, by tag.
    under_way: Vec<Option<Operation>>,
    /// Reads whose data are being copied, and until when, in order.
    copied: VecDeque<(Time, Operation)>,
}

impl Run {
    /// The time of the engine before an access leaves.
    fn time_before(&self, is_write: bool, config: &Config) -> Duration {
        if !self.is_dma {
            return Duration::ZERO;
        }
        config.dma_time + if is_write { self.copy_time(config) } else { Duration::ZERO }
    }

    /// The time from the end of an access on the link to its own.
    fn time_behind(&self, is_write: bool, config: &Config) -> Duration {
        if self.is_dma && !is_write { self.copy_time(config) } else { Duration::ZERO }
    }

    fn copy_time(&self, config: &Config) -> Duration {
        config.copy_time * (self.setup.size.saturating_sub(1) / PIECE_BYTES)
    }

    /// Makes an operation wait for its time before it leaves; that instant.
    fn enqueue(&mut self, begin: Time, operation: Operation, config: &Config) -> Time {
        let at = begin + self.time_before(operation.is_write, config);
        self.waiting.push_back((at, operation));
        at
    }
}

/// A read or a write.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
struct Operation {
    access: u64,
    is_write: bool,
    /// Whether its access is over with it.
    is_last: bool,
}

impl Engine {
    /// Accesses that are not over.
    pub fn left(&self) -> u64 {
        self.run.as_ref().map_or(0, |run| run.setup.count - run.over)
    }

    /// The time of the last test.
    pub fn elapsed(&self) -> Duration {
        self.elapsed
    }

    /// The next latency.
    pub fn sample(&mut self) -> Option<u64> {
        self.samples.pop_front()
    }

    /// Begins a test.
    pub fn start(
        &mut self,
        now: Time,
        (kind, setup, is_dma): (Kind, Setup, bool),
        config: &Config,
    ) -> Vec<Time> {
        self.samples.clear();
        let under_way = vec![None; config.operations as usize + 1];
        self.run = Some(Run {
            kind,
            setup,
            is_dma,
            started: now,
            begun: 0,
            over: 0,
            since: now,
            free_at: now,
            waiting: VecDeque::new(),
            under_way,
            copied: VecDeque::new(),
        });
        self.begin(now, config)
    }

    /// Begins all accesses that may begin; the instants at which they are to be issued.
    fn begin(&mut self, now: Time, config: &Config) -> Vec<Time> {
        let Some(run) = &mut self.run else { return Vec::new() };
        let most = if run.kind.is_latency() { 1 } else { u64::from(config.operations) };
        let mut instants = Vec::new();
        while run.begun < run.setup.count && run.begun - run.over < most {
            run.since = now;
            let (writes, reads) = run.kind.writes_and_reads(run.begun);
            let reads_later = run.is_dma && writes && reads;
            let made = [(true, writes), (false, reads && !reads_later)];
            for (is_write, _) in made.into_iter().filter(|(_, is_made)| *is_made) {
                let begin = run.free_at.max(now);
                if run.is_dma && is_write {
                    run.free_at = begin + config.write_interval + run.copy_time(config);
                }
                let operation = Operation { access: run.begun, is_write, is_last: !(is_write && reads) };
                instants.push(run.enqueue(begin, operation, config));
            }
            run.begun += 1;
        }
        instants
    }

    /// Whether something is to be issued by now.
    pub fn wants(&self, now: Time) -> bool {
        self.run.as_ref().and_then(|run| run.waiting.front()).is_some_and(|(at, _)| *at <= now)
    }

    /// The next transaction.
    pub fn issue(&mut self, now: Time, agent: AgentId, statistics: &mut Statistics) -> Option<Transaction> {
        if !self.wants(now) {
            return None;
        }
        let Run { waiting, under_way, setup, .. } = self.run.as_mut()?;
        let place = under_way.iter().position(Option::is_none)?;
        let (_, operation) = waiting.pop_front()?;
        under_way[place] = Some(operation);
        statistics.bytes.add(setup.size);
        let address = setup.address(operation.access);
        let transaction = if operation.is_write {
            statistics.writes.increment();
            let data = BlockData::from_bytes(&vec![operation.access as u8; setup.size as usize]);
            Transaction::carrying(agent, TransactionKind::WriteBlock, address, data)
        } else {
            statistics.reads.increment();
            let read = Transaction::block(agent, TransactionKind::ReadOnce, address);
            Transaction { size: setup.size as u16, ..read }
        };
        Some(Transaction { tag: TransactionTag(place as u8), ..transaction })
    }

    /// A transaction is over; the instants at which others are to be issued.
    ///
    /// # Errors
    /// If a read behind a write has not found what that wrote.
    pub fn complete(
        &mut self,
        now: Time,
        (transaction, response): (&Transaction, &Response),
        config: &Config,
    ) -> Result<Vec<Time>, String> {
        let run = self.run.as_mut().expect("it has issued it");
        let Operation { access, is_write, is_last } =
            run.under_way[usize::from(transaction.tag.0)].take().expect("it is under way");
        if run.kind == Kind::LatencyOfWriteAndRead && !is_write {
            let data = response.data.as_ref().expect("it is what was read");
            if data.iter().any(|&byte| byte != access as u8) {
                return Err(format!(
                    "pcie-bench's card: a read of {:#x} behind a write has not found what was written",
                    transaction.address
                ));
            }
        }
        let operation = Operation { access, is_write, is_last };
        run.copied.push_back((now + run.time_behind(is_write, config), operation));
        Ok(self.advance(now, config))
    }

    /// Ends the operations whose data are copied by now; the instants at which others end or are to be
    /// issued.
    pub fn advance(&mut self, now: Time, config: &Config) -> Vec<Time> {
        let Some(run) = &mut self.run else { return Vec::new() };
        let mut instants = Vec::new();
        while run.copied.front().is_some_and(|(at, _)| *at <= now) {
            let (_, operation) = run.copied.pop_front().expect("it is there");
            if !operation.is_last {
                if run.is_dma {
                    let read = Operation { is_write: false, is_last: true, ..operation };
                    instants.push(run.enqueue(now, read, config));
                }
                continue;
            }
            run.over += 1;
            if run.kind.is_latency() {
                let step = config.timer_step.as_ps();
                let shown = |at: Time| at.as_ps() / step;
                self.samples.push_back(shown(now) - shown(run.since));
            }
        }
        instants.extend(run.copied.front().map(|(at, _)| *at));
        if run.over == run.setup.count {
            self.elapsed = now - run.started;
            self.run = None;
        }
        instants.extend(self.begin(now, config));
        instants
    }

    /// What it is at, in words.
    pub fn doing(&self) -> Option<&'static str> {
        self.run.as_ref().map(|run| if run.kind.is_latency() { "latency test" } else { "bandwidth test" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(nanoseconds: u64) -> Time {
        Time::ZERO + Duration::from_ns(nanoseconds)
    }

    const CONFIG: Config = Config {
        register_access_time: Duration::ZERO,
        timer_step: Duration::from_ns(10),
        dma_time: Duration::from_ns(120),
        copy_time: Duration::from_ns(9),
        operations: 2,
        write_interval: Duration::from_ns(20),
    };

    fn setup(size: u64, count: u64) -> Setup {
        Setup { window: 0x1000, units: 4, unit: 128, offset: 0, size, pattern: 0, count }
    }

    fn issue(engine: &mut Engine, now: Time) -> Transaction {
        engine.issue(now, AgentId(0), &mut Statistics::default()).expect("it is to be issued")
    }

    fn complete(
        engine: &mut Engine,
        now: Time,
        transaction: &Transaction,
        byte: u8,
    ) -> Result<Vec<Time>, String> {
        let data = Some(BlockData::from_bytes(&vec![byte; transaction.size.into()]));
        engine.complete(now, (transaction, &Response { data, ..Response::default() }), &CONFIG)
    }

    #[test]
    fn a_latency_is_that_of_the_link_and_of_the_engine_in_whole_steps() {
        let mut engine = Engine::default();
        let instants = engine.start(at(5), (Kind::LatencyOfRead, setup(129, 2), true), &CONFIG);
        assert_eq!((instants, engine.wants(at(124))), (vec![at(125)], false));
        let read = issue(&mut engine, at(125));
        assert_eq!((read.address, read.size, engine.wants(at(125))), (0x1000, 129, false));
        // The second piece is copied for 9 ns; then the next access begins.
        assert_eq!(complete(&mut engine, at(525), &read, 0), Ok(vec![at(534)]));
        assert_eq!((engine.advance(at(534), &CONFIG), engine.left()), (vec![at(654)], 1));
        assert_eq!((engine.sample(), engine.sample()), (Some(53), None), "the timer shows 0 and 530 ns");
    }

    #[test]
    fn as_many_accesses_are_under_way_as_may_be_and_writes_have_a_distance() {
        let mut engine = Engine::default();
        let instants = engine.start(at(0), (Kind::Writes, setup(64, 3), true), &CONFIG);
        assert_eq!(instants, [at(120), at(140)]);
        let first = issue(&mut engine, at(120));
        assert_eq!(complete(&mut engine, at(121), &first, 0), Ok(vec![at(241)]), "the third one");
        for now in [140, 241] {
            let write = issue(&mut engine, at(now));
            complete(&mut engine, at(now + 1), &write, 0).expect("a write finds nothing");
        }
        assert_eq!((engine.left(), engine.elapsed()), (0, Duration::from_ns(242)));
    }

    #[test]
    fn a_write_of_several_pieces_keeps_the_engine_for_all_of_them() {
        for (size, second) in [(128, 140), (129, 158), (256, 158), (257, 176)] {
            let mut engine = Engine::default();
            let instants = engine.start(at(0), (Kind::Writes, setup(size, 2), true), &CONFIG);
            assert_eq!(
                instants[1],
                at(second),
                "the copy of {size} bytes, and the distance, before the second one"
            );
        }
    }

    #[test]
    fn the_dma_engine_gets_a_read_when_the_write_before_it_is_over() {
        let mut engine = Engine::default();
        let instants = engine.start(at(0), (Kind::LatencyOfWriteAndRead, setup(64, 1), true), &CONFIG);
        assert_eq!(instants, [at(120)]);
        let write = issue(&mut engine, at(120));
        assert!(!engine.wants(at(1000)), "the read waits for the write");
        assert_eq!(complete(&mut engine, at(130), &write, 0), Ok(vec![at(250)]));
        let read = issue(&mut engine, at(250));
        assert_eq!((read.kind, engine.left()), (TransactionKind::ReadOnce, 1));
    }

    #[test]
    fn a_read_behind_a_write_must_find_what_was_written() {
        for (found, is_right) in [(0, true), (1, false)] {
            let mut engine = Engine::default();
            engine.start(at(0), (Kind::LatencyOfWriteAndRead, setup(8, 1), false), &CONFIG);
            let [write, read] = [(); 2].map(|()| issue(&mut engine, at(0)));
            assert_eq!(write.data.as_deref(), Some(&[0; 8][..]));
            complete(&mut engine, at(1), &write, 0).expect("a write finds nothing");
            assert_eq!(complete(&mut engine, at(500), &read, found).is_ok(), is_right);
        }
    }
}
