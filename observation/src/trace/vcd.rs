//! A timeline of the buses as a value change dump (IEEE Std 1364, Section 18),
//! for viewers of waveforms such as GTKWave.
//!
//! ```text
//!   node_0 ─┬─ memory_bus ─┬─ busy      1 bit
//!           │              ├─ owner     text: who has the bus
//!           │              ├─ kind      text: what the transaction does
//!           │              └─ address   64 bits
//!           └─ I_O_bus, private_bus     where there are such
//! ```
//!
//! Times are whole picoseconds. While a bus is free its texts are `-` and its
//! address is undriven (z). Texts are variables of the type `string`, which GTKWave
//! introduced and others read.

use std::collections::BTreeMap;
use std::io::{self, Write};

use narthex_kernel::Time;
use narthex_machine::node::AgentNames;
use vcd::{IdCode, TimescaleUnit, Value, VarType, Writer};

use super::format::Format;
use super::rows::{Label, Row, Track, agent_name};

/// Bits of an address.
const ADDRESS_BITS: u32 = 64;

/// The variables of a bus.
#[derive(Clone, Copy, Debug)]
struct Signals {
    busy: IdCode,
    owner: IdCode,
    kind: IdCode,
    address: IdCode,
}

/// What a bus shows.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Shown {
    busy: bool,
    owner: String,
    kind: &'static str,
    address: Option<u64>,
}

impl Shown {
    /// A bus that is free.
    fn free() -> Self {
        Shown { busy: false, owner: "-".into(), kind: "-", address: None }
    }
}

/// Writes the buses of a timeline as a value change dump.
pub struct ValueChangeDump<W: Write> {
    writer: Writer<W>,
    names: AgentNames,
    signals: BTreeMap<Row, Signals>,
    /// What the buses are to show from the present on, where that has changed.
    changed: BTreeMap<Row, Shown>,
    present: Time,
}

impl<W: Write> ValueChangeDump<W> {
    /// A dump of a machine's buses, each a row, from an instant on.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn new(writer: W, machine: &str, names: AgentNames, buses: &[Row], from: Time) -> io::Result<Self> {
        let mut writer = Writer::new(writer);
        writer.version(concat!("Narthex ", env!("CARGO_PKG_VERSION")))?;
        writer.comment(machine)?;
        writer.timescale(1, TimescaleUnit::PS)?;
        let mut signals = BTreeMap::new();
        for (index, row) in buses.iter().enumerate() {
            if index == 0 || buses[index - 1].node != row.node {
                writer.add_module(&format!("node_{}", row.node))?;
            }
            writer.add_module(&row.track.name(&names).replace([' ', '/'], "_"))?;
            signals.insert(*row, declare(&mut writer)?);
            writer.upscope()?;
            if buses.get(index + 1).is_none_or(|next| next.node != row.node) {
                writer.upscope()?;
            }
        }
        writer.enddefinitions()?;
        writer.timestamp(from.as_ps())?;
        let changed = buses.iter().map(|&row| (row, Shown::free())).collect();
        Ok(ValueChangeDump { writer, names, signals, changed, present: from })
    }

    /// Takes down what a bus shows from `at` on.
    fn show(&mut self, at: Time, row: Row, shown: Shown) -> io::Result<()> {
        if !matches!(row.track, Track::Bus(_)) {
            return Ok(());
        }
        self.reach(at)?;
        self.changed.insert(row, shown);
        Ok(())
    }

    /// Writes the changes of the present instant when time moves on.
    fn reach(&mut self, now: Time) -> io::Result<()> {
        if now <= self.present {
            return Ok(());
        }
        self.settle()?;
        self.present = now;
        self.writer.timestamp(now.as_ps())
    }

    /// Writes the changes of the present instant.
    fn settle(&mut self) -> io::Result<()> {
        for (row, shown) in std::mem::take(&mut self.changed) {
            self.write(self.signals[&row], &shown)?;
        }
        Ok(())
    }

    fn write(&mut self, signals: Signals, shown: &Shown) -> io::Result<()> {
        self.writer.change_scalar(signals.busy, shown.busy)?;
        self.writer.change_string(signals.owner, &shown.owner.replace(' ', "_"))?;
        self.writer.change_string(signals.kind, shown.kind)?;
        // Bits on the left that are not written are 0, or undriven beside an undriven one.
        let bits = match shown.address {
            None => vec![Value::Z],
            Some(address) => {
                let length = (ADDRESS_BITS - address.leading_zeros()).max(1);
                (0..length).rev().map(|place| Value::from(address >> place & 1 == 1)).collect()
            }
        };
        self.writer.change_vector(signals.address, bits)
    }
}

fn declare<W: Write>(writer: &mut Writer<W>) -> io::Result<Signals> {
    Ok(Signals {
        busy: writer.add_wire(1, "busy")?,
        owner: writer.add_var(VarType::String, 1, "owner", None)?,
        kind: writer.add_var(VarType::String, 1, "kind", None)?,
        address: writer.add_wire(ADDRESS_BITS, "address")?,
    })
}

impl<W: Write + Send> Format for ValueChangeDump<W> {
    fn begin(&mut self, at: Time, row: Row, label: &Label) -> io::Result<()> {
        let shown = match label {
            Label::Transaction(transaction) => Shown {
                busy: true,
                owner: agent_name(transaction.agent, &self.names).to_owned(),
                kind: transaction.name,
                address: Some(transaction.address),
            },
            _ => Shown { busy: true, owner: "bridge".into(), kind: "kept", address: None },
        };
        self.show(at, row, shown)
    }

    fn end(&mut self, at: Time, row: Row) -> io::Result<()> {
        self.show(at, row, Shown::free())
    }

    fn finish(&mut self, at: Time) -> io::Result<()> {
        self.reach(at)?;
        self.settle()?;
        self.writer.flush()
    }
}
