//! The rules of a node's memories: one at each address, ports and caches where they can be.

use std::collections::BTreeMap;
use std::ops::Range;

use narthex_kernel::quantity::Bytes;
use narthex_memory::main_memory::{self, PAGE_BYTES};
use narthex_memory::page_frames::FramePlacement;

use super::rules::{Broken, broken};
use super::{LAST_ADDRESS, LOCAL_MEMORY, MemoryPart, NodeShape, PROGRAM};
use crate::config::MachineConfig;
use narthex_kernel::did_you_mean;

/// The table of a cache in front of a memory.
const THIRD_LEVEL: &str = "third_level_cache";

impl NodeShape {
    pub(super) fn memory_problems(&self, machine: &MachineConfig) -> Vec<Broken> {
        let mut problems = Vec::from_iter(self.idle_cache_problem(machine));
        let mut homes: BTreeMap<&str, &str> = BTreeMap::new();
        for (name, part) in &self.memories {
            let key = format!("node.memories.{name}");
            if name != "main_memory" && !machine.memories.contains_key(name) {
                let message = format!("has no parameters: the machine's file has no [memories.{name}]");
                problems.push(broken(&key, message));
            }
            problems.extend(self.range_problems(&key, part));
            problems.extend(port_problems(name, &key, part, machine));
            problems.extend(cache_problem(&key, part, machine));
            problems.extend(self.third_level_problems(&key, part, machine));
            problems.extend(level_problem(name, part, machine));
            let on_key = format!("{key}.on");
            for on in part.on.names() {
                problems.extend(self.unknown_interconnect(&on_key, on));
                if part.range().is_none()
                    && let Some(first) = homes.insert(on, name)
                {
                    let message = format!(
                        "{on:?} has a memory at every address already: {first}; expected one for each"
                    );
                    problems.push(broken(&on_key, message));
                }
                problems.extend(self.unfit(&on_key, on, "memories", |admits| admits.caches));
            }
        }
        problems
    }

    /// A table of a cache that is in front of no memory.
    fn idle_cache_problem(&self, machine: &MachineConfig) -> Option<Broken> {
        let is_idle = machine.third_level_cache.is_some()
            && self.memories.values().all(|memory| memory.cache.is_none());
        let message = "describes a cache that is in front of no memory: no memory of [node.memories] has \
                       cache = \"third_level_cache\"";
        is_idle.then(|| broken(THIRD_LEVEL, message))
    }

    /// The rules that the cache in front of a memory breaks with what is around it.
    fn third_level_problems(&self, key: &str, part: &MemoryPart, machine: &MachineConfig) -> Vec<Broken> {
        let Some(cache) = machine.third_level_cache.as_ref().filter(|_| part.cache.is_some()) else {
            return Vec::new();
        };
        let mut problems = Vec::new();
        let directory = part.on.names().iter().find(|on| machine.has_places(on));
        let network = machine.network_on_chip.as_ref();
        let sockets =
            network.and_then(|network| network.sockets.as_ref()).map_or(1, |own| own.count as usize);
        let places = part.at.as_ref().map_or(1, Vec::len) / sockets.max(1);
        if let Some(slices) = cache.slices.filter(|&slices| directory.is_some() && slices as usize != places)
        {
            let message = format!(
                "{slices} is not the number of places of the memory, where its slices are: {key}.at names {places} \
                 in each socket"
            );
            problems.push(broken("third_level_cache.slices", message));
        }
        if cache.takes_victims() && (directory.is_none() || machine.second_level_cache.is_none()) {
            let message = "\"victims\" needs processors with a second level on a directory, which hand them down; \
                           expected \"reads\"";
            problems.push(broken("third_level_cache.fill", message));
        }
        let requesters = cache.ddio.iter().flat_map(|ddio| &ddio.requesters);
        let known = || {
            let is_there = |name: &&str| {
                directory.is_some_and(|on| *name == on || self.behind(name) == Some(on.as_str()))
            };
            self.interconnects.keys().map(String::as_str).filter(is_there)
        };
        problems.extend(requesters.filter(|&name| known().all(|known| known != name)).map(|name| {
            let expected = Vec::from_iter(known()).join(", ");
            let expected = if expected.is_empty() { "a memory on a directory" } else { &expected };
            let message = format!(
                "{name:?} is neither the memory's directory nor a link or bus behind it; expected {expected}{}",
                did_you_mean(name, known())
            );
            broken("third_level_cache.ddio.requesters", message)
        }));
        problems
    }

