//! A process's part of the interface: its objects, and the engines that serve them.
//!
//! ```text
//!   doorbell ─► queue pairs with something to send ─► work request read ─► packets gathered ─► engine ─► network
//!   network ─► engine ─► queue pair ─► payload written ─► completion written, acknowledgement
//! ```
//!
//! [`super::requester`] sends, [`super::responder`] receives, [`super::responses`] has what RDMA reads and atomic
//! operations need on both sides, [`super::completions`] writes completions, [`super::events`] tells of them. Here is what
//! all need: deliveries of the DMA engine, and what fails.

use std::collections::VecDeque;

use narthex_fabrics::{Packet, Rank};
use narthex_kernel::{Duration, Time};
use narthex_memory::AgentId;
use serde::{Deserialize, Serialize};

use super::events::{EventQueue, EventStatistics};
use super::formats::{BASIC_BLOCK, Completion, Control, SEGMENT, Status, word32, word64};
use super::objects::{CompletionQueue, ReceiveQueue, Regions, Table};
use super::packets::Transport;
use super::queue_pair::{QueuePair, State};
use super::responses::{Atomic, Response};
use super::{BLUE_FLAME_HALF, FIRST_QUEUE_PAIR, Parameters};
use crate::half::{Context, RegisterFault};
use crate::host_memory::{Dma, Piece};

narthex_kernel::statistics! {
    /// What a process's part of the interface did.
    pub struct Statistics {
        doorbells: Counter, "verbs_doorbells", "stores", "stores to the doorbell";
        blue_flames: Counter, "verbs_blue_flames", "work requests", "work requests that came whole through the BlueFlame register";
        calls: Counter, "verbs_calls", "calls", "calls of the kernel's driver";
        request_reads: Counter, "verbs_send_queue_reads", "reads", "reads of basic blocks of send queues, of any number of blocks";
        receive_reads: Counter, "verbs_receive_queue_reads", "reads", "reads of receives that were posted, of any number of them";
        record_reads: Counter, "verbs_record_reads", "reads", "reads of doorbell records";
        messages: Counter, "verbs_messages_sent", "messages", "messages that were cut into packets";
        inline: Counter, "verbs_inline_messages", "messages", "those of them whose payload was in the work request";
        reads: Counter, "verbs_rdma_reads", "requests", "RDMA reads that were asked for, again included";
        atomics: Counter, "verbs_atomics", "requests", "atomic operations that were asked for, again included";
        responses: Counter, "verbs_responses_sent", "packets", "packets of what other processes read, and of words that they changed";
        packets: Counter, "verbs_packets_sent", "packets", "packets of messages that left, those sent again included";
        acknowledgements: Counter, "verbs_acknowledgements_sent", "packets", "packets that acknowledge, or say why not";
        received: Counter, "verbs_packets_received", "packets", "packets of messages that were taken";
        repeated: Counter, "verbs_packets_repeated", "packets", "packets that had come before";
        out_of_turn: Counter, "verbs_packets_out_of_turn", "packets", "packets before which another one was missing";
        not_ready: Counter, "verbs_receivers_not_ready", "packets", "packets of connections for which no receive was posted";
        datagrams_lost: Counter, "verbs_datagrams_lost", "datagrams", "datagrams for which no receive was posted";
        gone_back: Counter, "verbs_gone_back", "times", "times that a queue pair went back to send again";
        dropped: Counter, "verbs_packets_dropped", "packets", "packets for no process, for no queue pair of theirs, and datagrams with another queue key";
        completions: Counter, "verbs_completions", "completions", "completions written";
        scattered: Counter, "verbs_scattered", "completions", "those of them that brought their payload";
    }
}

/// What the host's memory is read or written for.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub(super) enum Purpose {
    /// Basic blocks of a queue pair's send queue, in this pass.
    WorkRequests(u32, u8),
    /// The payload of the packet with this number.
    Payload(u64),
    /// How many receives a process has posted to a queue.
    ReceiveRecord(u32),
    /// Receives of a queue.
    Receives(u32),
    /// How many completions a process has taken.
    CompletionRecord(u32),
    /// The word of an atomic operation.
    Atomic,
    /// Payload of a queue pair: all packets before this number are in memory then, and a message may be.
    Placed { queue_pair: u32, number: u32, is_last: bool, completion: Option<Box<Completion>> },
    /// An event, in the event queue with this number.
    Event(u8),
}

