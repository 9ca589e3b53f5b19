//! What a program asks of the interface through the operating system: the part of the kernel's driver.
//!
//! A request's argument is the address of [`WORDS`] doublewords: first what the program gives, then what
//! it gets. Objects belong to the process that created them, and each is its own: no process can name
//! another's. Queues and doorbell records are memory of the process, whose pages stay where they are as
//! long as the object is there. An object goes when nothing uses it and the interface moves nothing;
//! before, the request is refused as busy.

use narthex_fabrics::Rank;
use narthex_kernel::Duration;

use super::formats::{BASIC_BLOCK, COMPLETION, SEGMENT};
use super::function::Function;
use super::objects::{CompletionQueue, Memory, ReceiveQueue};
use super::packets::NUMBERS;
use super::queue_pair::{Owed, QueuePair, Retries, State};
use super::{INLINE_LIMIT, Parameters};
use crate::device_call::{CallError, DeviceCall, OperatingSystem};
use crate::half::Context;

/// Doublewords of a request's structure.
pub const WORDS: usize = 10;

/// The requests.
pub mod request {
    /// The limits.
    pub const QUERY: u64 = 1;
    /// Makes a protection domain.
    pub const CREATE_DOMAIN: u64 = 2;
    /// Unmakes it.
    pub const DESTROY_DOMAIN: u64 = 3;
    /// Registers memory.
    pub const REGISTER: u64 = 4;
    /// Takes that back.
    pub const DEREGISTER: u64 = 5;
    /// Makes a completion queue.
    pub const CREATE_COMPLETION_QUEUE: u64 = 6;
    /// Unmakes it.
    pub const DESTROY_COMPLETION_QUEUE: u64 = 7;
    /// Makes a receive queue.
    pub const CREATE_RECEIVE_QUEUE: u64 = 8;
    /// Unmakes it.
    pub const DESTROY_RECEIVE_QUEUE: u64 = 9;
    /// Makes a queue pair.
    pub const CREATE_QUEUE_PAIR: u64 = 10;
    /// Unmakes it.
    pub const DESTROY_QUEUE_PAIR: u64 = 11;
    /// Connects it.
    pub const CONNECT: u64 = 12;
    /// Changes its state.
    pub const SET_STATE: u64 = 13;
    /// Its state.
    pub const QUERY_QUEUE_PAIR: u64 = 14;
    /// Makes an event queue.
    pub const CREATE_EVENT_QUEUE: u64 = 15;
    /// Unmakes it.
    pub const DESTROY_EVENT_QUEUE: u64 = 16;
    /// Sends the events of a completion queue there.
    pub const NOTIFY: u64 = 17;
}

/// Most entries of a queue, as a power of two: positions are counted in 16 bits.
pub const MOST_ENTRIES: u64 = 15;
/// Most RDMA reads and atomic operations of a queue pair under way, each way: mlx5's interfaces have 16.
const MOST_FETCHES: u64 = 16;

pub(super) type Words = [u64; WORDS];
pub(super) type Done = Result<(), CallError>;

pub(super) fn pin(system: &mut dyn OperatingSystem, address: u64, bytes: u64) -> Result<Memory, CallError> {
    if bytes == 0 || address.checked_add(bytes).is_none() {
        return Err(CallError::Invalid);
    }
    let frames = system.pin(address, bytes)?;
    Ok(Memory { address, bytes, frames })
}

/// The memory of a queue, which begins with a block, and its record.
fn pin_queue(
    system: &mut dyn OperatingSystem,
    (address, bytes): (u64, u64),
    record: u64,
) -> Result<[Memory; 2], CallError> {
    if !address.is_multiple_of(BASIC_BLOCK as u64) || !record.is_multiple_of(8) {
        return Err(CallError::Invalid);
    }
    let ring = pin(system, address, bytes)?;
    match pin(system, record, 8) {
        Ok(record) => Ok([ring, record]),
        Err(error) => {
            system.unpin(ring.address, ring.bytes)?;
            Err(error)
        }
    }
}

pub(super) fn unpin(system: &mut dyn OperatingSystem, all: &[Memory]) -> Done {
    all.iter().try_for_each(|memory| system.unpin(memory.address, memory.bytes))
}

