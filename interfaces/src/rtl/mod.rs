//! Interfaces whose hardware is simulated as it is: RTL in a model's place.
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`simulation`] | an instance of a design: ports by name, cycles, state, waves |
//! | [`ports`] | the ports of a design in a FIFO's place |
//! | [`bus`] | its requests on the node's interconnect |
//! | [`fifo`] | the device that drives them |
//! | `unit` | the hardware of one process, edge by edge |
//!
//! Tiles of SARC's chip are in [`crate::sarc::rtl`].

pub mod bus;
mod capi;
pub mod fifo;
pub mod ports;
pub mod simulation;
mod unit;

use std::io;
use std::path::Path;

use fifo::RtlFifo;
use narthex_fabrics::NodeId;
use narthex_kernel::Clock;
use simulation::Design;

use crate::device::Device;
use crate::interface::Interface;
use crate::name::Name;
use crate::sarc::Sarc;
use crate::sarc::rtl::{Parameters, RtlSarc};

/// Why other hardware is refused.
const FIFOS_ALONE: &str = "hardware of your own takes the place of an NI_i w or an NI_i w+Udma, such as NI2w";

/// The section of the model that hardware with registers and packets can stand in for.
const FIFO: &str = "ni_iw";

/// That of the model whose hardware also needs a bus port: it moves payloads itself.
const UDMA: &str = "ni_iw_udma";

/// A design that stands in the place of an interface's model.
#[derive(Clone, Debug)]
pub struct Hardware {
    /// What users call it: `NI2w@rtl`.
    pub name: String,
    /// What it is.
    pub design: Design,
    /// Its clock; none where the machine's file states that of the model.
    pub clock: Option<Clock>,
    /// What it was built with, if it is a tile of SARC's chip.
    pub tile: Option<Parameters>,
}

/// What the hardware of a node stands in the place of.
pub enum Replaced {
    /// An interface of halves, and the bytes of its packets.
    Fifo(Name, Box<Interface>, u64),
    /// The tiles of SARC's chip.
    Tiles(Box<Sarc>),
}

impl Hardware {
    /// The device of a node, whose signals are written to the file `waves`.
    ///
    /// # Errors
    /// If it cannot stand in for such a model, its ports are others, or the file cannot be written.
    pub fn in_place_of(
        &self,
        model: Replaced,
        node: NodeId,
        waves: Option<&Path>,
    ) -> Result<Box<dyn Device>, String> {
        let scope = format!("node_{}", node.0);
        let unwritten =
            |file: &Path, error: io::Error| format!("waves cannot be written to {}: {error}", file.display());
        match model {
            Replaced::Tiles(model) => {
                let parameters = self.tile.as_ref().ok_or_else(|| {
                    format!("hardware {}: {FIFOS_ALONE}, not of SARC, whose hardware is SARC@rtl", self.name)
                })?;
                let mut device = RtlSarc::new(*model, (&self.name, &self.design), parameters, &scope)?;
                if let Some(file) = waves {
                    device.record(file).map_err(|error| unwritten(file, error))?;
                }
                Ok(Box::new(device))
            }
            Replaced::Fifo(name, model, packet_bytes) => {
                let sections = [name.send, name.receive].map(|half| half.model.section);
                if sections.iter().any(|section| ![FIFO, UDMA].contains(section)) {
                    return Err(format!("hardware {}: {FIFOS_ALONE}, not of {name}", self.name));
                }
                let mut device = RtlFifo::new(*model, self, packet_bytes, &scope)?;
                if sections.contains(&UDMA) && !device.has_bus_port() {
                    return Err(format!(
                        "hardware {}: it lacks the bus port (bus_valid and its like), by which the hardware of {name} \
                         moves payloads",
                        self.name
                    ));
                }
                if let Some(file) = waves {
                    device.record(file).map_err(|error| unwritten(file, error))?;
                }
                Ok(Box::new(device))
            }
        }
    }
}