/// A packet that is being gathered, or waits.
#[derive(Clone, Hash, Debug, Serialize, Deserialize)]
pub(super) struct Outgoing {
    pub queue_pair: u32,
    /// Of a request: the pass of its queue pair.
    pub pass: Option<u8>,
    /// Of a datagram: the process that it goes to, by its number in the job.
    pub lid: Option<u16>,
    pub bytes: Vec<u8>,
    /// Where the payload begins in it.
    pub payload_at: usize,
    pub is_whole: bool,
}

/// Where a packet's payload is.
pub(super) enum Payload {
    /// Here.
    Here(Vec<u8>),
    /// In the host's memory.
    Memory(Vec<Piece>),
}

impl Payload {
    pub fn bytes(&self) -> usize {
        match self {
            Payload::Here(bytes) => bytes.len(),
            Payload::Memory(pieces) => pieces.iter().map(|piece| piece.bytes).sum(),
        }
    }
}

/// A packet that has come.
#[derive(Clone, Hash, Debug, Serialize, Deserialize)]
pub(super) struct Incoming {
    pub packet: Box<Packet>,
    /// When the engine has looked at it.
    pub ready: Time,
}

/// A process's part.
#[derive(Clone, Hash, Debug, Serialize, Deserialize)]
pub struct Function {
    pub(super) parameters: Parameters,
    pub(super) regions: Regions,
    pub(super) domains: Table<()>,
    pub(super) completion_queues: Table<CompletionQueue>,
    pub(super) receive_queues: Table<ReceiveQueue>,
    pub(super) queue_pairs: Table<QueuePair>,
    /// By their vectors.
    pub(super) event_queues: Table<EventQueue>,
    /// Completion queues of which there may be something to tell.
    pub(super) noticed: VecDeque<u32>,
    pub(super) dma: Dma<Purpose>,
    /// Queue pairs with something to send.
    pub(super) queue: VecDeque<u32>,
    /// Packets that are gathered, and the number of the first one.
    pub(super) gathered: VecDeque<Outgoing>,
    pub(super) first_packet: u64,
    /// The packet in the engine, and when that is done.
    pub(super) leaving: Option<(Outgoing, Time)>,
    /// Queue pairs that owe their peers an answer.
    pub(super) owing: VecDeque<u32>,
    /// What other processes fetch, and has not been put into packets.
    pub(super) responses: VecDeque<Response>,
    pub(super) incoming: Option<Incoming>,
    /// The atomic operation of that packet, if it is one.
    pub(super) atomic: Option<Atomic>,
    /// The record of its receive queue has been read for it.
    pub(super) has_looked: bool,
    /// A queue pair has been ready to receive.
    pub(super) has_receiver: bool,
    /// Packets that were taken, and acknowledgements of others.
    pub(super) progress: u64,
    /// What has been stored to the halves of the BlueFlame register.
    halves: [Vec<u8>; 2],
    /// When a queue pair waits no longer.
    next_deadline: Option<Time>,
    pub(super) statistics: Statistics,
    pub(super) event_statistics: EventStatistics,
}

impl Function {
    /// One without any objects.
    pub fn new(parameters: Parameters, agent: AgentId) -> Self {
        let Parameters { block_bytes, merges_there, transactions, objects, relaxed_payload, .. } = parameters;
        let vectors = parameters.vectors();
        Function {
            parameters,
            regions: Regions::new(objects),
            domains: Table::new(1, objects),
            completion_queues: Table::new(1, objects),
            receive_queues: Table::new(1, objects),
            queue_pairs: Table::new(FIRST_QUEUE_PAIR, objects),
            dma: Dma::new(agent, (block_bytes, merges_there), transactions)
                .with_relaxed_payload(relaxed_payload)
                .with_vectors(vectors),
            event_queues: Table::new(0, vectors.into()),
            noticed: VecDeque::new(),
            queue: VecDeque::new(),
            gathered: VecDeque::new(),
            first_packet: 0,
            leaving: None,
            owing: VecDeque::new(),
            responses: VecDeque::new(),
            incoming: None,
            atomic: None,
            has_looked: false,
            has_receiver: false,
            progress: 0,
            halves: Default::default(),
            next_deadline: None,
            statistics: Statistics::default(),
            event_statistics: EventStatistics::default(),
        }
    }

