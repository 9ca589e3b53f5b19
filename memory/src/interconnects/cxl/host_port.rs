//! The host's end of CXL.cache: what a device's requests wait for, and which snoops wait for them.
//!
//! ```text
//!   RdCurr, RdAny, RdOwn, RdOwnNoData   waiting ─► asked ─────────────────────────► GO
//!   ItoMWr, WrInv                       waiting ─► asked ─► GO_WritePull: pulling ─► the data go home
//!   DirtyEvict                          waiting ──────────► GO_WritePull: pulling ─► the data go home
//! ```
//!
//! The requester of the host's directory is here, not in the device. It counts acknowledgements and
//! tells the home that a transaction is over when the GO leaves. So a home works on others while the GO is on its
//! way, and what it forwards then must not come to the device before: **a snoop never passes a GO**, because
//! both take one queue. Requests of a device for one block are handled one after the other.
//!
//! **A write-back and a snoop may cross.** A DirtyEvict waits here until the answers to snoops of its
//! block have come, so that a GO_WritePull never meets a snoop. From the GO_WritePull until the data are here the
//! port owns the block, and the directory keeps what it would forward ([`HostPort::owns`]). A device that has
//! answered a snoop from a block on its way home says so with the data (bogus), and the port forgets them.
//!
//! `D` stands for a block's bytes: the model checker runs the same code with how new they are.

use serde::{Deserialize, Serialize};

use super::messages::Opcode;
use crate::directory::{self, BlockRequest, BufferAction, Table, Unexpected};
use crate::kind::Kind;
use crate::transaction::AgentId;

/// A request of a device.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Request {
    /// Whose it is.
    pub agent: AgentId,
    /// Its number (CQID): no other request under way has it.
    pub number: u8,
    /// What it says.
    pub opcode: Opcode,
    /// The transaction of the device that it is for.
    pub kind: Kind,
    /// The block.
    pub block: u64,
}

/// How far a request is.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
enum Stage<D> {
    /// It waits for older ones of its block, for answers to snoops, or for the directory.
    Waiting,
    /// The directory works on it.
    BlockRequest,
    /// The device may send its data; the bytes that the block has had, if only a part of them changes.
    Pulling(Option<D>),
}

/// The requests of devices at the host's end, and the snoops that devices have not answered yet.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct HostPort<D> {
    /// The oldest first.
    requests: Vec<(Request, Stage<D>)>,
    snooped: Vec<(AgentId, u64)>,
}

impl<D> Default for HostPort<D> {
    fn default() -> Self {
        HostPort { requests: Vec::new(), snooped: Vec::new() }
    }
}

impl<D> HostPort<D> {
    /// A request has come from the link.
    pub fn arrive(&mut self, request: Request) {
        self.requests.push((request, Stage::Waiting));
    }

    /// The next write-back whose data may come: a GO_WritePull goes to its device.
    pub fn pull(&mut self) -> Option<Request> {
        let may_be_pulled = |&place: &usize| {
            let Request { opcode, agent, block, .. } = self.requests[place].0;
            opcode == Opcode::DirtyEvict && self.is_next(place) && !self.snooped.contains(&(agent, block))
        };
        let place = (0..self.requests.len()).find(may_be_pulled)?;
        self.requests[place].1 = Stage::Pulling(None);
        Some(self.requests[place].0)
    }

    /// Whether a request waits, and no older one of its agent is for its block.
    fn is_next(&self, place: usize) -> bool {
        let (Request { agent, block, .. }, stage) = &self.requests[place];
        let is_older = |(own, _): &(Request, Stage<D>)| (own.agent, own.block) == (*agent, *block);
        matches!(stage, Stage::Waiting) && !self.requests[..place].iter().any(is_older)
    }

    /// The place of the next request of an agent that the directory may take.
    fn next_of(&self, agent: AgentId) -> Option<usize> {
        let may_be_asked = |&place: &usize| {
            let request = &self.requests[place].0;
            request.agent == agent && request.opcode != Opcode::DirtyEvict && self.is_next(place)
        };
        (0..self.requests.len()).find(may_be_asked)
    }

    /// Whether the directory may take a request of an agent.
    pub fn wants(&self, agent: AgentId) -> bool {
        self.next_of(agent).is_some()
    }

    /// The directory takes an agent's next request: with what it is asked.
    pub fn issue(&mut self, agent: AgentId) -> Option<(Request, Kind)> {
        let place = self.next_of(agent)?;
        self.requests[place].1 = Stage::BlockRequest;
        let request = self.requests[place].0;
        Some((request, request.opcode.asks(request.kind).expect("it is no write-back")))
    }

