//! What a processor asks of the memory below it.
//!
//! A processor does not know whether a bus, a directory or plain memory
//! answers, nor whether it serves a host or a network interface. It makes an
//! access and gets one of a few outcomes. `Wait` means: stop, and make the
//! *same* access again when you are woken; what wakes the processor has
//! arranged that the repeated access can finish (a cache line was filled, an
//! uncached value has come back, a store buffer has room), so the processor
//! performs at least that one instruction before it looks at the time again.
//!
//! The `*_hit` methods are the hot path: they are inlined into the instruction
//! handlers, do one compare against the set's most recently used line, and say
//! nothing but yes or no. What they do not answer may be in the cache below, as near at
//! hand (`*_late`), or be brought by the port itself (`serve`). Everything else goes through the
//! cold methods.

use narthex_kernel::Time;
use serde::{Deserialize, Serialize};

use crate::access_tags::{Tag, TagError};
use crate::protocols::Access;

/// What became of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome<T> {
    /// The access is finished, without time beyond the hit latency.
    Done(T),
    /// The access is finished, and its result comes later than that of a hit.
    Late(T, LowerLevelLatency),
    /// The access is finished, and its block is on its way to this miss register.
    Filling(T, u8),
    /// A load is under way in this miss register, and its value is told at the end. The
    /// processor may go on.
    UnderWay(u8),
    /// The processor stops, and repeats the access when it is woken.
    Wait,
    /// The access is not allowed.
    Fault(AccessFault),
}

/// The time that an access takes in the cache below the first level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LowerLevelLatency {
    /// Processor cycles from where it begins there to its result, beyond what a hit
    /// takes. It begins when the port of that cache is free.
    pub cycles: u32,
    /// Cycles for which it takes that port.
    pub port_cycles: u32,
    /// The miss register in which its block is filling; none: the data cache is taken
    /// until then.
    pub register: Option<u8>,
}

impl LowerLevelLatency {
    /// Two accesses of one instruction, one after the other.
    pub fn join(
        first: Option<LowerLevelLatency>,
        second: Option<LowerLevelLatency>,
    ) -> Option<LowerLevelLatency> {
        match (first, second) {
            (Some(first), Some(second)) => Some(LowerLevelLatency {
                cycles: first.cycles + second.cycles,
                port_cycles: first.port_cycles + second.port_cycles,
                register: None,
            }),
            (one, other) => one.or(other),
        }
    }
}

impl<T> Outcome<T> {
    /// The same with another value.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Outcome<U> {
        match self {
            Outcome::Done(value) => Outcome::Done(change(value)),
            Outcome::Late(value, late) => Outcome::Late(change(value), late),
            Outcome::Filling(value, register) => Outcome::Filling(change(value), register),
            Outcome::UnderWay(register) => Outcome::UnderWay(register),
            Outcome::Wait => Outcome::Wait,
            Outcome::Fault(fault) => Outcome::Fault(fault),
        }
    }

    /// An access that is finished, late or not.
    pub fn finished(value: T, late: Option<LowerLevelLatency>) -> Self {
        match late {
            None => Outcome::Done(value),
            Some(late) => Outcome::Late(value, late),
        }
    }
}

/// What a port has done by itself for an access that would have to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PortResult {
    /// Nothing.
    No,
    /// Its block has come: the access is made at this instant, whatever the horizon is.
    Block(Time),
    /// The access to a register is over at this instant.
    Register {
        /// When it is.
        over: Time,
        /// What a load gives.
        value: u64,
        /// The processor stops behind the instruction, as at a horizon.
        stops: bool,
    },
    /// A device has refused the access, and the owner knows: the processor stops before it, as if
    /// it waited.
    Refused,
}

/// What becomes of a block of the caches (RISC-V's Zicbom and Zicboz).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum CacheBlockOperation {
    /// Memory gets the newest bytes.
    Clean,
    /// The same, and no cache keeps the block.
    Flush,
    /// No cache keeps the block, nor what is newer than memory.
    Invalidate,
    /// It becomes zeros.
    Zero,
}

/// Why an access is not allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum AccessFault {
    /// No page is mapped at the address.
    Unmapped,
    /// The page does not allow this kind of access.
    Protected,
    /// The address is not a multiple of the size, where it must be
    /// (atomics, device registers).
    Misaligned,
    /// A device register page was accessed in a way that the device refuses
    /// (wrong size, no such register, atomics on uncached pages).
    Device,
    /// The access tag of the block, which begins at this address, forbids it.
    Tag(u64, Tag),
}

/// A processor's view of memory. Addresses are those of its process. Sizes are 1, 2, 4 or 8 bytes; values are
/// zero-extended to 64 bits, little-endian.
pub trait Port {
    /// The value at `address` if it is there at once, aligned and inside the
    /// most recently used line of its set.
    fn load_hit<const SIZE: usize>(&mut self, address: u64) -> Option<u64>;

    /// Stores `value` if the most recently used line of its set may be written
    /// now; false (and nothing stored) otherwise.
    fn store_hit<const SIZE: usize>(&mut self, address: u64, value: u64) -> bool;

    /// What `load_hit` does not answer, if the cache below the first level has it, and
    /// nothing else has to be looked at: the value, and how late it is.
    fn load_late<const SIZE: usize>(&mut self, _address: u64) -> Option<(u64, LowerLevelLatency)> {
        None
    }

