//! What is recorded of a run, node by node, for the lives of its messages.

use narthex_fabrics::Frame;
use narthex_fabrics::switch::Switch;
use narthex_kernel::Time;
use narthex_machine::Failure;
use narthex_machine::compose::Blueprint;
use narthex_machine::node::Node;
use narthex_machine::run::{Explanation, Halt, Monitor};

use super::JournalScope;
use super::ends::{End, Ends};
use super::journal::Journal;
use super::library::{CallWatch, Library};
use crate::hang::Hang;

/// Keeps a journal on the nodes of the two ends.
pub(super) struct Journals {
    pub(super) asked: JournalScope,
    /// Whose calls they follow.
    pub(super) library: Option<Library>,
    /// The ends are tiles by their numbers.
    pub(super) of_tiles: bool,
    /// Known once the nodes are.
    pub(super) ends: Option<Ends>,
}

impl Monitor for Journals {
    fn start(&mut self, _: &Blueprint<'_>, nodes: &mut [Node]) -> Result<(), Failure> {
        let JournalScope { chosen, skip, limit } = self.asked;
        let ends = Ends::of(nodes, chosen, self.of_tiles).map_err(Failure::usage)?;
        if ends.are_tiles {
            let [sender, receiver] = &ends.each;
            let ports = [sender.sends.clone(), receiver.receives.clone()];
            nodes[0].attach(Box::new(Journal::new(skip, limit, ports, None)));
        } else {
            for (place, end) in ends.each.iter().enumerate() {
                let node = &mut nodes[end.node];
                let watch = self
                    .library
                    .map(|library| CallWatch::new(end.processor, node.program_of(end.processor), library));
                let ports = compared(place, end, node);
                node.attach(Box::new(Journal::new(skip, limit, ports, watch)));
            }
        }
        self.ends = Some(ends);
        Ok(())
    }

    fn explain(
        &mut self,
        halt: Halt,
        at: Time,
        nodes: &mut [Node],
        switches: &[Switch<Frame>],
    ) -> Option<Explanation> {
        Some(Hang::of(nodes, switches, halt, at).explanation())
    }
}

/// The ports of an end whose states tell something: those that send at the sender; at the receiver
/// those that receive, where firmware works for them. To digest a state takes more time than all else here.
fn compared(place: usize, end: &End, node: &Node) -> [Vec<usize>; 2] {
    let has_firmware = (0..node.processor_count()).any(|processor| node.runs_firmware(processor));
    match place {
        0 => [end.sends.clone(), Vec::new()],
        _ if has_firmware => [Vec::new(), end.receives.clone()],
        _ => [Vec::new(), Vec::new()],
    }
}

/// The instant from which the program measures.
pub(super) fn measured_since(node: &Node, name: &str) -> Time {
    node.processes[0]
        .regions
        .iter()
        .find(|region| region.name == name)
        .map_or(Time::ZERO, |region| region.begin)
}
