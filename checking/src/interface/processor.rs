//! The processor: the compiled program and the driver in it, up to their next
//! access to the interface.
//!
//! A step of the processor is one access to an address that it shares with the
//! interface, and the instructions behind it up to the next such access. What
//! lies between only computes in memory that nothing else sees, so its
//! instant changes nothing.

use std::hash::{Hash, Hasher};
use std::ops::Range;
use std::sync::Arc;

use narthex_cores::linux::{Effect, NarthexCall, SystemCalls};
use narthex_cores::{Code, Config, Functional, Processor, Stop};
use narthex_kernel::digest::Digest;
use narthex_memory::ProcessorMemory;
use narthex_memory::main_memory::MainMemory;
use narthex_memory::pages::PageTable;

use super::memory::Words;
use super::port::{Access, CheckedPort};
use crate::explore::Violation;

/// The program itself does not fail.
pub const NO_FAULT: &str = "the driver does nothing that the interface or the machine refuses";

/// Instructions that a step may have; more is a program that will never stop.
const LONGEST_STEP: u64 = 10_000_000;

/// The program hands a message over: its address and its length.
const CALL_RECEIVED: u64 = 0x4e80;

const SP: usize = 2;
const A0: usize = 10;
const A7: usize = 17;

/// How far below the stack's beginning a program may get.
const STACK_BYTES: u64 = 1 << 20;

/// What a processor takes with it from one step to the next.
#[derive(Clone, Hash, Debug)]
pub struct Registers {
    pc: u64,
    integers: [u64; 32],
    floats: [u64; 32],
    fcsr: u32,
    /// Whose x30 and x31 are.
    netmap: u64,
}

/// What the processor is doing between two steps.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ProcessorState {
    /// It stands before its next access.
    Ready,
    /// Its access waits for the bus.
    Waiting,
    /// Its program has ended.
    Exited,
}

/// A program on a processor with a cache: what a state holds of it.
#[derive(Clone, Debug)]
pub struct Guest {
    /// The registers.
    pub registers: Registers,
    /// Private memory, and the node's main memory.
    pub memory: Words,
    /// The data cache and the store buffer.
    pub caches: ProcessorMemory,
    /// What it is doing.
    pub doing: ProcessorState,
    /// Where its next access goes, where that is known.
    pub next: Option<u64>,
    /// The kernel's side of its process.
    calls: Arc<SystemCalls>,
    /// A digest of the system calls so far; it stands for their state.
    called: u64,
}

impl Guest {
    /// Feeds the state to `hasher`. What lies below the stack pointer was
    /// forgotten at the end of the step.
    pub fn hash_state<H: Hasher>(&self, hasher: &mut H) {
        (&self.registers, self.memory.changed(), self.doing, self.called).hash(hasher);
        self.caches.hash_state(hasher);
    }
}

/// The outcome of a step.
#[derive(Debug, Default)]
pub struct StepOutcome {
    /// The access with which the step began.
    pub access: Option<Access>,
    /// Messages that the program handed over.
    pub received: Vec<Vec<u8>>,
}

/// The processor that executes the steps of all states, one after the other.
pub struct Executor {
    processor: Processor<Functional>,
    /// The pages that are shared with the interface.
    pages: PageTable,
    private: Vec<Range<u64>>,
    code_memory: MainMemory,
    stack_top: u64,
}

impl Executor {
    /// A processor for this code. Accesses in the devices' region that are not
    /// in `private` are steps; `pages` says what is there.
    pub fn new(config: &Config, code: Arc<Code>, pages: PageTable, private: Vec<Range<u64>>) -> Self {
        let mut processor = Processor::new(config, code);
        processor.stop_clock();
        Executor { processor, pages, private, code_memory: MainMemory::default(), stack_top: 0 }
    }

    /// Runs the program from its first instruction to its first shared access.
    pub fn start(
        &mut self,
        [program_counter, stack_pointer]: [u64; 2],
        memory: Words,
        caches: ProcessorMemory,
        calls: SystemCalls,
    ) -> Result<Guest, Violation> {
        let mut integers = [0; 32];
        integers[SP] = stack_pointer;
        self.stack_top = stack_pointer;
        let registers = Registers { pc: program_counter, integers, floats: [0; 32], fcsr: 0, netmap: 0 };
        let calls = Arc::new(calls);
        let mut guest =
            Guest { registers, memory, caches, doing: ProcessorState::Ready, next: None, calls, called: 0 };
        self.run(&mut guest, false)?;
        guest.memory = guest.memory.freeze();
        Ok(guest)
    }

