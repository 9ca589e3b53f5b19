//! A driver and the device share a queue in any order of steps.

use std::collections::VecDeque;

use narthex_kernel::Duration;
use narthex_memory::{AgentId, BlockData};
use proptest::prelude::*;

use super::super::{EVENT_BYTES, INDIRECT, NEXT, SEND_REGISTERS, USED_BYTES, WRITE};
use super::*;

const START: u64 = 0x1000;
const SIZE: u64 = 8;
const BLOCK_BYTES: u64 = 64;

/// A device that reads buffers, its memory, and the driver.
struct Bench {
    queue: Queue,
    memory: Vec<u8>,
    under_way: Vec<Transaction>,
    free: VecDeque<u16>,
    /// The descriptors of each chain that has not come back.
    given: VecDeque<Vec<u16>>,
    /// How many of those the device has taken.
    taken: usize,
    index: u16,
    seen: u16,
    kicks: u64,
}

fn memory() -> QueueMemory {
    QueueMemory { start: START, entries: SIZE, buffer_bytes: 256, block_bytes: BLOCK_BYTES }
}

impl Bench {
    fn new(merges_there: bool, event_index: bool, prefetch: u64) -> Self {
        let parts = Parts {
            agent: AgentId(1),
            memory: memory(),
            merges_there,
            prefetch,
            transactions: 3,
            event_index,
            interrupts: false,
            thresholds: 0,
            register_delay: Duration::ZERO,
            engine_time: Duration::ZERO,
        };
        let places = [SIZE, START, memory().available(), memory().used(), 1];
        let mut queue = Queue::new(&parts, 1, false);
        for (place, value) in places.into_iter().enumerate() {
            let (is_kick, stored) = queue.store(&SEND_REGISTERS, SEND_REGISTERS[place].1, value).unwrap();
            assert_eq!((is_kick, stored), (false, Ok(())));
        }
        let bytes = (memory().range().end - START) as usize;
        Bench {
            queue,
            memory: vec![0; bytes],
            under_way: Vec::new(),
            free: (0..SIZE as u16).collect(),
            given: VecDeque::new(),
            taken: 0,
            index: 0,
            seen: 0,
            kicks: 0,
        }
    }

    fn bytes(&mut self, address: u64, count: usize) -> &mut [u8] {
        let at = (address - START) as usize;
        &mut self.memory[at..at + count]
    }

    fn half(&mut self, address: u64) -> u16 {
        u16::from_le_bytes(self.bytes(address, 2).try_into().unwrap())
    }

    fn describe(&mut self, descriptor: u16, flags: u16, next: u16) {
        let buffer = START + 0x400 + u64::from(descriptor) * 64;
        let fields =
            [&buffer.to_le_bytes()[..], &24u32.to_le_bytes(), &flags.to_le_bytes(), &next.to_le_bytes()];
        let bytes = fields.concat();
        self.bytes(START + u64::from(descriptor) * 16, 16).copy_from_slice(&bytes);
    }

    /// The driver makes a chain of so many descriptors available, if there are as many, and kicks if it has to.
    fn give(&mut self, length: usize) {
        if self.free.len() < length {
            return;
        }
        let chain: Vec<u16> = self.free.drain(..length).collect();
        for (place, &descriptor) in chain.iter().enumerate() {
            match chain.get(place + 1) {
                Some(&next) => self.describe(descriptor, NEXT, next),
                None => self.describe(descriptor, 0, 0),
            }
        }
        let ring = memory().available();
        let entry = ring + RING_HEAD_BYTES + u64::from(self.index) % SIZE * AVAILABLE_BYTES;
        self.bytes(entry, 2).copy_from_slice(&chain[0].to_le_bytes());
        self.given.push_back(chain);
        self.index = self.index.wrapping_add(1);
        let index = self.index.to_le_bytes();
        self.bytes(ring + 2, 2).copy_from_slice(&index);
        let used = memory().used();
        let wants_kick = match self.queue.event_index {
            true => self.half(used + used_bytes(SIZE) - EVENT_BYTES) == self.index.wrapping_sub(1),
            false => self.half(used) != NO_NOTIFY,
        };
        if wants_kick {
            self.kicks += 1;
            let (is_kick, stored) = self.queue.store(&SEND_REGISTERS, SEND_REGISTERS[NOTIFY].1, 1).unwrap();
            assert_eq!((is_kick, stored), (true, Ok(())));
        }
    }

    /// The driver takes all that is used.
    fn take_used(&mut self) {
        let ring = memory().used();
        while self.half(ring + 2) != self.seen {
            let head = self.half(ring + RING_HEAD_BYTES + u64::from(self.seen) % SIZE * USED_BYTES);
            let chain = self.given.pop_front().expect("no more comes back than was given");
            assert_eq!(head, chain[0]);
            self.taken = self.taken.checked_sub(1).expect("the device had it");
            self.free.extend(chain);
            self.seen = self.seen.wrapping_add(1);
        }
    }

