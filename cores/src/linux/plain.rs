//! A program on one processor with plain memory: no caches and no network.
//!
//! This is the least that runs a program, and so the place to see how the
//! parts fit. Differential tests and benchmarks use it; simulated nodes do the
//! same around a memory system of their own.

use super::{
    CallResult, Context, Effect, FaultReport, Invocation, NarthexCall, Program, StartError, SystemCalls,
    start,
};
use crate::{Code, Config, Fault, FlatMemory, Processor, Stop, Timing};
use narthex_kernel::Time;

/// The registers of the calling convention: stack pointer, first argument (and
/// result), number of a system call.
const SP: usize = 2;
const A0: usize = 10;
const A7: usize = 17;

/// How a program ended.
#[derive(Clone, Debug, PartialEq)]
pub enum End {
    /// It exited with this code.
    Exit(u8),
    /// It ended itself by the signal of this name.
    Killed(&'static str),
    /// It reported a failed check.
    Failed(String),
    /// It did what no program may do.
    Fault(Fault),
    /// Its time was over.
    Horizon,
    /// It waits for something that never happens. Plain memory never makes a
    /// processor wait, so this is a mistake of the simulator.
    Stuck,
}

/// A program that runs with plain memory, on a processor with timing `T`.
pub struct PlainProcess<'a, T> {
    program: &'a Program,
    processor: Processor<T>,
    memory: FlatMemory,
    calls: SystemCalls,
    /// Why the program's handler did not begin for the fault that has ended it.
    unhandled: Option<String>,
}

impl<'a, T: Timing> PlainProcess<'a, T> {
    /// Puts the program into memory and sets up a processor of this (valid)
    /// configuration.
    pub fn start(program: &'a Program, invocation: &Invocation, config: &Config) -> Result<Self, StartError> {
        let mut memory = FlatMemory::new();
        let started = start(program, invocation, &mut memory)?;
        let code = Code::from_segments(program.code());
        let mut processor = Processor::new(config, code.into());
        processor.set_pc(started.program_counter);
        processor.set_x(SP, started.stack_pointer);
        let calls = SystemCalls::for_process(started.space, invocation.seed);
        Ok(PlainProcess { program, processor, memory, calls, unhandled: None })
    }

    /// Runs the program to its end. What its system calls do to the outside,
    /// apart from ending it, goes to `outside`.
    pub fn run(&mut self, outside: impl FnMut(&Effect)) -> End {
        self.run_until(Time::NEVER, outside)
    }

    /// The same up to an instant of the processor's time.
    pub fn run_until(&mut self, until: Time, mut outside: impl FnMut(&Effect)) -> End {
        loop {
            match self.processor.run(&mut self.memory, until) {
                Stop::SystemCall => {
                    let effect = self.call().effect;
                    if let Some(end) = effect.as_ref().and_then(ended_by) {
                        return end;
                    }
                    // No other thread could wake it: it goes on at once, as it may on Linux.
                    if matches!(effect, Some(Effect::Sleep { .. })) {
                        self.calls.time_is_over(0);
                    }
                    effect.iter().for_each(&mut outside);
                    if let Some(end) = self.attend().as_ref().and_then(ended_by) {
                        return end;
                    }
                }
                Stop::Marker(_) => {}
                Stop::Fault => {
                    let fault = self.processor.fault();
                    if let Err(unhandled) = self.handle(&fault) {
                        self.unhandled = unhandled;
                        return End::Fault(fault);
                    }
                }
                Stop::Horizon => return End::Horizon,
                Stop::Wait | Stop::NotReady | Stop::WaitForInterrupt => return End::Stuck,
            }
        }
    }

    /// Instructions retired.
    pub fn retired(&self) -> u64 {
        self.processor.retired()
    }

    /// The processor, to see its registers.
    pub fn processor(&self) -> &Processor<T> {
        &self.processor
    }

