//! The caches and the store buffer of each processor part.
//!
//! ```toml
//! [node.processors.service]
//! core = "service_processor"
//! caches = ["service_cache", "service_cache"]   # one for data, one for instructions, both alike
//! store_buffer = "service_store_buffer"
//! ...
//! [caches.service_cache]                        # a data or an instruction cache
//! [second_level_caches.service_second_level]    # a second level, third in the list
//! [store_buffers.service_store_buffer]
//! ```
//!
//! The processors of the program have `[data_cache]`, `[instruction_cache]`, perhaps
//! `[second_level_cache]`, and `[store_buffer]`; another part names these or tables of its own. A node
//! has one coherence block and one protocol, because its devices, engines and homes know one: all
//! caches that an interconnect sees have them.

use std::collections::BTreeSet;

use narthex_cores::FETCH_BLOCK_BYTES;
use narthex_kernel::Bytes;
use narthex_memory::cache;
use narthex_memory::prefetchers;
use narthex_memory::processor_memory::StoreBufferConfig;
use narthex_memory::processor_memory::second_level;

use super::node::{Broken, NodeShape, broken, unknown};
use super::{InstructionCache, MachineConfig, PROGRAM, ProcessorPart};

/// The table of the program's data cache.
pub(super) const DATA: &str = "data_cache";
/// The table of the program's instruction cache.
pub(super) const INSTRUCTIONS: &str = "instruction_cache";
/// The table of the program's second level.
pub(super) const SECOND_LEVEL: &str = "second_level_cache";
/// The table of the program's store buffer.
const STORE_BUFFER: &str = "store_buffer";

/// The parameters of the caches of a processor.
#[derive(Clone, Copy, Debug)]
pub struct ProcessorCaches<'a> {
    /// Its data cache.
    pub data: &'a cache::Config,
    /// Its instruction cache; none if it is ideal.
    pub instructions: Option<&'a cache::Config>,
    /// The second level below both, if it has one.
    pub second: Option<&'a second_level::Config>,
}

impl ProcessorCaches<'_> {
    /// Memory of the host that they take once every line has held a block.
    pub fn host_bytes(&self) -> u64 {
        self.data.host_bytes()
            + self.instructions.map_or(0, cache::Config::host_bytes)
            + self.second.map_or(0, |second| second.host_bytes(self.data))
    }

    /// The prefetcher of the one that an interconnect sees, if it has one.
    pub fn prefetcher(&self) -> Option<&prefetchers::Config> {
        self.second.map_or(&self.data.prefetcher, |second| &second.prefetcher).as_ref()
    }

    /// The blocks in which an interconnect sees them.
    fn block(&self) -> Bytes {
        self.second.map_or(self.data.block, |second| second.block)
    }
}

