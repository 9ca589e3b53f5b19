//! Signals: what is blocked, ignored and handled, and how a thread comes into a handler and back.

use super::*;
use crate::linux::{Context, calls::answer::EINTR};
use crate::{Fault, FaultKind};
use narthex_memory::port::AccessFault;

const SIGACTION: u64 = 134;
const SIGPROCMASK: u64 = 135;
const SIGRETURN: u64 = 139;
const SIGALTSTACK: u64 = 132;
const KILL: u64 = 129;
const HANDLER: u64 = 0x1_2340;
const SIGUSR1: u64 = 10;
const SIGSEGV: u64 = 11;
const NO_DEFER: u64 = 0x4000_0000;
const RESET: u64 = 0x8000_0000;
const RESTART: u64 = 0x1000_0000;
const ON_STACK: u64 = 0x0800_0000;
const SP: usize = 2;
const A0: usize = 10;
/// The stack pointer of the thread, in the page of data.
const STACK: u64 = DATA + 4096;

impl Process {
    fn put_words(&mut self, address: u64, words: &[u64]) {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        self.put(address, &bytes);
    }

    fn handle_signal(&mut self, signal: u64, handler: u64, flags: u64) {
        self.put_words(DATA, &[handler, flags, 0]);
        assert_eq!(self.value(SIGACTION, &[signal, DATA, 0, 8]), 0);
    }

    fn block(&mut self, how: u64, set: u64) {
        self.put_words(DATA, &[set]);
        assert_eq!(self.value(SIGPROCMASK, &[how, DATA, 0, 8]), 0);
    }

    fn attend(&mut self, context: &mut Context) -> Option<Effect> {
        self.calls.attend(0, context, &mut self.memory)
    }
}

fn context() -> Context {
    let mut integers = std::array::from_fn(|number| number as u64);
    integers[SP] = STACK;
    Context { pc: 0x1_0100, integers, floats: [7; 32], fcsr: 0, netmap: 0x5001 }
}

const USR1: u64 = 1 << (SIGUSR1 - 1);

#[test]
fn a_handler_begins_with_the_signals_number_and_returns_to_where_the_thread_was() {
    let mut process = Process::new();
    process.handle_signal(SIGUSR1, HANDLER, 0);
    assert_eq!(process.call(KILL, &[1000, SIGUSR1]), CallResult::from(0));
    let (before, mut now) = (context(), context());
    assert_eq!(process.attend(&mut now), None);
    assert_eq!((now.pc, now.integers[A0], now.integers[SP]), (HANDLER, SIGUSR1, STACK - 1088));
    assert_eq!(now.netmap, 0x5000, "a handler has its registers");
    let frame = now.integers[SP];
    assert_eq!(process.memory.number(frame), SIGUSR1);
    assert_eq!(process.memory.number(frame + 16), 1000 | 1000 << 32, "the sender's process and user");
    assert_eq!(now.integers[A0 + 1..A0 + 3], [frame, frame + 128]);
    // li a7, 139; ecall
    assert_eq!(process.memory.number(now.integers[1]), 0x73_08b0_0893);
    process.call(KILL, &[1000, SIGUSR1]);
    assert!(!process.calls.has_to_attend(0), "it is blocked while its handler is at work");
    process.put(frame + 304, &0x1_0200_u64.to_le_bytes());
    process.call(SIGRETURN, &[]);
    assert_eq!(process.attend(&mut now), None);
    assert_eq!((now.pc, now.integers[SP]), (HANDLER, frame), "the second one comes at once");
    process.call(SIGRETURN, &[]);
    process.attend(&mut now);
    assert_eq!(now, Context { pc: 0x1_0200, ..before }, "a handler may change where the thread goes on");
}

#[test]
fn a_blocked_signal_waits_and_an_ignored_one_is_gone() {
    let mut process = Process::new();
    let killed = Some(Effect::Killed { signal: SIGUSR1, name: "SIGUSR1" });
    process.block(0, USR1);
    assert_eq!(process.call(KILL, &[1000, SIGUSR1]).effect, None);
    assert_eq!(process.value(136, &[DATA]), 0);
    assert_eq!(process.memory.number(DATA), USR1);
    process.block(1, USR1);
    assert_eq!(process.attend(&mut context()), killed);
    process.handle_signal(SIGUSR1, 1, 0);
    assert_eq!(process.call(KILL, &[1000, SIGUSR1]), CallResult::from(0));
    assert!(!process.calls.has_to_attend(0));
    process.handle_signal(SIGUSR1, 0, 0);
    assert_eq!(process.call(130, &[1000, SIGUSR1]).effect, killed);
    assert_eq!(process.value(131, &[1, 1000, SIGUSR1]), -ESRCH.0);
    for signal in [0, 9, 19, 65] {
        assert_eq!(process.value(SIGACTION, &[signal, DATA, 0, 8]), -EINVAL.0, "{signal}");
    }
    assert_eq!(process.value(SIGPROCMASK, &[3, DATA, 0, 8]), -EINVAL.0);
}

#[test]
fn flags_say_what_a_handler_blocks_and_whether_it_stays() {
    let mut process = Process::new();
    process.handle_signal(SIGUSR1, HANDLER, NO_DEFER | RESET);
    process.call(KILL, &[1000, SIGUSR1]);
    process.attend(&mut context());
    assert_eq!(process.value(SIGPROCMASK, &[0, 0, DATA, 8]), 0);
    assert_eq!(process.memory.number(DATA), 0, "nothing is blocked");
    process.value(SIGACTION, &[SIGUSR1, 0, DATA, 8]);
    assert_eq!(process.memory.number(DATA), 0, "the default is back");
}

