//! The receive half of an interface that chooses threads: the flow control's incoming buffers, of which each
//! context sees those with its messages.

use std::collections::VecDeque;

use narthex_fabrics::{Header, Packet};
use narthex_kernel::statistics::StatisticSet;
use narthex_kernel::{Duration, Time};
use serde::{Deserialize, Serialize};

use super::{BIND, CONTEXT, Choice, DONE, NEXT, PRIORITY, STATUS_CONTEXTS_SHIFT, context_of};
use crate::description::{Engine, HalfDescription, Layout};
use crate::fifo::{self, RECEIVE};
use crate::half::{Context, InterfaceHalf, RegisterAccess, RegisterFault, TimeToSend};
use crate::queue::QueueState;
use crate::registers::{STATUS, STATUS_HAS_RECEIVED};

narthex_kernel::statistics! {
    /// What the receive half did.
    pub struct Statistics {
        words: Counter, "doublewords_received", "doublewords", "doublewords read from the receive register";
        switches: Counter, "context_switches", "switches", "times that the processor took another context than before";
        late: Counter, "messages_late", "messages", "messages on which a context has spent more than message_time";
    }
}

/// Handlers that a header can name.
const HANDLERS: usize = 256;

/// A packet that waits, by its place among those of the flow control.
#[derive(Clone, Copy, Hash, Debug, Serialize, Deserialize)]
struct Waiting {
    context: u8,
    /// When the status register shows it.
    visible: Time,
}

/// The receive half.
#[derive(Clone, Hash, Debug, Serialize, Deserialize)]
pub struct ReceiveByContext {
    receive_time: Duration,
    choice: Choice,
    /// The context of each handler.
    of_handler: Vec<u8>,
    waiting: VecDeque<Waiting>,
    /// Bytes that each context has popped of its oldest packet.
    popped: Vec<usize>,
    /// The processor is to take another context.
    asks_for_switch: bool,
    statistics: Statistics,
}

impl ReceiveByContext {
    /// Of so many contexts, the first of which has all messages.
    pub fn new(receive_time: Duration, contexts: usize, message_time: Option<Duration>) -> Self {
        ReceiveByContext {
            receive_time,
            choice: Choice::new(contexts, message_time),
            of_handler: vec![0; HANDLERS],
            waiting: VecDeque::new(),
            popped: vec![0; contexts],
            asks_for_switch: false,
            statistics: Statistics::default(),
        }
    }

    /// The place of a context's oldest packet that can be seen.
    fn head(&self, context: usize, now: Time) -> Option<usize> {
        let mut waiting = self.waiting.iter();
        let oldest = waiting.position(|packet| usize::from(packet.context) == context)?;
        (self.waiting[oldest].visible <= now).then_some(oldest)
    }

    fn next(&self, now: Time) -> usize {
        self.choice.next(|context| self.head(context, now).is_some())
    }

    /// What a verb has changed may change the choice.
    fn choose(&mut self, now: Time) {
        self.asks_for_switch = self.next(now) != self.choice.running();
    }

    /// The running context pops the next doubleword of its oldest packet.
    fn pop(&mut self, context: &mut Context<'_>) -> Result<u64, RegisterFault> {
        let running = self.choice.running();
        let Some(place) = self.head(running, context.now) else {
            let problem = "a read of x30 while STATUS shows no packet of the running context";
            return Err(RegisterFault(problem.into()));
        };
        let packet = context.network.at(place).expect("a visible packet waits");
        let (word, begins) = (doubleword(packet, self.popped[running]), self.popped[running] == 0);
        let (bytes, is_further) = (Header::BYTES + packet.payload.len(), packet.header.place_bytes() > 0);
        self.popped[running] += 8;
        if begins && !is_further {
            let left = self.choice.begin_message(context.now);
            self.wait_for_time(context, left);
        }
        if self.popped[running] >= bytes {
            context.network.take_at(place);
            self.waiting.remove(place);
            self.popped[running] = 0;
        }
        Ok(word)
    }

    /// Asks to be called when the running context's time is over.
    fn wait_for_time(&mut self, context: &mut Context<'_>, left: Option<Duration>) {
        if let Some(left) = left {
            context.timer_after(left);
        }
    }

    /// The processor has taken a context.
    fn run(&mut self, context: &mut Context<'_>, value: u64) -> Result<(), RegisterFault> {
        let next = context_of(value, self.choice.contexts())?;
        if next != self.choice.running() {
            self.statistics.switches.increment();
        }
        let left = self.choice.run(next, context.now);
        self.wait_for_time(context, left);
        Ok(())
    }

