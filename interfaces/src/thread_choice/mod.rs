//! The choice of a core's next thread by its interface, after the nanoPU (Ibanez et al., OSDI 2021): each thread
//! has a *context* of the interface, with a priority and queues of its own.
//!
//! ```text
//!   packet ── handler ──► queue of context 0 ─┐                        line
//!                         queue of context 1 ─┼─► choice ── differs? ───────► processor: its handler saves the
//!                                ...          ┘     ▲                         registers, reads NEXT, stores it in
//!                              the running one ─────┴──────── CONTEXT ◄────── CONTEXT, and loads the other's
//! ```
//!
//! A context is *ready* while a message waits in its queue, and from the first word of a message that its thread
//! pops until the thread says that it is done with it ([`DONE`]), or pops the next one. Context 0 is the
//! program's own thread, and always ready. Of the ready ones the hardware chooses that of the highest priority; 0
//! is the highest. It asserts the line while that is another one than the running context. So threads of equal
//! priority do not interrupt each other, and a thread without a message gives way.
//!
//! **Bounded time.** With a `message_time`, a context whose thread has run for longer on a message is behind all
//! that have not, whatever its priority, until it is done with it: "bounded message processing time". What
//! counts is the time for which it was the running one.
//!
//! What a switch costs is no parameter here: the trap takes the core's `interrupt_cycles`, and the handler that
//! exchanges the registers is a program's own code (guest/messaging/contexts.c), executed as any other.

mod choice;
mod receive;

pub use choice::Choice;
pub use receive::ReceiveByContext;

use crate::half::RegisterFault;
use crate::programming::Register;

/// Load: the running context. Store: this one runs from now on.
pub const CONTEXT: u64 = 0x18;
/// Load: the context that is to run.
pub const NEXT: u64 = 0x20;
/// Store: a handler's messages are a context's.
pub const BIND: u64 = 0x28;
/// Store: a context's priority.
pub const PRIORITY: u64 = 0x30;
/// Store: the running context has done with its message.
pub const DONE: u64 = 0x38;

/// The registers of an interface that chooses threads.
pub const REGISTERS: [Register; 5] = [
    ("CONTEXT", CONTEXT, "load: the running context; store: the one that runs from now on"),
    ("NEXT", NEXT, "load: the context that the interface chooses"),
    ("BIND", BIND, "store: a handler in bits 0-7, whose messages are those of the context in bits 8-15"),
    ("PRIORITY", PRIORITY, "store: a context in bits 0-7, and its priority in bits 8-15; 0 is the highest"),
    ("DONE", DONE, "store: the running context has done with its message"),
];

/// Most contexts of a process.
pub const MOST_CONTEXTS: u32 = 8;

/// Where the status register has the number of contexts among which the interface chooses.
pub const STATUS_CONTEXTS_SHIFT: u32 = 8;

/// A context that a program names.
pub(crate) fn context_of(value: u64, contexts: usize) -> Result<usize, RegisterFault> {
    match usize::try_from(value) {
        Ok(context) if context < contexts => Ok(context),
        _ => Err(RegisterFault(format!("context {value}; the interface has 0 to {}", contexts - 1))),
    }
}
