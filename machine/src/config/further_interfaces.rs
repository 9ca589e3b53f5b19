//! Interfaces of a node beside the one that a run chooses.
//!
//! ```toml
//! [node.devices.second]
//! interface = "CNI512Q"       # a name of the taxonomy, with the parameters of [interfaces]
//! on = ["bus"]                # the bus of the program's processors, or "io_bus"
//! ```
//!
//! The processes of a node take its interfaces in turn ([`Share`]): the run's is the first one,
//! and those of `[node.devices]` follow in the order of their names. A process has its registers
//! and queues at its own interface, where the library finds them, so a program knows nothing of it.
//! The interfaces share the network's latency and nothing else: each has flow control buffers of its
//! own. A network of switches has one link a node, which is not enough: that is refused.

use narthex_interfaces::{Attached, Attachment, Device, Name, Share};
use narthex_memory::AgentId;
use narthex_memory::interconnects::Broken;

use super::MachineConfig;
use super::node::{FORWARDER, FurtherDevicePart, NodeShape, broken};

/// An interface beside the one that a run chooses.
#[derive(Clone, Debug)]
pub struct FurtherInterface<'a> {
    /// What the machine's file calls it.
    pub name: &'a str,
    /// What it is, and its place.
    pub interface: Attached,
    /// The interconnect on which all its ports are.
    pub on: &'a str,
    /// Its place on a network on chip.
    pub at: u16,
}

impl NodeShape {
    /// The interfaces beside that of a run, in the order of their names.
    pub fn further_interfaces(&self) -> impl Iterator<Item = FurtherInterface<'_>> {
        self.devices.iter().filter_map(|(name, part)| {
            let interface: Name = part.interface.as_ref()?.parse().expect("checked with the machine");
            let on = part.on.first().expect("checked with the machine");
            let attachment = self.attachment_on(on).expect("checked with the machine");
            let interface = Attached { name: interface, attachment, is_hardware: false };
            Some(FurtherInterface { name, interface, on, at: part.at.unwrap_or_default() as u16 })
        })
    }

    /// How a run would name the place of an interface there; none if programs do not reach it.
    fn attachment_on(&self, interconnect: &str) -> Option<Attachment> {
        match interconnect {
            bus if bus == self.host().1.on => Some(Attachment::MemoryBus),
            "io_bus" => Some(Attachment::IoBus),
            _ => None,
        }
    }

    /// The rules that a further interface breaks.
    pub(super) fn further_interface_problems(&self, own: &str, part: &FurtherDevicePart) -> Vec<Broken> {
        let Some(text) = &part.interface else { return Vec::new() };
        let key = |leaf: &str| format!("node.devices.{own}.{leaf}");
        let name = match text.parse::<Name>() {
            Err(problem) => return vec![broken(&key("interface"), problem.to_string())],
            Ok(name) => name,
        };
        let mut problems = Vec::from_iter(self.name_problem(own));
        if name.send.model.makes_devices() {
            let message = format!(
                "{text:?} is one device for all processes of a node; expected an interface made of a pair of halves \
                 for each process, such as NI2w or CNI512Q"
            );
            problems.push(broken(&key("interface"), message));
        }
        if let [on] = &part.on[..]
            && self.interconnects.contains_key(on)
            && self.attachment_on(on).is_none()
        {
            let bus = &self.host().1.on;
            let message = format!(
                "{on:?} is not allowed; expected {bus:?}, the bus of the program's processors, or \"io_bus\" behind a \
                 bridge on it"
            );
            problems.push(broken(&key("on"), message));
        }
        problems
    }
}

impl NodeShape {
    /// The statistics of an interface have its name in front, as those of interconnects do.
    fn name_problem(&self, name: &str) -> Option<Broken> {
        let is_letter =
            |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '_';
        let problem = match name.chars().all(is_letter) {
            false => "has to be of lower-case letters, digits and underscores: statistics have it in front",
            true if self.interconnects.contains_key(name) => {
                "is an interconnect's name; expected another one, which statistics have in front"
            }
            true => return None,
        };
        Some(broken(&format!("node.devices.{name}"), problem))
    }
}

impl MachineConfig {
    /// How many interfaces a node has.
    pub fn interfaces_per_node(&self) -> u8 {
        let further = self.node.devices.values().filter(|part| part.interface.is_some()).count();
        // More than processes can be are refused.
        1 + further.min(usize::from(u8::MAX) - 1) as u8
    }

    /// What no node with several interfaces can be.
    pub(super) fn interface_count_problems(&self) -> Vec<Broken> {
        let mut further = self.node.devices.iter().filter(|(_, part)| part.interface.is_some());
        let Some((last, _)) = further.next_back() else { return Vec::new() };
        let (interfaces, processes) = (u32::from(self.interfaces_per_node()), self.processes_per_node());
        let mut problems = Vec::new();
        if processes < interfaces {
            let message = format!(
                "a node has {interfaces} interfaces and {processes} processes, each of which uses one; expected \
                 machine.processors_per_node = {} or more",
                interfaces * self.processors_per_process()
            );
            problems.push(broken(&format!("node.devices.{last}"), message));
        }
        if self.network.hops().is_some() {
            let message = format!(
                "a network of switches has one link a node, and node.devices.{last} is one of {interfaces} interfaces, \
                 each of which needs its own; expected kind = \"ideal\""
            );
            problems.push(broken("network.kind", message));
        }
        if self.forwarder.is_some() {
            let message = format!(
                "a forwarder moves the packets of one interface, and a node has {interfaces} (node.devices.{last})"
            );
            problems.push(broken(&format!("node.devices.{FORWARDER}"), message));
        }
        problems
    }

    /// The interfaces of a node, the one that a run chooses first.
    ///
    /// # Errors
    /// Why the machine cannot have one of them.
    pub fn build_interfaces(&self, chosen: &Attached) -> Result<Vec<Box<dyn Device>>, String> {
        let mut interfaces = vec![self.build_interface(chosen)?];
        for further in self.node.further_interfaces() {
            let before = interfaces.iter().map(|device| device.ports().len()).sum::<usize>();
            let share = Share { own: interfaces.len() as u8, of: self.interfaces_per_node() };
            let first_agent = AgentId((self.processor_parts().len() + before) as u8);
            let built = self.build_interface_at(&further.interface, share, first_agent);
            interfaces.push(built.map_err(|problem| format!("node.devices.{}: {problem}", further.name))?);
        }
        Ok(interfaces)
    }

    /// Why a node with several interfaces cannot have this one among them, if it cannot.
    pub(super) fn lacks_halves(&self, chosen: &Attached) -> Option<String> {
        let further = self.node.further_interfaces().next()?.name;
        chosen.name.send.model.makes_devices().then(|| {
            format!(
                "'{chosen}' is one device for all processes of a node, and node.devices.{further} is an interface for \
                 some of them; expected an interface made of a pair of halves for each process, such as NI2w"
            )
        })
    }
}