    /// The device is done with the next chain, if that is whole.
    fn work(&mut self) {
        let Some(chain) = self.queue.chains.take() else { return };
        let given = &self.given[self.taken];
        assert_eq!(
            (chain.head, chain.buffers.len(), chain.bytes()),
            (given[0], given.len(), 24 * given.len())
        );
        self.taken += 1;
        self.queue.finish(chain.head, 0);
        self.advance();
    }

    fn advance(&mut self) {
        while let Some(purpose) = self.queue.take_write() {
            purpose.into_iter().for_each(|purpose| self.queue.written(purpose));
        }
        while let Some((purpose, bytes)) = self.queue.take_read() {
            self.queue.take_in(purpose, &bytes).unwrap();
        }
        let is_idle = self.queue.chains.next().is_none();
        self.queue.fetch(is_idle);
        assert!(self.queue.asked - self.queue.used.done() <= self.queue.prefetch);
    }

    fn issue(&mut self) {
        if self.queue.wants() {
            let transaction = self.queue.issue().unwrap();
            self.under_way.push(transaction);
        }
    }

    /// One of the transactions under way is over, whichever.
    fn answer(&mut self, choice: usize) {
        if self.under_way.is_empty() {
            return;
        }
        let transaction = self.under_way.remove(choice % self.under_way.len());
        let mut response = Response::default();
        match transaction.data.clone() {
            Some(data) => self.bytes(transaction.address, data.len()).copy_from_slice(&data),
            None => {
                let block = self.bytes(transaction.address, BLOCK_BYTES as usize);
                response.data = Some(BlockData::from_bytes(block));
            }
        }
        self.queue.complete(&transaction, &response);
        self.advance();
    }

    fn step(&mut self, choice: u8) {
        let detail = usize::from(choice / 5);
        match choice % 5 {
            0 => self.give(1 + detail % 3),
            1 => self.take_used(),
            2 => self.work(),
            3 => self.issue(),
            _ => self.answer(detail),
        }
    }

    /// The device works and the driver takes, so often.
    fn go_on(&mut self, times: usize) {
        [2, 3, 4, 1].into_iter().cycle().take(times).for_each(|step| self.step(step));
    }

    /// Everything comes to rest.
    fn rest(&mut self) {
        self.go_on(8_000);
        assert!(self.queue.rests());
        assert_eq!((self.given.len(), self.free.len()), (0, SIZE as usize), "a chain waits for ever");
    }
}

proptest! {
    /// Chains pass whole, once and in order, and none waits for a kick that does not come.
    #[test]
    fn every_chain_passes_once_and_in_order_and_none_is_forgotten(
        steps in proptest::collection::vec(any::<u8>(), 1..800),
        merges_there: bool, event_index: bool, prefetch in 1u64..10,
    ) {
        let mut bench = Bench::new(merges_there, event_index, prefetch);
        steps.into_iter().for_each(|choice| bench.step(choice));
        bench.rest();
    }
}

/// The driver makes a second chain available at each moment around that at which the device asks for a kick.
#[test]
fn a_device_that_does_not_look_again_forgets_a_chain_of_which_no_kick_tells() {
    for event_index in [false, true] {
        let forgotten = |rests_at_once| {
            let forgets = |moment: &usize| {
                let mut bench = Bench::new(false, event_index, 4);
                bench.queue.rests_at_once = rests_at_once;
                bench.give(1);
                bench.go_on(*moment);
                bench.give(1);
                bench.go_on(200);
                !bench.given.is_empty()
            };
            (0..100).filter(forgets).count()
        };
        assert_eq!(forgotten(false), 0);
        assert!(forgotten(true) > 0);
    }
}

#[test]
fn indexes_go_on_beyond_65535_and_a_busy_device_asks_for_few_kicks() {
    let mut bench = Bench::new(false, true, 4);
    while bench.queue.known < 70_000 {
        // The driver is ahead of the device all the time.
        while bench.free.len() > 1 {
            bench.give(1);
        }
        [3, 4, 2, 3, 4, 1].into_iter().for_each(|choice| bench.step(choice));
    }
    bench.rest();
    assert!(bench.kicks < 10, "{} kicks", bench.kicks);
}

