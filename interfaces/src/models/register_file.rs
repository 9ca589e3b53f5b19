//! `RegisterFile`: an interface in the processor's register file, after the nanoPU (Ibanez, Mallery,
//! Arslan, Jepsen, Shahbaz, Kim, McKeown: The nanoPU: A Nanosecond Network Stack for Datacenters, OSDI 2021).
//!
//! ```text
//!   processor ── write x31 ──► packet being written ──► transmit queue ──► network
//!   processor ◄── read x30 ──── receive queue: the flow control's incoming buffers ◄──┘
//! ```
//!
//! Two general registers are the network's while the driver says so
//! (cores/src/network_registers.rs): a move from `x30` pops the next eight bytes that have arrived, a
//! move to `x31` pushes eight. No cache, bus or memory is between the processor and a message, "replacing
//! the traditional memory hierarchy with a direct path from the network to the register file". The path is
//! the processor's own, `[register_file]`, so an interface of this kind is nowhere else.
//!
//! The first word of a message is the messaging library's header: peer, length and handler, which take the
//! place of the nanoPU's address, length and port. Each process of a node has queues of its own, as each
//! thread has in the nanoPU; with `contexts` each of its threads has. Packets on their way out wait in the transmit queue, and do not hold up the
//! processor before it is full. Those that arrive are in the receive queue: the flow control's incoming
//! buffers, as in all FIFO interfaces ([`crate::fifo`]), whose receive half this is.
//!
//! | in the nanoPU | here |
//! | --- | --- |
//! | NDP in hardware: pulls, packets trimmed to a header, retransmission | the machine's flow control, such as `pull` |
//! | packets out of order put into their places in hardware | so does `pull` |
//! | messages cut into packets and put together in hardware | with `message`; else by the messaging library |
//! | threads chosen by priority, bounded time for a message | with `contexts` ([`crate::thread_choice`]) |
//! | a thread asks whether a message has come in a register | the status register, a load of the same path |
//! | any instruction reads and writes the two registers | moves do |
//!
//! A read of `x30` while the status register shows no packet ends the run with an error, as does a write of
//! `x31` while it shows no room: hardware would stall the processor, perhaps for ever.

use std::collections::VecDeque;

use narthex_fabrics::Header;
use narthex_kernel::statistics::{Counter, StatisticSet};
use narthex_kernel::{Bytes, Duration, Time};
use narthex_memory::Kind;
use schemars::{JsonSchema, schema_for};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{Built, Makes, Model, Problem, Setup};
use crate::attachment::Attachment;
use crate::description::{Engine, HalfDescription, Layout};
use crate::fifo::{self, ReceiveFifo, SEND, Times};
use crate::half::{Context, InterfaceHalf, RegisterAccess, RegisterFault, TimeToSend, Trigger};
use crate::name::Reading;
use crate::programming::{Driver, Firmware, Programming, Register, Requirement};
use crate::queue::QueueState;
use crate::registers::{STATUS, STATUS_CAN_SEND};
use crate::thread_choice::{
    self, CONTEXT, MOST_CONTEXTS, ReceiveByContext, STATUS_CONTEXTS_SHIFT, context_of,
};

/// The parameters of an interface in the register file.
#[derive(Clone, Hash, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Packets that the transmit queue holds.
    #[schemars(range(min = 1, max = 1024), extend("half" = "send"))]
    pub transmit_packets: u32,
    /// Time from the last word of a packet in the transmit queue to its injection.
    #[schemars(extend("half" = "send"))]
    pub send_time: Duration,
    /// Time from a packet's arrival until the status register shows it.
    #[schemars(extend("half" = "receive"))]
    pub receive_time: Duration,
    /// Contexts of each process, among whose threads the interface chooses by priority, 2 to 8; without, a
    /// process has one thread's queues, and chooses itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 2, max = 8))]
    pub contexts: Option<u32>,
    /// What a context's thread may spend on a message before all others come first; without, as long as it
    /// takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("half" = "receive"))]
    pub message_time: Option<Duration>,
    /// Bytes of payload of the longest message that is pushed and popped as one; without, software makes packets
    /// of messages. It takes a flow control whose buffers hold messages: `pull`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("half" = "send"))]
    pub message: Option<Bytes>,
}

