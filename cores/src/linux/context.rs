//! The registers of a thread, and how they lie on its stack while it handles a signal.
//!
//! The frame is that of Linux on RISC-V with 64 bits (`rt_sigframe`), which a handler with
//! `SA_SIGINFO` reads and may change. Offsets from the handler's stack pointer:
//!
//! ```text
//!      0  siginfo: signal, 0, code; from 16 on the address, or the sender and a value
//!    128  ucontext: flags, link, alternate stack (base, flags, bytes), mask
//!    304    mcontext: program counter, x1 to x31
//!    560      f0 to f31, fcsr, and at 824 netmap
//!   1088  where the stack pointer was, or the end of the alternate stack
//! ```

use serde::{Deserialize, Serialize};

use super::signals::{AlternateStack, Raised};
use crate::{Processor, Timing};

/// What a frame takes of the stack.
pub(super) const FRAME_BYTES: u64 = 1088;
/// Where the second and the third argument of a handler point to.
pub(super) const UCONTEXT: u64 = 128;

const ALTERNATE: usize = 144;
const MASK: usize = 168;
const PROGRAM_COUNTER: usize = 304;
const INTEGERS: usize = PROGRAM_COUNTER + 8;
const FLOATS: usize = 560;
const CONTROL: usize = FLOATS + 8 * 32;
const NETMAP: usize = CONTROL + 8;

/// The registers of a processor in user mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Context {
    /// Where the next instruction is.
    pub pc: u64,
    /// x0 to x31.
    pub integers: [u64; 32],
    /// The bits of f0 to f31.
    pub floats: [u64; 32],
    /// Rounding mode and exception flags.
    pub fcsr: u32,
    /// Whose x30 and x31 are ([`network_registers`](crate::network_registers)).
    pub netmap: u64,
}

/// What a frame holds besides the signal's information.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Frame {
    /// The registers of the thread before.
    pub context: Context,
    /// The signals that it blocked.
    pub mask: u64,
    /// Its alternate stack.
    pub alternate: AlternateStack,
}

impl Context {
    /// Those that a processor holds.
    pub fn of<T: Timing>(processor: &Processor<T>) -> Self {
        Context {
            pc: processor.pc(),
            integers: std::array::from_fn(|number| processor.x(number)),
            floats: std::array::from_fn(|number| processor.f(number)),
            fcsr: processor.fcsr(),
            netmap: processor.netmap(),
        }
    }

    /// A processor goes on with them.
    pub fn restore<T: Timing>(&self, processor: &mut Processor<T>) {
        for number in 0..32 {
            processor.set_x(number, self.integers[number]);
            processor.set_f(number, self.floats[number]);
        }
        processor.set_fcsr(self.fcsr);
        processor.set_netmap(self.netmap);
        processor.set_pc(self.pc);
    }
}

impl Frame {
    /// The frame's bytes, with what is told of a signal.
    pub fn bytes(&self, raised: &Raised, is_on_alternate: bool) -> Vec<u8> {
        let Frame { context, mask, alternate } = self;
        let mut bytes = vec![0; FRAME_BYTES as usize];
        bytes[..4].copy_from_slice(&(raised.signal as u32).to_le_bytes());
        bytes[8..12].copy_from_slice(&raised.code.to_le_bytes());
        put_words(&mut bytes, 16, &raised.details);
        put_words(&mut bytes, ALTERNATE, &alternate.words(is_on_alternate));
        put_words(&mut bytes, MASK, &[*mask]);
        put_words(&mut bytes, PROGRAM_COUNTER, &[context.pc]);
        put_words(&mut bytes, INTEGERS, &context.integers[1..]);
        put_words(&mut bytes, FLOATS, &context.floats);
        bytes[CONTROL..CONTROL + 4].copy_from_slice(&context.fcsr.to_le_bytes());
        put_words(&mut bytes, NETMAP, &[context.netmap]);
        bytes
    }

    /// What a frame's bytes hold, which the handler may have changed.
    pub fn of_bytes(bytes: &[u8; FRAME_BYTES as usize]) -> Self {
        let word = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
        let integer = |number| if number == 0 { 0 } else { word(INTEGERS + 8 * (number - 1)) };
        let context = Context {
            pc: word(PROGRAM_COUNTER),
            integers: std::array::from_fn(integer),
            floats: std::array::from_fn(|number| word(FLOATS + 8 * number)),
            fcsr: word(CONTROL) as u32,
            netmap: word(NETMAP),
        };
        let alternate = AlternateStack { base: word(ALTERNATE), bytes: word(ALTERNATE + 16) };
        Frame { context, mask: word(MASK), alternate }
    }
}

fn put_words(bytes: &mut [u8], at: usize, words: &[u64]) {
    for (place, word) in bytes[at..].chunks_exact_mut(8).zip(words) {
        place.copy_from_slice(&word.to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_gives_back_what_was_put_into_it() {
        let integers = std::array::from_fn(|number| 3 * number as u64);
        let floats = std::array::from_fn(|number| 5 * number as u64 + 1);
        let context = Context { pc: 0x1_0000, integers, floats, fcsr: 0x61, netmap: 0x5001 };
        let alternate = AlternateStack { base: 0x7000, bytes: 8192 };
        let frame = Frame { context, mask: 1 << 9, alternate };
        let raised = Raised { signal: 11, code: 2, details: [0xdead, 0] };
        let bytes = frame.bytes(&raised, false);
        assert_eq!((bytes[0], bytes[8], bytes[16], bytes[17]), (11, 2, 0xad, 0xde));
        // REG_PC, and REG_SP behind it, as <ucontext.h> has them.
        assert_eq!((bytes[128 + 176 + 2], bytes[128 + 176 + 16]), (1, 6));
        assert_eq!(Frame::of_bytes(&bytes.try_into().expect("a frame")), frame);
    }
}