    fn bind(&mut self, value: u64) -> Result<(), RegisterFault> {
        self.of_handler[value as usize % HANDLERS] = context_of(value >> 8, self.choice.contexts())? as u8;
        Ok(())
    }

    fn set_priority(&mut self, value: u64) -> Result<(), RegisterFault> {
        let context = context_of(value & 0xff, self.choice.contexts())?;
        self.choice.set_priority(context, (value >> 8) as u8);
        Ok(())
    }
}

/// Eight bytes of a packet as the processor sees it, from `start` on, with zeros behind its end.
fn doubleword(packet: &Packet, start: usize) -> u64 {
    let Some(start) = start.checked_sub(Header::BYTES) else { return packet.header.0 };
    let rest = packet.payload.get(start..).unwrap_or_default();
    let mut bytes = [0; 8];
    let count = rest.len().min(8);
    bytes[..count].copy_from_slice(&rest[..count]);
    u64::from_le_bytes(bytes)
}

impl InterfaceHalf for ReceiveByContext {
    fn load(&mut self, context: &mut Context<'_>, offset: u64) -> Option<Result<u64, RegisterFault>> {
        let value = match offset {
            STATUS => {
                let has_received = self.head(self.choice.running(), context.now).is_some();
                let contexts = (self.choice.contexts() as u64) << STATUS_CONTEXTS_SHIFT;
                Ok(contexts | if has_received { STATUS_HAS_RECEIVED } else { 0 })
            }
            RECEIVE => {
                self.statistics.words.increment();
                let word = self.pop(context);
                self.choose(context.now);
                word
            }
            CONTEXT => Ok(self.choice.running() as u64),
            NEXT => Ok(self.next(context.now) as u64),
            _ => return None,
        };
        Some(value)
    }

    fn store(
        &mut self,
        context: &mut Context<'_>,
        offset: u64,
        value: u64,
    ) -> Option<Result<(), RegisterFault>> {
        let done = match offset {
            CONTEXT => self.run(context, value),
            BIND => self.bind(value),
            PRIORITY => self.set_priority(value),
            DONE => {
                self.choice.end_message();
                Ok(())
            }
            _ => return None,
        };
        self.choose(context.now);
        Some(done)
    }

    /// What comes may interrupt the processor before any of its accesses.
    fn independent_of_arrivals(
        &self,
        _context: &Context<'_>,
        access: RegisterAccess,
        _from: Time,
    ) -> Option<bool> {
        matches!(access.offset, STATUS | RECEIVE | CONTEXT | NEXT | BIND | PRIORITY | DONE).then_some(false)
    }

    /// It sends nothing.
    fn time_to_send(&self) -> TimeToSend {
        TimeToSend::NONE
    }

    fn register_delay(&self) -> Duration {
        Duration::ZERO
    }

    /// It is no master of its bus, and tells of nothing sooner than the status register shows it.
    fn time_to_interconnect(&self) -> Duration {
        self.receive_time
    }

    fn network(&mut self, context: &mut Context<'_>) {
        while self.waiting.len() < context.network.waiting() {
            let packet = context.network.at(self.waiting.len()).expect("it waits");
            let own = self.of_handler[usize::from(packet.header.handler())];
            let visible = context.timer_after(self.receive_time);
            self.waiting.push_back(Waiting { context: own, visible });
        }
    }

    /// A packet can be seen, or the running context's time for its message is over.
    fn timer(&mut self, context: &mut Context<'_>) {
        if self.choice.look_at_time(context.now) {
            self.statistics.late.increment();
        }
        self.choose(context.now);
    }
}

impl HalfDescription for ReceiveByContext {
    fn layout(&self) -> Layout {
        Layout { lines: 1, ..fifo::layout() }
    }

    fn statistics(&self) -> &dyn StatisticSet {
        &self.statistics
    }

    fn statistics_mut(&mut self) -> &mut dyn StatisticSet {
        &mut self.statistics
    }

    fn asserted_lines(&self) -> u64 {
        self.asks_for_switch.into()
    }

    fn queue(&self) -> QueueState {
        let note = format!("context {} runs", self.choice.running());
        QueueState::of("receive queue", self.waiting.len() as u64, None).with_note(note)
    }

    fn engine(&self, now: Time) -> Option<Engine> {
        let doing = match self.waiting.front() {
            None => None,
            Some(packet) if packet.visible > now => Some("prepares a packet"),
            Some(_) => Some("waits for the processor"),
        };
        Some(Engine { doing, messages: self.waiting.len() as u64 })
    }
}