impl Config {
    /// The longest message, where a packet has so much payload.
    fn message_bytes(&self, payload_limit: usize) -> Result<Option<usize>, Problem> {
        let Some(message) = self.message else { return Ok(None) };
        let (least, bytes) = (payload_limit as u64 + 8, message.as_u64());
        if bytes.is_multiple_of(8) && (least..=MOST_MESSAGE_BYTES).contains(&bytes) {
            return Ok(Some(bytes as usize));
        }
        let why = "a packet has room for less by itself (messages.packet)";
        let allowed = format!("expected a multiple of 8B from {least}B, as {why}, to {MOST_MESSAGE_BYTES}B");
        Problem::refuse("message", format!("{message}; {allowed}"))
    }

    /// How many contexts there are.
    fn contexts(&self) -> Result<usize, Problem> {
        match self.contexts {
            None if self.message_time.is_some() => Problem::refuse(
                "message_time",
                "it bounds the time of contexts, and there are none; state contexts, 2 to 8",
            ),
            None => Ok(1),
            Some(contexts @ 2..=MOST_CONTEXTS) => Ok(contexts as usize),
            Some(contexts) => {
                let allowed = format!("expected 2 to {MOST_CONTEXTS}, or no key for one thread's queues");
                Problem::refuse("contexts", format!("{contexts} contexts; {allowed}"))
            }
        }
    }
}

/// No message buffer is larger.
const MOST_MESSAGE_BYTES: u64 = 1 << 16;

/// Load: bytes of payload of the longest message that is pushed as one.
const MESSAGE: u64 = 0x40;
const MESSAGE_REGISTER: Register =
    ("MESSAGE", MESSAGE, "load: bytes of payload of the longest message that is pushed as one");

narthex_kernel::statistics! {
    /// What the send half did.
    pub struct SendStatistics {
        status_loads: Counter, "send_status_loads", "loads", "loads of the status register";
        words: Counter, "doublewords_sent", "doublewords", "doublewords written to x31";
        held_back: Counter, "packets_held_back", "packets", "packets that had to wait in the transmit queue for the flow control";
    }
}

/// A packet that is whole, and when it may be injected.
#[derive(Clone, Hash, Debug, Serialize, Deserialize)]
struct Whole {
    header: Header,
    payload: Vec<u8>,
    ready: Time,
    /// It is the last one of what was pushed under one header.
    is_last: bool,
    is_held_back: bool,
}

/// What is pushed under one header: a packet, or a message that is cut into packets.
#[derive(Clone, Hash, Debug, Serialize, Deserialize)]
struct Writing {
    header: Header,
    is_cut: bool,
    /// Bytes of payload that are in packets.
    cut_bytes: usize,
    /// Those behind them.
    payload: Vec<u8>,
}

impl Writing {
    fn new(header: Header, is_cut: bool) -> Self {
        Writing { header, is_cut, cut_bytes: 0, payload: Vec::new() }
    }

    /// Bytes of payload that are to come still.
    fn missing(&self) -> usize {
        let all = if self.is_cut { self.header.message_bytes() } else { self.header.payload_bytes() };
        all - self.cut_bytes - self.payload.len()
    }

    /// The next doubleword; what is beyond the end does not count.
    fn take_in(&mut self, word: u64) {
        let bytes = self.missing().min(8);
        self.payload.extend_from_slice(&word.to_le_bytes()[..bytes]);
    }

    /// The next packet, if it is whole, and whether it is the last.
    fn next_packet(&mut self, payload_limit: usize) -> Option<(Header, Vec<u8>, bool)> {
        let is_last = self.missing() == 0 && self.payload.len() <= payload_limit;
        if !is_last && self.payload.len() < payload_limit {
            return None;
        }
        let rest = self.payload.split_off(self.payload.len().min(payload_limit));
        let payload = std::mem::replace(&mut self.payload, rest);
        let header = match self.is_cut {
            true => self.header.of_part(self.cut_bytes, payload.len(), is_last),
            false => self.header,
        };
        self.cut_bytes += payload.len();
        Some((header, payload, is_last))
    }
}

