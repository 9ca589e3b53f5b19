//! A node whose caches a directory keeps coherent: a chip of tiles.
//!
//! ```toml
//! [node.interconnects]
//! directory = { kind = "directory" }       # [directory], and [network_on_chip] that carries its messages
//!
//! [node.processors.host]
//! on = "directory"                         # a tile each, at the places 0, 1, 2, ... unless `at` says others
//!
//! [node.memories.main_memory]
//! on = "directory"
//! at = [0, 3, 12, 15]                      # the places of its controllers, which share the addresses
//!
//! [node.interface]
//! on = ["directory"]
//! at = 0
//! ```
//!
//! Here it is checked that the parts can be there: what a directory needs of caches and of
//! the network on chip, and that each place exists. What needs a bus because it hears of all
//! transactions, or refuses some, is refused where ports are known ([`crate::wiring`]).

use std::collections::BTreeSet;

use narthex_fabrics::topologies::Topology;
use narthex_kernel::Category;
use narthex_memory::directory::{Lane, MOST_HOLDERS, protocols};
use narthex_memory::processor_memory::second_level::Inclusion;
use narthex_memory::protocols::Protocol;
use narthex_memory::sockets::Sockets;

use super::node::{Broken, broken};
use super::{MachineConfig, PROGRAM, ProcessorPart};

/// The table of the interconnect.
pub(super) const DIRECTORY: &str = "directory";
/// The table of the network that carries its messages.
pub(super) const NETWORK: &str = "network_on_chip";

impl MachineConfig {
    /// The rules that the parameters of a network on chip break.
    pub(super) fn network_on_chip_problems(&self) -> Vec<Broken> {
        let network = self.network_on_chip.iter().flat_map(|config| config.problems(Lane::COUNT as u32));
        network.map(|(key, message)| (format!("{NETWORK}.{key}"), message)).collect()
    }

    /// The rules that the caches on a directory or on buses break.
    pub(super) fn coherence_problems(&self) -> Vec<Broken> {
        let mut problems = Vec::from_iter(self.incoherent_on_a_bus());
        if self.node.interconnects.values().any(|part| part.admits().tiles) {
            problems.extend(self.cache_problems_of_directory());
        }
        problems
    }

    /// Whether parts on this interconnect have places on the network on chip.
    pub(crate) fn has_places(&self, on: &str) -> bool {
        self.node.interconnects.get(on).is_some_and(|part| part.admits().tiles)
    }

    /// Caches that nothing keeps coherent cannot be where caches see each other's transactions.
    fn incoherent_on_a_bus(&self) -> Option<Broken> {
        let own = &self.data_cache.protocol;
        let is_coherent = narthex_memory::protocols::by_name(own).is_none_or(Protocol::is_coherent);
        let is_on_a_bus = |part: &ProcessorPart| part.has_caches() && !self.has_places(&part.on);
        let (name, part) = self.node.processors.iter().find(|(_, part)| !is_coherent && is_on_a_bus(part))?;
        let known = narthex_memory::protocols::coherent().join(", ");
        let message = format!(
            "{own:?} is for caches on a directory, which hear of nobody; node.processors.{name} is on {:?}; \
             expected one of {known}",
            part.on
        );
        Some(broken("data_cache.protocol", message))
    }

    /// What a directory needs of caches: that they are one cache for their home, and act on
    /// nothing that it does not tell them.
    fn cache_problems_of_directory(&self) -> Vec<Broken> {
        let mut problems = Vec::new();
        for table in self.snarfing_tables_of_tiles() {
            let message =
                "true is not allowed: caches on a directory see no blocks pass by for others; expected false";
            problems.push(broken(&format!("{table}.snarfing"), message));
        }
        let protocol = &self.data_cache.protocol;
        if protocols::by_name(protocol).is_none() {
            let known = protocols::names().join(", ");
            let message = format!("{protocol:?} has no table of a directory; expected one of {known}");
            problems.push(broken("data_cache.protocol", message));
        }
        let tiles = self.processor_parts().iter().filter(|(_, part)| self.has_places(&part.on)).count();
        if tiles > MOST_HOLDERS {
            let message =
                format!("gives the directory {tiles} caches; it knows the copies of {MOST_HOLDERS}");
            problems.push(broken("machine.processors_per_node", message));
        }
        for (name, part) in &self.node.processors {
            if self.has_places(&part.on) {
                problems.extend(self.tile_problem(name, part));
                problems.extend(self.misses_problem(part));
            }
        }
        problems
    }

