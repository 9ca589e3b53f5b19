//! The messages of a directory that are under way: they may arrive in any order.
//!
//! While a block's transaction is not over, its home works on no other transaction of that block. So
//! the arrival time of an answer to the home, or of an acknowledgement, makes no difference to other
//! agents. The same holds for what a processor has asked for and waits for. These messages arrive at
//! once ([`Messages::take_settled`]), as in the check of the directory itself, which compares that
//! with every order. The check explores every order of requests, forwards, and answers to the
//! interface, whose engines do not only wait.

use std::hash::{Hash, Hasher};

use narthex_memory::AgentId;
use narthex_memory::directory::{Body, Carried, Endpoint};
use narthex_memory::interconnects::InterconnectId;

/// A message on its way: its directory, its receiver, and its content.
pub type Sent = (InterconnectId, Endpoint, Carried);

/// Those that are under way.
#[derive(Clone, Debug, Default)]
pub struct Messages(Vec<Sent>);

impl Messages {
    /// A message leaves.
    pub fn send(&mut self, sent: Sent) {
        self.0.push(sent);
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// The message with this number arrives.
    pub fn take(&mut self, number: usize) -> Sent {
        self.0.remove(number)
    }

    /// A message arrives whose order makes no difference, if there is one; `waits` tells whether an
    /// agent does nothing but wait for what it asked for.
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

/// The order in which they have left makes no difference.
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