pub(super) fn entries(log: u64) -> Result<u64, CallError> {
    if log <= MOST_ENTRIES { Ok(1 << log) } else { Err(CallError::Invalid) }
}

impl Function {
    /// A program's call.
    ///
    /// # Errors
    /// The error that the program gets.
    pub fn call(
        &mut self,
        context: &mut Context<'_>,
        call: &DeviceCall,
        system: &mut dyn OperatingSystem,
    ) -> Result<i64, CallError> {
        self.statistics.calls.increment();
        let mut bytes = [0; WORDS * 8];
        system.read(call.argument, &mut bytes)?;
        let mut words: Words = [0; WORDS];
        for (word, bytes) in words.iter_mut().zip(bytes.chunks_exact(8)) {
            *word = u64::from_le_bytes(bytes.try_into().expect("eight bytes"));
        }
        self.answer(context, call.request, &mut words, system)?;
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        system.write(call.argument, &bytes)?;
        Ok(0)
    }

    fn answer(
        &mut self,
        context: &Context<'_>,
        request: u64,
        words: &mut Words,
        system: &mut dyn OperatingSystem,
    ) -> Done {
        match request {
            request::QUERY => {
                let Parameters { blue_flame, mtu, objects, .. } = self.parameters;
                let entries = 1 << MOST_ENTRIES;
                words[..6].copy_from_slice(&[blue_flame, INLINE_LIMIT, mtu, objects, entries, MOST_FETCHES]);
                Ok(())
            }
            request::CREATE_DOMAIN => {
                words[0] = self.domains.add(()).ok_or(CallError::NoMemory)?.into();
                Ok(())
            }
            request::DESTROY_DOMAIN => self.destroy_domain(words[0]),
            request::REGISTER => self.register(words, system),
            request::DEREGISTER => {
                self.check_idle()?;
                let region = self.regions.remove(words[0]).ok_or(CallError::Absent)?;
                unpin(system, &[region.memory])
            }
            request::CREATE_COMPLETION_QUEUE => self.create_completion_queue(words, system),
            request::DESTROY_COMPLETION_QUEUE => self.destroy_completion_queue(words[0], system),
            request::CREATE_RECEIVE_QUEUE => self.create_receive_queue(words, system),
            request::DESTROY_RECEIVE_QUEUE => self.destroy_receive_queue(words[0], system),
            request::CREATE_QUEUE_PAIR => self.create_queue_pair(words, system),
            request::DESTROY_QUEUE_PAIR => self.destroy_queue_pair(words[0], system),
            request::CONNECT => self.connect(context, words),
            request::SET_STATE => self.set_state(words),
            request::QUERY_QUEUE_PAIR => {
                words[1] = self.queue_pairs.get(words[0]).ok_or(CallError::Absent)?.state as u64;
                Ok(())
            }
            request::CREATE_EVENT_QUEUE => self.create_event_queue(words, system),
            request::DESTROY_EVENT_QUEUE => self.destroy_event_queue(words[0], system),
            request::NOTIFY => self.notify(words),
            _ => Err(CallError::UnknownRequest),
        }
    }

    pub(super) fn check_idle(&self) -> Done {
        if self.is_idle() { Ok(()) } else { Err(CallError::Again) }
    }

    fn check_domain(&self, domain: u64) -> Done {
        self.domains.get(domain).copied().ok_or(CallError::Absent)
    }

    fn destroy_domain(&mut self, domain: u64) -> Done {
        let is_used = self.regions.has_of(domain)
            || self.queue_pairs.all().any(|(_, pair)| pair.domain == domain)
            || self.receive_queues.all().any(|(_, queue)| queue.domain == domain);
        if is_used {
            return Err(CallError::Busy);
        }
        self.domains.remove(domain).ok_or(CallError::Absent)
    }

    fn register(&mut self, words: &mut Words, system: &mut dyn OperatingSystem) -> Done {
        let [address, bytes, access, domain, ..] = *words;
        self.check_domain(domain)?;
        let memory = pin(system, address, bytes)?;
        match self.regions.add(memory, access, domain) {
            Some(key) => {
                words[4] = key;
                Ok(())
            }
            None => {
                system.unpin(address, bytes)?;
                Err(CallError::NoMemory)
            }
        }
    }