#[test]
fn a_fault_has_its_address_and_its_own_stack_or_says_why_its_handler_cannot_begin() {
    let mut process = Process::new();
    let fault =
        Fault { kind: FaultKind::Store(AccessFault::Protected), pc: 0x1_0100, address: CONSTANTS, bits: 0 };
    let faults = |process: &mut Process, stack: u64| {
        let mut now = context();
        now.integers[SP] = stack;
        process.calls.handle_fault(0, &fault, &mut now, &mut process.memory).map(|()| now)
    };
    assert_eq!(faults(&mut process, STACK), Err(None));
    process.handle_signal(SIGSEGV, HANDLER, ON_STACK);
    let words = faults(&mut process, 0x500).expect_err("nothing is there").expect("words");
    assert!(words.contains("sigaltstack"), "{words}");
    process.put_words(DATA, &[DATA, 0, 2048]);
    process.call(SIGALTSTACK, &[DATA, DATA + 64]);
    let mut now = context();
    process.attend(&mut now);
    assert_eq!((now.integers[A0], process.memory.number(DATA + 72)), (0, 2), "there was none");
    let now = faults(&mut process, 0x500).expect("it begins");
    let frame = now.integers[SP];
    assert_eq!((now.pc, now.integers[A0], frame), (HANDLER, SIGSEGV, DATA + 2048 - 1088));
    assert_eq!((process.memory.number(frame + 8), process.memory.number(frame + 16)), (2, CONSTANTS));
    assert_eq!(process.memory.number(frame + 304), 0x1_0100);
    let words = faults(&mut process, frame).expect_err("it is at work").expect("words");
    assert!(words.contains("blocks it"), "{words}");
    process.handle_signal(SIGSEGV, 1, 0);
    assert!(faults(&mut process, STACK).expect_err("ignored").expect("words").contains("ignores SIGSEGV"));
}

#[test]
fn a_call_that_sleeps_is_ended_by_a_signal_and_made_again_if_the_handler_wants_that() {
    for (flags, time, again) in [(0, 0, false), (RESTART, 0, true), (RESTART, DATA + 64, false)] {
        let mut process = Process::new();
        process.calls = process.calls.with_processors(2);
        process.handle_signal(SIGUSR1, HANDLER, flags);
        process.put_words(DATA, &[0]);
        process.put_words(DATA + 64, &[9, 0]);
        // The second thread waits for a word, and the first sends it a signal.
        assert_eq!(process.call(220, &[0x50f00, 0]).value, 1001);
        let arguments = [DATA, 0, 0, time, 0, 0];
        process.calls.handle_of(1, 98, arguments, &mut process.memory, 0);
        assert_eq!(process.calls.awaited_word(1), Some(DATA));
        let effect = process.call(131, &[1000, 1001, SIGUSR1]).effect;
        assert_eq!(effect, Some(Effect::Interrupt(vec![1])));
        let mut now = context();
        assert_eq!(process.calls.attend(1, &mut now, &mut process.memory), None);
        assert_eq!((now.pc, process.calls.awaited_word(1)), (HANDLER, None));
        let frame = now.integers[SP];
        let (pc, first) = (process.memory.number(frame + 304), process.memory.number(frame + 304 + 80));
        let expected = if again { (0x1_0100 - 4, DATA) } else { (0x1_0100, -EINTR.0 as u64) };
        assert_eq!((pc, first), expected, "flags {flags:#x}, time {time:#x}");
    }
}

#[test]
fn a_signal_that_came_before_a_call_is_handled_first() {
    let mut process = Process::new();
    process.calls = process.calls.with_processors(2);
    process.handle_signal(SIGUSR1, HANDLER, 0);
    process.call(220, &[0x50f00, 0]);
    assert_eq!(process.call(131, &[1000, 1001, SIGUSR1]), CallResult::from(0), "it computes");
    let arguments = [DATA, 0, 0, 0, 0, 0];
    assert_eq!(process.calls.handle_of(1, 98, arguments, &mut process.memory, 0), CallResult::from(0));
    assert_eq!(process.calls.awaited_word(1), None);
    let mut now = context();
    process.calls.attend(1, &mut now, &mut process.memory);
    assert_eq!(process.memory.number(now.integers[SP] + 304), 0x1_0100 - 4);
}

#[test]
fn a_thread_suspended_for_a_signal_has_its_own_mask_again_behind_the_handler() {
    let mut process = Process::new();
    process.handle_signal(SIGUSR1, HANDLER, 0);
    process.block(0, USR1);
    process.call(KILL, &[1000, SIGUSR1]);
    process.put_words(DATA, &[0]);
    assert_eq!(process.call(133, &[DATA, 8]).effect, None, "one waits already");
    let mut now = context();
    process.attend(&mut now);
    let frame = now.integers[SP];
    assert_eq!((now.pc, process.memory.number(frame + 168)), (HANDLER, USR1));
    assert_eq!(process.memory.number(frame + 304 + 80), -EINTR.0 as u64);
    assert_eq!(process.call(133, &[DATA, 8]).effect, Some(Effect::Sleep { until_ns: None }));
    assert!(process.calls.sleeps_for_ever(0));
}