impl MachineConfig {
    /// The caches of a processor, those of the program if it has none.
    ///
    /// # Panics
    /// If it names a table that there is not; the machine has not been checked then.
    pub fn caches_of(&self, part: &ProcessorPart) -> ProcessorCaches<'_> {
        let table =
            |place: usize, own: &'static str| part.caches.get(place).map_or(own, String::as_str).to_owned();
        let [data, instructions] = [table(0, DATA), table(1, INSTRUCTIONS)];
        ProcessorCaches {
            data: self.cache_named(&data).expect("checked with the machine"),
            instructions: self.cache_named(&instructions),
            second: part.caches.get(2).and_then(|name| self.second_level_named(name)),
        }
    }

    /// The store buffer of a processor.
    pub(crate) fn store_buffer_of(&self, part: &ProcessorPart) -> &StoreBufferConfig {
        match part.store_buffer.as_deref() {
            None | Some(STORE_BUFFER) => &self.store_buffer,
            Some(name) => &self.store_buffers[name],
        }
    }

    /// The parameters of a data or an instruction cache; none of one that is ideal.
    fn cache_named(&self, table: &str) -> Option<&cache::Config> {
        match (table, &self.instruction_cache) {
            (DATA, _) => Some(&self.data_cache),
            (INSTRUCTIONS, InstructionCache::Cache(cache)) => Some(cache),
            (INSTRUCTIONS, InstructionCache::Ideal {}) => None,
            _ => self.caches.get(table),
        }
    }

    fn second_level_named(&self, table: &str) -> Option<&second_level::Config> {
        if table == SECOND_LEVEL {
            self.second_level_cache.as_ref()
        } else {
            self.second_level_caches.get(table)
        }
    }

    /// Bytes in the lines of code that its processors fetch: the smallest block of an
    /// instruction cache, so that each of them is asked for.
    pub fn fetch_line_bytes(&self) -> u64 {
        let parts = self.node.processors.values().map(|part| self.caches_of(part).instructions);
        let blocks = parts.flatten().map(|cache| cache.block.as_u64());
        blocks.fold(FETCH_BLOCK_BYTES, u64::min)
    }

    /// The tables of further caches and store buffers that the processors of a node have.
    pub(super) fn further_cache_tables(&self, node: &NodeShape) -> BTreeSet<String> {
        let named =
            |part: &ProcessorPart| Vec::from_iter(part.caches.iter().chain(&part.store_buffer).cloned());
        let keys = node.processors.values().flat_map(named).map(|name| self.cache_key(&name));
        keys.filter(|key| key.contains('.')).collect()
    }

    /// The key of a table of a cache or of a store buffer.
    pub(super) fn cache_key(&self, name: &str) -> String {
        let maps = [
            ("caches", self.caches.contains_key(name)),
            ("second_level_caches", self.second_level_caches.contains_key(name)),
            ("store_buffers", self.store_buffers.contains_key(name)),
        ];
        let map = maps.into_iter().find(|(_, has)| *has);
        map.map_or_else(|| name.to_owned(), |(map, _)| format!("{map}.{name}"))
    }

    /// The rules that further caches and store buffers break, each by itself.
    pub(super) fn further_cache_problems(&self) -> Vec<Broken> {
        let below = |table: String, problems: Vec<(&'static str, String)>| {
            problems.into_iter().map(move |(key, message)| (format!("{table}.{key}"), message))
        };
        let caches = self.caches.iter().map(|(name, cache)| (format!("caches.{name}"), cache.problems()));
        let buffers = self.store_buffers.iter();
        let buffers = buffers.map(|(name, buffer)| (format!("store_buffers.{name}"), buffer.problems()));
        let own = caches.chain(buffers).flat_map(|(table, problems)| below(table, problems));
        own.chain(self.unnamed_table_problems()).chain(self.prefetcher_problems()).collect()
    }

    /// Prefetchers of caches that no interconnect sees, or whose processors run no program.
    fn prefetcher_problems(&self) -> Vec<Broken> {
        let mut programs = self.node.processors.values().filter(|part| part.runs == PROGRAM);
        let has_caches = programs.all(ProcessorPart::has_caches);
        let has_second = self.second_level_cache.is_some();
        let refused = |table: &str, has: bool, why: &str| {
            has.then(|| broken(&format!("{table}.prefetcher"), format!("is not allowed: {why}")))
        };
        let of_data = match (has_caches, has_second) {
            (false, _) => Some("the processors of the program have no caches".to_owned()),
            (true, true) => Some(format!(
                "the data cache is above a second level, which asks the interconnect for both; expected \
                 {SECOND_LEVEL}.prefetcher"
            )),
            _ => None,
        };
        let of_instructions = match &self.instruction_cache {
            InstructionCache::Cache(cache) => cache.prefetcher.is_some(),
            InstructionCache::Ideal {} => false,
        };
        let for_data = format!(
            "prefetchers are for loads and stores; expected {}.prefetcher",
            if has_second { SECOND_LEVEL } else { DATA }
        );
        let firmware = "the processors of firmware cache memory of devices, from which nothing is prefetched";
        let has_own = |name: &String| match name.as_str() {
            DATA | INSTRUCTIONS => self.cache_named(name).is_some_and(|cache| cache.prefetcher.is_some()),
            _ => self.second_level_named(name).is_some_and(|second| second.prefetcher.is_some()),
        };
        let shared = self.node.processors.iter().filter(|(_, part)| part.runs != PROGRAM).filter_map(
            |(name, part)| {
                let own = part
                    .caches
                    .iter()
                    .filter(|own| !self.cache_key(own).contains('.'))
                    .find(|own| has_own(own))?;
                let message = format!(
                    "{own:?} has a prefetcher: {firmware}; expected a table of its own in [caches.NAME]"
                );
                Some(broken(&format!("node.processors.{name}.caches"), message))
            },
        );
        let firsts =
            self.caches.iter().map(|(name, own)| (format!("caches.{name}"), own.prefetcher.is_some()));
        let seconds = self.second_level_caches.iter();
        let seconds =
            seconds.map(|(name, own)| (format!("second_level_caches.{name}"), own.prefetcher.is_some()));
        let of_firmware = firsts.chain(seconds).filter_map(|(table, has)| refused(&table, has, firmware));
        let of_data = of_data.and_then(|why| refused(DATA, self.data_cache.prefetcher.is_some(), &why));
        let of_program = of_data.into_iter().chain(refused(INSTRUCTIONS, of_instructions, &for_data));
        of_program.chain(of_firmware).chain(shared).collect()
    }

    /// Tables of caches and store buffers that no processor names.
    fn unnamed_table_problems(&self) -> Vec<Broken> {
        let parts = || self.node.processors.values();
        let caches: BTreeSet<&String> = parts().flat_map(|part| &part.caches).collect();
        let buffers: BTreeSet<&String> = parts().flat_map(|part| &part.store_buffer).collect();
        let unnamed = |kind: &str, name: &String, named: &BTreeSet<&String>, what: &str, key: &str| {
            (!named.contains(name)).then(|| {
                let message = format!(
                    "describes a {what} that no processor has: expected it in node.processors.NAME.{key}"
                );
                broken(&format!("{kind}.{name}"), message)
            })
        };
        let firsts = self.caches.keys();
        let firsts = firsts.filter_map(|name| unnamed("caches", name, &caches, "cache", "caches"));
        let seconds = self.second_level_caches.keys();
        let seconds =
            seconds.filter_map(|name| unnamed("second_level_caches", name, &caches, "cache", "caches"));
        let stores = self.store_buffers.keys();
        let stores = stores
            .filter_map(|name| unnamed("store_buffers", name, &buffers, "store buffer", "store_buffer"));
        firsts.chain(seconds).chain(stores).collect()
    }

    /// What is wrong with the caches that a processor names.
    pub(super) fn named_cache_problem(&self, part: &ProcessorPart) -> Option<String> {
        let names: Vec<&str> = part.caches.iter().map(String::as_str).collect();
        let (data, instructions, second) = match names[..] {
            [] if part.runs != PROGRAM => return None,
            [data, instructions] => (data, instructions, None),
            [data, instructions, second] => (data, instructions, Some(second)),
            _ => {
                return Some(format!(
                    "{names:?} is not allowed; expected the table of a data cache and the one of an instruction \
                     cache, such as [\"{DATA}\", \"{INSTRUCTIONS}\"], or the same with the table of a second level \
                     behind, such as \"{SECOND_LEVEL}\""
                ));
            }
        };
        let of_program =
            [data, instructions] == [DATA, INSTRUCTIONS] && second.is_none_or(|own| own == SECOND_LEVEL);
        if part.runs == PROGRAM && !of_program {
            return Some(format!(
                "{names:?} is not allowed; expected [\"{DATA}\", \"{INSTRUCTIONS}\"], or the same with \
                 \"{SECOND_LEVEL}\" behind, for the processors of the program"
            ));
        }
        let first = || self.caches.keys().map(String::as_str);
        let [with_data, with_instructions] =
            [DATA, INSTRUCTIONS].map(|own| Vec::from_iter(first().chain([own])));
        unknown_table(data, "data cache", "caches", &with_data)
            .or_else(|| unknown_table(instructions, "instruction cache", "caches", &with_instructions))
            .or_else(|| second.and_then(|second| self.second_level_problem(part, second)))
            .or_else(|| self.coherence_block_problem(part))
    }

    /// What is wrong with the table of a second level that a processor names.
    fn second_level_problem(&self, part: &ProcessorPart, second: &str) -> Option<String> {
        let own = self.second_level_cache.as_ref().map(|_| SECOND_LEVEL);
        let known: Vec<&str> = self.second_level_caches.keys().map(String::as_str).chain(own).collect();
        if second == SECOND_LEVEL && own.is_none() {
            return Some(format!(
                "{SECOND_LEVEL:?} has no parameters: the machine's file has no [{SECOND_LEVEL}]"
            ));
        }
        unknown_table(second, "second level", "second_level_caches", &known).or_else(|| {
            // The table of the program's is checked with what is above it there.
            let caches = self.caches_of(part);
            let instructions = caches.instructions.map(|cache| (part.caches[1].as_str(), cache));
            let above: Vec<_> =
                std::iter::once((part.caches[0].as_str(), caches.data)).chain(instructions).collect();
            let problems = caches.second?.problems(caches.data, &above);
            let (key, message) = problems.into_iter().next().filter(|_| part.runs != PROGRAM)?;
            Some(format!("{}.{key}: {message}", self.cache_key(second)))
        })
    }

    /// All caches that an interconnect sees have the node's block and its protocol.
    fn coherence_block_problem(&self, part: &ProcessorPart) -> Option<String> {
        let (caches, names) = (self.caches_of(part), &part.caches);
        let (block, key) = (self.block(), self.block_key());
        if caches.block() != block {
            let own = caches.block();
            let hint = match (caches.second, &self.second_level_cache) {
                (None, Some(_)) => format!(", or {SECOND_LEVEL:?} in the list"),
                _ => String::new(),
            };
            return Some(format!(
                "{names:?} has blocks of {own} ({}.block) on its bus, and the coherence block is {block} ({key}); \
                 expected equal blocks{hint}",
                self.cache_key(names.get(2).unwrap_or(&names[0]))
            ));
        }
        // The table of the program's is checked by itself.
        let first = [Some((&names[0], caches.data)), caches.instructions.map(|cache| (&names[1], cache))];
        let mut further = first.into_iter().flatten().filter(|(name, _)| self.caches.contains_key(*name));
        further.find_map(|(name, cache)| {
            let (own, protocol) = (&cache.protocol, &self.data_cache.protocol);
            if own != protocol {
                return Some(format!(
                    "caches.{name}.protocol, {own:?}, is not {protocol:?} ({DATA}.protocol): a node has one protocol"
                ));
            }
            (caches.second.is_none() && cache.block != block).then(|| {
                format!("caches.{name}.block, {}, is not {block} ({key}): a node has one block", cache.block)
            })
        })
    }

    /// What is wrong with the store buffer that a processor names.
    pub(super) fn named_store_buffer_problem(&self, part: &ProcessorPart) -> Option<String> {
        let name = part.store_buffer.as_deref()?;
        if part.runs == PROGRAM && name != STORE_BUFFER {
            return Some(format!(
                "{name:?} is not allowed for the processors of the program; expected {STORE_BUFFER:?}"
            ));
        }
        let known: Vec<&str> = self.store_buffers.keys().map(String::as_str).chain([STORE_BUFFER]).collect();
        unknown_table(name, "store buffer", "store_buffers", &known)
    }
}

/// What is wrong with the name of a table that is none of the known ones.
fn unknown_table(name: &str, what: &str, tables: &str, known: &[&str]) -> Option<String> {
    (!known.contains(&name)).then(|| {
        let known: Vec<String> = known.iter().map(|&own| own.to_owned()).collect();
        format!(
            "{}; a further one has [{tables}.NAME]",
            unknown(name, &format!("table of a {what}"), known.iter())
        )
    })
}
