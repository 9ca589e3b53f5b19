//! What a node says about itself when the run is over, or stuck.

use std::ops::Range;
use std::sync::Arc;

use narthex_cores::linux::AddressKind as Guest;
use narthex_cores::linux::Program;
use narthex_cores::linux::address_space::Use;
use narthex_fabrics::on_chip::OnChip;
use narthex_interfaces::Device;
use narthex_interfaces::address_names::AddressName;
use narthex_interfaces::description::DevicePort;
use narthex_interfaces::registers::Addresses;
use narthex_kernel::Time;
use narthex_memory::interconnects::Interconnect;
use narthex_memory::interrupt::Interrupt;
use serde_json::{Value, json};

use super::counts::{ledger_json, size_entries, statistics_json, waits_json};
use super::process::{Ended, Personality};
use super::processor::NodeProcessor;
use super::stalls::stalls_json;
use super::{Agent, Node};
use crate::run::document::{NodeEntry, ProcessorEntry};

/// What timelines call a node's agents.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AgentNames {
    /// Its processors.
    pub processors: Vec<String>,
    /// The ports of its devices.
    pub ports: Vec<String>,
}

impl Node {
    /// Closes the ledgers: the run ends now.
    pub fn close(&mut self, now: Time) {
        for unit in self.processors.iter_mut() {
            let end = now.max(unit.ledger.booked_until());
            unit.ledger.close(end);
            unit.closed_stalls = unit.stalls(end);
        }
    }

