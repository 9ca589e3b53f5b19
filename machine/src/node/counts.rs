//! What a node has counted: at the end of a run, and in a stretch of it.
//!
//! Ledgers and statistics only ever grow, so a stretch of time needs no counters
//! of its own. A region takes them down where it begins and again where it ends;
//! the difference is the region's, and its ledger adds up to its length to the
//! picosecond as the whole one does.
//!
//! ```text
//!   begin ──────────── end
//!     Counts A           Counts B        region: B since A
//! ```
//!
//! The ledger is that of the thread's processor; a program's region has those of the node's firmware,
//! too, each up to the end of the instruction at which its processor is. Statistics and messages are the
//! node's. What takes time is counted where it begins: a transaction belongs to
//! the region in which the bus was granted.

use std::borrow::Cow;

use narthex_fabrics::MessageSizes;
use narthex_kernel::statistics::{Description, StatisticSet, Value};
use narthex_kernel::{Category, Duration, Time};
use narthex_memory::home_memory::HomeMemory;
use narthex_memory::interconnects::Interconnect;
use serde::{Deserialize, Serialize};
use serde_json::{Map, json};

use super::Node;
use super::stalls::stalls_json;
use crate::activity::{Activity, Occupation, Resource, Spent};
use crate::run::document::{CountsEntry, FirmwareEntry, SizeEntry};

narthex_kernel::statistics! {
    /// Which way messages come to the processor, and where from (hpca98, Section
    /// 6.2.2, counts "main memory to processor cache transactions").
    pub struct Statistics {
        from_memory: Counter, "interface_blocks_from_memory", "transactions", "blocks of the interface's queues, registers and pointers that main memory supplied to a processor's cache";
        from_interface: Counter, "interface_blocks_from_interface", "transactions", "those that the interface supplied from its own cache, memory or registers";
        waited_for_bus: TimeTotal, "interface_waited_for_interconnect", "ps", "time that the devices waited until an interconnect was granted to them";
    }
}

/// The one statistic that is the sum of others: of the messages by size.
const SENT: Description =
    Description { name: "messages_sent", unit: "messages", meaning: "messages that left, of any size" };

/// What was counted up to an instant, or during a stretch.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Counts {
    ledger: Totals,
    /// By cause, of a processor with a window.
    stalls: Totals,
    /// By processor.
    firmware: Vec<(usize, Totals)>,
    statistics: Vec<(String, Value)>,
    message_sizes: MessageSizes,
}

/// By the categories of a processor's ledger.
type Totals = Vec<Duration>;

fn totals_since(now: &Totals, earlier: &Totals) -> Totals {
    now.iter().zip(earlier).map(|(now, before)| *now - *before).collect()
}

impl Counts {
    /// What came after `earlier`, former counts of the same process.
    pub fn since(&self, earlier: &Counts) -> Counts {
        let firmware = self.firmware.iter().zip(&earlier.firmware);
        let statistics = self.statistics.iter().zip(&earlier.statistics);
        Counts {
            ledger: totals_since(&self.ledger, &earlier.ledger),
            stalls: totals_since(&self.stalls, &earlier.stalls),
            firmware: firmware
                .map(|((processor, now), (_, before))| (*processor, totals_since(now, before)))
                .collect(),
            statistics: statistics
                .filter_map(|((name, now), (_, before))| Some((name.clone(), now.since(before)?)))
                .collect(),
            message_sizes: self.message_sizes.since(&earlier.message_sizes),
        }
    }

    /// As results have it.
    pub fn entry(&self) -> CountsEntry {
        let of_firmware = |(processor, totals): &(usize, Totals)| FirmwareEntry {
            processor: *processor,
            ledger_ps: ledger_json(totals),
            waits_ps: waits_json(totals),
        };
        CountsEntry {
            ledger_ps: ledger_json(&self.ledger),
            waits_ps: waits_json(&self.ledger),
            stalls_ps: stalls_json(&self.stalls, self.ledger.iter().copied().sum()),
            statistics: statistics_json(&self.statistics),
            message_sizes: size_entries(&self.message_sizes),
            firmware_processors: self.firmware.iter().map(of_firmware).collect(),
        }
    }
}

impl Node {
    /// What a processor and the node have counted up to `now`, the processor's present
    /// instant.
    pub(super) fn counts(&mut self, processor: usize, now: Time) -> Counts {
        self.network.count_rounds(now);
        let programs = self.programs();
        let counts_firmware = self.processors[processor].process < programs;
        let mut firmware = Vec::new();
        for (index, unit) in self.processors.iter_mut().enumerate() {
            if counts_firmware && unit.process >= programs {
                unit.ledger.close(now.max(unit.ledger.booked_until()));
                firmware.push((index, unit.ledger.booked_by_category().to_vec()));
            }
        }
        let unit = &mut self.processors[processor];
        unit.ledger.close(now);
        Counts {
            stalls: unit.stalls(now),
            ledger: unit.ledger.booked_by_category().to_vec(),
            firmware,
            statistics: self.statistics(),
            message_sizes: self.network.message_sizes().clone(),
        }
    }

    /// Every statistic of the node by name. Those of the same name, which
    /// several processors have, are joined.
    pub(super) fn statistics(&self) -> Vec<(String, Value)> {
        let mut all = vec![(SENT.name.into(), Value::Number(self.network.message_sizes().total()))];
        for (prefix, set) in self.statistic_sets() {
            set.visit(&mut |description, value| {
                join(&mut all, format!("{prefix}{}", description.name), &value)
            });
        }
        all
    }