    fn create_completion_queue(&mut self, words: &mut Words, system: &mut dyn OperatingSystem) -> Done {
        let [address, log, record, ..] = *words;
        let bytes = entries(log)? * COMPLETION as u64;
        let [ring, record] = pin_queue(system, (address, bytes), record)?;
        let (waiting, notice) = (Vec::new(), None);
        let queue = CompletionQueue { ring, record, produced: 0, taken: 0, waiting, users: 0, notice };
        words[3] = self.completion_queues.add(queue).ok_or(CallError::NoMemory)?.into();
        Ok(())
    }

    fn destroy_completion_queue(&mut self, number: u64, system: &mut dyn OperatingSystem) -> Done {
        let queue = self.completion_queues.get(number).ok_or(CallError::Absent)?;
        if queue.users > 0 {
            return Err(CallError::Busy);
        }
        self.check_idle()?;
        let queue = self.completion_queues.remove(number).expect("it is there");
        if let Some(events) = queue.notice.and_then(|notice| self.event_queues.get_mut(notice.event_queue)) {
            events.users -= 1;
        }
        unpin(system, &[queue.ring, queue.record])
    }

    fn create_receive_queue(&mut self, words: &mut Words, system: &mut dyn OperatingSystem) -> Done {
        let [address, log, log_segments, record, domain, ..] = *words;
        self.check_domain(domain)?;
        if log_segments > 4 {
            return Err(CallError::Invalid);
        }
        let stride = (SEGMENT as u64) << log_segments;
        let [ring, record] = pin_queue(system, (address, entries(log)? * stride), record)?;
        let queue = ReceiveQueue {
            ring,
            record,
            stride,
            domain,
            posted: 0,
            taken: 0,
            here: Default::default(),
            is_reading: false,
            flushed_by: None,
            users: 0,
        };
        words[5] = self.receive_queues.add(queue).ok_or(CallError::NoMemory)?.into();
        Ok(())
    }

    fn destroy_receive_queue(&mut self, number: u64, system: &mut dyn OperatingSystem) -> Done {
        let queue = self.receive_queues.get(number).ok_or(CallError::Absent)?;
        if queue.users > 0 {
            return Err(CallError::Busy);
        }
        self.check_idle()?;
        let queue = self.receive_queues.remove(number).expect("it is there");
        unpin(system, &[queue.ring, queue.record])
    }

    /// Send ring, its blocks, completion queues of both directions, receive queue, domain, flags.
    fn create_queue_pair(&mut self, words: &mut Words, system: &mut dyn OperatingSystem) -> Done {
        let [address, log, sends, receives, receive_queue, domain, flags, ..] = *words;
        self.check_domain(domain)?;
        let exists = |queue: u64| self.completion_queues.get(queue).is_some();
        if !exists(sends) || !exists(receives) || self.receive_queues.get(receive_queue).is_none() {
            return Err(CallError::Absent);
        }
        if !address.is_multiple_of(BASIC_BLOCK as u64) {
            return Err(CallError::Invalid);
        }
        let ring = pin(system, address, entries(log)? * BASIC_BLOCK as u64)?;
        let queues = [sends as u32, receives as u32];
        let pair = QueuePair::new(ring, domain, queues, receive_queue as u32, flags);
        words[7] = self.queue_pairs.add(pair).ok_or(CallError::NoMemory)?.into();
        for queue in queues {
            self.completion_queues.get_mut(queue).expect("it exists").users += 1;
        }
        self.receive_queues.get_mut(receive_queue).expect("it exists").users += 1;
        Ok(())
    }

    fn destroy_queue_pair(&mut self, number: u64, system: &mut dyn OperatingSystem) -> Done {
        let pair = self.queue_pairs.get(number).ok_or(CallError::Absent)?;
        if !pair.owed.is_nothing() {
            return Err(CallError::Again);
        }
        self.check_idle()?;
        let pair = self.queue_pairs.remove(number).expect("it is there");
        for queue in pair.queues {
            self.completion_queues.get_mut(queue).expect("it is used").users -= 1;
        }
        self.receive_queues.get_mut(pair.receives).expect("it is used").users -= 1;
        unpin(system, &[pair.ring])
    }