    /// Goes on as far as possible without time.
    pub fn advance(&mut self, context: &mut Context<'_>) {
        loop {
            let mut has_moved = false;
            while let Some((purpose, bytes)) = self.dma.take_read() {
                self.has_read(context, purpose, &bytes);
                has_moved = true;
            }
            while let Some(purpose) = self.dma.take_write() {
                purpose.into_iter().for_each(|purpose| self.has_written(purpose));
                has_moved = true;
            }
            has_moved |= self.receive(context);
            has_moved |= self.answer_peers(context);
            has_moved |= self.send(context);
            has_moved |= self.tell_of_completions(context);
            if !has_moved {
                return;
            }
        }
    }

    /// An instant has come.
    pub fn timer(&mut self, context: &mut Context<'_>) {
        if self.next_deadline.is_some_and(|at| at <= context.now) {
            self.next_deadline = None;
            let numbers: Vec<u32> = self.queue_pairs.all().map(|(number, _)| number).collect();
            numbers.into_iter().for_each(|number| self.look_at_deadlines(context, number));
            self.look_at_notices();
        }
        self.advance(context);
    }

    /// Asks to be called at an instant, unless an earlier one is asked for.
    pub(super) fn call_at(&mut self, context: &mut Context<'_>, at: Time) {
        if self.next_deadline.is_none_or(|next| at < next) {
            self.next_deadline = Some(at);
            context.timers.push(at);
        }
    }

    /// A store to the doorbell.
    ///
    /// # Errors
    /// If there is no such work request.
    pub fn ring(&mut self, word: u64) -> Result<(), RegisterFault> {
        self.statistics.doorbells.increment();
        self.post(Control::of(word), &[])
    }

    /// Bytes come to the BlueFlame register. A work request that is whole rings by itself.
    ///
    /// # Errors
    /// If it is not written from its beginning on, or there is no such work request.
    pub fn flame(&mut self, offset: usize, bytes: &[u8]) -> Result<(), RegisterFault> {
        let (half, at) = (offset / BLUE_FLAME_HALF, offset % BLUE_FLAME_HALF);
        let held = &mut self.halves[half];
        if at == 0 {
            held.clear();
        }
        if held.len() != at || at + bytes.len() > BLUE_FLAME_HALF {
            return Err(RegisterFault(format!(
                "{} bytes at {at:#x} of a half of the BlueFlame register; {} bytes of a work request are there, which is \
                 written from its beginning on to {BLUE_FLAME_HALF} bytes at most",
                bytes.len(),
                held.len()
            )));
        }
        held.extend_from_slice(bytes);
        if held.len() < SEGMENT {
            return Ok(());
        }
        let control = Control::of(word64(held, 0));
        if held.len() < control.blocks() as usize * BASIC_BLOCK {
            return Ok(());
        }
        let request = std::mem::take(held);
        self.statistics.blue_flames.increment();
        self.post(control, &request)
    }

    /// Work requests up to this one are posted; `request` has its bytes, if they have come along.
    fn post(&mut self, control: Control, request: &[u8]) -> Result<(), RegisterFault> {
        let number = control.queue_pair;
        let Some(pair) = self.queue_pairs.get_mut(number) else {
            return Err(RegisterFault(format!(
                "a doorbell of queue pair {number:#x}, which the process does not have"
            )));
        };
        if !matches!(pair.state, State::ReadyToSend | State::Error) {
            let state = pair.state;
            return Err(RegisterFault(format!(
                "a doorbell of queue pair {number:#x}, which is not ready to send but {state:?}"
            )));
        }
        let is_next = pair.posted == pair.next && pair.message.is_none() && pair.here.is_empty();
        let posted = pair.post(control);
        posted
            .map_err(|problem| RegisterFault(format!("a doorbell of queue pair {number:#x}: {problem}")))?;
        if is_next && !request.is_empty() && control.index == pair.next as u16 {
            pair.here = request.to_vec();
        }
        self.has_something_to_send(number);
        Ok(())
    }