    /// The rules that a memory's addresses break. Those that programs see are where all
    /// their processes find them at the same place.
    fn range_problems(&self, key: &str, part: &MemoryPart) -> Vec<Broken> {
        let mut problems = Vec::new();
        let of_program = self.processors.values().any(|own| own.runs == PROGRAM && part.is_on(&own.on));
        match (part.start, part.size.map(Bytes::as_u64)) {
            (None, None) => {}
            (Some(_), None) => {
                let message = "is missing; a memory with a start has one";
                problems.push(broken(&format!("{key}.size"), message));
            }
            (start, Some(size)) => {
                let stated = if start.is_some() { "start" } else { "size" };
                let start = start.unwrap_or_default();
                let is_whole = |value: u64| value.is_multiple_of(PAGE_BYTES);
                let end = start.checked_add(size).filter(|end| *end <= LAST_ADDRESS);
                if size == 0 || !is_whole(start) || !is_whole(size) || end.is_none() {
                    let message = format!(
                        "start {start:#x} and size {size} are not allowed; expected multiples of {PAGE_BYTES}, a \
                         size above 0, and an end up to {LAST_ADDRESS:#x}"
                    );
                    let wrong = if size == 0 || !is_whole(size) { "size" } else { stated };
                    problems.push(broken(&format!("{key}.{wrong}"), message));
                } else if of_program && (start < LOCAL_MEMORY.start || end > Some(LOCAL_MEMORY.end)) {
                    let Range { start: first, end } = LOCAL_MEMORY;
                    let message = format!(
                        "{start:#x} and {size} bytes are not from {first:#x} to {end:#x}, where the program's \
                         processes find a memory beside their own"
                    );
                    problems.push(broken(&format!("{key}.{stated}"), message));
                }
            }
        }
        problems
    }
}

/// The rule that the cache in front of a memory breaks.
fn cache_problem(key: &str, part: &MemoryPart, machine: &MachineConfig) -> Option<Broken> {
    let name = part.cache.as_ref()?;
    let message = if name != THIRD_LEVEL {
        format!(
            "there is no cache {name:?} for a memory; there is {THIRD_LEVEL}{}",
            did_you_mean(name, [THIRD_LEVEL])
        )
    } else if machine.third_level_cache.is_none() {
        format!("has no parameters: the machine's file has no [{THIRD_LEVEL}]")
    } else if part.range().is_some() {
        "a memory with a range of addresses has no cache: processors reach it uncached".into()
    } else {
        return None;
    };
    Some(broken(&format!("{key}.cache"), message))
}

/// The table of a memory's parameters, and these.
fn parameters<'a>(name: &str, machine: &'a MachineConfig) -> Option<(String, &'a main_memory::Config)> {
    match name {
        "main_memory" => Some((name.to_owned(), &machine.main_memory)),
        _ => Some((format!("memories.{name}"), machine.memories.get(name)?)),
    }
}

/// The rule that the DRAM of a memory breaks, or what it has behind CXL: by address, as programs see it.
fn level_problem(name: &str, part: &MemoryPart, machine: &MachineConfig) -> Option<Broken> {
    let (table, parameters) = parameters(name, machine)?;
    let frames = machine.operating_system().page_frames;
    let (key, what) = match parameters {
        main_memory::Config { cxl: Some(_), .. } if frames != FramePlacement::Contiguous => {
            let message = "is found by a process's addresses, and operating_system.page_frames is \"scattered\"; \
                           expected \"contiguous\"";
            return Some(broken(&format!("{table}.cxl"), message));
        }
        main_memory::Config { dram: Some(_), .. } => ("dram", "no DRAM"),
        main_memory::Config { cxl: Some(_), .. } => ("cxl", "nothing behind CXL"),
        _ => return None,
    };
    part.range()?;
    let message =
        format!("a memory with a range of addresses has {what}: processors reach it uncached, word by word");
    Some(broken(&format!("{table}.{key}"), message))
}

/// The rules that the ports of a memory break.
fn port_problems(name: &str, key: &str, part: &MemoryPart, machine: &MachineConfig) -> Option<Broken> {
    let (table, parameters) = parameters(name, machine)?;
    let ports = parameters.ports;
    let (message, key) = match (part.on.names().len(), ports, part.range()) {
        (1, None, _) | (2, Some(_), Some(_)) => return None,
        (1, Some(_), _) => ("is for a memory on two interconnects".to_owned(), format!("{table}.ports")),
        (2, None, Some(_)) => {
            let message =
                "is not stated; a memory on two interconnects has \"single\" or \"dual\"".to_owned();
            (message, format!("{table}.ports"))
        }
        (2, _, None) => {
            let message = "names two interconnects, and the memory has no start and size".to_owned();
            (message, format!("{key}.on"))
        }
        (count, ..) => (format!("names {count} interconnects; expected one or two"), format!("{key}.on")),
    };
    Some(broken(&key, message))
}
