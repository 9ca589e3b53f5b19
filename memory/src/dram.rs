//! DRAM: channels, banks and their open rows behind a memory controller.
//!
//! ```text
//!   controller ─┬─ channel 0: write queue, data bus ─┬─ bank 0: a row is open, or none
//!               │                                    ├─ bank 1
//!               └─ channel 1 ...                     └─ ...
//! ```
//!
//! **Addresses.** Neighbouring pieces of `interleave` bytes go to the channels in turn. In a
//! channel, neighbouring bytes fill a row of `row` bytes, and the next row is the next bank's.
//!
//! **A block** is one burst. Its bank has the row open (a row hit: `column_time`), has none open
//! (`activate_time` more), or another one (`precharge_time` more than that, and not before the
//! other row was open for `row_active_time`). The burst waits for the channel's data bus. With
//! the policy `closed` a bank closes its row behind each burst.
//!
//! **Order.** Reads of a channel are served as they come. Writes wait in its queue and go to
//! their banks while no read wants the channel; a read of a block that waits there is served from the
//! queue. A write that finds the queue full waits until the oldest one has its turn.
//!
//! **Refresh.** After each `refresh_interval` all banks close their rows and take no command for
//! `refresh_time`. What has begun before ends before.
//!
//! Not here: the reordering of reads (FR-FCFS), ranks, bank groups, the limit of activations in
//! a window (tFAW), the turnaround of the data bus, a precharge before the end of a burst
//! (tRTP). Nothing is an event: what writes do between two accesses is computed at the second.

use std::collections::VecDeque;

use narthex_kernel::quantity::Bytes;
use narthex_kernel::{Archive, Archived, Damage, Duration, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::memory_uses::{BankUse, MemoryPart, UseLog};

/// When a bank closes its row.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RowPolicy {
    /// When another row of the bank is wanted.
    Open,
    /// Behind each burst.
    Closed,
}

/// The parameters of a memory's DRAM. JEDEC's names of times stand in brackets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Channels, 1 to 64; a power of two.
    #[schemars(range(min = 1, max = 64))]
    pub channels: u32,
    /// Neighbouring bytes of one channel: a power of two, at least a coherence block.
    pub interleave: Bytes,
    /// Banks of a channel, 1 to 1024; a power of two.
    #[schemars(range(min = 1, max = 1024))]
    pub banks: u32,
    /// Bytes of a bank's row: a power of two, at least a coherence block.
    pub row: Bytes,
    /// When a bank closes its row.
    pub row_policy: RowPolicy,
    /// From opening a row to the command for a burst of it (tRCD).
    pub activate_time: Duration,
    /// From closing a row to opening another one (tRP).
    pub precharge_time: Duration,
    /// From the command for a burst to its first bytes (CL; of writes, too).
    pub column_time: Duration,
    /// From opening a row to closing it, at least (tRAS).
    pub row_active_time: Duration,
    /// From the end of a written burst to closing its row, at least (tWR).
    pub write_recovery_time: Duration,
    /// Time that a coherence block takes on the channel's data bus.
    pub burst_time: Duration,
    /// From one refresh to the next (tREFI).
    pub refresh_interval: Duration,
    /// Time that a refresh takes (tRFC).
    pub refresh_time: Duration,
    /// Writes that wait in a channel's queue, 1 to 256.
    #[schemars(range(min = 1, max = 256))]
    pub write_queue: u32,
}

impl Config {
    /// The rules that the parameters break with blocks of this size, as (key, what is wrong)
    /// pairs.
    pub fn problems(&self, block: Bytes) -> Vec<(&'static str, String)> {
        let mut problems = Vec::new();
        for (key, number, most) in [("channels", self.channels, 64), ("banks", self.banks, 1024)] {
            if !number.is_power_of_two() || number > most {
                problems.push((key, format!("{number} is not a power of two from 1 to {most}")));
            }
        }
        for (key, size) in [("interleave", self.interleave), ("row", self.row)] {
            if !size.as_u64().is_power_of_two() || size < block || size.as_u64() > 1 << 30 {
                problems
                    .push((key, format!("{size} is not a power of two from the block's {block} to 1GiB")));
            }
        }
        let times = [
            ("activate_time", self.activate_time),
            ("precharge_time", self.precharge_time),
            ("column_time", self.column_time),
            ("burst_time", self.burst_time),
            ("refresh_interval", self.refresh_interval),
        ];
        let zero = |&(_, time): &(_, Duration)| time.is_zero();
        let expected = "0ps is not allowed; expected a time such as 14ns";
        problems.extend(times.into_iter().filter(zero).map(|(key, _)| (key, expected.to_owned())));
        if self.row_active_time < self.activate_time {
            let (own, least) = (self.row_active_time, self.activate_time);
            problems.push(("row_active_time", format!("{own} is less than the activate_time of {least}")));
        }
        if self.refresh_time >= self.refresh_interval {
            let (own, most) = (self.refresh_time, self.refresh_interval);
            let message = format!(
                "{own} is not less than the refresh_interval of {most}: nothing else would be served"
            );
            problems.push(("refresh_time", message));
        }
        if !(1..=256).contains(&self.write_queue) {
            problems.push(("write_queue", format!("{} is not from 1 to 256", self.write_queue)));
        }
        problems
    }
}

