//! What a node and its processes are doing when a run gets nowhere: facts that
//! the explanation (`narthex_observation::hang`) is made of.

use narthex_fabrics::faults::Lost;
use narthex_fabrics::flow_control::State as FlowState;
use narthex_fabrics::{FrameKind, FrameSummary, Rank};
use narthex_interfaces::QueueState;
use narthex_kernel::Time;
use narthex_memory::AgentId;
use narthex_memory::interconnects::{Interconnect, Refused};
use narthex_memory::processor_memory::WaitReason;
use serde::Serialize;

use super::process::Ended;
use super::processor::State;
use super::{Event, Node};
use crate::activity::{Activity, Occupation};

/// A place in the program.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Call {
    /// The instruction's address.
    pub address: u64,
    /// Its function; none if the file does not tell.
    pub function: Option<String>,
    /// Its source file; none without line information.
    pub file: Option<String>,
    /// Its line there.
    pub line: Option<u32>,
}

/// How a process stands.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StuckProcess {
    /// Which process of the machine.
    pub rank: Rank,
    /// What it is called in messages.
    pub place: String,
    /// When it ended, if it has, and its exit code.
    pub ended: Option<(Time, u8)>,
    /// What its program says that it is doing.
    pub activity: Activity,
    /// What its processor waits for, in words.
    pub access: Option<String>,
    /// Nothing is scheduled that would answer the processor.
    pub is_unanswered: bool,
    /// Where it is, and the calls that led there, innermost first.
    pub calls: Vec<Call>,
    /// What its send half holds.
    pub send: QueueState,
    /// What its receive half holds.
    pub receive: QueueState,
    /// The interface takes one more packet now.
    pub has_room: bool,
}

/// A frame that is to arrive at a node, by the ends of its packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct UnderWay {
    /// What it is.
    pub kind: FrameKind,
    /// Who sent the packet that it carries or acknowledges.
    pub source: Rank,
    /// Who is to get that packet, or has got it.
    pub destination: Rank,
}

/// A transaction that was refused and that no interconnect has carried yet.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct StuckTransaction {
    /// The rank of the process whose processor issued it; none if a device did.
    #[serde(skip)]
    pub rank: Option<Rank>,
    /// Who issued it.
    pub agent: String,
    /// What it would do: "reads the block at 0x1000".
    pub what: String,
    /// Who refuses it.
    pub by: String,
    /// How often it was refused.
    pub times: u64,
    /// Since when, in picoseconds.
    pub since_ps: u64,
}

/// How a node stands.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StuckNode {
    /// Its processes.
    pub processes: Vec<StuckProcess>,
    /// Its flow control.
    pub flow: FlowState,
    /// What is to arrive here.
    pub under_way: Vec<UnderWay>,
    /// Frames that its end of the network has lost on purpose.
    pub lost: Vec<Lost>,
    /// The bridge to its I/O bus, in words.
    pub bridge: Option<String>,
    /// Transactions that an agent refuses again and again.
    pub refused: Vec<StuckTransaction>,
    /// When a message was delivered here, or a program called the system, last.
    pub progressed_at: Time,
}

impl Node {
    /// How it stands; it rests at the present instant.
    pub fn stuck(&mut self) -> StuckNode {
        let processes = (0..self.programs()).map(|index| self.stuck_process(index)).collect();
        StuckNode {
            processes,
            flow: self.network.state(),
            under_way: self.events.iter().filter_map(|(_, event)| under_way(event)).collect(),
            lost: self.network.lost().to_vec(),
            bridge: self.interconnects.iter().find_map(Interconnect::describe),
            refused: self.interconnects.iter().flat_map(|bus| self.stuck_transactions(bus)).collect(),
            progressed_at: self.progressed_at,
        }
    }

    fn stuck_transactions(&self, bus: &Interconnect) -> Vec<StuckTransaction> {
        let stuck = |refused: &Refused| StuckTransaction {
            rank: self.rank_of(refused.agent),
            agent: self.agent_name(refused.agent),
            what: refused.kind.in_words(&self.place_of(refused.address).to_string()),
            by: self.agent_name(refused.by),
            times: refused.times,
            since_ps: refused.since.as_ps(),
        };
        bus.refused().iter().map(stuck).collect()
    }

    /// The process that an agent's processor runs.
    fn rank_of(&self, agent: AgentId) -> Option<Rank> {
        let process = usize::from(agent.0);
        (process < self.programs()).then(|| self.network.state().placement.rank(self.id, process as u8))
    }

    fn stuck_process(&mut self, index: usize) -> StuckProcess {
        let chain = self.call_chain(index);
        // A return address is behind its call: the line is that of the byte before.
        let inside =
            |(depth, address): (usize, u64)| if depth == 0 { address } else { address.wrapping_sub(1) };
        let calls =
            chain.into_iter().enumerate().map(inside).map(|address| self.call(index, address)).collect();
        let process = index as u8;
        let interface = &self.devices[0];
        let queue = |seat: Option<usize>| interface.queue(seat.expect("the interface is on the network"));
        let (send, receive) = (queue(interface.sender(process)), queue(interface.receiver(process)));
        let unit = &self.processors[index];
        StuckProcess {
            rank: self.network.state().placement.rank(self.id, process),
            place: self.place(index),
            ended: self.processes[index].ended.as_ref().map(|(at, ended)| match ended {
                Ended::Exited(code) => (*at, *code),
                Ended::Failed(_) | Ended::Endless(_) => (*at, u8::MAX),
            }),
            activity: unit.activities.current(),
            access: unit.memory.wait_reason().map(|reason| self.access(index, reason)),
            is_unanswered: unit.state == State::Waiting && !self.is_anything_scheduled(),
            calls,
            has_room: send.has_room(self.network.has_room(process)),
            send,
            receive,
        }
    }

    /// What a processor waits for, in words.
    fn access(&self, index: usize, reason: WaitReason) -> String {
        let occupation = Occupation::from(Some(reason)).as_str();
        match self.processors[index].memory.pending_address() {
            None => occupation.to_owned(),
            Some(address) => {
                let place = self.place_of(address).name;
                format!("{occupation} at {address:#x} ({place})")
            }
        }
    }

    fn is_anything_scheduled(&self) -> bool {
        self.events.iter().any(|(_, event)| !matches!(event, Event::Frame(_) | Event::Retry))
    }

    fn call(&self, index: usize, address: u64) -> Call {
        let program = &self.processes[index].program;
        let source = program.source_line(address);
        Call {
            address,
            function: program.symbol(address).map(|(name, _)| name.to_owned()),
            line: source.as_ref().and_then(|source| source.line),
            file: source.map(|source| source.file),
        }
    }
}

/// The frame that an event brings.
fn under_way(event: &Event) -> Option<UnderWay> {
    let Event::Frame(frame) = event else { return None };
    let FrameSummary { kind, source, destination, .. } = frame.summary();
    Some(UnderWay { kind, source, destination })
}