/// What a context writes, and its transmit queue.
#[derive(Clone, Hash, Debug, Default, Serialize, Deserialize)]
struct Sending {
    writing: Option<Writing>,
    waiting: VecDeque<Whole>,
    /// What of it was pushed under a header of its own: packets, or messages that are cut into packets.
    pushed: usize,
}

impl Sending {
    /// When its oldest packet was ready, if it is and may be sent; else that packet is held back.
    fn ready(&mut self, context: &Context<'_>, held_back: &mut Counter) -> Option<Time> {
        let whole = self.waiting.front_mut().filter(|whole| whole.ready <= context.now)?;
        if context.network.can_send(whole.header.peer()) {
            return Some(whole.ready);
        }
        if !std::mem::replace(&mut whole.is_held_back, true) {
            held_back.increment();
        }
        None
    }
}

/// The send half: the packet that each context writes, and whole ones that wait.
#[derive(Clone, Hash, Debug, Serialize, Deserialize)]
struct Send {
    send_time: Duration,
    /// Packets, or messages that are cut into packets, that a context's transmit queue holds.
    capacity: usize,
    payload_limit: usize,
    /// Of the longest message that is cut into packets, if any is.
    message_bytes: Option<usize>,
    contexts: Vec<Sending>,
    /// The context whose thread the processor runs.
    running: usize,
    /// Whether STATUS shows room that there is not: a model checker's change.
    without_room: bool,
    statistics: SendStatistics,
}

/// The rule that STATUS shows room only while the transmit queue can take a packet.
const ROOM: &str = "room";

impl Send {
    fn has_room(&self) -> bool {
        self.contexts[self.running].pushed < self.capacity
    }

    fn is_writing(&self) -> bool {
        self.contexts.iter().any(|own| own.writing.is_some())
    }

    /// The processor writes the next doubleword of a packet; what is beyond its end does not count.
    fn push(&mut self, context: &mut Context<'_>, word: u64) -> Result<(), RegisterFault> {
        if !self.has_room() {
            return Err(RegisterFault(
                "a write of x31 while STATUS shows no room in the transmit queue".into(),
            ));
        }
        let mut writing = match self.contexts[self.running].writing.take() {
            None => {
                let header = Header(word);
                self.check(context, header)?;
                Writing::new(header, self.is_cut(header))
            }
            Some(mut writing) => {
                writing.take_in(word);
                writing
            }
        };
        // The packets of a message follow each other: where a thread may be interrupted, they wait for its end.
        let mut is_over = false;
        while (writing.missing() == 0 || self.contexts.len() == 1)
            && !is_over
            && let Some((header, payload, is_last)) = writing.next_packet(self.payload_limit)
        {
            let ready = context.timer_after(self.send_time);
            let whole = Whole { header, payload, ready, is_last, is_held_back: false };
            self.contexts[self.running].waiting.push_back(whole);
            is_over = is_last;
        }
        let own = &mut self.contexts[self.running];
        own.pushed += usize::from(is_over);
        own.writing = (!is_over).then_some(writing);
        Ok(())
    }

    /// Whether a header begins a message that is cut into packets.
    fn is_cut(&self, header: Header) -> bool {
        self.message_bytes.is_some() && header.is_of_whole_message()
    }

    /// Refuses a header.
    fn check(&self, context: &Context<'_>, header: Header) -> Result<(), RegisterFault> {
        let Some(limit) = self.message_bytes.filter(|_| header.is_of_whole_message()) else {
            return context.check(header, self.payload_limit);
        };
        let bytes = header.message_bytes();
        if !(1..=limit).contains(&bytes) || !header.is_last() {
            let problem = format!("a message of {bytes} bytes under a header that is not its last packet's");
            let problem = if header.is_last() { format!("a message of {bytes} bytes") } else { problem };
            return Err(RegisterFault(format!("{problem}; 1 to {limit} are pushed as one")));
        }
        context.check(header, header.payload_bytes())
    }

