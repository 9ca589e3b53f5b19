//! What a node says about itself when the run is over, or stuck.

use narthex_cores::linux::Place as Guest;
use narthex_cores::linux::address_space::Use;
use narthex_interfaces::address_names::AddressName;
use narthex_kernel::Time;
use serde_json::{Value, json};

use super::Node;
use super::counts::{ledger_json, sizes_json, statistics_json};
use super::journal::{Event, IO_BUS, Journal, MEMORY_BUS, PRIVATE_BUS};
use super::process::Ended;

impl Node {
    /// Closes the ledgers: the run ends now.
    pub fn close(&mut self, now: Time) {
        self.catch_up(now);
        for unit in &mut self.units {
            let end = now.max(unit.ledger.booked_until());
            unit.ledger.close(end);
        }
    }

    /// Begins a journal for a timeline, at the end of a window: with what its
    /// processors are at.
    pub fn begin_course(&mut self, now: Time) {
        self.rest_at(now);
        let mut journal = Journal::of_course();
        for (processor, unit) in self.units.iter().enumerate() {
            let (activity, occupation) = unit.booked();
            let at = now.max(unit.ledger.booked_until());
            journal.record(at, Event::Booking { processor, activity, occupation });
        }
        journal.look(now, None, &self.interface, &self.network);
        self.journal = Some(Box::new(journal));
    }

    /// The buses that it has.
    pub fn buses(&self) -> Vec<&'static str> {
        let io = self.io.as_ref().map(|_| IO_BUS);
        let private = self.private.as_ref().map(|_| PRIVATE_BUS);
        [Some(MEMORY_BUS), io, private].into_iter().flatten().collect()
    }

    /// How many processes it runs.
    pub fn process_count(&self) -> usize {
        self.processes.len()
    }

    /// The latest instant that anything on this node has reached.
    pub fn reached(&self) -> Time {
        self.units.iter().map(|unit| unit.ledger.booked_until()).max().unwrap_or(Time::ZERO)
    }

    /// How many pages of its memory have been written to.
    pub fn touched_pages(&self) -> usize {
        self.main.touched_pages()
    }

    /// Everything that the node counted, as JSON.
    pub fn to_json(&self) -> Value {
        let processors: Vec<Value> = self
            .units
            .iter()
            .zip(&self.processes)
            .map(|(unit, process)| {
                json!({
                    "exit_code": match process.ended {
                        Some((_, Ended::Exited(code))) => Some(code),
                        _ => None,
                    },
                    "retired": unit.processor.retired(),
                    "cycles": unit.processor.cycles(),
                    "ledger_ps": ledger_json(unit.ledger.totals()),
                })
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

    /// What an address of the first process is, in words.
    pub fn place_of(&self, address: u64) -> AddressName {
        let named = self.interface.address_names(self.block_bytes).name_of(address);
        named.unwrap_or_else(|| match self.processes[0].calls.space().place(address) {
            Guest::Inside(Use::Heap | Use::Mapping, _) => AddressName::whole("user memory"),
            Guest::Inside(purpose, _) => AddressName::whole(purpose.to_string()),
            _ => AddressName::whole("memory"),
        })
    }
}
