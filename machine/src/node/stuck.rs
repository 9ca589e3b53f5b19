//! What a node and its processes are doing when a run gets nowhere: facts that
//! the explanation (`narthex_observation::hang`) is made of.

use narthex_fabrics::faults::Lost;
use narthex_fabrics::flow_control::State as FlowState;
use narthex_fabrics::switch::StuckParcel;
use narthex_fabrics::terminal::Terminal;
use narthex_fabrics::{Frame, FrameKind, FrameSummary, Parcel, Rank};
use narthex_interfaces::QueueState;
use narthex_kernel::Time;
use narthex_memory::AgentId;
use narthex_memory::interconnects::{Interconnect, Refused, Words};
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

/// How a thread stands.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StuckThread {
    /// What it is called in messages: its process, and the thread where that can have
    /// several.
    pub place: String,
    /// What its program says that it is doing.
    pub activity: Activity,
    /// What its processor waits for, in words.
    pub access: Option<String>,
    /// It sleeps in a system call, until another thread wakes it or its time is over.
    pub is_asleep: bool,
    /// It waits for an interrupt of a device.
    pub awaits_interrupt: bool,
    /// Nothing is scheduled that would answer the processor.
    pub is_unanswered: bool,
    /// It is in the library's wait for room, whatever it does there meanwhile.
    pub is_blocked: bool,
    /// It looks for messages again and again.
    pub is_polling: bool,
    /// Where it is, and the calls that led there, innermost first.
    pub calls: Vec<Call>,
}

/// Whose message a process awaits in the library, as its program's state tells.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Awaited {
    /// What a call of MPI waits for.
    Mpi {
        /// Who is to send or to receive it, if it is one rank.
        to: Option<Rank>,
        /// Why it waits, in a clause about that rank.
        why: String,
    },
    /// The one of a barrier, by number from 1 on.
    Barrier {
        /// Who has not come to it.
        from: Rank,
        /// Which barrier.
        barrier: u64,
    },
    /// The next transfer of a channel.
    Transfer {
        /// Who is to send it.
        from: Rank,
        /// On which channel.
        channel: u8,
    },
    /// The release of a transfer of a channel, whose slots are all in use.
    Release {
        /// Who is to release it.
        from: Rank,
        /// On which channel.
        channel: u8,
    },
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
    /// Its threads: first one that does not sleep, if there is one. Of a process that
    /// has ended, the one with which it began.
    pub threads: Vec<StuckThread>,
    /// The name of its network interface, if that is not the one that the run chooses.
    pub interface: Option<String>,
    /// What its send half holds.
    pub send: QueueState,
    /// What its receive half holds.
    pub receive: QueueState,
    /// The interface takes one more packet now.
    pub has_room: bool,
    /// Whom it awaits in the library's barrier or channels, or in MPI.
    pub awaited: Option<Awaited>,
}

/// How a processor stands that runs firmware.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct StuckFirmware {
    /// What it is called in messages.
    pub place: String,
    /// What it waits for, in words; none if it executes.
    pub waits_for: Option<String>,
    /// Where it is, and the calls that led there, innermost first.
    pub calls: Vec<Call>,
}

/// A frame that is to arrive at a node, by the ends of its packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct FrameInFlight {
    /// What it is.
    pub kind: FrameKind,
    /// Who sent the packet that it carries or acknowledges.
    pub source: Rank,
    /// Who is to get that packet, or has got it.
    pub destination: Rank,
}

/// A frame that waits in a network of switches.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct HeldFrame {
    /// What it is, and the ends of its packet.
    #[serde(flatten)]
    pub frame: FrameInFlight,
    /// Where it waits: "switch (1, 0)".
    pub at: String,
    /// The end of the link that it needs: "node 1".
    pub needs: String,
    /// The lane of that link.
    pub lane: u8,
    /// There is no room behind the link; otherwise others are before it.
    pub lacks_room: bool,
    /// All its bytes.
    pub bytes: u32,
    /// Bytes of the buffer behind that lane.
    pub buffer_bytes: u32,
    /// Since when, in picoseconds.
    pub since_ps: u64,
}

impl HeldFrame {
    /// It waits for ever: no buffer of the network takes all of it.
    pub fn never_fits(&self) -> bool {
        self.bytes > self.buffer_bytes
    }

    /// A frame that waits in a switch.
    pub fn in_switch(stuck: &StuckParcel<'_, Frame>) -> Self {
        HeldFrame {
            frame: FrameInFlight::from(&stuck.parcel.cargo),
            at: stuck.at.clone(),
            needs: stuck.needs.clone(),
            lane: stuck.lane,
            lacks_room: stuck.lacks_room,
            bytes: stuck.parcel.bytes,
            buffer_bytes: stuck.buffer_bytes,
            since_ps: stuck.since.as_ps(),
        }
    }
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
    /// Its processors that run firmware.
    pub firmware: Vec<StuckFirmware>,
    /// Its flow control.
    pub flow: FlowState,
    /// What is to arrive here.
    pub under_way: Vec<FrameInFlight>,
    /// Frames from here that wait in the network's switches, or for the node's own link.
    pub held: Vec<HeldFrame>,
    /// Frames that its end of the network has lost on purpose.
    pub lost: Vec<Lost>,
    /// Its bridges, directories and links, in words.
    pub bridge: Option<String>,
    /// Transactions that an agent refuses again and again.
    pub refused: Vec<StuckTransaction>,
    /// When a message was delivered here, or a system call had an effect, last.
    pub progressed_at: Time,
}

