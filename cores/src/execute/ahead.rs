//! How a processor that waits executes later instructions whose results it discards: see
//! [`reorder`](crate::reorder).
//!
//! An [`AheadPort`] stands in front of the port: it keeps stores and forwards them to loads, and a
//! load that misses begins to fetch its block. The table of handlers that looks ahead first asks
//! whether an instruction has its operands. If so, the instruction's own handler executes it; if not,
//! its result is marked as missing, and a branch takes its predicted direction.

use std::collections::VecDeque;

use narthex_memory::Port;
use narthex_memory::port::{AccessFault, CacheBlockOperation, LowerLevelLatency, Outcome};
use serde::{Deserialize, Serialize};

use super::{Core, Exit, Handler, Table};
use crate::decode::SHORT;
use crate::extensions::{FIRST_NUMBER, Kind, kind_of, number_of};
use crate::operation::{Cursor, Operation, SINK};
use crate::stop::Stop;
use crate::timing::Timing;

/// Stores that are remembered; beyond that the oldest is forgotten.
const MOST_STORES: usize = 256;

/// Markers of the time ledger have no effect when they are executed ahead.
const MARKER: u16 = number_of("marker");

/// A store that stays in the [`AheadPort`].
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Store {
    /// Instructions retired before it.
    count: u64,
    address: u64,
    size: usize,
    /// None if it is not known.
    value: Option<u64>,
}

/// The stores that were executed ahead, up to the place where looking ahead goes on.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Stores {
    stores: VecDeque<Store>,
    /// A bit for each piece of 64 bytes to which any of them may have stored, by a hash of its number: nearly
    /// all loads are of others, and need not search the stores.
    pieces: u64,
}

/// The bits of the pieces of an access. The multiplier spreads numbers (Knuth, The Art of Computer Programming,
/// Volume 3, Section 6.4).
fn pieces(address: u64, size: usize) -> u64 {
    let bit = |address: u64| 1 << ((address >> 6).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 58);
    bit(address) | bit(address.wrapping_add(size as u64 - 1))
}

impl Stores {
    fn clear(&mut self) {
        self.stores.clear();
        self.pieces = 0;
    }

    #[inline(never)]
    fn remember(&mut self, store: Store) {
        if self.stores.len() == MOST_STORES {
            self.stores.pop_front();
        }
        self.pieces |= pieces(store.address, store.size);
        self.stores.push_back(store);
    }

    /// Forgets those before the instruction with this number of retired ones, which have been made.
    fn forget_before(&mut self, count: u64) {
        let all = self.stores.len();
        while self.stores.front().is_some_and(|store| store.count < count) {
            self.stores.pop_front();
        }
        if self.stores.len() < all {
            self.pieces = self.stores.iter().fold(0, |all, store| all | pieces(store.address, store.size));
        }
    }

    /// Forgets those from this instruction on.
    fn forget_from(&mut self, count: u64) {
        while self.stores.back().is_some_and(|store| store.count >= count) {
            self.stores.pop_back();
        }
    }

    /// The value of these bytes by the last store to any of them, if there is one; `Some(None)` if it
    /// is not known.
    #[inline(never)]
    fn value(&self, address: u64, size: usize) -> Option<Option<u64>> {
        if self.pieces & pieces(address, size) == 0 {
            return None;
        }
        let overlaps = |store: &&Store| {
            address.wrapping_sub(store.address) < store.size as u64
                || store.address.wrapping_sub(address) < size as u64
        };
        let store = self.stores.iter().rev().find(overlaps)?;
        let offset = address.wrapping_sub(store.address);
        let is_whole = offset.checked_add(size as u64).is_some_and(|end| end <= store.size as u64);
        let value = store.value.filter(|_| is_whole);
        Some(value.map(|value| value >> (8 * offset) & (u64::MAX >> (64 - 8 * size))))
    }
}

/// The memory of a processor that looks ahead.
pub(crate) struct AheadPort<'a, P> {
    pub port: &'a mut P,
    stores: Stores,
    /// Instructions retired before the one that is executed.
    count: u64,
    /// A miss has begun.
    pub has_begun: bool,
    /// An access, or the direction of a branch, was left out for want of a value.
    pub depends: bool,
}