    /// The names of the buses that it has.
    pub fn buses(&self) -> Vec<&'static str> {
        self.interconnects.iter().map(Interconnect::name).collect()
    }

    /// How many processes of the program it runs.
    pub fn process_count(&self) -> usize {
        self.programs()
    }

    /// How many processors it has.
    pub fn processor_count(&self) -> usize {
        self.processors.len()
    }

    /// The program whose threads a processor runs.
    pub fn program_of(&self, processor: usize) -> &Arc<Program> {
        &self.processes[self.processors[processor].process].program
    }

    /// The instant up to which a processor's time is booked.
    pub fn booked_until(&self, processor: usize) -> Time {
        self.processors[processor].ledger.booked_until()
    }

    /// The latest instant that anything on this node has reached.
    pub fn reached(&self) -> Time {
        self.processors.iter().map(|unit| unit.ledger.booked_until()).max().unwrap_or(Time::ZERO)
    }

    /// How many pages of its memory have been written to.
    pub fn touched_pages(&self) -> usize {
        self.memories.iter().map(|memory| memory.bytes.touched_pages()).sum()
    }

    /// Everything that the node counted, as JSON.
    pub fn to_json(&self) -> Value {
        json!(self.entry())
    }

    /// Everything that the node counted, as results have it.
    pub(crate) fn entry(&self) -> NodeEntry {
        let processor = |unit: &NodeProcessor| ProcessorEntry {
            exit_code: match self.processes[unit.process].ended {
                Some((_, Ended::Exited(code))) => Some(code),
                _ => None,
            },
            retired: unit.processor.retired(),
            cycles: unit.processor.cycles(),
            ledger_ps: ledger_json(unit.ledger.booked_by_category()),
            waits_ps: waits_json(unit.ledger.booked_by_category()),
            stalls_ps: stalls_json(&unit.closed_stalls, unit.ledger.elapsed()),
            firmware: self.processes[unit.process].personality == Personality::Bare,
        };
        NodeEntry {
            node: self.id.0,
            processors: self.processors.iter().map(processor).collect(),
            touched_pages: self.touched_pages(),
            statistics: statistics_json(&self.statistics()),
            message_sizes: size_entries(self.message_sizes()),
        }
    }

    /// What carries the messages of its directory, if it has one.
    pub fn network_on_chip(&self) -> Option<&OnChip> {
        self.on_chip.as_ref().map(|own| own.network())
    }

    /// Bytes in a coherence block of the memory in which the first process is.
    pub(super) fn block_bytes(&self) -> u64 {
        self.memories[usize::from(self.processors[0].ports.memory.0)].block_bytes
    }

    /// What explanations call an agent.
    pub fn name_of_agent(&self, agent: Agent) -> &'static str {
        match agent {
            Agent::Processor(0) => "processor",
            Agent::Processor(index) if self.runs_firmware(index) => "firmware",
            Agent::Processor(_) => "another processor",
            Agent::Port(port) => self.devices[self.ports[port].device].part(self.ports[port].port),
            Agent::Bridge => "bridge",
        }
    }

    /// The ports of the interface that work for a process: that receive for it, or else that send.
    pub fn interface_ports(&self, process: usize, receives: bool) -> Range<usize> {
        let device = self.interface_of(process);
        let (interface, before) = (&self.devices[device], self.first_ports[device]);
        let ports = interface.ports();
        let first = ports.iter().position(|port| usize::from(port.process) == process).unwrap_or(0);
        let port = (first + usize::from(receives)).min(ports.len() - 1);
        let Range { start, end } = interface.ports_beside(port);
        before + start..before + end
    }

    /// Whether a port is one of a network interface.
    pub fn is_of_interface(&self, port: usize) -> bool {
        self.ports[port].device < self.interfaces().len()
    }

    /// Its network interfaces.
    pub(super) fn interfaces(&self) -> &[Box<dyn Device>] {
        &self.devices[..=self.further_interfaces.len()]
    }

    /// The place among the devices of a process's network interface: processes take them in turn.
    pub(super) fn interface_of(&self, process: usize) -> usize {
        process % self.interfaces().len()
    }

    /// The name of a device that is a network interface and not the first one.
    pub(super) fn further_name(&self, device: usize) -> Option<&str> {
        self.further_interfaces.get(device.checked_sub(1)?).map(String::as_str)
    }

    /// How many tiles of it have a part of the interface.
    pub fn tiles(&self) -> usize {
        self.devices[0].ports().iter().filter(|port| port.of_tile.is_some()).count()
    }

    /// Whether a processor runs firmware, and not the program.
    pub fn runs_firmware(&self, processor: usize) -> bool {
        self.processes[self.processors[processor].process].personality == Personality::Bare
    }

    /// What timelines call its agents.
    pub fn agent_names(&self) -> AgentNames {
        let is_alone = (0..self.processors.len()).filter(|&index| self.runs_firmware(index)).count() == 1;
        let processor = |index: usize| match self.runs_firmware(index) {
            true if is_alone => "firmware".to_owned(),
            true => format!("firmware of processor {index}"),
            false => format!("processor {index}"),
        };
        let ports = self.devices.iter().enumerate().flat_map(|(number, device)| {
            let ports = device.ports();
            let is_one = self.further_interfaces.is_empty() || number >= self.interfaces().len();
            let several = !is_one || ports.iter().any(|port| port.process != ports[0].process);
            let whose = self.further_name(number).map(|name| format!(" of {name}")).unwrap_or_default();
            let name = move |(port, &DevicePort { process, .. }): (usize, &DevicePort)| match several {
                true => format!("{}{whose} of process {process}", device.part(port)),
                false => device.part(port).to_owned(),
            };
            ports.iter().enumerate().map(name).collect::<Vec<_>>()
        });
        AgentNames { processors: (0..self.processors.len()).map(processor).collect(), ports: ports.collect() }
    }

    /// What an address of the first process, or of an interface's part for any, is, in words.
    pub fn place_of(&self, address: u64) -> AddressName {
        let block_bytes = self.block_bytes();
        let (interfaces, others) = self.devices.split_at(self.interfaces().len());
        let process = Addresses::process_at(address).unwrap_or_default();
        let own = &interfaces[self.interface_of(process.into())];
        let mut devices = std::iter::once(own).chain(others);
        let named = devices.find_map(|device| device.name_of(address, block_bytes));
        named.unwrap_or_else(|| match self.processes[0].calls.space().place(address) {
            Guest::Inside(Use::Heap | Use::Mapping, _) => AddressName::whole("user memory"),
            Guest::Inside(purpose, _) => AddressName::whole(purpose.to_string()),
            _ => match Interrupt::at(address) {
                Some(Interrupt { vector }) => AddressName::whole(format!("interrupt vector {vector}")),
                None => AddressName::whole("memory"),
            },
        })
    }
}
