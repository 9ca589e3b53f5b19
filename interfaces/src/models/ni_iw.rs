//! `NI_i w`: a FIFO behind uncached registers, after the CM-5's interface.
//!
//! ```text
//!   send:     load STATUS ─► store SEND (header) ─► store SEND (payload) … ─► network
//!   receive:  load STATUS ─► load RECEIVE (header) ─► load RECEIVE (payload) …
//! ```
//!
//! The processor moves every message through its registers, eight bytes (two
//! words, `NI2w`) an access: "Messages are sent by first checking an uncachable
//! status register, to ensure there is room to inject the message, then the
//! message is written to an uncachable device register backed by a hardware
//! queue. Similarly, receives check an uncached status register to see if a
//! message is available, then read the message from an uncachable device
//! register" (isca96, Section 3). The flow control's incoming buffers are the
//! receive queue (hpca98, Section 6.2: these interfaces "rely on NI memory to
//! buffer network messages (via the flow control buffers)"): a buffer is free
//! again when the last word of its packet has been read.

use narthex_fabrics::Header;
use narthex_kernel::statistics::StatisticSet;
use narthex_kernel::{Duration, Time};
use schemars::{JsonSchema, schema_for};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::collections::VecDeque;

use super::{Built, Model, Problem, Setup};
use crate::registers::{RECEIVE, SEND, STATUS, STATUS_CAN_SEND, STATUS_HAS_RECEIVED};
use crate::side::{Context, Driver, Layout, RegisterFault, Side};
use crate::taxonomy::Queue;

/// The parameters of a FIFO interface.
#[derive(Clone, Hash, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Time that a register access takes beyond the bus's own cycles.
    pub register_access_time: Duration,
    /// Time from the last word of a packet in the send FIFO to its injection.
    pub send_time: Duration,
    /// Time from a packet's arrival until the status register shows it.
    pub receive_time: Duration,
}

narthex_kernel::statistics! {
    /// What the send half did.
    pub struct SendStatistics {
        status_loads: Counter, "send_status_loads", "loads", "loads of the status register";
        words: Counter, "doublewords_sent", "doublewords", "doublewords written to the send register";
    }
}

narthex_kernel::statistics! {
    /// What the receive half did.
    pub struct ReceiveStatistics {
        words: Counter, "doublewords_received", "doublewords", "doublewords read from the receive register";
    }
}

/// The send FIFO: the packet that the processor is writing, then the same
/// packet on its way out.
#[derive(Clone, Hash, Debug)]
struct Send {
    config: Config,
    payload_limit: usize,
    header: Option<Header>,
    payload: Vec<u8>,
    /// When the complete packet may be injected.
    done: Option<Time>,
    statistics: SendStatistics,
}

impl Send {
    fn push(&mut self, context: &mut Context<'_>, word: u64) -> Result<(), RegisterFault> {
        if self.done.is_some() {
            return Err(RegisterFault("a store to SEND while STATUS shows no room".into()));
        }
        self.statistics.words.increment();
        let header = match self.header {
            None => {
                let header = Header(word);
                self.check(context, header)?;
                *self.header.insert(header)
            }
            Some(header) => {
                self.payload.extend_from_slice(&word.to_le_bytes());
                header
            }
        };
        if self.payload.len() >= header.payload_bytes() {
            self.payload.truncate(header.payload_bytes());
            self.done = Some(context.timer_after(self.config.send_time));
        }
        Ok(())
    }

    fn check(&self, context: &Context<'_>, header: Header) -> Result<(), RegisterFault> {
        let bytes = header.payload_bytes();
        if bytes > self.payload_limit {
            let limit = self.payload_limit;
            return Err(RegisterFault(format!("a packet of {bytes} payload bytes; at most {limit} fit")));
        }
        context.check_destination(header)
    }

    fn inject(&mut self, context: &mut Context<'_>) {
        let Some(header) = self.header else { return };
        if self.done.is_some_and(|done| done <= context.now) && context.network.can_send(header.peer()) {
            context.network.send(header, std::mem::take(&mut self.payload));
            self.header = None;
            self.done = None;
        }
    }
}

impl Side for Send {
    fn layout(&self) -> Layout {
        Layout { driver: Driver::Fifo, ..Layout::default() }
    }

    fn load(&mut self, context: &mut Context<'_>, offset: u64) -> Option<Result<u64, RegisterFault>> {
        if offset != STATUS {
            return None;
        }
        self.statistics.status_loads.increment();
        let room = self.done.is_none() && context.network.has_room();
        Some(Ok(if room { STATUS_CAN_SEND } else { 0 }))
    }

    fn store(
        &mut self,
        context: &mut Context<'_>,
        offset: u64,
        value: u64,
    ) -> Option<Result<(), RegisterFault>> {
        (offset == SEND).then(|| self.push(context, value))
    }

