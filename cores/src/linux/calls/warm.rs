//! What a process takes along to another machine, where a warm checkpoint is made.
//!
//! Memory, registers and the books of the system calls belong to no interface. The devices in the
//! address space are those of the new machine, and a function of the program, which opens the new
//! interface, runs before the program goes on.

use super::{Archive, Call, Damage, GuestMemory, SystemCalls};
use crate::linux::context::Context;
use crate::linux::signals::{Action, Raised};

/// `SA_NODEFER`: the function that is called blocks no signal.
const BLOCKS_NOTHING: u64 = 0x4000_0000;

impl SystemCalls {
    /// Why the process cannot go on over another interface, if it cannot.
    pub fn is_bound_because(&self) -> Option<&'static str> {
        if self.threads.count() > 1 {
            return Some("it has several threads");
        }
        if self.space.has_pins() {
            return Some("it has memory that is registered with a device");
        }
        if self.space.has_shared() {
            return Some("it has tagged memory");
        }
        (!self.devices.is_empty()).then_some("it can open a device of its interface")
    }

    /// Takes the place of a process that has just started: what [`Archive::save`] has saved of
    /// these books elsewhere, with the devices that the process has here.
    ///
    /// # Errors
    /// If the bytes are no such books, or the devices have no room.
    pub fn carry_over(&mut self, saved: &[u8]) -> Result<(), Damage> {
        let fresh = self.space.clone();
        Archive::restore(saved, self)?;
        match self.space.take_devices_of(&fresh) {
            true => Ok(()),
            false => Err(Damage::Contradiction("its memory is where the interface has its own")),
        }
    }

    /// Has a thread call a function of the program, which takes no arguments, before it goes on where
    /// `context` is: as a handler of a signal runs. False if its stack has no room.
    pub fn call_first(
        &mut self,
        thread: usize,
        function: u64,
        context: &mut Context,
        memory: &mut impl GuestMemory,
    ) -> bool {
        let action = Action { handler: function, flags: BLOCKS_NOTHING, mask: 0 };
        let raised = Raised { signal: 0, code: 0, details: [0; 2] };
        let mut call = Call { calls: self, caller: thread, number: 0, a: [0; 6], memory, now_ns: 0 };
        call.calls.space.add_trampoline(call.memory).is_ok() && call.enter(&raised, &action, context).is_ok()
    }
}
