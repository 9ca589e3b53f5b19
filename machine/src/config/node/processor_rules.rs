//! The rules of a node's processors: one part runs the program, and each has the caches or the
//! memory that its kind needs.

use narthex_memory::home_memory::Ports;

use super::rules::{Broken, broken, unknown};
use super::{FIRMWARE, MemoryPart, NodeShape, PROGRAM, ProcessorPart};
use crate::config::MachineConfig;
use crate::config::processor_caches::SECOND_LEVEL;

impl NodeShape {
    pub(super) fn processor_problems(&self, machine: &MachineConfig) -> Vec<Broken> {
        let mut problems = Vec::new();
        let programs = self.processors.values().filter(|part| part.runs == PROGRAM).count();
        if programs != 1 {
            let message = format!(
                "{programs} of its parts run the program; expected one, whose number of processors is machine.processors_per_node"
            );
            problems.push(broken("node.processors", message));
        }
        if machine.second_level_cache.is_some()
            && !self.processors.values().any(|part| part.caches.iter().any(|table| table == SECOND_LEVEL))
        {
            let message =
                "describes a cache that no processor has: expected it in node.processors.NAME.caches";
            problems.push(broken(SECOND_LEVEL, message));
        }
        for (name, part) in &self.processors {
            let key = |field: &str| format!("node.processors.{name}.{field}");
            if part.core != "processor" && !machine.processors.contains_key(&part.core) {
                let tables =
                    std::iter::once("processor".to_owned()).chain(machine.processors.keys().cloned());
                problems.push(broken(
                    &key("core"),
                    unknown(&part.core, "table of a processor", tables.collect::<Vec<_>>().iter()),
                ));
            }
            let caches =
                machine.named_cache_problem(part).or_else(|| self.local_memory_problem(name, part, machine));
            problems.extend(caches.map(|message| broken(&key("caches"), message)));
            let store_buffer = machine.named_store_buffer_problem(part);
            problems.extend(store_buffer.map(|message| broken(&key("store_buffer"), message)));
            if part.runs != PROGRAM && part.runs.strip_prefix(FIRMWARE).is_none_or(str::is_empty) {
                let message =
                    format!("{:?} is not allowed; expected \"program\" or \"firmware/NAME\"", part.runs);
                problems.push(broken(&key("runs"), message));
            }
            match self.interconnects.get(&part.on) {
                None => problems.extend(self.unknown_interconnect(&key("on"), &part.on)),
                Some(own) if own.admits().caches => {
                    let serves = |memory: &MemoryPart| {
                        memory.is_on(&part.on) && (memory.range().is_none() || part.runs != PROGRAM)
                    };
                    if !self.memories.values().any(serves) {
                        let message =
                            format!("{:?} has no memory, which the processor's caches need", part.on);
                        problems.push(broken(&key("on"), message));
                    }
                }
                Some(_) => {
                    problems.extend(
                        self.unfit(&key("on"), &part.on, "a processor's caches", |admits| admits.caches),
                    )
                }
            }
        }
        problems
    }

    /// What is wrong with the memory of a processor without caches.
    fn local_memory_problem(
        &self,
        name: &str,
        part: &ProcessorPart,
        machine: &MachineConfig,
    ) -> Option<String> {
        if part.has_caches() {
            return None;
        }
        let here = || self.memories.iter().filter(|(_, memory)| memory.is_on(&part.on));
        if let Some((other, _)) = here().find(|(_, memory)| memory.range().is_none()) {
            return Some(format!(
                "[] is not allowed on {:?}, whose memory {other} has no start and size: a processor without \
                 caches runs from a memory with a range",
                part.on
            ));
        }
        if let Some((other, _)) =
            self.processors.iter().find(|(other, own)| *other != name && own.on == part.on)
        {
            return Some(format!(
                "[] is not allowed: {other} is on {:?}, too, and would not see what a processor without caches \
                 writes",
                part.on
            ));
        }
        let (memory, _) = here().next()?;
        let ports = machine.memories.get(memory).and_then(|memory| memory.ports);
        (ports == Some(Ports::Single)).then(|| {
            format!("[] is not allowed: the processor has a port of {memory}, and memories.{memory}.ports is \"single\"")
        })
    }
}
