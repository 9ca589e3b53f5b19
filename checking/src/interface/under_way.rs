//! The messages of a directory that are under way: each arrives when it chooses, in any order.
//!
//! While a block's transaction is not over, its home works on no other one of it. So when an
//! answer to the home comes, or an acknowledgement, makes no difference to anybody else; nor does
//! when a processor gets what it asked for and waits for. These arrive at once
//! ([`Messages::take_settled`]), as in the check of the directory itself, which compares that with
//! every order. What is left to choice are requests, forwards, and answers to the interface, whose
//! engines do more than wait.

use std::hash::{Hash, Hasher};

use narthex_memory::AgentId;
use narthex_memory::directory::{Body, Carried, Endpoint};
use narthex_memory::interconnects::InterconnectId;

/// A message on its way: of which directory, to whom, and what it says.
pub type Sent = (InterconnectId, Endpoint, Carried);

/// Those that are under way.
#[derive(Clone, Debug, Default)]
pub struct Messages(Vec<Sent>);

impl Messages {
    /// One more leaves.
    pub fn send(&mut self, sent: Sent) {
        self.0.push(sent);
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// The one with this number arrives.
    pub fn take(&mut self, number: usize) -> Sent {
        self.0.remove(number)
    }

    /// One arrives whose order makes no difference, if there is one; `waits` says of an agent that it
    /// does nothing but wait for what it asked for.
    pub fn take_settled(&mut self, waits: impl Fn(AgentId) -> bool) -> Option<Sent> {
        let is_settled = |(_, to, carried): &Sent| match (to, carried.message.body) {
            (_, Body::Clean | Body::Copy(_) | Body::Done) => true,
            (_, Body::Acknowledgement | Body::WrittenBack) => true,
            (
                &Endpoint::Requester(agent),
                Body::Data { .. } | Body::Permission { .. } | Body::Answer { .. },
            ) => waits(agent),
            _ => false,
        };
        let number = self.0.iter().position(is_settled)?;
        Some(self.take(number))
    }
}

/// They are the same in whatever order they have left.
impl Hash for Messages {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let mut sorted: Vec<_> = self
            .0
            .iter()
            .map(|(on, to, carried)| {
                let message = carried.message;
                (*on, *to, message.block, message.requester, message)
            })
            .collect();
        sorted.sort_by_key(|(on, to, block, requester, message)| {
            (*on, *to, *block, *requester, message.body.name())
        });
        sorted.hash(state);
    }
}