    /// Hands packets to the flow control, as far as they are ready and it takes them: those of a context in order,
    /// and of several contexts the one that was ready first. So the packets of a message stay together.
    fn inject(&mut self, context: &mut Context<'_>) {
        while let Some(first) = self.first_ready(context) {
            let own = &mut self.contexts[first];
            let Whole { header, payload, is_last, .. } = own.waiting.pop_front().expect("just seen");
            own.pushed -= usize::from(is_last);
            context.network.send(header, payload);
        }
    }

    /// The context whose oldest packet may be sent, and was ready first.
    fn first_ready(&mut self, context: &Context<'_>) -> Option<usize> {
        let Send { contexts, statistics, .. } = self;
        let mut first = None;
        for (place, own) in contexts.iter_mut().enumerate() {
            let ready = own.ready(context, &mut statistics.held_back).map(|at| (at, place));
            first = [first, ready].into_iter().flatten().min();
        }
        first.map(|(_, place)| place)
    }

    /// The packet that is ready first of those that wait.
    fn oldest(&self) -> Option<&Whole> {
        self.contexts.iter().filter_map(|own| own.waiting.front()).min_by_key(|whole| whole.ready)
    }

    /// Packets that wait.
    fn packets(&self) -> u64 {
        self.contexts.iter().map(|own| own.waiting.len() as u64).sum()
    }
}

impl InterfaceHalf for Send {
    fn load(&mut self, _: &mut Context<'_>, offset: u64) -> Option<Result<u64, RegisterFault>> {
        match offset {
            STATUS => {}
            MESSAGE => return Some(Ok(self.message_bytes.unwrap_or(self.payload_limit) as u64)),
            _ => return None,
        }
        self.statistics.status_loads.increment();
        Some(Ok(if self.has_room() || self.without_room { STATUS_CAN_SEND } else { 0 }))
    }

    fn store(
        &mut self,
        context: &mut Context<'_>,
        offset: u64,
        value: u64,
    ) -> Option<Result<(), RegisterFault>> {
        match offset {
            SEND => {
                self.statistics.words.increment();
                Some(self.push(context, value))
            }
            CONTEXT if self.contexts.len() > 1 => {
                Some(context_of(value, self.contexts.len()).map(|context| self.running = context))
            }
            _ => None,
        }
    }

    /// Room does not go but by the processor's own words, which are collected, but for a packet's last.
    fn independent_of_arrivals(
        &self,
        context: &Context<'_>,
        access: RegisterAccess,
        _: Time,
    ) -> Option<bool> {
        match (access.offset, access.kind) {
            (STATUS, Kind::UncachedLoad) => Some(self.has_room()),
            (SEND, Kind::UncachedStore) => Some(match &self.contexts[self.running].writing {
                None => {
                    let header = Header(access.value);
                    let is_sound = self.check(context, header).is_ok();
                    self.has_room() && header.payload_bytes() > 0 && is_sound
                }
                // A message's packet leaves before its end.
                Some(writing) => writing.missing() > 8 && !writing.is_cut,
            }),
            _ => None,
        }
    }

    fn time_to_send(&self) -> TimeToSend {
        let awaits_room = self.packets() > 0;
        TimeToSend { time: self.send_time, cause: Trigger::Access, awaits_room }
    }

    /// A path of the processor's own is all of the access.
    fn register_delay(&self) -> Duration {
        Duration::ZERO
    }

    /// It is no master of its path.
    fn time_to_interconnect(&self) -> Duration {
        Duration::MAX
    }

    fn network(&mut self, context: &mut Context<'_>) {
        self.inject(context);
    }

    fn timer(&mut self, context: &mut Context<'_>) {
        self.inject(context);
    }
}