    /// What the user reads about a fault of this program.
    pub fn report(&self, fault: Fault) -> String {
        let integers = std::array::from_fn(|number| self.processor.x(number));
        let floats = std::array::from_fn(|number| self.processor.f(number));
        let report = FaultReport {
            who: "node 0, processor 0",
            fault,
            calls: &[integers[1]],
            integers: &integers,
            floats: &floats,
            program: self.program,
            space: self.calls.space(),
            owner: None,
            unhandled: self.unhandled.clone(),
        };
        report.to_string()
    }

    fn call(&mut self) -> CallResult {
        let arguments = std::array::from_fn(|index| self.processor.x(A0 + index));
        let now_ns = self.processor.now().as_ps() / 1_000;
        let result = self.calls.handle(self.processor.x(A7), arguments, &mut self.memory, now_ns);
        self.processor.set_x(A0, result.value as u64);
        result
    }

    /// Handlers of signals begin or return.
    fn attend(&mut self) -> Option<Effect> {
        if !self.calls.has_to_attend(0) {
            return None;
        }
        let mut context = Context::of(&self.processor);
        let effect = self.calls.attend(0, &mut context, &mut self.memory);
        context.restore(&mut self.processor);
        effect
    }

    /// The handler of a fault begins.
    fn handle(&mut self, fault: &Fault) -> Result<(), Option<String>> {
        let mut context = Context::of(&self.processor);
        self.calls.handle_fault(0, fault, &mut context, &mut self.memory)?;
        self.processor.forget_fault();
        context.restore(&mut self.processor);
        Ok(())
    }
}

fn ended_by(effect: &Effect) -> Option<End> {
    match effect {
        Effect::Exit(code) => Some(End::Exit(*code)),
        Effect::Killed { name, .. } => Some(End::Killed(name)),
        Effect::Narthex(NarthexCall::Fail(message)) => Some(End::Failed(message.clone())),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assemble::assemble;
    use crate::test_elf::Image;
    use crate::{FaultKind, Functional};

    fn image(text: &str) -> Vec<u8> {
        let mut image = Image::sound();
        image.segments[0].bytes = assemble(0x1_0000, text).expect("sound assembly");
        image.segments[0].memory_bytes = image.segments[0].bytes.len() as u64;
        image.segments[1].bytes = b"hello".to_vec();
        image.build()
    }

    fn process(program: &Program) -> PlainProcess<'_, Functional> {
        PlainProcess::start(program, &Invocation::default(), &Config::simple()).expect("it starts")
    }

    #[test]
    fn a_program_writes_and_exits() {
        let text = "addi a0, zero, 1
            lui a1, 0x20
            addi a1, a1, 4
            addi a2, zero, 5
            addi a7, zero, 64
            ecall
            addi a7, zero, 93
            ecall";
        let program = Program::parse("prog", image(text)).expect("sound");
        let mut process = process(&program);
        let mut written = Vec::new();
        let end = process.run(|effect| {
            if let Effect::Output { bytes, .. } = effect {
                written.extend(bytes);
            }
        });
        assert_eq!((end, written.as_slice()), (End::Exit(5), b"hello".as_slice()));
        assert_eq!(process.retired(), 8);
    }

    #[test]
    fn a_program_that_turns_for_ever_is_left_at_the_instant_that_was_asked_for() {
        let program = Program::parse("prog", image("again: j again")).expect("sound");
        assert_eq!(process(&program).run_until(Time::from_ps(1_000_000), |_| {}), End::Horizon);
    }

    #[test]
    fn a_fault_ends_the_program_and_is_reported() {
        let program = Program::parse("prog", image("ld a0, 16(zero)")).expect("sound");
        let mut process = process(&program);
        let End::Fault(fault) = process.run(|_| {}) else { panic!("a load of address 16 faults") };
        assert!(matches!(fault.kind, FaultKind::Load(_)));
        assert!(process.report(fault).contains("a null pointer?"));
    }
}