impl Node {
    /// How it stands; it rests at the present instant.
    pub fn stuck(&mut self) -> StuckNode {
        let processes = (0..self.programs()).map(|index| self.stuck_process(index)).collect();
        let firmware = (self.programs()..self.processes.len()).map(|index| self.stuck_firmware(index));
        StuckNode {
            firmware: firmware.collect(),
            processes,
            flow: self.network.state(),
            under_way: self.frames_to_arrive().map(FrameInFlight::from).collect(),
            held: self.held_frames(),
            lost: self.network.lost().to_vec(),
            bridge: self
                .interconnects
                .iter()
                .filter_map(|interconnect| interconnect.describe_in(&NodeWords(self)))
                .reduce(|all, next| all + "; " + &next),
            refused: self.interconnects.iter().flat_map(|bus| self.stuck_transactions(bus)).collect(),
            progressed_at: self.progressed_at,
        }
    }

    /// Frames that wait for the node's own link.
    fn held_frames(&self) -> Vec<HeldFrame> {
        let Some(terminal) = self.terminal() else { return Vec::new() };
        let held = |parcel: &Parcel<Frame>| HeldFrame {
            frame: FrameInFlight::from(&parcel.cargo),
            at: format!("node {}", self.id.0),
            needs: terminal.switch_name(),
            lane: parcel.lane,
            lacks_room: true,
            bytes: parcel.bytes,
            buffer_bytes: terminal.buffer_bytes(),
            since_ps: parcel.handed_over.as_ps(),
        };
        terminal.waiting().map(held).collect()
    }

    /// Frames that come without a further stop.
    fn frames_to_arrive(&self) -> impl Iterator<Item = &Frame> {
        let direct = self.events.iter().filter_map(|(_, event)| match event {
            Event::Frame(frame, _) => Some(frame),
            _ => None,
        });
        let parcels = self.terminal().into_iter().flat_map(Terminal::arriving);
        direct.chain(parcels.map(|parcel| &parcel.cargo))
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
        let process = self.processors.get(usize::from(agent.0))?.process;
        (process < self.programs()).then(|| self.network.state().placement.rank(self.id, process as u8))
    }

    /// Where a processor is, and the calls that led there.
    fn calls(&mut self, index: usize) -> Vec<Call> {
        let chain = self.call_chain(index);
        // A return address is behind its call, as an interrupt is awaited behind `wfi`:
        // the line is that of the byte before.
        let is_idle = self.processors[index].state == State::Idle;
        let inside = |(depth, address): (usize, u64)| match depth {
            0 if !is_idle => address,
            _ => address.wrapping_sub(1),
        };
        chain.into_iter().enumerate().map(inside).map(|address| self.call(index, address)).collect()
    }

    fn stuck_firmware(&mut self, process: usize) -> StuckFirmware {
        let index = self.processes[process].processors.start;
        let calls = self.calls(index);
        let unit = &self.processors[index];
        let waits_for = match unit.memory.wait_reason() {
            Some(reason) => Some(self.access(index, reason)),
            None if unit.state == State::Idle => Some(interrupts(unit.processor.asserted_lines())),
            None => None,
        };
        StuckFirmware { place: self.place(process), waits_for, calls }
    }

    fn stuck_process(&mut self, index: usize) -> StuckProcess {
        let process = index as u8;
        let own = self.processes[index].processors.clone();
        let has_thread = |&index: &usize| self.processors[index].state != State::Vacant;
        let running: Vec<usize> = match self.processes[index].ended {
            Some(_) => vec![own.start],
            None => own.filter(has_thread).collect(),
        };
        let mut threads: Vec<_> = running.into_iter().map(|index| self.stuck_thread(index)).collect();
        threads.sort_by_key(|thread| thread.is_asleep);
        let awaited = self.awaited_in_mpi(index);
        let awaited = awaited.or_else(|| self.awaited_in_barrier(index, &threads[0].calls));
        let awaited = awaited.or_else(|| self.awaited_in_channel(index));
        let device = self.interface_of(index);
        let interface = &self.devices[device];
        // Of a whole device, all processes share what they ask of it, which is at its first
        // port, and what arrives.
        let [sends, receives] = [interface.sender(process), interface.receiver(process)];
        let is_of_tile = |port: usize| interface.ports()[port].of_tile.is_some();
        let is_shared = sends.is_none_or(|port| Some(port) == receives && !is_of_tile(port));
        let sender = if is_shared { Some(0) } else { sends };
        let receiver = receives.or(interface.receiver(0));
        let queue = |port: Option<usize>| interface.queue(port.expect("the interface is on the network"));
        let (send, receive) = (queue(sender), queue(receiver));
        // The head is in the process's memory, where the interface has not looked for a while.
        let first = self.processes[index].processors.start;
        let receive = receive.with_head(|head| self.read_words(first, head).map(|[pointer, _]| pointer));
        StuckProcess {
            rank: self.network.state().placement.rank(self.id, process),
            place: self.place(index),
            interface: self.further_name(device).map(str::to_owned),
            ended: self.processes[index].ended.as_ref().map(|(at, ended)| match ended {
                Ended::Exited(code) => (*at, *code),
                Ended::Stopped => (*at, 0),
                Ended::Failed(_) | Ended::Endless(_) => (*at, u8::MAX),
            }),
            threads,
            has_room: send.has_room(self.network.has_room(process)),
            awaited,
            send,
            receive,
        }
    }

