//! The rules of a node's interconnects: those of each kind, which stand with it
//! ([`narthex_memory::interconnects`]), that a table of parameters belongs to one of them, and that a
//! bridge sits on what lets one.

use std::any::Any;
use std::collections::BTreeSet;

use narthex_kernel::Clock;
use narthex_kernel::quantity::Bytes;
use narthex_memory::interconnects::{Admits, Broken, MachineFile, Part};

use super::NodeShape;
use super::rules::broken;
use crate::config::MachineConfig;
use crate::config::directory::{DIRECTORY, NETWORK};

impl NodeShape {
    pub(super) fn interconnect_problems(&self, machine: &MachineConfig) -> Vec<Broken> {
        let mut problems = Vec::new();
        for (name, part) in &self.interconnects {
            problems.extend(part.rules().problems(name, machine));
            let Some(behind) = part.rules().behind() else { continue };
            let key = format!("node.interconnects.{name}.behind");
            problems.extend(self.unknown_interconnect(&key, behind).or_else(|| {
                if self.is_in_a_circle(name) {
                    let message = format!("{behind:?} leads back to {name}: bridges in a circle have no end");
                    return Some(broken(&key, message));
                }
                let (what, admits) = part.rules().sits_above();
                self.unfit(&key, behind, what, admits)
            }));
        }
        let parts = self.interconnects.iter();
        let used: BTreeSet<String> = parts.flat_map(|(name, part)| part.rules().tables(name)).collect();
        for table in machine.tables_of_interconnects().filter(|table| !used.contains(table)) {
            let name = table.rsplit('.').next().unwrap_or(&table);
            let name = if name == NETWORK { DIRECTORY } else { name };
            let message = match self.interconnects.get(name) {
                Some(part) => {
                    format!("describes another kind of interconnect than the {} {name}", part.kind())
                }
                None => format!(
                    "describes an interconnect that the node lacks: [node.interconnects] has no {name}"
                ),
            };
            problems.push(broken(&table, message));
        }
        problems
    }

    /// The problem with a place on an interconnect that does not admit such parts.
    pub(in crate::config) fn unfit(
        &self,
        key: &str,
        on: &str,
        parts: &str,
        is_fit: impl Fn(Admits) -> bool,
    ) -> Option<Broken> {
        let part = self.interconnects.get(on).filter(|part| !is_fit(part.admits()))?;
        let (kind, fit) = (part.kind(), Part::kinds_that(is_fit));
        Some(broken(key, format!("{on:?} is of kind {kind:?}, and {parts} are on {fit}")))
    }

    /// Whether the bridges from an interconnect on lead back to it.
    fn is_in_a_circle(&self, name: &str) -> bool {
        let mut seen = BTreeSet::new();
        let mut here = name;
        while let Some(behind) = self.behind(here) {
            if !seen.insert(here) {
                return here == name || seen.contains(name);
            }
            here = behind;
        }
        false
    }
}

impl MachineConfig {
    /// The keys of the tables that the file has for interconnects.
    fn tables_of_interconnects(&self) -> impl Iterator<Item = String> {
        let tables = ["bus", "io_bus", "cache_bus", "register_file", DIRECTORY, NETWORK];
        let tables = tables.into_iter().filter(|table| self.table(table).is_some()).map(str::to_owned);
        tables.chain(self.buses.keys().map(|name| format!("buses.{name}")))
    }
}

impl MachineFile for MachineConfig {
    fn table(&self, key: &str) -> Option<&dyn Any> {
        fn any<T: Any>(table: Option<&T>) -> Option<&dyn Any> {
            table.map(|table| table as &dyn Any)
        }
        match key {
            "bus" => any(self.bus.as_ref()),
            "io_bus" => any(self.io_bus.as_ref()),
            "cache_bus" => any(self.cache_bus.as_ref().map(|own| &own.path)),
            "register_file" => any(self.register_file.as_ref().map(|own| &own.path)),
            DIRECTORY => any(self.directory.as_ref()),
            NETWORK => any(self.network_on_chip.as_ref()),
            _ => any(key.strip_prefix("buses.").and_then(|name| self.buses.get(name))),
        }
    }

    fn block(&self) -> (Bytes, &'static str) {
        (self.block(), self.block_key())
    }

    fn protocol(&self) -> &str {
        &self.data_cache.protocol
    }

    fn processor_clock(&self) -> Clock {
        self.core_named(&self.node.host().1.core).clock.clock()
    }
}
