//! The rules of a node's interconnects: each has parameters, and a bridge sits on a snooping bus or
//! a directory.

use std::collections::BTreeSet;

use super::rules::{Broken, broken};
use super::{InterconnectPart, NodeShape};
use crate::config::MachineConfig;
use crate::config::directory::{DIRECTORY, NETWORK};

impl NodeShape {
    pub(super) fn interconnect_problems(&self, machine: &MachineConfig) -> Vec<Broken> {
        let mut problems = Vec::new();
        for (name, part) in &self.interconnects {
            let key = format!("node.interconnects.{name}");
            if let Some(table) = machine.missing_table_of(name, part) {
                let message = format!("has no parameters: the machine's file has no [{table}]");
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
                Some(InterconnectPart::SnoopingBus {} | InterconnectPart::Directory {}) => {}
                Some(_) => {
                    let message =
                        format!("{behind:?} is no snooping bus and no directory, and a bridge sits on one");
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

impl MachineConfig {
    /// The table of an interconnect's parameters that the file does not have, if it lacks one.
    fn missing_table_of(&self, name: &str, part: &InterconnectPart) -> Option<String> {
        let (exists, table) = match part {
            InterconnectPart::SnoopingBus {} if name == "bus" => (self.bus.is_some(), name.to_owned()),
            InterconnectPart::SnoopingBus {} => (self.buses.contains_key(name), format!("buses.{name}")),
            InterconnectPart::BridgedBus { .. } => {
                (name == "io_bus" && self.io_bus.is_some(), name.to_owned())
            }
            InterconnectPart::PrivatePath {} => (self.path_named(name).is_some(), name.to_owned()),
            InterconnectPart::Directory {} if name == DIRECTORY && self.directory.is_some() => {
                (self.network_on_chip.is_some(), NETWORK.to_owned())
            }
            InterconnectPart::Directory {} => (false, DIRECTORY.to_owned()),
        };
        (!exists).then_some(table)
    }
}