    /// The directory has done with an agent's request for a block. The device gets a GO; if its data are to
    /// come, a GO_WritePull, and `data` are the bytes that the block has had.
    pub fn complete(&mut self, agent: AgentId, block: u64, data: Option<D>) -> (Request, Option<D>) {
        let is_it = |(own, stage): &(Request, Stage<D>)| {
            (own.agent, own.block) == (agent, block) && matches!(stage, Stage::BlockRequest)
        };
        let place = self.requests.iter().position(is_it).expect("the directory was asked");
        let request = self.requests[place].0;
        if request.opcode.is_pulled() {
            self.requests[place].1 = Stage::Pulling(data);
            return (request, None);
        }
        self.requests.remove(place);
        (request, data)
    }

    /// The data of a request have come: the request, and the bytes that the block has had.
    pub fn pulled(&mut self, number: u8) -> (Request, Option<D>) {
        let is_it =
            |(own, stage): &(Request, Stage<D>)| own.number == number && matches!(stage, Stage::Pulling(_));
        let place = self.requests.iter().position(is_it).expect("its data were pulled");
        match self.requests.remove(place) {
            (request, Stage::Pulling(old)) => (request, old),
            _ => unreachable!("its data were pulled"),
        }
    }

    /// Whether the port owns a block for a device until the data come.
    pub fn owns(&self, agent: AgentId, block: u64) -> bool {
        self.requests.iter().any(|(own, stage)| {
            (own.agent, own.block) == (agent, block) && matches!(stage, Stage::Pulling(_))
        })
    }

    /// A snoop of a block goes to a device.
    pub fn snoop(&mut self, agent: AgentId, block: u64) {
        self.snooped.push((agent, block));
    }

    /// The device has answered it.
    pub fn answered(&mut self, agent: AgentId, block: u64) {
        let place = self.snooped.iter().position(|own| *own == (agent, block));
        self.snooped.swap_remove(place.expect("it was snooped"));
    }

    /// Whether nothing is under way.
    pub fn is_idle(&self) -> bool {
        self.requests.is_empty() && self.snooped.is_empty()
    }

    /// How many requests are here, and how many snoops are not answered.
    pub fn counts(&self) -> (usize, usize) {
        (self.requests.len(), self.snooped.len())
    }

    /// The bytes that are kept here.
    pub fn data(&mut self) -> impl Iterator<Item = &mut D> {
        self.requests.iter_mut().filter_map(|(_, stage)| match stage {
            Stage::Pulling(old) => old.as_mut(),
            _ => None,
        })
    }
}

/// Dirty blocks that a device has given up, from the DirtyEvict until the GO_WritePull.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Evictions<D>(Vec<(Request, BlockRequest<D>)>);

impl<D> Default for Evictions<D> {
    fn default() -> Self {
        Evictions(Vec::new())
    }
}

impl<D: Copy> Evictions<D> {
    /// A block is given up.
    pub fn put(&mut self, request: Request, data: D) {
        self.0.push((request, BlockRequest::new(Kind::WriteBack, Some(data))));
    }

    /// What a block on its way home answers to a snoop: the bytes that it supplies, whether memory takes
    /// them, and whether they are the newest afterwards; none if no such block is here.
    ///
    /// # Errors
    /// If the table excludes it.
    pub fn snooped(
        &mut self,
        table: &Table,
        (agent, block): (AgentId, u64),
        kind: Kind,
    ) -> Option<Result<(D, BufferAction), Unexpected>> {
        let is_it = |(own, _): &&mut (Request, BlockRequest<D>)| (own.agent, own.block) == (agent, block);
        let (_, asked) = self.0.iter_mut().find(is_it)?;
        let data = asked.data?;
        Some(asked.forwarded(table, kind).map(|action| (data, action)))
    }

    /// The bytes of a block are asked for, and whether they are the newest.
    pub fn pull(&mut self, request: Request) -> (D, bool) {
        let place = self.0.iter().position(|(own, _)| *own == request).expect("it was given up");
        let (_, BlockRequest { stage, data, .. }) = self.0.remove(place);
        (data.expect("a write-back has bytes"), stage == directory::Stage::Owning)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Their bytes.
    pub fn data(&mut self) -> impl Iterator<Item = &mut D> {
        self.0.iter_mut().filter_map(|(_, asked)| asked.data.as_mut())
    }
}