    /// A queue pair takes its turn to send.
    pub(super) fn has_something_to_send(&mut self, number: u32) {
        let Some(pair) = self.queue_pairs.get_mut(number) else { return };
        if !pair.is_queued {
            pair.is_queued = true;
            self.queue.push_back(number);
        }
    }

    /// A queue pair has something to tell its peer.
    pub(super) fn owes(&mut self, number: u32) {
        let Some(pair) = self.queue_pairs.get_mut(number) else { return };
        if !pair.is_owing {
            pair.is_owing = true;
            self.owing.push_back(number);
        }
    }

    fn has_read(&mut self, context: &mut Context<'_>, purpose: Purpose, bytes: &[u8]) {
        match purpose {
            Purpose::WorkRequests(number, pass) => {
                if let Some(pair) = self.queue_pairs.get_mut(number)
                    && pair.pass == pass
                    && pair.is_reading
                {
                    pair.is_reading = false;
                    pair.here.extend_from_slice(bytes);
                    self.has_something_to_send(number);
                }
            }
            Purpose::Payload(packet) => {
                let place = packet.checked_sub(self.first_packet).map(|place| place as usize);
                if let Some(packet) = place.and_then(|place| self.gathered.get_mut(place)) {
                    packet.bytes[packet.payload_at..packet.payload_at + bytes.len()].copy_from_slice(bytes);
                    packet.is_whole = true;
                }
            }
            Purpose::ReceiveRecord(number) => self.has_read_record(context, number, word32(bytes, 0) as u16),
            Purpose::Receives(number) => {
                if let Some(receives) = self.receive_queues.get_mut(number) {
                    receives.is_reading = false;
                    receives.take_in(bytes);
                    self.flush_receives(number);
                }
            }
            Purpose::CompletionRecord(number) => self.has_room_for(context, number, word32(bytes, 0)),
            Purpose::Atomic => self.change_word(word64(bytes, 0)),
            Purpose::Placed { .. } | Purpose::Event(_) => unreachable!("it is written"),
        }
    }

    fn has_written(&mut self, purpose: Purpose) {
        let (queue_pair, number, is_last, completion) = match purpose {
            Purpose::Placed { queue_pair, number, is_last, completion } => {
                (queue_pair, number, is_last, completion)
            }
            Purpose::Event(vector) => return self.has_written_event(vector),
            _ => return self.has_changed_word(),
        };
        let Some(pair) = self.queue_pairs.get_mut(queue_pair) else { return };
        pair.placed = number;
        let queue = pair.queues[1];
        let is_acknowledged = is_last && !pair.is_datagram;
        if is_acknowledged {
            pair.owed.acknowledgement = true;
        }
        if let Some(completion) = completion {
            self.complete(queue, *completion);
        }
        self.owes(queue_pair);
    }

    /// A queue pair enters its error state: what is posted fails.
    pub(super) fn fail(&mut self, number: u32) {
        let Some(pair) = self.queue_pairs.get_mut(number) else { return };
        if pair.state == State::Error {
            return;
        }
        pair.state = State::Error;
        pair.pass = pair.pass.wrapping_add(1);
        pair.here.clear();
        (pair.is_reading, pair.has_failed, pair.message) = (false, false, None);
        (pair.waits_until, pair.answer_by) = (None, None);
        (pair.fetches, pair.refused) = (0, None);
        let receives = pair.receives;
        let arriving = pair.arriving.take().and_then(|arriving| arriving.receive);
        let queue = pair.queues[1];
        let unacknowledged = std::mem::take(&mut pair.unacknowledged);
        for sent in unacknowledged {
            self.end_request(number, sent.index, 0, Status::Flushed);
        }
        if let Some(receive) = arriving {
            self.fail_receive((number, queue), receive.index, Status::Flushed);
        }
        if let Some(shared) = self.receive_queues.get_mut(receives)
            && shared.users == 1
        {
            shared.flushed_by = Some(number);
            self.read_receive_record(receives);
        }
        self.has_something_to_send(number);
    }