    /// Why a processor waits: for an access, or for the value of a load under way.
    fn waits_for(&self, index: usize) -> Option<WaitReason> {
        let unit = &self.processors[index];
        let load = unit.state == State::Waiting && unit.memory.has_loads_under_way();
        unit.memory.wait_reason().or(load.then_some(WaitReason::DataMiss))
    }

    fn stuck_thread(&mut self, index: usize) -> StuckThread {
        let calls = self.calls(index);
        let place = self.place(self.processors[index].process);
        let unit = &self.processors[index];
        let is_asleep = unit.state == State::Sleeping;
        StuckThread {
            place: self.thread_name(index).map_or(place.clone(), |thread| format!("{place}, {thread}")),
            activity: unit.activities.current(),
            access: match self.waits_for(index) {
                Some(reason) => Some(self.access(index, reason)),
                None => is_asleep.then(|| self.sleep_in_words(index)),
            },
            is_asleep,
            awaits_interrupt: self.awaited_interrupt(index).is_some(),
            is_unanswered: unit.state == State::Waiting && !self.is_anything_scheduled(),
            is_blocked: unit.activities.is_within(Activity::WaitToSend),
            is_polling: self.is_polling(index),
            calls,
        }
    }

    /// The vector for whose interrupt a thread waits.
    fn awaited_interrupt(&self, index: usize) -> Option<u8> {
        let process = &self.processes[self.processors[index].process];
        process.calls.awaited_interrupt(index - process.processors.start)
    }

    /// What a sleeping thread waits for.
    fn sleep_in_words(&self, index: usize) -> String {
        let process = &self.processes[self.processors[index].process];
        let thread = index - process.processors.start;
        if let Some(vector) = self.awaited_interrupt(index) {
            return format!("asleep until interrupt vector {vector} comes");
        }
        match process.calls.awaited_word(thread) {
            Some(word) => format!("asleep until another thread wakes it at {}", self.location(index, word)),
            None if process.calls.sleeps_for_ever(thread) => "asleep until a signal comes".into(),
            None => "asleep for a time".into(),
        }
    }

    /// What a processor waits for, in words.
    fn access(&self, index: usize, reason: WaitReason) -> String {
        let occupation = Occupation::from(Some(reason)).as_str();
        match self.processors[index].memory.pending_address() {
            None => occupation.to_owned(),
            Some(address) => {
                let place = self.place_of(address).name;
                let holder = self.held.holder(self.agent_of_processor(index));
                let held = holder.map(|by| format!(", which {} holds", self.agent_name(by)));
                format!("{occupation} at {address:#x} ({place}){}", held.unwrap_or_default())
            }
        }
    }

    fn is_anything_scheduled(&self) -> bool {
        let is_on_chip = self.on_chip.as_ref().is_some_and(|own| own.next_instant() < Time::NEVER);
        is_on_chip || self.events.iter().any(|(_, event)| !matches!(event, Event::Frame(..) | Event::Retry))
    }

    fn call(&self, index: usize, address: u64) -> Call {
        let program = &self.processes[self.processors[index].process].program;
        let source = program.source_line(address);
        Call {
            address,
            function: program.symbol(address).map(|(name, _)| name.to_owned()),
            line: source.as_ref().and_then(|source| source.line),
            file: source.map(|source| source.file),
        }
    }
}

/// Agents and addresses as a node's explanations call them.
struct NodeWords<'a>(&'a Node);

impl Words for NodeWords<'_> {
    fn agent(&self, agent: AgentId) -> String {
        self.0.agent_name(agent)
    }

    fn place(&self, address: u64) -> String {
        format!("{address:#x} ({})", self.0.place_of(address))
    }
}

/// That a processor waits for an interrupt while devices assert these lines.
fn interrupts(asserted: u64) -> String {
    let lines: Vec<String> =
        (0..u64::BITS).filter(|line| asserted >> line & 1 == 1).map(|line| line.to_string()).collect();
    match &lines[..] {
        [] => "an interrupt, and no device asserts a line".to_owned(),
        [line] => format!("an interrupt; line {line} is asserted, and not enabled in uie"),
        lines => format!("an interrupt; lines {} are asserted, and not enabled in uie", lines.join(", ")),
    }
}

impl From<&Frame> for FrameInFlight {
    fn from(frame: &Frame) -> Self {
        let FrameSummary { kind, source, destination, .. } = frame.summary();
        FrameInFlight { kind, source, destination }
    }
}
