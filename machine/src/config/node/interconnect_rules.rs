//! The rules of a node's interconnects: each has parameters, and a bridge sits on a snooping bus.

use std::collections::BTreeSet;

use super::rules::{Broken, broken};
use super::{InterconnectPart, NodeShape};
use crate::config::MachineConfig;
use crate::config::directory::DIRECTORY;

impl NodeShape {
    pub(super) fn interconnect_problems(&self, machine: &MachineConfig) -> Vec<Broken> {
        let mut problems = Vec::new();
        for (name, part) in &self.interconnects {
            let key = format!("node.interconnects.{name}");
            if !machine.has_table_of(name, part) {
                let message = format!("has no parameters: the machine's file has no [{}]", part.table(name));
                problems.push(broken(&key, message));
            }
            let InterconnectPart::BridgedBus { behind } = part else { continue };
            let behind_key = format!("{key}.behind");
            match self.interconnects.get(behind) {
                None => problems.extend(self.unknown_interconnect(&behind_key, behind)),
                Some(_) if self.is_in_a_circle(name) => {
                    let message = format!("{behind:?} leads back to {name}: bridges in a circle have no end");
                    problems.push(broken(&behind_key, message));
                }
                Some(InterconnectPart::SnoopingBus {}) => {}
                Some(_) => {
                    let message = format!("{behind:?} is no snooping bus, and a bridge sits on one");
                    problems.push(broken(&behind_key, message));
                }
            }
        }
        let tables = [
            ("bus", machine.bus.is_some()),
            ("io_bus", machine.io_bus.is_some()),
            ("cache_bus", machine.cache_bus.is_some()),
            ("register_file", machine.register_file.is_some()),
        ];
        let further = machine.buses.keys().map(|name| (name.as_str(), true));
        for (table, exists) in tables.into_iter().chain(further) {
            if exists && !self.interconnects.contains_key(table) {
                let message = format!(
                    "describes an interconnect that the node lacks: [node.interconnects] has no {table}"
                );
                problems
                    .push(broken(if machine.buses.contains_key(table) { "buses" } else { table }, message));
            }
        }
        problems
    }

    /// Whether the bridges from an interconnect on lead back to it.
    fn is_in_a_circle(&self, name: &str) -> bool {
        let mut seen = BTreeSet::new();
        let mut here = name;
        while let Some(InterconnectPart::BridgedBus { behind }) = self.interconnects.get(here) {
            if !seen.insert(here) {
                return here == name || seen.contains(name);
            }
            here = behind;
        }
        false
    }
}

impl InterconnectPart {
    /// The table of its parameters.
    fn table(&self, name: &str) -> String {
        match (self, name) {
            (InterconnectPart::SnoopingBus {}, "bus") => "bus".into(),
            (InterconnectPart::SnoopingBus {}, name) => format!("buses.{name}"),
            (InterconnectPart::Directory {}, _) => DIRECTORY.into(),
            (InterconnectPart::BridgedBus { .. } | InterconnectPart::PrivatePath {}, name) => name.into(),
        }
    }
}

impl MachineConfig {
    /// Whether there are parameters of an interconnect.
    fn has_table_of(&self, name: &str, part: &InterconnectPart) -> bool {
        match part {
            InterconnectPart::SnoopingBus {} => self.bus_named(name).is_some(),
            InterconnectPart::BridgedBus { .. } => name == "io_bus" && self.io_bus.is_some(),
            InterconnectPart::PrivatePath {} => self.path_named(name).is_some(),
            InterconnectPart::Directory {} => name == DIRECTORY && self.directory.is_some(),
        }
    }
}