    /// Reads how many receives a process has posted.
    pub(super) fn read_receive_record(&mut self, number: u32) {
        let Some(receives) = self.receive_queues.get_mut(number) else { return };
        if !receives.is_reading {
            receives.is_reading = true;
            let record = receives.record.of_ring(0, 4);
            self.statistics.record_reads.increment();
            self.dma.read(Purpose::ReceiveRecord(number), record);
        }
    }

    fn has_read_record(&mut self, context: &mut Context<'_>, number: u32, posted: u16) {
        let Some(receives) = self.receive_queues.get_mut(number) else { return };
        receives.is_reading = false;
        if !receives.learn(posted) {
            let entries = receives.entries();
            context.faults.push(RegisterFault(format!(
                "receive queue {number} has {entries} entries, and its doorbell record says that more are posted ({posted})"
            )));
            return;
        }
        self.read_receives(number);
        self.flush_receives(number);
    }

    /// Reads posted receives that are known, if there are any.
    pub(super) fn read_receives(&mut self, number: u32) {
        let most = self.parameters.receive_prefetch;
        let Some(receives) = self.receive_queues.get_mut(number) else { return };
        if !receives.is_reading
            && let Some(pieces) = receives.next_to_read(most)
        {
            receives.is_reading = true;
            self.statistics.receive_reads.increment();
            self.dma.read(Purpose::Receives(number), pieces);
        }
    }

    /// The receives of a queue pair that has failed fail.
    fn flush_receives(&mut self, number: u32) {
        let Some(receives) = self.receive_queues.get_mut(number) else { return };
        let Some(pair) = receives.flushed_by else { return };
        let flushed = std::mem::take(&mut receives.here);
        receives.taken = receives.taken.wrapping_add(flushed.len() as u32);
        let Some(queue) = self.queue_pairs.get(pair).map(|pair| pair.queues[1]) else { return };
        for receive in flushed {
            self.fail_receive((pair, queue), receive.index, Status::Flushed);
        }
        self.read_receives(number);
    }

    /// Work requests and packets that wait, and the process for which the first is held.
    pub fn waiting(&self) -> (u64, Option<Rank>) {
        let held = self.leaving.as_ref().and_then(|(packet, _)| self.queue_pairs.get(packet.queue_pair));
        let unsent = |pair: &QueuePair| u64::from(pair.posted.wrapping_sub(pair.next));
        let blocks: u64 = self.queue_pairs.all().map(|(_, pair)| unsent(pair)).sum();
        (blocks + self.gathered.len() as u64, held.map(|pair| pair.peer))
    }

    /// What its engines are at.
    pub fn doing(&self, now: Time) -> Option<&'static str> {
        self.dma.doing().or_else(|| match (&self.leaving, &self.incoming) {
            (Some((_, ready)), _) if *ready <= now => Some("waits for the flow control"),
            (Some(_), _) => Some("prepares a packet"),
            (_, Some(incoming)) if incoming.ready <= now => Some("waits for a receive"),
            (_, Some(_)) => Some("looks at a packet"),
            _ => None,
        })
    }

    /// What waits for another process, in words.
    pub fn note(&self) -> String {
        let waiting = self.queue_pairs.all().filter(|(_, pair)| pair.waits_until.is_some()).count();
        let is_held = self.incoming.as_ref().and_then(|incoming| Transport::of(&incoming.packet.payload));
        match is_held {
            Some((transport, _)) => {
                let number = transport.queue_pair;
                format!("a packet for queue pair {number:#x} waits until that is ready to receive")
            }
            None if waiting > 0 => format!("queue pairs whose peers have no receive posted: {waiting}"),
            None => String::new(),
        }
    }

    /// The time that its engine takes.
    pub(super) fn engine_time(&self) -> Duration {
        self.parameters.engine_time
    }

    /// Whether it moves nothing for its process.
    pub(super) fn is_idle(&self) -> bool {
        self.dma.is_idle()
            && self.gathered.is_empty()
            && self.leaving.is_none()
            && self.responses.is_empty()
            && self.atomic.is_none()
    }
}
