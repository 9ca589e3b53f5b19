//! What a node says about itself when the run is over, or stuck.

use std::fmt::Write as _;

use narthex_cores::linux::Place as Guest;
use narthex_cores::linux::address_space::Use;
use narthex_interfaces::Interface;
use narthex_interfaces::places::{Place, Shape, place_of};
use narthex_kernel::Time;
use narthex_kernel::statistics::StatisticSet;
use serde_json::{Map, Value, json};

use super::process::Ended;
use super::{Node, State};

impl Node {
    /// Closes the ledgers: the run ends now.
    pub fn close(&mut self, now: Time) {
        for unit in &mut self.units {
            let end = now.max(unit.ledger.booked_until());
            unit.ledger.close(end);
        }
    }

    /// The latest instant that anything on this node has reached.
    pub fn reached(&self) -> Time {
        self.units.iter().map(|unit| unit.ledger.booked_until()).max().unwrap_or(Time::ZERO)
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
                    "ledger_ps": unit.ledger.totals().filter(|(_, time)| !time.is_zero())
                        .map(|(name, time)| (name, json!(time.as_ps()))).collect::<Map<_, _>>(),
                })
            })
            .collect();
        json!({
            "node": self.id.0,
            "processors": processors,
            "touched_pages": self.main.touched_pages(),
            "statistics": self.statistics(),
        })
    }

    /// Every statistic of the node by name.
    fn statistics(&self) -> Map<String, Value> {
        let mut sets: Vec<&dyn StatisticSet> = vec![&self.bus.statistics, self.network.statistics()];
        sets.extend(self.units.iter().map(|unit| &unit.memory.statistics as &dyn StatisticSet));
        sets.extend(self.interface.sides.iter().map(|side| side.statistics()));
        let mut all = Map::new();
        sets.into_iter().for_each(|set| add_all(&mut all, "", set));
        if let Some(io) = &self.io {
            add_all(&mut all, "io_", &io.bus.statistics);
            add_all(&mut all, "", &io.bridge.statistics);
        }
        if let Some(private) = &self.private {
            add_all(&mut all, "private_", &private.bus.statistics);
        }
        all
    }

    /// What an address of the first process is, in words.
    pub fn place_of(&self, address: u64, packet_bytes: u64) -> Place {
        let drivers = self.interface.layouts(0).map(|layout| layout.driver);
        let shape = Shape { packet_bytes, block_bytes: self.block_bytes, drivers };
        place_of(address, &shape).unwrap_or_else(|| match self.processes[0].calls.space().place(address) {
            Guest::Inside(Use::Heap | Use::Mapping, _) => Place::whole("user memory"),
            Guest::Inside(purpose, _) => Place::whole(purpose.to_string()),
            _ => Place::whole("memory"),
        })
    }

    /// Who waits for what, for a run that gets nowhere.
    pub fn describe(&mut self) -> String {
        let mut text = String::new();
        for index in 0..self.units.len() {
            let _ = write!(text, "{}: ", self.who(index));
            let unit = &self.units[index];
            if unit.state == State::Exited {
                text += "its program has ended\n";
                continue;
            }
            let doing = match unit.memory.wait_reason() {
                Some(reason) => format!("waits for the bus ({reason:?})"),
                None => "runs".into(),
            };
            let activity = unit.activities.current().as_str();
            let _ = writeln!(text, "{doing} in the activity '{activity}'");
            text += &self.describe_calls(index);
        }
        for (index, side) in self.interface.sides.iter().enumerate() {
            if self.processes.len() > 1 {
                let _ = write!(text, "  process {}:", Interface::process_of(index));
            }
            let _ = writeln!(text, "  {}", side.describe());
        }
        if let Some(io) = &self.io {
            let _ = writeln!(text, "  {}", io.bridge.describe());
        }
        let _ = write!(text, "  flow control: {}", self.network.describe());
        text
    }
}

/// Adds every statistic of a set, its name behind the prefix.
fn add_all(all: &mut Map<String, Value>, prefix: &str, set: &dyn StatisticSet) {
    set.visit(&mut |description, value| {
        let value = serde_json::to_value(value).expect("statistics are plain numbers");
        add(all, &format!("{prefix}{}", description.name), value);
    });
}

/// Adds a statistic, summing numbers that several processors share.
fn add(all: &mut Map<String, Value>, name: &str, value: Value) {
    let sum = match (all.get(name).and_then(Value::as_u64), value.as_u64()) {
        (Some(before), Some(more)) => json!(before + more),
        _ => value,
    };
    all.insert(name.to_owned(), sum);
}