    /// Lets the program make its next shared access and go on to the one after it.
    pub fn step(&mut self, guest: &mut Guest) -> Result<StepOutcome, Violation> {
        self.run(guest, true)
    }

    fn run(&mut self, guest: &mut Guest, steps: bool) -> Result<StepOutcome, Violation> {
        self.restore(&guest.registers);
        let mut stepped = StepOutcome::default();
        guest.doing = ProcessorState::Ready;
        guest.next = None;
        let mut may_access = steps;
        while guest.doing == ProcessorState::Ready {
            let until = self.processor.now() + self.processor_time();
            let mut port = CheckedPort {
                memory: &mut guest.memory,
                shared: guest.caches.port(&self.pages, &mut self.code_memory),
                private: &self.private,
                may_access,
                access: None,
                stopped_at: None,
            };
            let stop = self.processor.run(&mut port, until);
            may_access = port.may_access;
            guest.next = port.stopped_at;
            stepped.access = stepped.access.or(port.access);
            match stop {
                Stop::Marker(_) => {}
                Stop::Wait if guest.next.is_some() => break,
                Stop::Wait if guest.caches.wait_reason().is_some() => {
                    guest.doing = ProcessorState::Waiting;
                    guest.caches.end_block_move();
                }
                // A store that was posted: the program goes on at once.
                Stop::Wait => {}
                Stop::NotReady => unreachable!("the form's processor waits for its misses"),
                Stop::SystemCall => self.call(guest, &mut stepped)?,
                Stop::Horizon => {
                    let words = format!("the program executes {LONGEST_STEP} instructions without an access");
                    return Err(Violation { property: NO_FAULT, words });
                }
                Stop::WaitForInterrupt => unreachable!("programs have no interrupts"),
                Stop::Fault => {
                    return Err(Violation {
                        property: NO_FAULT,
                        words: format!("the program fails: {}", self.processor.fault()),
                    });
                }
            }
        }
        guest.registers = self.save();
        let sp = guest.registers.integers[SP];
        // The calling convention has no red zone: this is not read again.
        guest.memory.forget(self.stack_top - STACK_BYTES..sp);
        Ok(stepped)
    }

    fn processor_time(&self) -> narthex_kernel::Duration {
        let cycle = narthex_kernel::Duration::from_ns(1);
        cycle * LONGEST_STEP
    }

    /// A system call: it may end the program or hand a message over.
    fn call(&mut self, guest: &mut Guest, stepped: &mut StepOutcome) -> Result<(), Violation> {
        let number = self.processor.x(A7);
        let arguments: [u64; 6] = std::array::from_fn(|place| self.processor.x(A0 + place));
        if number == CALL_RECEIVED {
            let mut payload = vec![0; arguments[1] as usize];
            guest.memory.read_bytes(arguments[0], &mut payload);
            stepped.received.push(payload);
            return Ok(());
        }
        let result = Arc::make_mut(&mut guest.calls).handle(number, arguments, &mut guest.memory, 0);
        self.processor.set_x(A0, result.value as u64);
        let mut digest = Digest::default();
        (guest.called, number, arguments, result.value).hash(&mut digest);
        guest.called = digest.finish();
        let fail = |words| Err(Violation { property: NO_FAULT, words });
        match result.effect {
            Some(Effect::Exit(0)) => guest.doing = ProcessorState::Exited,
            Some(Effect::Exit(code)) => return fail(format!("the program ends with exit code {code}")),
            Some(Effect::Narthex(NarthexCall::Fail(message))) => {
                return fail(format!("the program fails: {message}"));
            }
            Some(Effect::Killed { name, .. }) => return fail(format!("the program ends itself by {name}")),
            _ => {}
        }
        Ok(())
    }

    fn restore(&mut self, registers: &Registers) {
        self.processor.set_pc(registers.pc);
        for number in 0..32 {
            self.processor.set_x(number, registers.integers[number]);
            self.processor.set_f(number, registers.floats[number]);
        }
        self.processor.set_fcsr(registers.fcsr);
        self.processor.set_netmap(registers.netmap);
    }

    fn save(&self) -> Registers {
        Registers {
            pc: self.processor.pc(),
            integers: std::array::from_fn(|number| self.processor.x(number)),
            floats: std::array::from_fn(|number| self.processor.f(number)),
            fcsr: self.processor.fcsr(),
            netmap: self.processor.netmap(),
        }
    }
}