    /// The tables of caches of tiles that take in what passes by.
    fn snarfing_tables_of_tiles(&self) -> BTreeSet<String> {
        let tiles =
            self.node.processors.values().filter(|part| part.has_caches() && self.has_places(&part.on));
        let snarfing = |part: &ProcessorPart| {
            let caches = self.caches_of(part);
            let named = [Some(caches.data), caches.instructions].into_iter().zip(&part.caches);
            let snarfing = named.filter(|(cache, _)| cache.is_some_and(|cache| cache.snarfing));
            Vec::from_iter(snarfing.map(|(_, name)| self.cache_key(name)))
        };
        tiles.flat_map(snarfing).collect()
    }

    /// Each miss of a tile has a transaction of its own.
    fn misses_problem(&self, part: &ProcessorPart) -> Option<Broken> {
        let (misses, most) = (self.core_named(&part.core).misses?, self.directory.as_ref()?.transactions);
        (misses > most.into()).then(|| {
            let message = format!(
                "{misses} is more than directory.transactions, {most}, and each miss under way is a transaction; \
                 expected 1 to {most}"
            );
            broken(&format!("{}.misses", part.core), message)
        })
    }

    /// What is wrong with the caches of a tile.
    fn tile_problem(&self, name: &str, part: &ProcessorPart) -> Option<Broken> {
        let key = format!("node.processors.{name}.caches");
        if !part.has_caches() {
            let message =
                "[] is not allowed on a directory: a processor without caches has its memory on a bus";
            return Some(broken(&key, message));
        }
        let caches = self.caches_of(part);
        caches.instructions?;
        match caches.second {
            Some(second) if second.inclusion == Inclusion::Inclusive => None,
            Some(_) => Some(broken(
                &format!("{}.inclusion", self.cache_key(&part.caches[2])),
                "\"non-inclusive\" is not allowed on a directory, for which a processor is one cache: what its \
                 instruction cache holds must be in the second level, too; expected \"inclusive\", or \
                 instruction_cache.kind = \"ideal\"",
            )),
            None => Some(broken(
                &key,
                "needs \"second_level_cache\" (inclusive) on a directory, for which a processor is one cache, and \
                 the data and the instruction cache are two; or instruction_cache.kind = \"ideal\"",
            )),
        }
    }

    /// The rules that places on the network on chip break.
    pub(super) fn place_problems(&self) -> Vec<Broken> {
        let mut problems = Vec::new();
        for (name, part) in &self.node.processors {
            let count = if part.runs == PROGRAM { self.machine.processors_per_node as usize } else { 1 };
            let key = format!("node.processors.{name}.at");
            let at =
                part.at.clone().or_else(|| (part.runs == PROGRAM).then(|| Vec::from_iter(0..count as u32)));
            let stated = part.at.is_some();
            problems.extend(self.placed(
                &key,
                &part.on,
                at.as_deref(),
                stated,
                "one for each of its processors",
                Some(count),
            ));
        }
        for (name, part) in &self.node.memories {
            let key = format!("node.memories.{name}.at");
            let on = part.on.names().iter().find(|on| self.has_places(on)).or(part.on.names().first());
            let count = part.range().is_some().then_some(1);
            let on = on.map_or("", String::as_str);
            if let Some(at) = part.at.as_deref().filter(|_| part.range().is_none() && self.has_places(on)) {
                problems.extend(self.sockets_problem(&key, at));
            }
            problems.extend(self.placed(
                &key,
                on,
                part.at.as_deref(),
                part.at.is_some(),
                "one for each controller",
                count,
            ));
        }
        let devices = self
            .node
            .devices
            .iter()
            .map(|(name, part)| (format!("node.devices.{name}.at"), &part.on, part.at));
        let ports = self.node.interface.ports.iter();
        let ports = ports.map(|(name, part)| (format!("node.interface.ports.{name}.at"), &part.on, part.at));
        let interface = [("node.interface.at".to_owned(), &self.node.interface.on, self.node.interface.at)];
        for (key, on, at) in devices.chain(ports).chain(interface) {
            // Behind a bridge, the bridge has the place.
            let mut above = on.iter().map(|on| self.node.behind(on).unwrap_or(on));
            let on =
                above.clone().find(|on| self.has_places(on)).or_else(|| above.next()).unwrap_or_default();
            let at = at.map(|place| vec![place]);
            problems.extend(self.placed(&key, on, at.as_deref(), at.is_some(), "a number", Some(1)));
        }
        problems
    }