impl HalfDescription for Send {
    fn protocol_rules(&self) -> Vec<&'static str> {
        vec![ROOM]
    }

    fn leave_out(&mut self, rule: &str) -> bool {
        self.without_room |= rule == ROOM;
        rule == ROOM
    }

    fn layout(&self) -> Layout {
        let part_bytes = self.message_bytes.map(|_| self.payload_limit as u64);
        Layout { part_bytes, ..fifo::layout() }
    }

    fn statistics(&self) -> &dyn StatisticSet {
        &self.statistics
    }

    fn statistics_mut(&mut self) -> &mut dyn StatisticSet {
        &mut self.statistics
    }

    fn queue(&self) -> QueueState {
        let first = self.oldest().map(|whole| whole.header.peer());
        let note = if self.is_writing() { "part of a packet is written" } else { "" };
        let most = self.capacity * self.contexts.len();
        QueueState::of("transmit queue", self.packets(), Some(most as u64))
            .in_front_of_the_network()
            .held_for(first)
            .with_note(note)
    }

    fn engine(&self, now: Time) -> Option<Engine> {
        let doing = match self.oldest() {
            Some(whole) if whole.ready > now => Some("prepares a packet"),
            Some(_) => Some("waits for the flow control"),
            None => self.is_writing().then_some("takes a packet in"),
        };
        let messages = self.packets() + u64::from(self.is_writing());
        Some(Engine { doing, messages })
    }
}

fn send(setup: &Setup<'_>) -> Built {
    let config: Config = super::config(setup)?;
    let contexts = config.contexts()?;
    let payload_limit = setup.packet_bytes as usize - Header::BYTES;
    let message_bytes = config.message_bytes(payload_limit)?;
    let Config { transmit_packets, send_time, .. } = config;
    if !(1..=1024).contains(&transmit_packets) {
        let problem = format!("{transmit_packets} packets in the transmit queue; expected 1 to 1024");
        return Problem::refuse("transmit_packets", problem);
    }
    Ok(Box::new(Send {
        send_time,
        capacity: transmit_packets as usize,
        payload_limit,
        message_bytes,
        contexts: vec![Sending::default(); contexts],
        running: 0,
        without_room: false,
        statistics: SendStatistics::default(),
    }))
}

/// Words of 4 bytes at the receive queue's head that can be looked at, as in `NI2w`.
const WORDS_SHOWN: u32 = 2;

fn receive(setup: &Setup<'_>) -> Built {
    let config: Config = super::config(setup)?;
    let Config { send_time, receive_time, message_time, .. } = config;
    match config.contexts()? {
        1 => {}
        contexts => return Ok(Box::new(ReceiveByContext::new(receive_time, contexts, message_time))),
    }
    let times = Times { register_access: Duration::ZERO, send: send_time, receive: receive_time };
    Ok(Box::new(ReceiveFifo::new(times, WORDS_SHOWN)))
}

/// Why it is nowhere else.
const IN_THE_REGISTERS: &str = "its queues are behind two registers of the processor (nanoPU), not on an interconnect: attach it to register";

/// An interface in the register file.
pub static MODEL: Model = Model {
    section: "register_file",
    family: "RegisterFile",
    summary: "queues behind two general registers of the processor (nanoPU)",
    examples: &["RegisterFile"],
    read: |text| Reading::exactly(text, "RegisterFile"),
    programming: &Programming {
        driver: Driver::apart("register_file", "Two registers of the processor that are the network's."),
        registers: &[&fifo::REGISTERS, &thread_choice::REGISTERS, &[MESSAGE_REGISTER]],
        constants: &[
            (
                "STATUS_CONTEXTS_SHIFT",
                STATUS_CONTEXTS_SHIFT as u64,
                "where STATUS has the number of contexts",
            ),
            ("CSR_NETMAP", 0x801, "the control register that says whose x30 and x31 are"),
        ],
        facts: &[],
        requirements: &[Requirement::PlainHeader],
        firmware: Firmware::NONE,
    },
    attaches: |attachment| match attachment {
        Attachment::Register => Ok(()),
        _ => Err(IN_THE_REGISTERS),
    },
    makes: Makes::Halves { send, receive },
    schema: || schema_for!(Config),
    sample: || json!({ "transmit_packets": 2, "send_time": "2ns", "receive_time": "2ns" }),
};
