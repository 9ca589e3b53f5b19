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
//! thread has in the nanoPU. Packets on their way out wait in the transmit queue, and do not hold up the
//! processor before it is full. Those that arrive are in the receive queue: the flow control's incoming
//! buffers, as in all FIFO interfaces ([`crate::fifo`]), whose receive half this is.
//!
//! | in the nanoPU | here |
//! | --- | --- |
//! | NDP in hardware: pulls, packets trimmed to a header, retransmission | the machine's flow control, such as `pull` |
//! | packets out of order put into their places in hardware | so does `pull` |
//! | messages of several packets put together in hardware | by the messaging library |
//! | threads chosen by priority, bounded time for a message | not built |
//! | a thread asks whether a message has come in a register | the status register, a load of the same path |
//! | any instruction reads and writes the two registers | moves do |
//!
//! A read of `x30` while the status register shows no packet ends the run with an error, as does a write of
//! `x31` while it shows no room: hardware would stall the processor, perhaps for ever.

use std::collections::VecDeque;

use narthex_fabrics::Header;
use narthex_kernel::statistics::StatisticSet;
use narthex_kernel::{Duration, Time};
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
use crate::programming::{Driver, Firmware, Programming, Requirement};
use crate::queue::QueueState;
use crate::registers::{STATUS, STATUS_CAN_SEND};

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
}

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
    is_held_back: bool,
}

/// The send half: the packet that is being written, and whole ones that wait.
#[derive(Clone, Hash, Debug, Serialize, Deserialize)]
struct Send {
    send_time: Duration,
    capacity: usize,
    payload_limit: usize,
    writing: Option<(Header, Vec<u8>)>,
    waiting: VecDeque<Whole>,
    /// Whether STATUS shows room that there is not: a model checker's change.
    without_room: bool,
    statistics: SendStatistics,
}

/// The rule that STATUS shows room only while the transmit queue can take a packet.
const ROOM: &str = "room";

impl Send {
    fn has_room(&self) -> bool {
        self.waiting.len() < self.capacity
    }

    /// The processor writes the next doubleword of a packet; what is beyond its end does not count.
    fn push(&mut self, context: &mut Context<'_>, word: u64) -> Result<(), RegisterFault> {
        if !self.has_room() {
            return Err(RegisterFault(
                "a write of x31 while STATUS shows no room in the transmit queue".into(),
            ));
        }
        let (header, mut payload) = match self.writing.take() {
            None => {
                let header = Header(word);
                context.check(header, self.payload_limit)?;
                (header, Vec::with_capacity(header.payload_bytes()))
            }
            Some((header, mut payload)) => {
                let missing = header.payload_bytes() - payload.len();
                payload.extend_from_slice(&word.to_le_bytes()[..missing.min(8)]);
                (header, payload)
            }
        };
        if payload.len() < header.payload_bytes() {
            self.writing = Some((header, std::mem::take(&mut payload)));
            return Ok(());
        }
        let ready = context.timer_after(self.send_time);
        self.waiting.push_back(Whole { header, payload, ready, is_held_back: false });
        Ok(())
    }

    /// Hands packets to the flow control, in order, as far as they are ready and it takes them.
    fn inject(&mut self, context: &mut Context<'_>) {
        while let Some(whole) = self.waiting.front_mut().filter(|whole| whole.ready <= context.now) {
            if !context.network.can_send(whole.header.peer()) {
                if !std::mem::replace(&mut whole.is_held_back, true) {
                    self.statistics.held_back.increment();
                }
                return;
            }
            let Whole { header, payload, .. } = self.waiting.pop_front().expect("just seen");
            context.network.send(header, payload);
        }
    }
}

impl InterfaceHalf for Send {
    fn load(&mut self, _: &mut Context<'_>, offset: u64) -> Option<Result<u64, RegisterFault>> {
        if offset != STATUS {
            return None;
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
        if offset != SEND {
            return None;
        }
        self.statistics.words.increment();
        Some(self.push(context, value))
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
            (SEND, Kind::UncachedStore) => Some(match &self.writing {
                None => {
                    let header = Header(access.value);
                    let is_sound = context.check(header, self.payload_limit).is_ok();
                    self.has_room() && header.payload_bytes() > 0 && is_sound
                }
                Some((header, payload)) => header.payload_bytes() > payload.len() + 8,
            }),
            _ => None,
        }
    }

    fn time_to_send(&self) -> TimeToSend {
        let awaits_room = !self.waiting.is_empty();
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
        fifo::layout()
    }

    fn statistics(&self) -> &dyn StatisticSet {
        &self.statistics
    }

    fn statistics_mut(&mut self) -> &mut dyn StatisticSet {
        &mut self.statistics
    }

    fn queue(&self) -> QueueState {
        let first = self.waiting.front().map(|whole| whole.header.peer());
        let note = if self.writing.is_some() { "part of a packet is written" } else { "" };
        QueueState::of("transmit queue", self.waiting.len() as u64, Some(self.capacity as u64))
            .in_front_of_the_network()
            .held_for(first)
            .with_note(note)
    }

    fn engine(&self, now: Time) -> Option<Engine> {
        let doing = match self.waiting.front() {
            Some(whole) if whole.ready > now => Some("prepares a packet"),
            Some(_) => Some("waits for the flow control"),
            None => self.writing.as_ref().map(|_| "takes a packet in"),
        };
        let messages = self.waiting.len() as u64 + u64::from(self.writing.is_some());
        Some(Engine { doing, messages })
    }
}

fn send(setup: &Setup<'_>) -> Built {
    let Config { transmit_packets, send_time, .. } = super::config(setup)?;
    if !(1..=1024).contains(&transmit_packets) {
        let problem = format!("{transmit_packets} packets in the transmit queue; expected 1 to 1024");
        return Problem::refuse("transmit_packets", problem);
    }
    Ok(Box::new(Send {
        send_time,
        capacity: transmit_packets as usize,
        payload_limit: setup.packet_bytes as usize - Header::BYTES,
        writing: None,
        waiting: VecDeque::new(),
        without_room: false,
        statistics: SendStatistics::default(),
    }))
}

/// Words of 4 bytes at the receive queue's head that can be looked at, as in `NI2w`.
const WORDS_SHOWN: u32 = 2;

fn receive(setup: &Setup<'_>) -> Built {
    let Config { send_time, receive_time, .. } = super::config(setup)?;
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
        registers: &[&fifo::REGISTERS],
        constants: &[("CSR_NETMAP", 0x801, "the control register that says whose x30 and x31 are")],
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
