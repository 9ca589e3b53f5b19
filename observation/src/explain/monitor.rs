//! What is recorded of a run, node by node, for the lives of its messages.

use narthex_fabrics::Frame;
use narthex_fabrics::switch::Switch;
use narthex_kernel::Time;
use narthex_machine::Failure;
use narthex_machine::compose::Blueprint;
use narthex_machine::node::Node;
use narthex_machine::run::{Explanation, Halt, Monitor};

use super::JournalScope;
use super::ends::Ends;
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
            for end in &ends.each {
                let node = &mut nodes[end.node];
                let watch = self
                    .library
                    .map(|library| CallWatch::new(end.processor, node.program_of(end.processor), library));
                let ports = [end.sends.clone(), end.receives.clone()];
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

/// The instant from which the program measures.
pub(super) fn measured_since(node: &Node, name: &str) -> Time {
    node.processes[0]
        .regions
        .iter()
        .find(|region| region.name == name)
        .map_or(Time::ZERO, |region| region.begin)
}