    /// What the statistics are: unit and meaning of each, by name.
    pub fn statistics_described(&self) -> serde_json::Value {
        let mut all = Map::new();
        let mut describe = |prefix: &str, description: &Description| {
            let entry = json!({ "unit": description.unit, "meaning": description.meaning });
            all.insert(format!("{prefix}{}", description.name), entry);
        };
        describe("", &SENT);
        for (prefix, set) in self.statistic_sets() {
            set.descriptions().iter().for_each(|description| describe(&prefix, description));
        }
        all.into()
    }

    /// The sets of the node's components. Those of the first interconnect come
    /// first; the names of another one's, and of a further interface's, have a prefix.
    fn statistic_sets(&self) -> Vec<(Cow<'_, str>, &dyn StatisticSet)> {
        let (first, others) = self.interconnects.split_first().expect("a node has an interconnect");
        let mut sets: Vec<(&str, &dyn StatisticSet)> = vec![("", &self.statistics)];
        sets.extend(first.statistics());
        sets.extend(self.on_chip.as_ref().map(|own| ("", own.network().statistics() as &dyn StatisticSet)));
        let of_sockets = self.on_chip.as_ref().and_then(|own| own.network().socket_statistics());
        sets.extend(of_sockets.map(|set| ("", set as &dyn StatisticSet)));
        sets.push(("", self.network.statistics()));
        sets.extend(self.processors.iter().map(|unit| ("", &unit.memory.statistics as &dyn StatisticSet)));
        let misses = self.processors.iter().filter_map(|unit| unit.memory.miss_statistics());
        sets.extend(misses.map(|set| ("", set as &dyn StatisticSet)));
        let queues = self.processors.iter().filter_map(|unit| unit.memory.store_queue_statistics());
        sets.extend(queues.map(|set| ("", set as &dyn StatisticSet)));
        let prefetches = self.processors.iter().filter_map(|unit| unit.memory.prefetch_statistics());
        sets.extend(prefetches.map(|set| ("", set as &dyn StatisticSet)));
        let second = self.processors.iter().filter_map(|unit| unit.memory.second_level_statistics());
        sets.extend(second.map(|set| ("", set as &dyn StatisticSet)));
        sets.extend(self.memories.iter().flat_map(HomeMemory::statistics));
        let mut sets: Vec<_> = sets.into_iter().map(|(prefix, set)| (Cow::from(prefix), set)).collect();
        for (number, device) in self.devices.iter().enumerate() {
            let prefix: Cow<'_, str> =
                self.further_name(number).map_or("".into(), |name| format!("{name}_").into());
            sets.extend(device.statistics().into_iter().map(|set| (prefix.clone(), set)));
        }
        let of_others = others.iter().flat_map(Interconnect::statistics);
        sets.extend(of_others.map(|(prefix, set)| (Cow::from(prefix), set)));
        sets
    }

    /// The messages that the node has sent, by size.
    pub fn message_sizes(&self) -> &MessageSizes {
        self.network.message_sizes()
    }
}

fn join(all: &mut Vec<(String, Value)>, name: String, value: &Value) {
    match all.iter_mut().find(|(known, _)| *known == name) {
        Some((_, joined)) => joined.merge(value),
        None => all.push((name, value.clone())),
    }
}

/// The activities and occupations in which any time was spent, of a ledger's times by category.
pub(super) fn ledger_json(booked: &[Duration]) -> serde_json::Value {
    let cells = Activity::all().flat_map(|activity| Occupation::ALL.iter().map(move |own| (activity, *own)));
    let spent = cells.map(|(activity, occupation)| {
        let time = |resource| booked[(activity, Spent { occupation, resource }).index()];
        let waited = |&resource: &Resource| time(Some(resource));
        let waits = if occupation.is_transaction() { Resource::ALL } else { &[] };
        let total = time(None) + waits.iter().map(waited).sum();
        (<(Activity, Occupation)>::name((activity, occupation).index()), total)
    });
    times_json(spent)
}

/// For what the processor waited in them, where a transaction kept it; these times add up to those of
/// the ledger.
pub(super) fn waits_json(booked: &[Duration]) -> serde_json::Value {
    let all = booked.iter().enumerate();
    let waits = all.filter(|&(index, _)| Spent::of_index(index % Spent::COUNT).resource.is_some());
    times_json(waits.map(|(index, &time)| (<(Activity, Spent)>::name(index), time)))
}

fn times_json(times: impl Iterator<Item = (String, Duration)>) -> serde_json::Value {
    let spent = times.filter(|(_, time)| !time.is_zero());
    spent.map(|(name, time)| (name, json!(time.as_ps()))).collect::<Map<_, _>>().into()
}

pub(super) fn statistics_json(statistics: &[(String, Value)]) -> serde_json::Value {
    let json = |value: &Value| serde_json::to_value(value.reported()).expect("statistics are plain data");
    statistics.iter().map(|(name, value)| (name.clone(), json(value))).collect::<Map<_, _>>().into()
}

/// The number of messages of each size, smallest first.
pub fn size_entries(sizes: &MessageSizes) -> Vec<SizeEntry> {
    sizes.iter().map(|(bytes, messages)| SizeEntry { bytes, messages }).collect()
}
