//! The processor of a node: guest/programs/tests/conformance.c with the drivers of all
//! interfaces that are made of halves, an access at a time.
//!
//! Its own memory is plain. What it shares with the interface (the device region,
//! and the buffers of its payloads) goes through the node's cache and registers.

use std::cell::RefCell;
use std::sync::{Arc, LazyLock};

use narthex_cores::linux::{GuestMemory, Invocation, Program, SystemCalls, start};
use narthex_cores::{Code, Config, FlatMemory, Functional, Processor, Stop};
use narthex_interfaces::registers::DEVICE_REGION;
use narthex_kernel::Time;
use narthex_memory::port::{AccessFault, CacheBlockOperation, Outcome, Port};

use super::Node;

#[path = "../../../cores/tests/support/compiled_guest.rs"]
mod compiled_guest;

/// The program asks for its next order.
const CALL_NEXT_ORDER: u64 = 0x4e81;
const SP: usize = 2;
const A0: usize = 10;
const A7: usize = 17;

/// Where payloads are, from the beginning of the program's buffers on: each lies
/// between other data of the program in its first and its last block.
pub const SENT: u64 = 24;
pub const RECEIVED: u64 = 24 + 360 + 24;
/// Bytes of both buffers.
const BUFFERS_BYTES: u64 = 768;

struct Image {
    program: Program,
    code: Arc<Code>,
}

static IMAGE: LazyLock<Image> = LazyLock::new(|| {
    let elf = compiled_guest::compiled_guest_for("(Ring)S(PioCoherent)R", "tests/conformance.c");
    let program = Program::parse("conformance", elf).expect("a sound program");
    let code = Arc::new(Code::from_segments(program.code()));
    Image { program, code }
});

/// What the program is to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    Start { information_page: u64 },
    Send { header: u64, bytes: u64 },
    Receive,
}

/// What has become of an order: none if it could not be carried out, else the
/// header of what was received, or 0.
pub type Done = Option<u64>;

pub struct Guest {
    processor: Processor<Functional>,
    memory: FlatMemory,
    calls: SystemCalls,
    /// Where the program's buffers are.
    pub buffers: u64,
    /// Where it waits for its order.
    order_at: u64,
    order: Option<Order>,
}

thread_local! {
    /// Programs without an order, for the next nodes: to start one takes long.
    static IDLE: RefCell<Vec<Guest>> = const { RefCell::new(Vec::new()) };
}

impl Guest {
    /// A program that waits for its first order.
    pub fn idle() -> Self {
        IDLE.with_borrow_mut(Vec::pop).unwrap_or_else(Self::begin)
    }

    /// Keeps it for another node, if it waits for an order.
    pub fn keep(self) {
        if self.is_idle() {
            IDLE.with_borrow_mut(|idle| idle.push(self));
        }
    }

    fn begin() -> Self {
        let mut memory = FlatMemory::new();
        let invocation = Invocation { arguments: vec!["conformance".into()], ..Invocation::default() };
        let started = start(&IMAGE.program, &invocation, &mut memory).expect("it starts");
        let mut processor = Processor::new(&Config::simple(), IMAGE.code.clone());
        processor.set_pc(started.program_counter);
        processor.set_x(SP, started.stack_pointer);
        let calls = SystemCalls::for_process(started.space, invocation.seed);
        let mut guest = Guest { processor, memory, calls, buffers: 0, order_at: 0, order: None };
        while guest.order_at == 0 {
            let stop = guest.processor.run(&mut guest.memory, Time::NEVER);
            guest.handle(stop);
        }
        guest
    }

    pub fn is_idle(&self) -> bool {
        self.order.is_none()
    }

    /// What it is doing.
    pub fn order(&self) -> Option<Order> {
        self.order
    }

    /// Gives an order to a program that waits for one.
    pub fn give(&mut self, order: Order) {
        assert!(self.is_idle(), "{order:?} during {:?}", self.order);
        let words = match order {
            Order::Start { information_page } => [1, information_page, 0, 0],
            Order::Send { header, bytes } => [2, 0, header, bytes],
            Order::Receive => [3, 0, 0, 0],
        };
        let bytes: Vec<u8> = words.iter().flat_map(|word: &u64| word.to_le_bytes()).collect();
        GuestMemory::write(&mut self.memory, self.order_at, &bytes).expect("it is on the stack");
        self.order = Some(order);
    }

