//! What a node says about itself when the run is over, or stuck.

use narthex_cores::linux::Place as Guest;
use narthex_cores::linux::address_space::Use;
use narthex_fabrics::on_chip::OnChip;
use narthex_interfaces::address_names::AddressName;
use narthex_kernel::Time;
use narthex_memory::interconnects::Interconnect;
use serde_json::{Value, json};

use super::counts::{ledger_json, sizes_json, statistics_json};
use super::process::{Ended, Personality};
use super::{Agent, Node};

impl Node {
    /// Closes the ledgers: the run ends now.
    pub fn close(&mut self, now: Time) {
        self.end_waiting();
        for unit in &mut self.processors {
            let end = now.max(unit.ledger.booked_until());
            unit.ledger.close(end);
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
        let processors: Vec<Value> = self
            .processors
            .iter()
            .map(|unit| {
                let mut document = json!({
                    "exit_code": match self.processes[unit.process].ended {
                        Some((_, Ended::Exited(code))) => Some(code),
                        _ => None,
                    },
                    "retired": unit.processor.retired(),
                    "cycles": unit.processor.cycles(),
                    "ledger_ps": ledger_json(unit.ledger.totals()),
                });
                if self.processes[unit.process].personality == Personality::Bare {
                    document["firmware"] = true.into();
                }
                document
            })
            .collect();
        json!({
            "node": self.id.0,
            "processors": processors,
            "touched_pages": self.touched_pages(),
            "statistics": statistics_json(&self.statistics()),
            "message_sizes": sizes_json(self.message_sizes()),
        })
    }

    /// What carries the messages of its directory, if it has one.
    pub fn network_on_chip(&self) -> Option<&OnChip> {
        self.on_chip.as_ref().map(|own| own.network())
    }

    /// Bytes in a coherence block of the memory in which the first process is.
    pub(super) fn block_bytes(&self) -> u64 {
        self.memories[usize::from(self.processors[0].seats.memory.0)].block_bytes
    }

    /// What explanations call an agent.
    pub fn name_of_agent(&self, agent: Agent) -> &'static str {
        let interface = &self.devices[0];
        let is_of_halves = interface.sender(0) != interface.receiver(0);
        match agent {
            Agent::Processor(0) => "processor",
            Agent::Processor(index)
                if self.processes[self.processors[index].process].personality == Personality::Bare =>
            {
                "firmware"
            }
            Agent::Processor(_) => "another processor",
            Agent::Seat(seat) if seat >= interface.seats().len() => "device",
            Agent::Seat(_) if !is_of_halves => "interface",
            Agent::Seat(seat) if seat.is_multiple_of(2) => "send half",
            Agent::Seat(_) => "receive half",
        }
    }

    /// What an address of the first process is, in words.
    pub fn place_of(&self, address: u64) -> AddressName {
        let block_bytes = self.block_bytes();
        let named = self.devices.iter().find_map(|device| device.name_of(address, block_bytes));
        named.unwrap_or_else(|| match self.processes[0].calls.space().place(address) {
            Guest::Inside(Use::Heap | Use::Mapping, _) => AddressName::whole("user memory"),
            Guest::Inside(purpose, _) => AddressName::whole(purpose.to_string()),
            _ => AddressName::whole("memory"),
        })
    }
}