    fn register_delay(&self) -> Duration {
        self.config.register_access_time
    }

    fn network(&mut self, context: &mut Context<'_>) {
        self.inject(context);
    }

    fn timer(&mut self, context: &mut Context<'_>) {
        self.inject(context);
    }

    fn statistics(&self) -> &dyn StatisticSet {
        &self.statistics
    }

    fn describe(&self) -> String {
        match (self.header, self.done) {
            (Some(header), Some(_)) => {
                format!("send FIFO: a packet to rank {} waits for the flow control", header.peer().0)
            }
            (Some(_), None) => "send FIFO: part of a packet".into(),
            (None, _) => "send FIFO: empty".into(),
        }
    }
}

/// The receive FIFO: the packets in the flow control's incoming buffers, oldest
/// first.
#[derive(Clone, Hash, Debug)]
struct Receive {
    config: Config,
    /// When each of the waiting packets can be seen.
    visible: VecDeque<Time>,
    /// Doublewords of the packet at the head that have been read.
    words_read: usize,
    statistics: ReceiveStatistics,
}

impl Receive {
    fn is_ready(&self, now: Time) -> bool {
        self.visible.front().is_some_and(|&at| at <= now)
    }

    fn pop(&mut self, context: &mut Context<'_>) -> Result<u64, RegisterFault> {
        if !self.is_ready(context.now) {
            return Err(RegisterFault("a load of RECEIVE while STATUS shows no packet".into()));
        }
        self.statistics.words.increment();
        let packet = context.network.front().expect("a visible packet waits");
        let word = match self.words_read {
            0 => packet.header.with_peer(packet.source).0,
            word => payload_word(&packet.payload, word - 1),
        };
        self.words_read += 1;
        if self.words_read > packet.payload.len().div_ceil(8) {
            context.network.take();
            self.visible.pop_front();
            self.words_read = 0;
        }
        Ok(word)
    }
}

/// A doubleword of a payload, the last one filled up with zeros.
fn payload_word(payload: &[u8], index: usize) -> u64 {
    let rest = &payload[index * 8..];
    let mut bytes = [0; 8];
    let count = rest.len().min(8);
    bytes[..count].copy_from_slice(&rest[..count]);
    u64::from_le_bytes(bytes)
}

impl Side for Receive {
    fn layout(&self) -> Layout {
        Layout { driver: Driver::Fifo, ..Layout::default() }
    }

    fn load(&mut self, context: &mut Context<'_>, offset: u64) -> Option<Result<u64, RegisterFault>> {
        match offset {
            STATUS => Some(Ok(if self.is_ready(context.now) { STATUS_HAS_RECEIVED } else { 0 })),
            RECEIVE => Some(self.pop(context)),
            _ => None,
        }
    }

    fn register_delay(&self) -> Duration {
        self.config.register_access_time
    }

    fn network(&mut self, context: &mut Context<'_>) {
        while self.visible.len() < context.network.waiting() {
            let at = context.timer_after(self.config.receive_time);
            self.visible.push_back(at);
        }
    }

    fn statistics(&self) -> &dyn StatisticSet {
        &self.statistics
    }

    fn describe(&self) -> String {
        format!("receive FIFO: {} packets that the processor has not read", self.visible.len())
    }
}

fn checked(setup: &Setup<'_>) -> Result<Config, Problem> {
    if setup.name.size != 2 {
        let size = setup.name.size;
        return Err(Problem::of_name(format!(
            "{} would show {size} words of its FIFO; an access moves two words (8 bytes), so the size is 2",
            setup.name
        )));
    }
    super::config(setup)
}

fn send(setup: &Setup<'_>) -> Built {
    Ok(Box::new(Send {
        config: checked(setup)?,
        payload_limit: setup.packet_bytes as usize - Header::BYTES,
        header: None,
        payload: Vec::new(),
        done: None,
        statistics: SendStatistics::default(),
    }))
}

fn receive(setup: &Setup<'_>) -> Built {
    Ok(Box::new(Receive {
        config: checked(setup)?,
        visible: VecDeque::new(),
        words_read: 0,
        statistics: ReceiveStatistics::default(),
    }))
}

/// FIFO interfaces whose registers show so many words.
pub static MODEL: Model = Model {
    section: "ni_iw",
    family: "NI_i w",
    summary: "a FIFO behind uncached registers (TMC CM-5)",
    examples: &["NI2w"],
    claims: |name| !name.coherent && name.words && name.queue == Queue::None && name.addition.is_none(),
    attaches: |_| Ok(()),
    send,
    receive,
    schema: || schema_for!(Config),
    sample: || json!({ "register_access_time": "60ns", "send_time": "16ns", "receive_time": "220ns" }),
};
