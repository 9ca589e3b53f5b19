//! Instants that do not end.
//!
//! Whatever happens at a node, time goes on after some of it. It does not if a
//! model wants a bus, is granted it, issues nothing and wants it again: events
//! then follow each other at one instant for ever, inside a window, where no
//! patience and no observer ends them. So the node counts the events of an
//! instant, and stops when there are more than any machine has.

use narthex_kernel::Time;
use narthex_memory::AgentId;
use narthex_memory::interconnects::InterconnectId;

use super::{Ended, Node};

/// More events at one instant than a node of any machine has: a thousand nodes
/// that each send it a full window of packets cause some ten thousand.
const MOST_EVENTS: u32 = 1_000_000;

/// The present instant of a node.
#[derive(Debug, Default)]
pub struct Instant {
    at: Time,
    /// Events that have happened at it.
    events: u32,
    /// The grant after which nothing was issued last, if there was one.
    vain: Option<Vain>,
}

/// A grant after which nothing was issued.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Vain {
    at: Time,
    on: InterconnectId,
    agent: AgentId,
}

impl Instant {
    /// Counts an event.
    #[inline]
    pub fn count(&mut self, now: Time) {
        if now != self.at {
            (self.at, self.events) = (now, 0);
        }
        self.events += 1;
    }

    /// When it is.
    pub fn now(&self) -> Time {
        self.at
    }

    /// Whether it has had more events than there can be.
    #[inline]
    pub fn is_endless(&self) -> bool {
        self.events > MOST_EVENTS
    }
}

impl Node {
    /// Notes that an agent was granted a bus and issued nothing.
    #[cold]
    pub(super) fn note_vain_grant(&mut self, at: Time, on: InterconnectId, agent: AgentId) {
        self.instant.vain = Some(Vain { at, on, agent });
    }

    /// What reports call an agent.
    pub(super) fn agent_name(&self, agent: AgentId) -> String {
        match self.port(agent) {
            None => format!("processor {}", agent.0),
            Some(place) => self.devices[place.device].ports()[place.port].name.clone(),
        }
    }

    /// Ends the run at an instant that does not end, and says why.
    #[cold]
    pub(super) fn stop_at_endless_instant(&mut self) {
        let at = self.instant.at;
        let what = match self.instant.vain.filter(|vain| vain.at == at) {
            Some(Vain { on, agent, .. }) => {
                let bus = self.interconnects[usize::from(on.0)].name();
                format!("{} is granted the {bus} again and again and issues nothing", self.agent_name(agent))
            }
            None => format!("more than {MOST_EVENTS} events happen"),
        };
        let text = format!(
            "no progress: node {}: {what} at the instant {at}, which therefore does not end. This is a mistake \
             in a model, not in the program",
            self.id.0
        );
        self.end(at, 0, Ended::Endless(text));
    }
}

#[cfg(test)]
#[path = "../../../cores/tests/common/elf.rs"]
mod elf;

#[cfg(test)]
mod tests;
