//! Interfaces whose hardware is simulated as it is: RTL in a model's place.
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`simulation`] | an instance of a design: ports by name, cycles, state, waves |
//! | [`ports`] | the ports of a design in a FIFO's place |
//! | [`fifo`] | the device that drives them |

mod capi;
pub mod fifo;
pub mod ports;
pub mod simulation;

use fifo::RtlFifo;
use narthex_kernel::Clock;
use simulation::Design;

use crate::device::Device;
use crate::interface::Interface;
use crate::name::Name;

/// The section of the model that a FIFO's hardware can stand in for.
const FIFO: &str = "ni_iw";

/// A design that stands in the place of an interface's model.
#[derive(Clone, Debug)]
pub struct Hardware {
    /// What users call it: `NI2w@rtl`.
    pub name: String,
    /// What it is.
    pub design: Design,
    /// Its clock.
    pub clock: Clock,
}

impl Hardware {
    /// The device of a node: the design in the place of `model`, whose name is `name`, its signals
    /// written to the file `waves`.
    ///
    /// # Errors
    /// If no hardware can stand in for such a model, its ports are others, or the file cannot be
    /// written.
    pub fn in_place_of(
        &self,
        (name, model): (Name, Interface),
        packet_bytes: u64,
        waves: Option<&std::path::Path>,
    ) -> Result<Box<dyn Device>, String> {
        if [name.send, name.receive].iter().any(|half| half.model.section != FIFO) {
            return Err(format!(
                "hardware {}: hardware with registers and packets takes the place of an NI_i w, such as NI2w, not of \
                 {name}",
                self.name
            ));
        }
        let mut device = RtlFifo::new(model, self, packet_bytes)?;
        if let Some(file) = waves {
            device
                .record(file)
                .map_err(|error| format!("waves cannot be written to {}: {error}", file.display()))?;
        }
        Ok(Box::new(device))
    }
}
