//! Zicbom and Zicboz: operations on the block of the caches that holds an address.
//!
//! What they do to caches and bus is the port's affair; here they are accesses of the
//! memory port that last as long as a store, and wait where they take a transaction.

use narthex_memory::Port;
use narthex_memory::port::CacheBlockOperation;

use crate::execute::{Context, Core, horizon, instructions};
use crate::operation::{Operation, SINK};
use crate::stop::FaultKind;
use crate::timing::{Timing, Unit};

instructions! {
    "cbo.inval" "000000000000 rs1 010 00000 0001111" => |c| c.cache_block(CacheBlockOperation::Invalidate);
    "cbo.clean" "000000000001 rs1 010 00000 0001111" => |c| c.cache_block(CacheBlockOperation::Clean);
    "cbo.flush" "000000000010 rs1 010 00000 0001111" => |c| c.cache_block(CacheBlockOperation::Flush);
    "cbo.zero" "000000000100 rs1 010 00000 0001111" => |c| c.cache_block(CacheBlockOperation::Zero);
}

#[inline(never)]
fn operate<P: Port, T: Timing>(
    core: &mut Core<T>,
    port: &mut P,
    address: u64,
    operation: CacheBlockOperation,
) -> bool {
    let outcome = port.operate_on_block(address, operation);
    core.settle(outcome, FaultKind::Store, address).is_some()
}

impl<P: Port, T: Timing, const LENGTH: usize> Context<'_, P, T, LENGTH> {
    #[inline(always)]
    fn cache_block(mut self, operation: CacheBlockOperation) {
        if !self.is_alone() {
            return self.await_others();
        }
        let Operation { rs1, .. } = self.cursor.get();
        let at = self.core.timing.free(self.issue_one(rs1), Unit::Memory);
        if at >= self.core.outside_until {
            return horizon(self.core, self.cursor, self.port, at, self.count, self.table);
        }
        let address = self.register(rs1);
        if !operate(self.core, self.port, address, operation) {
            return self.stop_here(at);
        }
        self.core.timing.occupy_with_store(at);
        self.core.settle_time(self.port, SINK, at);
        self.retire(at);
    }
}
