//! Hardware in the place of the interface's model, as a run's request names it.

use std::path::PathBuf;

use narthex_fabrics::NodeId;
use narthex_interfaces::Device;
use narthex_interfaces::rtl::simulation::Design;
use narthex_interfaces::rtl::{Hardware, Replaced};
use narthex_kernel::Frequency;

use super::Blueprint;
use crate::request::{Failure, HardwareRequest, RunRequest};

/// Hardware, and the node whose waves are recorded.
pub(super) struct InPlace {
    hardware: Hardware,
    waves: Option<(u32, PathBuf)>,
}

impl Blueprint<'_> {
    /// The same with the request's hardware in the place of the interface's model.
    ///
    /// # Errors
    /// If it cannot be loaded, or the node does not exist whose waves are asked for.
    pub fn with_hardware_of(mut self, request: &RunRequest) -> Result<Self, Failure> {
        let Some(HardwareRequest { name, library, clock, tile, waves, waves_node, .. }) = &request.hardware
        else {
            if !self.interface.is_hardware {
                return Ok(self);
            }
            return Err(Failure::usage(format!(
                "'{}' is hardware in the place of {}: the request of a run states its compiled form as `hardware` \
                 (narthex run, compare and explain compile it)",
                request.interface, self.interface
            )));
        };
        let refused = |problem: String| Failure::usage(format!("hardware {name}: {problem}"));
        if let Some(further) = self.config.node.further_interfaces().next() {
            return Err(refused(format!(
                "it serves all processes of a node, and node.devices.{} is an interface for some of them; expected a \
                 machine without further interfaces",
                further.name
            )));
        }
        if *waves_node >= self.nodes {
            let last = self.nodes - 1;
            return Err(refused(format!("waves of node {waves_node} are asked for; nodes are 0 to {last}")));
        }
        let design = Design::load(library).map_err(|error| refused(error.to_string()))?;
        if tile.is_some() {
            let problem = match self.jobs.len() {
                1 if self.nodes == 1 => None,
                1 => Some(format!("it is one chip's, and nodes are {}; expected 1", self.nodes)),
                // Its lines are shared with all processes of the chip, or with none.
                jobs => Some(format!("it runs one program on all its tiles, not {jobs} jobs")),
            };
            if let Some(problem) = problem {
                return Err(refused(problem));
            }
        }
        let clock = clock.map(Frequency::clock);
        let hardware = Hardware { name: name.clone(), design, clock, tile: *tile };
        let waves = waves.clone().map(|file| (*waves_node, file));
        self.hardware = Some(InPlace { hardware, waves });
        Ok(self)
    }

    /// The interfaces of this node; hardware may stand in the place of the first one's model.
    pub(super) fn interfaces_of(&self, node: NodeId) -> Result<Vec<Box<dyn Device>>, Failure> {
        let mut interfaces = self.build_interfaces()?;
        if self.hardware.is_some() {
            interfaces[0] = self.interface_of(node)?;
        }
        Ok(interfaces)
    }

    /// The interface of this node that the run chooses: its model, or the hardware in its place.
    fn interface_of(&self, node: NodeId) -> Result<Box<dyn Device>, Failure> {
        let Some(InPlace { hardware, waves }) = &self.hardware else { return self.build_interface() };
        let waves = waves.as_ref().filter(|(of, _)| *of == u32::from(node.0)).map(|(_, file)| &**file);
        let model = if self.interface.name.is_sarc() {
            Replaced::Tiles(Box::new(self.build_sarc()?))
        } else {
            Replaced::Fifo(self.interface.name, Box::new(self.build_halves()?), self.packet_bytes())
        };
        hardware.in_place_of(model, node, waves).map_err(Failure::usage)
    }
}