    /// Goes on with its order, for this many accesses to what it shares at most:
    /// the order that is over now, and what has become of it.
    pub fn run(&mut self, node: &mut Node, accesses: u32) -> Option<(Order, Done)> {
        let order = self.order?;
        let mut left = accesses;
        loop {
            let mut port = SharedPort { memory: &mut self.memory, node, buffers: self.buffers, left };
            let stop = self.processor.run(&mut port, Time::NEVER);
            left = port.left;
            if stop == Stop::Wait {
                return None;
            }
            if let Some(done) = self.handle(stop) {
                self.order = None;
                return Some((order, done));
            }
        }
    }

    /// Carries out a system call; what has become of the last order, if the program
    /// asks for the next one.
    fn handle(&mut self, stop: Stop) -> Option<Done> {
        match stop {
            Stop::Marker(_) => None,
            Stop::SystemCall if self.processor.x(A7) == CALL_NEXT_ORDER => {
                let [order_at, is_done, header, buffers] =
                    std::array::from_fn(|index| self.processor.x(A0 + index));
                (self.order_at, self.buffers) = (order_at, buffers);
                Some((is_done == 1).then_some(header))
            }
            Stop::SystemCall => {
                let arguments = std::array::from_fn(|index| self.processor.x(A0 + index));
                let number = self.processor.x(A7);
                let result = self.calls.handle(number, arguments, &mut self.memory, 0);
                assert!(result.effect.is_none(), "{:?}", result.effect);
                self.processor.set_x(A0, result.value as u64);
                None
            }
            other => panic!("the program stops: {other:?}"),
        }
    }
}

/// What the processor sees of memory.
struct SharedPort<'a> {
    memory: &'a mut FlatMemory,
    node: &'a mut Node,
    buffers: u64,
    /// Accesses to the device region that it may still make.
    left: u32,
}

impl SharedPort<'_> {
    fn is_shared(&self, address: u64) -> bool {
        DEVICE_REGION.contains(&address) || address.wrapping_sub(self.buffers) < BUFFERS_BYTES
    }

    /// Whether the processor has to stop before this access.
    fn stops(&mut self, address: u64) -> bool {
        let counts = DEVICE_REGION.contains(&address);
        if counts && self.left > 0 {
            self.left -= 1;
            return false;
        }
        counts
    }
}

impl Port for SharedPort<'_> {
    fn load_hit<const SIZE: usize>(&mut self, address: u64) -> Option<u64> {
        if self.is_shared(address) { None } else { self.memory.load_hit::<SIZE>(address) }
    }

    fn store_hit<const SIZE: usize>(&mut self, address: u64, value: u64) -> bool {
        !self.is_shared(address) && self.memory.store_hit::<SIZE>(address, value)
    }

    fn fetch_hit(&mut self, address: u64) -> bool {
        self.memory.fetch_hit(address)
    }

    fn load(&mut self, address: u64, size: usize) -> Outcome<u64> {
        match self.is_shared(address) {
            false => self.memory.load(address, size),
            true if self.stops(address) => Outcome::Wait,
            true => self.node.processor_load(address, size).map_or(Outcome::Wait, Outcome::Done),
        }
    }

    fn store(&mut self, address: u64, size: usize, value: u64) -> Outcome<()> {
        match self.is_shared(address) {
            false => self.memory.store(address, size, value),
            true if self.stops(address) => Outcome::Wait,
            true => {
                self.node.processor_store(address, size, value);
                Outcome::Done(())
            }
        }
    }

    /// A block that is flushed is one that the cache gives up.
    fn operate_on_block(&mut self, address: u64, operation: CacheBlockOperation) -> Outcome<()> {
        assert_eq!(operation, CacheBlockOperation::Flush);
        if self.stops(address) {
            return Outcome::Wait;
        }
        self.node.evict_block(address);
        Outcome::Done(())
    }

    fn fetch(&mut self, address: u64) -> Outcome<()> {
        self.memory.fetch(address)
    }

    fn code(&mut self, address: u64) -> Result<u32, AccessFault> {
        self.memory.code(address)
    }

    fn load_reserved(&mut self, address: u64, size: usize) -> Outcome<u64> {
        self.memory.load_reserved(address, size)
    }

    fn store_conditional(&mut self, address: u64, size: usize, value: u64) -> Outcome<bool> {
        self.memory.store_conditional(address, size, value)
    }

    fn load_for_update(&mut self, address: u64, size: usize) -> Outcome<u64> {
        self.memory.load_for_update(address, size)
    }

    fn fence(&mut self) -> Outcome<()> {
        Outcome::Done(())
    }

    fn fence_instructions(&mut self) -> Outcome<()> {
        self.memory.fence_instructions()
    }

    fn code_removals(&self) -> u64 {
        self.memory.code_removals()
    }
}