impl<'a, P: Port> AheadPort<'a, P> {
    /// One in front of `port`, with the stores that were executed ahead.
    pub fn new(port: &'a mut P, stores: Stores) -> Self {
        AheadPort { port, stores, count: 0, has_begun: false, depends: false }
    }

    /// It goes on at a place ahead of a processor that has retired `count` instructions; `depends` says what was left
    /// out before.
    pub fn go_on(&mut self, count: u64, depends: bool) {
        self.depends = depends;
        self.stores.forget_before(count);
    }

    /// It begins at the instruction with which the processor waits.
    pub fn begin(&mut self) {
        self.stores.clear();
        self.depends = false;
    }

    /// The stores before the instruction that is executed when this many have retired.
    pub fn into_stores(mut self, count: u64) -> Stores {
        self.stores.forget_from(count);
        self.stores
    }
}

impl<P: Port> Port for AheadPort<'_, P> {
    #[inline(always)]
    fn load_hit<const SIZE: usize>(&mut self, address: u64) -> Option<u64> {
        if self.stores.stores.is_empty() { self.port.load_hit::<SIZE>(address) } else { None }
    }

    #[inline(always)]
    fn store_hit<const SIZE: usize>(&mut self, address: u64, value: u64) -> bool {
        self.stores.remember(Store { count: self.count, address, size: SIZE, value: Some(value) });
        true
    }

    #[inline(always)]
    fn fetch_hit(&mut self, address: u64) -> bool {
        self.port.fetch_hit(address)
    }

    fn load(&mut self, address: u64, size: usize) -> Outcome<u64> {
        match self.stores.value(address, size) {
            Some(Some(value)) => return Outcome::Done(value),
            Some(None) => return Outcome::UnderWay(0),
            None => {}
        }
        let outcome = self.port.bring(address, size);
        self.has_begun |= outcome == Outcome::Wait;
        outcome
    }

    fn store(&mut self, _: u64, _: usize, _: u64) -> Outcome<()> {
        Outcome::Wait
    }

    /// A fetch that misses waits until the program itself gets there.
    fn fetch(&mut self, _: u64) -> Outcome<()> {
        Outcome::Wait
    }

    /// No code is decoded ahead.
    fn code(&mut self, _: u64) -> Result<u32, AccessFault> {
        Err(AccessFault::Unmapped)
    }

    fn load_reserved(&mut self, _: u64, _: usize) -> Outcome<u64> {
        Outcome::Wait
    }

    fn store_conditional(&mut self, _: u64, _: usize, _: u64) -> Outcome<bool> {
        Outcome::Wait
    }

    fn load_for_update(&mut self, _: u64, _: usize) -> Outcome<u64> {
        Outcome::Wait
    }

    fn operate_on_block(&mut self, _: u64, _: CacheBlockOperation) -> Outcome<()> {
        Outcome::Wait
    }

    fn fence(&mut self) -> Outcome<()> {
        Outcome::Wait
    }

    fn fence_instructions(&mut self) -> Outcome<()> {
        Outcome::Wait
    }

    fn load_late<const SIZE: usize>(&mut self, _: u64) -> Option<(u64, LowerLevelLatency)> {
        None
    }

    fn taken_blocks(&self) -> u64 {
        self.port.taken_blocks()
    }

    fn is_at_hand(&self, address: u64, size: usize) -> bool {
        self.stores.value(address, size).is_some() || self.port.is_at_hand(address, size)
    }

    fn is_uncached(&self, address: u64) -> bool {
        self.port.is_uncached(address)
    }
}

impl<P: Port, T: Timing> Table<AheadPort<'_, P>, T> {
    /// Executes the program without effect.
    pub const AHEAD: Self = Table { handlers: [ahead::<P, T> as Handler<_, _>; super::ENTRIES] };
}