#[test]
fn what_the_driver_writes_wrongly_is_refused_with_descriptor_or_index() {
    let refusal = |wrong: &dyn Fn(&mut Bench)| {
        let mut bench = Bench::new(false, true, 4);
        wrong(&mut bench);
        bench.queue.store(&SEND_REGISTERS, SEND_REGISTERS[NOTIFY].1, 1);
        for _ in 0..100 {
            bench.issue();
            let Some(transaction) = bench.under_way.pop() else { continue };
            let block = BlockData::from_bytes(bench.bytes(transaction.address, BLOCK_BYTES as usize));
            bench.queue.complete(&transaction, &Response { data: Some(block), ..Response::default() });
            while let Some((purpose, bytes)) = bench.queue.take_read() {
                if let Err(RegisterFault(problem)) = bench.queue.take_in(purpose, &bytes) {
                    return problem;
                }
            }
            bench.queue.fetch(false);
        }
        String::new()
    };
    let index = |bench: &mut Bench, index: u8| bench.bytes(memory().available() + 2, 1)[0] = index;
    let head = |bench: &mut Bench, head: u8| bench.bytes(memory().available() + 4, 1)[0] = head;
    for (told, wrong) in [
        (
            "its index 9 is 9 ahead of the device",
            &(|bench: &mut Bench| index(bench, 9)) as &dyn Fn(&mut Bench),
        ),
        ("descriptor 8 of the table at 0x1000: the available ring names it; the queue has 8", &|bench| {
            head(bench, 8);
            index(bench, 1);
        }),
        ("descriptor 0 of the table at 0x1000: the chain that begins with it has more than", &|bench| {
            bench.describe(0, NEXT, 1);
            bench.describe(1, NEXT, 0);
            index(bench, 1);
        }),
        ("descriptor 9 of the table at 0x1000: a chain goes on with it", &|bench| {
            bench.describe(0, NEXT, 9);
            index(bench, 1);
        }),
        ("it is indirect", &|bench| {
            bench.describe(0, INDIRECT, 0);
            index(bench, 1);
        }),
        ("a buffer for the device to write; those of a send queue", &|bench| {
            bench.describe(0, WRITE, 0);
            index(bench, 1);
        }),
        ("its buffer of 0 bytes is at 0x0", &|bench| index(bench, 1)),
    ] {
        let found = refusal(wrong);
        assert!(found.contains(told), "{told} is not in {found}");
    }
}

/// The device, the driver that waits for an interrupt, and the words of memory between them: the used index, and
/// used_event with the event index, else the flag that says that no interrupt is needed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Waiting {
    event_index: bool,
    index: u16,
    event: u16,
    needs_none: bool,
    /// The index from which the device has still to look at what the driver says.
    looks_from: Option<u16>,
    seen: u16,
    driver: Driver,
    message: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Driver {
    Polls,
    Asks,
    LooksAgain,
    Sleeps,
}

impl Waiting {
    const PACKETS: u16 = 3;

    /// What may happen next; `looks_again` is the driver's second look.
    fn next(self, looks_again: bool) -> Vec<Waiting> {
        let mut next = Vec::new();
        if self.looks_from.is_none() && self.index < Self::PACKETS {
            next.push(Waiting { index: self.index + 1, looks_from: Some(self.index), ..self });
        }
        if let Some(from) = self.looks_from {
            let is_wanted =
                if self.event_index { is_passed(self.event, from, self.index) } else { !self.needs_none };
            next.push(Waiting { looks_from: None, message: self.message || is_wanted, ..self });
        }
        match self.driver {
            Driver::Polls if self.seen < self.index => next.push(Waiting { seen: self.index, ..self }),
            Driver::Polls => next.push(Waiting { driver: Driver::Asks, ..self }),
            Driver::Asks => next.push(Waiting {
                event: self.index,
                needs_none: false,
                driver: Driver::LooksAgain,
                ..self
            }),
            Driver::LooksAgain if looks_again && self.seen < self.index => {
                next.push(Waiting { needs_none: true, driver: Driver::Polls, ..self })
            }
            Driver::LooksAgain => next.push(Waiting { driver: Driver::Sleeps, ..self }),
            Driver::Sleeps if self.message => {
                next.push(Waiting { message: false, needs_none: true, driver: Driver::Polls, ..self })
            }
            Driver::Sleeps => {}
        }
        next
    }

    /// Whether the driver may sleep for ever while there are packets.
    fn loses(event_index: bool, looks_again: bool) -> bool {
        let start = Waiting {
            event_index,
            index: 0,
            event: 0,
            needs_none: true,
            looks_from: None,
            seen: 0,
            driver: Driver::Polls,
            message: false,
        };
        let (mut known, mut open) = (std::collections::HashSet::from([start]), vec![start]);
        while let Some(state) = open.pop() {
            let next = state.next(looks_again);
            if next.is_empty() && state.seen < Waiting::PACKETS {
                return true;
            }
            open.extend(next.into_iter().filter(|state| known.insert(*state)));
        }
        false
    }
}

#[test]
fn a_driver_that_asks_for_an_interrupt_and_looks_again_sleeps_while_no_packet_waits() {
    for event_index in [true, false] {
        assert!(!Waiting::loses(event_index, true) && Waiting::loses(event_index, false), "{event_index}");
    }
    assert!(is_passed(4, 4, 5) && is_passed(0xffff, 0xfffe, 1) && !is_passed(5, 4, 5) && !is_passed(3, 4, 6));
}