impl Config {
    /// The first instant from `at` on that is in no refresh.
    fn behind_refresh(&self, at: Time) -> Time {
        let refreshes = self.refreshes_until(at);
        let begin = Time::ZERO + self.refresh_interval * refreshes;
        if refreshes == 0 { at } else { at.max(begin + self.refresh_time) }
    }

    /// Refreshes that have begun until this instant.
    fn refreshes_until(&self, at: Time) -> u64 {
        at.as_ps() / self.refresh_interval.as_ps()
    }
}

narthex_kernel::statistics! {
    /// What a memory's DRAM did.
    pub struct Statistics {
        row_hits: Counter, "dram_row_hits", "bursts", "bursts of DRAM whose row was open";
        row_activations: Counter, "dram_row_activations", "bursts", "bursts of DRAM whose bank had no row open";
        row_conflicts: Counter, "dram_row_conflicts", "bursts", "bursts of DRAM whose bank had another row open";
        refresh_waits: Counter, "dram_refresh_waits", "bursts", "bursts of DRAM that waited for a refresh";
        queue_reads: Counter, "dram_queue_reads", "blocks", "blocks that were read from a write queue of DRAM";
        full_queue_waits: Counter, "dram_full_queue_waits", "blocks", "blocks written to DRAM that found the write queue full";
        data_bus_time: TimeTotal, "dram_data_bus_time", "ps", "time for which the data buses of DRAM carried bursts, added over channels";
    }
}

/// A bank, and the row that it has open.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Bank {
    open_row: Option<u64>,
    opened_at: Time,
    /// From when on its row may be closed.
    closes_from: Time,
    /// From when on it takes the next command.
    ready_from: Time,
}

/// A write that waits.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Write {
    block: u64,
    since: Time,
}

/// A channel: its banks share a data bus.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Channel {
    banks: Vec<Bank>,
    writes: VecDeque<Write>,
    bus_free_from: Time,
}

/// Where a block is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct DramAddress {
    channel: usize,
    bank: usize,
    row: u64,
}

/// The DRAM of a memory.
#[derive(Clone, Debug)]
pub struct Dram {
    config: Config,
    block_bytes: u64,
    channels: Vec<Channel>,
    /// For observers.
    pub(crate) uses: UseLog,
    /// What was counted.
    pub statistics: Statistics,
}

impl Dram {
    /// One whose rows are all closed, for blocks of this size.
    pub fn new(config: &Config, block_bytes: u64) -> Self {
        let channel = Channel {
            banks: vec![Bank::default(); config.banks as usize],
            writes: VecDeque::with_capacity(config.write_queue as usize),
            bus_free_from: Time::ZERO,
        };
        Dram {
            config: config.clone(),
            block_bytes,
            channels: vec![channel; config.channels as usize],
            uses: UseLog::default(),
            statistics: Statistics::default(),
        }
    }

    /// A block is wanted at `now`: when its first bytes are there.
    pub fn read(&mut self, now: Time, address: u64) -> Time {
        let place = self.place(address);
        self.write_until(now, place.channel);
        if self.waiting_write(place.channel, address).is_some() {
            self.statistics.queue_reads.increment();
            return now;
        }
        self.burst(now, place, false)
    }

    /// A block comes to be written at `now`: when the controller has taken it.
    pub fn write(&mut self, now: Time, address: u64) -> Time {
        let channel = self.place(address).channel;
        self.write_until(now, channel);
        if self.waiting_write(channel, address).is_some() {
            return now;
        }
        let is_full = self.channels[channel].writes.len() >= self.config.write_queue as usize;
        let taken = if is_full { self.write_oldest(now, channel) } else { now };
        self.statistics.full_queue_waits.add(is_full.into());
        let write = Write { block: address / self.block_bytes, since: taken };
        self.channels[channel].writes.push_back(write);
        taken
    }

