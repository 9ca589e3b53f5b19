//! How a thread comes into a handler of a signal, and back: what a call leaves to be done with
//! its registers, and what a fault does.

use super::answer::{EFAULT, EINTR, Effect, Error};
use super::signals::killed;
use super::{Call, GuestMemory, SystemCalls};
use crate::linux::context::{Context, FRAME_BYTES, Frame, UCONTEXT};
use crate::linux::numbers::signal_name;
use crate::linux::signals::{Action, Again, Interrupted, Left, Raised, ThreadSignals, UNBLOCKABLE};
use crate::network_registers::IS_MAPPED;
use crate::stop::{Fault, FaultKind};
use narthex_memory::port::AccessFault;

/// The numbers of registers: return address, stack pointer, first argument.
const RA: usize = 1;
const SP: usize = 2;
const A0: usize = 10;
/// What the instruction of a call takes.
const CALL_BYTES: u64 = 4;
const SIGSEGV: u64 = 11;

impl SystemCalls {
    /// Whether a thread's registers change once more when a call has returned its value: then
    /// [`SystemCalls::attend`] changes them.
    pub fn has_to_attend(&self, thread: usize) -> bool {
        let is_left = |own: &ThreadSignals| own.left.is_some() || own.interrupted.is_some();
        self.threads.signals(thread).is_some_and(|own| is_left(own) || self.signal_is_due(thread))
    }

    /// Lets a thread's handlers begin for the signals that are due, or return; a call that has
    /// ended early fails, or is made again. An effect ends the program.
    pub fn attend(
        &mut self,
        thread: usize,
        context: &mut Context,
        memory: &mut impl GuestMemory,
    ) -> Option<Effect> {
        self.call_of(thread, memory).attend(context)
    }

    /// A thread's handler begins for a fault.
    ///
    /// # Errors
    /// Why there is none for it, in words, if the program has wanted one.
    pub fn handle_fault(
        &mut self,
        thread: usize,
        fault: &Fault,
        context: &mut Context,
        memory: &mut impl GuestMemory,
    ) -> Result<(), Option<String>> {
        let signal = fault.kind.signal();
        let (Some(code), action) = (code_of(fault.kind), self.action(signal)) else { return Err(None) };
        let name = signal_name(signal).unwrap_or("the signal");
        if self.is_ignored(signal) {
            return Err(Some(format!(
                "the program ignores {name}, but not even Linux ignores that of a fault"
            )));
        }
        if !action.is_handled() {
            return Err(None);
        }
        if self.blocks(thread, signal) {
            return Err(Some(format!(
                "the program has a handler for {name}, but the thread blocks it: as one does in that very handler \
                 without SA_NODEFER"
            )));
        }
        let raised = Raised { signal, code, details: [fault.address, 0] };
        self.call_of(thread, memory).enter(&raised, &action, context).map_err(|_| {
            let words = "but its stack has no room for the handler's frame: give it another one with sigaltstack \
                         and SA_ONSTACK";
            Some(format!("the program has a handler for {name}, {words}"))
        })
    }

    /// Something that the system does for a thread without a call.
    fn call_of<'a, M>(&'a mut self, caller: usize, memory: &'a mut M) -> Call<'a, M> {
        Call { calls: self, caller, number: 0, a: [0; 6], memory, now_ns: 0 }
    }
}

