//! Which interrupt lines lead to which processors of a node: those of devices with firmware to the processors that
//! run it, those of an interface that chooses threads to the processor of its process.

use narthex_interfaces::Device;

use super::Blueprint;
use crate::config::PROGRAM;
use crate::node::InterruptLines;
use crate::request::Failure;
use crate::wiring::Shape;

impl Blueprint<'_> {
    /// The interrupt lines of a node's processors.
    pub(super) fn lines(
        &self,
        shape: &Shape,
        devices: &[&dyn Device],
    ) -> Result<Vec<InterruptLines>, Failure> {
        let parts = self.config.processor_parts();
        let runs_firmware = |index: &usize| parts[*index].1.runs != PROGRAM;
        let firmware: Vec<usize> = (0..parts.len()).filter(runs_firmware).collect();
        let usage = |problem| Failure::usage(format!("{}: {problem}", self.machine));
        let mut lines = shape.lines(devices, &firmware).map_err(usage)?;
        let programs: Vec<usize> = (0..parts.len()).filter(|index| !runs_firmware(index)).collect();
        lines.extend(self.lines_to_programs(devices, &programs).map_err(usage)?);
        for InterruptLines { processor, sources, .. } in &lines {
            let (name, part) = parts[*processor];
            if self.config.core_named(&part.core).interrupt_cycles.is_none() {
                let (device, port, _) = sources[0];
                let (device, core) = (&devices[device].ports()[port].name, &part.core);
                return Err(usage(format!(
                    "node.processors.{name}.core: {core:?} has no interrupt_cycles, and {device} has interrupt lines to \
                     it: state the cycles from a line to the handler's first instruction"
                )));
            }
        }
        Ok(lines)
    }

    /// The lines to the processors that run programs, of which each process has one.
    fn lines_to_programs(
        &self,
        devices: &[&dyn Device],
        programs: &[usize],
    ) -> Result<Vec<InterruptLines>, String> {
        let mut all = Vec::new();
        for (number, device) in devices.iter().enumerate() {
            for (port, described) in device.ports().iter().enumerate() {
                if described.lines_to_program == 0 {
                    continue;
                }
                let threads = self.config.processors_per_process();
                if threads > 1 {
                    let name = &described.name;
                    return Err(format!(
                        "machine.processors_per_process: {threads} processors share {name}, which chooses the thread \
                         of one processor; expected 1, or an interface without contexts"
                    ));
                }
                let processor = programs[usize::from(described.process)];
                all.push(InterruptLines::new(processor, vec![(number, port, 0)]));
            }
        }
        Ok(all)
    }
}