    fn place(&self, address: u64) -> DramAddress {
        let Config { channels, interleave, banks, row, .. } = &self.config;
        let (interleave, channels) = (interleave.as_u64(), u64::from(*channels));
        let piece = address / interleave;
        let within = piece / channels * interleave + address % interleave;
        let row_number = within / row.as_u64();
        DramAddress {
            channel: (piece % channels) as usize,
            bank: (row_number % u64::from(*banks)) as usize,
            row: row_number / u64::from(*banks),
        }
    }

    fn waiting_write(&self, channel: usize, address: u64) -> Option<&Write> {
        let block = address / self.block_bytes;
        self.channels[channel].writes.iter().find(|write| write.block == block)
    }

    /// Carries out the writes that had their turn before `now`: the channel had nothing else to do.
    fn write_until(&mut self, now: Time, channel: usize) {
        let own = |dram: &Self| {
            let channel = &dram.channels[channel];
            channel.writes.front().map(|write| write.since.max(channel.bus_free_from))
        };
        while let Some(start) = own(self).filter(|start| *start < now) {
            self.write_oldest(start, channel);
        }
    }

    /// Carries out the write that has waited longest, from `at` on: when its bytes go out.
    fn write_oldest(&mut self, at: Time, channel: usize) -> Time {
        let write = self.channels[channel].writes.pop_front().expect("a write waits");
        let place = self.place(write.block * self.block_bytes);
        self.burst(at, place, true)
    }

    /// A burst of a row, from `at` on at the earliest: when its first bytes are on the data bus.
    fn burst(&mut self, at: Time, place: DramAddress, is_write: bool) -> Time {
        let Config { activate_time, precharge_time, column_time, burst_time, .. } = self.config;
        let Channel { banks, bus_free_from, .. } = &mut self.channels[place.channel];
        let bank = &mut banks[place.bank];
        let at = at.max(bank.ready_from);
        let start = self.config.behind_refresh(at);
        self.statistics.refresh_waits.add((start > at).into());
        if start > at {
            self.uses.note(MemoryPart::Bank(BankUse::Refresh), at, start);
        }
        let is_refreshed = self.config.refreshes_until(start) > self.config.refreshes_until(bank.opened_at);
        let mut of_bank = BankUse::Hit;
        let command = match bank.open_row.filter(|_| !is_refreshed) {
            Some(row) if row == place.row => {
                self.statistics.row_hits.increment();
                start
            }
            open => {
                let opens_at = match open {
                    Some(_) => start.max(bank.closes_from) + precharge_time,
                    None => start,
                };
                of_bank = if open.is_some() { BankUse::Conflict } else { BankUse::Activation };
                match open {
                    Some(_) => self.statistics.row_conflicts.increment(),
                    None => self.statistics.row_activations.increment(),
                }
                bank.opened_at = opens_at;
                bank.closes_from = opens_at + self.config.row_active_time;
                opens_at + activate_time
            }
        };
        let first_bytes = (command + column_time).max(*bus_free_from);
        let end = first_bytes + burst_time;
        *bus_free_from = end;
        self.uses.note(MemoryPart::Channel(place.channel), first_bytes, end);
        self.uses.note(MemoryPart::Bank(of_bank), start, end);
        self.statistics.data_bus_time.add(burst_time);
        let recovered = if is_write { end + self.config.write_recovery_time } else { end };
        bank.closes_from = bank.closes_from.max(recovered);
        bank.open_row = Some(place.row);
        bank.ready_from = command + burst_time;
        if self.config.row_policy == RowPolicy::Closed {
            bank.open_row = None;
            bank.ready_from = bank.closes_from + precharge_time;
        }
        first_bytes
    }
}

impl Archived for Dram {
    fn archive(&mut self, archive: &mut Archive<'_>) -> Result<(), Damage> {
        let Dram { config, block_bytes: _, channels, uses: _, statistics } = self;
        archive.value(channels)?;
        let fits = |channel: &Channel| channel.banks.len() == config.banks as usize;
        let is_own = channels.len() == config.channels as usize && channels.iter().all(fits);
        archive.ensure(is_own, "DRAM has other channels or banks than the machine's")?;
        archive.value(statistics)
    }
}

#[cfg(test)]
mod tests;
