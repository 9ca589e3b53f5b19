//! Paths of processors to an interface: cache buses, or ways into the registers.
//!
//! ```text
//!   processor 0 ── private bus 0 ──┬── queues of process 0
//!   processor 1 ── private bus 1 ──┘
//!   processor 2 ── private bus 2 ──┬── queues of process 1
//!   processor 3 ── private bus 3 ──┘
//! ```
//!
//! The machine's file states one path; each processor has one like that, so no processor waits for
//! another's access. A process's registers answer on the paths of all its processors. Processors whose
//! processes have another interface have no path.

use narthex_memory::interconnects::InterconnectId;

use super::{InterconnectShape, PlacedPort, Shape};
use crate::config::MachineConfig;

impl MachineConfig {
    /// The shape of a node in which all the program's processors are on one path, with a path for each. The
    /// first of them keeps the number; the others follow the node's other interconnects.
    pub(super) fn with_paths_apart(&self, path: InterconnectId, mut shape: Shape) -> Shape {
        let (share, first) = (self.first_share(), usize::from(path.0));
        let one = shape.interconnects[first].clone();
        let (mut next, count) = (path, self.machine.processors_per_node as usize);
        let mut of_process = Vec::new();
        for (processor, on) in shape.processors[..count].iter_mut().enumerate() {
            let process = (processor / self.processors_per_process() as usize) as u8;
            on.pop();
            if !share.serves(process) {
                continue;
            }
            on.push(next);
            of_process.push((process, next));
            let name = if count > 1 { format!("{} {processor}", one.name) } else { one.name.clone() };
            let own = InterconnectShape { process: Some(process), name, ..one.clone() };
            match next == path {
                true => shape.interconnects[first] = own,
                false => shape.interconnects.push(own),
            }
            next = InterconnectId(shape.interconnects.len() as u8);
        }
        for (half, on) in shape.devices[0].iter_mut().enumerate() {
            let own = of_process.iter().find(|(process, _)| *process == share.process_of(half));
            *on = own.expect("a process has a processor").1;
        }
        shape
    }
}

impl Shape {
    /// Whether a port answers accesses on an interconnect: it is there, or on the path of another processor of
    /// the same process.
    pub(super) fn answers(&self, placed: &PlacedPort, on: InterconnectId) -> bool {
        let process = |on: InterconnectId| self.interconnects[usize::from(on.0)].process;
        placed.on == on || process(placed.on).is_some() && process(on) == Some(placed.port.process)
    }
}