    /// Queue pair, rank and queue pair of the peer, number of its first packet, bytes of a packet, what
    /// the peer may do, how long it waits for a receive here, in nanoseconds, and how many of its reads and
    /// atomic operations may wait here.
    fn connect(&mut self, context: &Context<'_>, words: &Words) -> Done {
        let [number, rank, peer_number, first, mtu, access, delay, served, ..] = *words;
        let most = self.parameters.mtu;
        let rank = u16::try_from(rank).map_err(|_| CallError::Invalid)?;
        let peer = context.network.job().process(Rank(rank)).ok_or(CallError::Absent)?;
        let pair = self.queue_pairs.get_mut(number).ok_or(CallError::Absent)?;
        let is_sound = (256..=4096).contains(&mtu) && mtu.is_power_of_two();
        if pair.state != State::Initialised || pair.is_datagram || !is_sound || served > MOST_FETCHES {
            return Err(CallError::Invalid);
        }
        let first = first as u32 % NUMBERS;
        (pair.peer, pair.peer_number, pair.mtu, pair.access) =
            (peer, peer_number as u32, mtu.min(most), access);
        (pair.expected, pair.placed, pair.most_served) = (first, first, served as u8);
        pair.retries.receive_delay = Duration::from_ns(delay & 0xffff_ffff);
        pair.state = State::ReadyToReceive;
        self.has_receiver = true;
        Ok(())
    }

    /// Queue pair, state; to initialise one for datagrams: its queue key; to send: number of the first packet,
    /// exponent of the timeout, retries for want of an answer, of a receive, reads and atomic operations under
    /// way at most. One for datagrams becomes ready to receive by this, others by being connected.
    fn set_state(&mut self, words: &Words) -> Done {
        let [number, state, first, timeout, answers, receives, fetches, ..] = *words;
        let mtu = self.parameters.mtu;
        let pair = self.queue_pairs.get_mut(number).ok_or(CallError::Absent)?;
        let all = [State::Initialised, State::ReadyToReceive, State::ReadyToSend, State::Error];
        let wanted = all.into_iter().find(|&known| known as u64 == state).ok_or(CallError::Invalid)?;
        match (pair.state, wanted) {
            (State::Reset, State::Initialised) => (pair.queue_key, pair.state) = (first as u32, wanted),
            (State::Initialised, State::ReadyToReceive) if pair.is_datagram => {
                (pair.mtu, pair.state) = (mtu, wanted);
            }
            (State::ReadyToReceive, State::ReadyToSend)
                if timeout < 32 && answers.max(receives) < 8 && fetches <= MOST_FETCHES =>
            {
                let first = first as u32 % NUMBERS;
                (pair.number, pair.acknowledged, pair.told) = (first, first, first);
                pair.most_fetches = fetches as u8;
                pair.retries.timeout =
                    if timeout == 0 { Duration::ZERO } else { Duration::from_ns(4096 << timeout) };
                (pair.retries.answers, pair.retries.receives) = (answers as u8, receives as u8);
                pair.left = (answers as u8, receives as u8);
                pair.state = wanted;
            }
            (_, State::Error) => self.fail(number as u32),
            _ => return Err(CallError::Invalid),
        }
        Ok(())
    }
}

impl QueuePair {
    /// One that nothing has happened to.
    fn new(ring: Memory, domain: u64, queues: [u32; 2], receives: u32, flags: u64) -> Self {
        QueuePair {
            state: State::Reset,
            is_datagram: flags & 4 != 0,
            queue_key: 0,
            domain,
            ring,
            queues,
            receives,
            scatters: flags & 1 != 0,
            pads: flags & 2 != 0,
            access: 0,
            peer: Rank(0),
            peer_number: 0,
            mtu: 256,
            retries: Retries::default(),
            posted: 0,
            next: 0,
            here: Vec::new(),
            is_reading: false,
            is_queued: false,
            has_failed: false,
            message: None,
            skip: 0,
            number: 0,
            acknowledged: 0,
            told: 0,
            refused: None,
            fetches: 0,
            most_fetches: 0,
            pass: 0,
            unacknowledged: Default::default(),
            left: (0, 0),
            waits_until: None,
            answer_by: None,
            expected: 0,
            placed: 0,
            arriving: None,
            most_served: 0,
            carried_out: Default::default(),
            owed: Owed::default(),
            is_owing: false,
        }
    }
}
