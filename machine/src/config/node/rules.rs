//! The rules of a node's shape: each name must be that of a part, and the parts must fit
//! together. Those of interconnects, memories and processors are beside this file; here are
//! those of the interface, of devices, and of what a program must be able to reach.

use narthex_interfaces::Attached;
use narthex_interfaces::models::MODELS;
pub(in crate::config) use narthex_memory::interconnects::Broken;

use super::{DevicePart, FORWARDER, NodeShape};
use crate::config::MachineConfig;
use narthex_kernel::did_you_mean;

impl NodeShape {
    /// The rules that its parts break, each by itself.
    pub(in crate::config) fn problems(&self, machine: &MachineConfig) -> Vec<Broken> {
        let mut problems = self.interconnect_problems(machine);
        problems.extend(self.memory_problems(machine));
        problems.extend(self.processor_problems(machine));
        let lists = self.interface.on.iter();
        problems.extend(lists.filter_map(|on| self.unknown_interconnect("node.interface.on", on)));
        problems.extend(self.default_problem());
        problems.extend(self.port_problems());
        problems.extend(self.device_problems(machine));
        problems
    }

    fn device_problems(&self, machine: &MachineConfig) -> Vec<Broken> {
        let mut problems = Vec::new();
        for (name, part) in &self.devices {
            let key = format!("node.devices.{name}");
            match (name.as_str(), &machine.forwarder) {
                (FORWARDER, _) if part.interface.is_some() => {
                    let message = "a forwarder is no interface; expected another name for this one";
                    problems.push(broken(&format!("{key}.interface"), message));
                }
                _ if part.interface.is_some() => {
                    problems.extend(self.further_interface_problems(name, part));
                }
                (FORWARDER, Some(_)) => {}
                (FORWARDER, None) => {
                    problems.push(broken(&key, "has no parameters: the machine's file has no [forwarder]"));
                }
                _ => {
                    let known = [FORWARDER.to_owned()];
                    let unknown = unknown(name, "kind of device", known.iter());
                    let message =
                        format!("{unknown}; a further interface states which: interface = \"NI2w\"");
                    problems.push(broken(&key, message));
                }
            }
            let on_key = format!("{key}.on");
            match &part.on[..] {
                [on] => problems.extend(self.unknown_interconnect(&on_key, on)),
                more => {
                    let message = match part.interface {
                        Some(_) => {
                            format!("{more:?} is not allowed; expected one, for all ports of an interface")
                        }
                        None => format!("{more:?} is not allowed; a {name} has one port"),
                    };
                    problems.push(broken(&on_key, message));
                }
            }
        }
        if machine.forwarder.is_some() && !self.devices.contains_key(FORWARDER) {
            let message = "describes a device that the node lacks: [node.devices] has no forwarder";
            problems.push(broken("forwarder", message));
        }
        problems
    }

    /// What is wrong with the default interface.
    fn default_problem(&self) -> Option<Broken> {
        let key = "node.interface.default";
        let chosen = match self.interface.default.as_ref()?.parse::<Attached>() {
            Err(problem) => return Some(broken(key, problem.to_string())),
            Ok(chosen) => chosen,
        };
        let nowhere = self.place(&chosen).is_none();
        nowhere.then(|| broken(key, format!("{chosen} is at a place that the node lacks")))
    }

    /// The rules that the places of whole devices break.
    fn port_problems(&self) -> Vec<Broken> {
        let mut problems = Vec::new();
        for (section, DevicePart { on, .. }) in &self.interface.ports {
            let key = format!("node.interface.ports.{section}");
            let whole =
                || MODELS.iter().filter(|model| model.makes_devices()).map(|model| model.section.to_owned());
            if !whole().any(|known| known == *section) {
                let known: Vec<String> = whole().collect();
                problems
                    .push(broken(&key, unknown(section, "interface with ports of its own", known.iter())));
            }
            problems.extend(on.iter().filter_map(|on| self.unknown_interconnect(&format!("{key}.on"), on)));
        }
        problems
    }

    /// A program reaches an interface on its processors' bus, or behind the bridge
    /// on that.
    pub(in crate::config) fn reach_problems(&self) -> Vec<Broken> {
        let bus = &self.host().1.on;
        let mut problems = Vec::new();
        let is_reached = |on: &String| on == bus || self.is_link(on) && self.behind(on) == Some(bus);
        if self.interface.on.is_empty() || !self.interface.on.iter().all(is_reached) {
            let on = &self.interface.on;
            let message = format!(
                "{on:?} is not allowed; expected [{bus:?}], the bus of the program's processors, or a link \
                 behind it: a run names another place itself, as in \"NI2w on io-bus\""
            );
            problems.push(broken("node.interface.on", message));
        }
        for (section, DevicePart { on, .. }) in &self.interface.ports {
            if on.first() != Some(bus) {
                let message = format!(
                    "{on:?} is not allowed; its first port is on {bus:?}, the bus of the program's processors"
                );
                problems.push(broken(&format!("node.interface.ports.{section}.on"), message));
            }
        }
        for (name, part) in &self.interconnects {
            if let Some(behind) = part.rules().behind()
                && behind != bus
            {
                let message = format!("{behind:?} is not {bus:?}, the bus of the program's processors");
                problems.push(broken(&format!("node.interconnects.{name}.behind"), message));
            }
        }
        problems
    }

    /// The problem with a name under `key` that no interconnect has.
    pub(in crate::config) fn unknown_interconnect(&self, key: &str, name: &str) -> Option<Broken> {
        (!self.interconnects.contains_key(name))
            .then(|| broken(key, unknown(name, "interconnect", self.interconnects.keys())))
    }
}

/// What is wrong with a name that no part has, and what was probably meant.
pub(in crate::config) fn unknown<'a>(
    name: &str,
    what: &str,
    known: impl Iterator<Item = &'a String> + Clone,
) -> String {
    let names: Vec<&str> = known.map(String::as_str).collect();
    let hint = did_you_mean(name, names.iter().copied());
    format!("there is no {what} {name:?}; there are {}{hint}", names.join(", "))
}

pub(in crate::config) fn broken(key: &str, message: impl Into<String>) -> Broken {
    (key.to_owned(), message.into())
}