/// Executes an instruction if it has its operands; otherwise goes on without its result, up to one that has them.
fn ahead<'a, P: Port, T: Timing>(
    core: &mut Core<T>,
    mut cursor: Cursor,
    port: &mut AheadPort<'a, P>,
    mut t: u64,
    mut count: u64,
    table: &Table<AheadPort<'a, P>, T>,
) {
    loop {
        debug_assert!(core.holds(cursor), "a cursor left its block");
        let operation = cursor.get();
        if t >= core.outside_until {
            return super::horizon(core, cursor, port, t, count, table);
        }
        port.count = count;
        let number = operation.code & (SHORT - 1);
        if number == MARKER {
            cursor = cursor.advance(4);
            continue;
        }
        let kind = kind_of(operation.code);
        let is_other = matches!(kind, Kind::Atomic | Kind::Other) && number >= FIRST_NUMBER;
        if is_other || core.timing.window().is_some_and(|window| !window.has_room(kind)) {
            break;
        }
        if !core.needs_expected(operation) {
            return Table::FULL.call(operation.code, core, cursor, port, t, count, table);
        }
        let Some(behind) = pass(core, cursor, port, t) else { break };
        (cursor, t) = behind;
        count = T::retire(count);
        (cursor, t, count) = pass_several(core, cursor, port, t, count);
    }
    core.exit = Exit::Stop(Stop::NotReady);
    core.save(cursor, t, count)
}

/// Goes on behind instructions that compute, and loads, as long as they follow each other and lack their operands, and
/// there is room for them: most of what is left out. The first instruction behind them, its turn, and how many have
/// retired before it.
#[inline(never)]
fn pass_several<P: Port, T: Timing>(
    core: &mut Core<T>,
    mut cursor: Cursor,
    port: &mut AheadPort<'_, P>,
    mut t: u64,
    mut count: u64,
) -> (Cursor, u64, u64) {
    while t < core.outside_until {
        let operation @ Operation { code, rd, rs1, .. } = cursor.get();
        if !core.needs_expected(operation) {
            break;
        }
        let is_load = match kind_of(code) {
            Kind::Compute => false,
            Kind::Load => true,
            _ => break,
        };
        let lacks_address = is_load && core.timing.is_expected(rs1);
        let Some(next) = core.timing.window().and_then(|window| window.leave_out(rd, is_load, t)) else {
            break;
        };
        port.depends |= lacks_address;
        cursor = cursor.advance(if code & SHORT == 0 { 4 } else { 2 });
        (t, count) = (next, T::retire(count));
    }
    (cursor, t, count)
}

/// Goes on behind an instruction whose result is not known: the next instruction and its turn. None if the
/// next instruction is not known.
#[inline(always)]
pub(crate) fn pass<P: Port, T: Timing>(
    core: &mut Core<T>,
    cursor: Cursor,
    port: &mut AheadPort<'_, P>,
    t: u64,
) -> Option<(Cursor, u64)> {
    let operation = cursor.get();
    let Operation { code, rd, rs1, immediate, .. } = operation;
    let bytes = if code & SHORT == 0 { 4 } else { 2 };
    let pc = core.pc_of(cursor);
    let kind = kind_of(code);
    let mut next = cursor.advance(bytes);
    match kind {
        Kind::Compute => {}
        Kind::Load => port.depends |= core.timing.is_expected(rs1),
        Kind::Store if core.timing.is_expected(rs1) => port.depends = true,
        Kind::Store => {
            let address = core.registers[rs1 as usize].wrapping_add_signed(immediate);
            port.stores.remember(Store { count: port.count, address, size: 8, value: None });
        }
        Kind::Branch => {
            port.depends = true;
            if core.timing.window()?.guess(pc) {
                next = cursor.jump(immediate);
            }
        }
        Kind::Jump | Kind::Atomic | Kind::Other => {
            port.depends = true;
            return None;
        }
    }
    if rd != SINK && matches!(kind, Kind::Compute | Kind::Load) {
        core.timing.expect(rd);
    }
    let t = core.timing.window()?.pass(kind, t);
    Some((next, t))
}