impl<M: GuestMemory> Call<'_, M> {
    fn attend(&mut self, context: &mut Context) -> Option<Effect> {
        let left = match self.own_signals().left.take() {
            None => Ok(()),
            Some(Left::Return) => self.leave(context),
            Some(Left::AlternateStack { wanted, former }) => {
                let changed = self.change_alternate_stack(context.integers[SP], wanted, former);
                context.integers[A0] = changed.map_or_else(|error| -error.0, |()| 0) as u64;
                Ok(())
            }
        };
        if left.is_err() {
            return Some(killed(SIGSEGV));
        }
        let mut interrupted = self.own_signals().interrupted.take();
        while let Some(raised) = self.take_due() {
            let action = self.calls.action(raised.signal);
            if action.ignores(raised.signal) {
                continue;
            }
            if !action.is_handled() {
                return Some(killed(raised.signal));
            }
            if let Some(interrupted) = interrupted.take() {
                end_early(interrupted, action.restarts_calls(), context);
            }
            if self.enter(&raised, &action, context).is_err() {
                return Some(killed(SIGSEGV));
            }
        }
        if let Some(interrupted) = interrupted {
            end_early(interrupted, true, context);
        }
        None
    }

    fn take_due(&mut self) -> Option<Raised> {
        let due = self.calls.due_signals(self.caller);
        self.own_signals().pending.take(due).or_else(|| self.calls.pending.take(due))
    }

    /// The handler of a signal begins: with a frame on its stack, from which it returns.
    pub(super) fn enter(
        &mut self,
        raised: &Raised,
        action: &Action,
        context: &mut Context,
    ) -> Result<(), Error> {
        let &mut ThreadSignals { mask, former_mask, alternate, .. } = self.own_signals();
        let stack_pointer = context.integers[SP];
        let is_on_alternate = alternate.holds(stack_pointer);
        let changes = action.wants_alternate_stack() && alternate.bytes > 0 && !is_on_alternate;
        let top = if changes { alternate.base.wrapping_add(alternate.bytes) } else { stack_pointer };
        let frame = (top & !15).checked_sub(FRAME_BYTES).ok_or(EFAULT)?;
        if (changes || is_on_alternate) && !alternate.holds(frame) {
            return Err(EFAULT);
        }
        let saved = Frame { context: *context, mask: former_mask.unwrap_or(mask), alternate };
        self.put(frame, &saved.bytes(raised, is_on_alternate))?;
        let own = self.own_signals();
        own.former_mask = None;
        own.mask |= action.blocks(raised.signal);
        if action.is_for_once() {
            self.calls.actions.remove(&raised.signal);
        }
        context.pc = action.handler;
        context.netmap &= !IS_MAPPED;
        context.integers[RA] = self.calls.space.trampoline().ok_or(EFAULT)?;
        context.integers[SP] = frame;
        context.integers[A0] = raised.signal;
        context.integers[A0 + 1] = frame;
        context.integers[A0 + 2] = frame + UCONTEXT;
        Ok(())
    }

    /// It returns: the thread goes on with what the frame holds.
    fn leave(&mut self, context: &mut Context) -> Result<(), Error> {
        let bytes = self.bytes(context.integers[SP], FRAME_BYTES)?;
        let frame = Frame::of_bytes(bytes.as_slice().try_into().map_err(|_| EFAULT)?);
        let own = self.own_signals();
        own.mask = frame.mask & !UNBLOCKABLE;
        own.alternate = frame.alternate;
        *context = frame.context;
        Ok(())
    }
}

/// A call that a signal has ended fails, or is made again.
fn end_early(interrupted: Interrupted, restarts: bool, context: &mut Context) {
    let is_made_again = match interrupted.again {
        Again::Always => true,
        Again::IfWanted => restarts,
        Again::Never => false,
    };
    if is_made_again {
        context.pc = context.pc.wrapping_sub(CALL_BYTES);
        context.integers[A0] = interrupted.first_argument;
    } else {
        context.integers[A0] = -EINTR.0 as u64;
    }
}

/// What `siginfo` says of a fault; none of what Linux does not know.
fn code_of(kind: FaultKind) -> Option<i32> {
    const NOT_MAPPED: i32 = 1;
    const NOT_ALLOWED: i32 = 2;
    match kind {
        FaultKind::IllegalInstruction | FaultKind::Breakpoint => Some(1),
        FaultKind::Fetch(AccessFault::Protected)
        | FaultKind::Load(AccessFault::Protected)
        | FaultKind::Store(AccessFault::Protected) => Some(NOT_ALLOWED),
        // BUS_ADRALN and BUS_ADRERR.
        FaultKind::Load(AccessFault::Misaligned) | FaultKind::Store(AccessFault::Misaligned) => Some(1),
        FaultKind::Load(AccessFault::Device) | FaultKind::Store(AccessFault::Device) => Some(2),
        FaultKind::Fetch(_) | FaultKind::Load(_) | FaultKind::Store(_) => Some(NOT_MAPPED),
        FaultKind::Tag { .. } | FaultKind::Interrupt(_) | FaultKind::TagChange(_) => None,
    }
}