    /// What is wrong with the places of a part on an interconnect.
    fn placed(
        &self,
        key: &str,
        on: &str,
        at: Option<&[u32]>,
        is_stated: bool,
        what: &str,
        count: Option<usize>,
    ) -> Option<Broken> {
        let Some(network) = self.network_on_chip.as_ref().filter(|_| self.has_places(on)) else {
            let message = format!(
                "has no meaning on {on:?}: only a directory has places, those of its network on chip"
            );
            return (is_stated && !self.has_places(on)).then(|| broken(key, message));
        };
        let places = network.topology.places();
        let Some(at) = at else {
            let message = format!(
                "is missing; on a directory a part has places on the network on chip, {what}, below {places}"
            );
            return Some(broken(key, message));
        };
        let wrong_count = at.is_empty() || count.is_some_and(|count| at.len() != count);
        if wrong_count && is_stated {
            return Some(broken(key, format!("names {} places; expected {what}", at.len())));
        }
        if let Some((_, twice)) = at.iter().enumerate().find(|(index, place)| at[..*index].contains(place)) {
            return Some(broken(key, format!("names the place {twice} twice; each has its own")));
        }
        let beyond = at.iter().find(|place| u64::from(**place) >= places)?;
        match is_stated {
            true => {
                Some(broken(key, format!("{beyond} is not below {places}, the places of {NETWORK}.topology")))
            }
            false => {
                let size = network.topology.size_key();
                let (key, tiles) = (format!("{NETWORK}.topology.{size}"), at.len());
                let message = format!(
                    "leaves room for {places} tiles, and the node has {tiles} (machine.processors_per_node)"
                );
                Some(broken(&key, message))
            }
        }
    }

    /// The sockets of a node, where it has several: a process's is that of its first processor.
    pub(crate) fn sockets(&self) -> Option<Sockets> {
        let network = self.network_on_chip.as_ref()?;
        let sockets = network.sockets.as_ref()?;
        let places = self.places_of_processors();
        let own = self.machine.processors_per_node as usize;
        let first = places[..own].iter().step_by(self.processors_per_process() as usize);
        let of_processes = first.map(|&place| sockets.of_place(place.into(), network.topology.places()));
        Some(Sockets::new(sockets.count as u8, of_processes.collect()))
    }

    /// What is wrong with the places of a memory that several sockets have.
    pub(super) fn sockets_problem(&self, key: &str, at: &[u32]) -> Option<Broken> {
        let network = self.network_on_chip.as_ref()?;
        let sockets = network.sockets.as_ref().filter(|sockets| (2..=8).contains(&sockets.count))?;
        let places = network.topology.places();
        let of_each = at.len() / sockets.count as usize;
        let is_own = |(number, &place): (usize, &u32)| {
            usize::from(sockets.of_place(place, places)) == number / of_each.max(1)
        };
        let is_divided = at.len().is_multiple_of(sockets.count as usize) && at.iter().enumerate().all(is_own);
        (!is_divided).then(|| {
            let each = places / u64::from(sockets.count);
            let message = format!(
                "does not name as many places of each of {} sockets, one socket behind the other: the first has the \
                 places below {each}",
                sockets.count
            );
            broken(key, message)
        })
    }

    /// The place of each processor of a node on its network on chip.
    pub(crate) fn places_of_processors(&self) -> Vec<u16> {
        let parts = self.processor_parts();
        let mut used = std::collections::BTreeMap::new();
        let place = |(name, part): &(&str, &ProcessorPart)| {
            let number = used.entry((*name).to_owned()).or_insert(0);
            let place = part.at.as_ref().map_or(*number as u32, |at| at[*number]);
            *number += 1;
            if self.has_places(&part.on) { place as u16 } else { 0 }
        };
        parts.iter().map(place).collect()
    }
}