    /// The same for `store_hit`; none, and nothing stored, otherwise.
    fn store_late<const SIZE: usize>(&mut self, _address: u64, _value: u64) -> Option<LowerLevelLatency> {
        None
    }

    /// Whether an instruction at `address` can be fetched at once. Asked only
    /// when the program counter enters another line or after a taken branch.
    fn fetch_hit(&mut self, address: u64) -> bool;

    /// The cold path of a load: misses, other ways, uncached and misaligned
    /// accesses (a misaligned access to cachable memory is legal).
    fn load(&mut self, address: u64, size: usize) -> Outcome<u64>;

    /// The cold path of a store.
    fn store(&mut self, address: u64, size: usize, value: u64) -> Outcome<()>;

    /// The cold path of an instruction fetch.
    fn fetch(&mut self, address: u64) -> Outcome<()>;

    /// Up to four bytes of code at `address` (little-endian; the upper half is
    /// zero where only two bytes are mapped), read functionally. Used to
    /// decode; costs no simulated time.
    fn code(&mut self, address: u64) -> Result<u32, AccessFault>;

    /// LR: loads and places a reservation on the block.
    fn load_reserved(&mut self, address: u64, size: usize) -> Outcome<u64>;

    /// SC: true when the reservation held and the value is stored. Either way
    /// the reservation is gone once it is done.
    fn store_conditional(&mut self, address: u64, size: usize, value: u64) -> Outcome<bool>;

    /// The first half of an AMO: the value at `address`, with permission to
    /// write. A `store` to the same address made next, without time in
    /// between, is certain to be `Done`.
    fn load_for_update(&mut self, address: u64, size: usize) -> Outcome<u64>;

    /// A `load`, or `store` of `value`, that its caches do not answer would have to
    /// [wait](Outcome::Wait): if the port can do by itself what it waits for, it does. `now` tells
    /// the processor's time.
    fn serve(
        &mut self,
        _address: u64,
        _size: usize,
        _access: Access,
        _value: u64,
        _now: impl FnOnce() -> Time,
    ) -> PortResult {
        PortResult::No
    }

    /// Fetches the block of a load without making the access. [`Outcome::Done`] and
    /// [`Outcome::Filling`]: its value is known; [`Outcome::Wait`]: a miss has begun, and the owner
    /// has to be told of it; [`Outcome::UnderWay`]: its value is not known yet, and nothing has
    /// begun; [`Outcome::Fault`]: looking ahead ends here for now.
    fn bring(&mut self, _address: u64, _size: usize) -> Outcome<u64> {
        Outcome::Fault(AccessFault::Unmapped)
    }

    /// How many blocks other agents have taken from the data cache of a processor that looks ahead.
    fn taken_blocks(&self) -> u64 {
        0
    }

    /// Whether the first level has the block of an access.
    fn is_at_hand(&self, _address: u64, _size: usize) -> bool {
        true
    }

    /// Whether `address` is in a page that is not memory.
    fn is_uncached(&self, _address: u64) -> bool {
        false
    }

    /// The block of a miss register is there: its accesses may be fast.
    fn filled(&mut self, _register: u8) {}

    /// An operation on the block of the caches that holds `address`; of memory without
    /// caches, on 64 bytes.
    fn operate_on_block(&mut self, address: u64, operation: CacheBlockOperation) -> Outcome<()> {
        let block = address & !63;
        if operation != CacheBlockOperation::Zero {
            return match self.load(block, 8) {
                Outcome::Done(_) | Outcome::Late(..) | Outcome::Filling(..) => Outcome::Done(()),
                Outcome::UnderWay(register) => Outcome::UnderWay(register),
                Outcome::Wait => Outcome::Wait,
                Outcome::Fault(fault) => Outcome::Fault(fault),
            };
        }
        let stores = (block..block + 64).step_by(8).map(|word| self.store(word, 8, 0));
        stores.into_iter().find(|stored| *stored != Outcome::Done(())).unwrap_or(Outcome::Done(()))
    }

    /// What an atomic with `.rl` has behind it is done: loads have their values, and stores to memory that
    /// is cached are visible outside.
    fn release(&mut self) -> Outcome<()> {
        Outcome::Done(())
    }

    /// Stores to memory that is cached are visible outside, as the system needs it that is called.
    fn drain_stores(&mut self) -> Outcome<()> {
        Outcome::Done(())
    }

    /// FENCE: done when every earlier store is visible outside.
    fn fence(&mut self) -> Outcome<()>;

    /// FENCE.I: the instruction cache forgets what it holds.
    fn fence_instructions(&mut self) -> Outcome<()>;

    /// How often pages of code have ceased to be executable, or have gone, and how
    /// often the system has fenced this processor's instructions. A processor that runs
    /// again drops its decoded code when the count moved: no FENCE.I is needed then.
    fn code_removals(&self) -> u64 {
        0
    }

    /// Bytes in a block of the process's tagged memory; zero if it has none, as
    /// no process has where there is only plain memory.
    fn tag_block_bytes(&self) -> u64 {
        0
    }

    /// Sets the access tag of the block at `block` to the one with this number.
    fn set_tag(&mut self, _block: u64, _number: u64) -> Result<(), TagError> {
        Err(TagError::NoMemory)
    }
}
