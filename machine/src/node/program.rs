//! The program on a node: its system calls, its ends, its failures.
//!
//! No kernel is simulated: a system call is carried out at its beginning, and takes
//! the time that the machine's file states ([`crate::config::operating_system`]).

use std::fmt::Write as _;

use narthex_cores::Fault;
use narthex_cores::linux::{
    Effect, FaultReport, GuestMemory, NarthexCall, OutputStream, is_simulators, write_registers,
};
use narthex_interfaces::registers::Addresses;
use narthex_kernel::{Duration, Time};

use super::Node;
use super::memory::NodeMemory;
use super::process::{Ended, Output, Personality, Process, Report};
use super::processor::State;
use crate::activity::{Activity, Occupation};

/// The number of the register that holds a system call's number.
const A7: usize = 17;
/// The number of the first argument register.
const A0: usize = 10;

impl Node {
    pub(super) fn system_call(&mut self, index: usize) {
        let now = self.processors[index].processor.now();
        if self.processes[index].personality == Personality::Bare {
            return self.fail(index, "firmware calls a system, and there is none on its processor");
        }
        self.got_further(now);
        let processor = &self.processors[index].processor;
        let number = processor.x(A7);
        let arguments = std::array::from_fn(|place| processor.x(A0 + place));
        let Node { processors, processes, memories, devices, interconnects, .. } = self;
        let Process { pages, calls, .. } = &mut processes[index];
        let home = &mut memories[usize::from(processors[index].seats.memory.0)];
        let mut memory = NodeMemory {
            caches: processors,
            own: index,
            main: &mut home.bytes,
            pages,
            block_bytes: home.block_bytes,
            devices: [devices, &[]],
            interconnects,
        };
        let result = calls.handle(number, arguments, &mut memory, now.as_ps() / 1_000);
        let mut value = result.value;
        let mut time = match is_simulators(number) {
            true => Duration::ZERO,
            false => self.operating_system.time_of_call(result.pages),
        };
        match result.effect {
            Some(Effect::Device { place, request, argument }) => {
                let (answer, further) = self.call_device(now, index, place, (request, argument));
                (value, time) = (answer, time + further);
            }
            Some(effect) => self.carry_out(index, now, effect),
            None => {}
        }
        self.processors[index].processor.set_x(A0, value as u64);
        self.spend_in_system(index, now, time);
    }

    /// The operating system works for a process.
    fn spend_in_system(&mut self, index: usize, now: Time, time: Duration) {
        if time.is_zero() || self.processors[index].state == State::Exited {
            return;
        }
        self.book(index, now, Occupation::SystemCall);
        let processor = &mut self.processors[index].processor;
        processor.pass(now + time);
        let end = processor.now();
        self.book(index, end, Occupation::Execute);
    }

    fn carry_out(&mut self, index: usize, now: Time, effect: Effect) {
        let process = &mut self.processes[index];
        match effect {
            Effect::Device { .. } => unreachable!("a device gives the call's value"),
            Effect::Output { stream, bytes } => self.write(index, stream, bytes),
            Effect::Notice(text) => {
                let line = format!("narthex: {}: {text}\n", self.place(index));
                self.write(index, OutputStream::Error, line.into_bytes());
            }
            Effect::Exit(code) => self.end(now, index, Ended::Exited(code)),
            Effect::Killed { signal, name } => {
                let text = format!("the program ended itself with signal {signal} ({name})");
                self.fail(index, &text);
            }
            Effect::Narthex(NarthexCall::Report { name, value, unit }) => {
                process.reports.push(Report { name, value, unit });
            }
            Effect::Narthex(NarthexCall::Fail(message)) => self.fail(index, &message),
            Effect::Narthex(NarthexCall::Region { name, begin: true }) => {
                let counts = self.counts(index, now);
                self.processes[index].regions.begin(name, now, counts);
            }
            Effect::Narthex(NarthexCall::Region { name, begin: false }) => {
                let counts = self.counts(index, now);
                if !self.processes[index].regions.end(&name, now, &counts) {
                    self.fail(index, &format!("the region {name:?} ends, but has not begun"));
                }
            }
        }
    }

    fn write(&mut self, process: usize, stream: OutputStream, bytes: Vec<u8>) {
        let at = self.processors[process].processor.now();
        self.output.push_back(Output { at, process, stream, bytes });
    }

    /// A process ends: its processor stops.
    pub(super) fn end(&mut self, now: Time, index: usize, ended: Ended) {
        // A device may still find a mistake in what the program left behind.
        if self.processes[index].failure().is_none() {
            self.processes[index].ended = Some((now, ended));
        }
        let unit = &mut self.processors[index];
        if unit.state != State::Exited {
            unit.state = State::Exited;
            let at = now.max(unit.ledger.booked_until());
            self.book_as(index, at, (Activity::Exited, Occupation::Execute));
        }
    }

    /// A check failed, in the program or in a device that it used wrongly.
    pub(super) fn fail(&mut self, index: usize, message: &str) {
        let now = self.processors[index].processor.now();
        self.fail_at(now, index, message);
    }

    /// A check failed at an instant that is not the processor's.
    pub(super) fn fail_at(&mut self, now: Time, index: usize, message: &str) {
        let mut text = format!("{}: {message}\n", self.who(index));
        text += &self.describe_calls(index);
        let _ = writeln!(text, "  simulated time {now}");
        let (integers, floats) = self.registers(index);
        let _ = write_registers(&mut text, &integers, &floats);
        self.end(now, index, Ended::Failed(text));
    }

    /// An instruction cannot be executed.
    pub(super) fn fault(&mut self, index: usize, fault: &Fault) {
        let processor = &self.processors[index].processor;
        let now = processor.now();
        let (integers, floats) = self.registers(index);
        let report = FaultReport {
            who: &self.who(index),
            fault: *fault,
            integers: &integers,
            floats: &floats,
            program: &self.processes[index].program,
            space: self.processes[index].calls.space(),
            owner: self.owner_of(index, fault.address),
        };
        let text = report.to_string();
        self.end(now, index, Ended::Failed(text));
    }

    /// A process by its node and, where there are several, its number.
    pub fn place(&self, index: usize) -> String {
        let (node, processes) = (self.id.0, self.programs());
        match processes {
            _ if index >= processes => format!("node {node}, firmware on processor {index}"),
            1 => format!("node {node}"),
            _ => format!("node {node}, process {index} (rank {})", usize::from(node) * processes + index),
        }
    }

    /// Who did something wrong, or waits, at the beginning of a message.
    pub(super) fn who(&self, index: usize) -> String {
        match self.processes.len() {
            1 => format!("{}, processor {index}", self.place(index)),
            _ => self.place(index),
        }
    }

    /// What an address is, if it belongs to another process of the node.
    fn owner_of(&self, index: usize, address: u64) -> Option<String> {
        let owner = usize::from(Addresses::process_at(address)?);
        (owner != index && owner < self.processes.len()).then(|| Addresses::describe(address))?
    }

    /// Where a processor is, and the calls that led there, innermost first. It
    /// follows the frame pointers that `narthex cc` has programs keep: in front
    /// of where s0 points are the return address and the caller's s0. Code
    /// without them, but for leaf functions, ends the chain early.
    pub(super) fn call_chain(&mut self, index: usize) -> Vec<u64> {
        const LONGEST: usize = 12;
        let processor = &self.processors[index].processor;
        let mut chain = vec![processor.pc()];
        let (mut frame, stack) = (processor.x(8), processor.x(2));
        // A leaf keeps no frame: its caller is in the return address register,
        // where another function finds an address of its own once it has called.
        // The first function was not called: its return address is zero.
        let program = self.processes[index].program.clone();
        let function = |address| program.symbol(address).map(|(name, _)| name);
        let (here, return_address) = (processor.pc(), processor.x(1));
        if return_address != 0 && (frame < stack || function(return_address) != function(here)) {
            chain.push(return_address);
        }
        while chain.len() < LONGEST && frame > stack && frame % 8 == 0 {
            let Some([caller_frame, return_address]) = self.read_words(index, frame.wrapping_sub(16)) else {
                break;
            };
            if program.symbol(return_address).is_none() {
                break;
            }
            chain.push(return_address);
            if caller_frame <= frame {
                break;
            }
            frame = caller_frame;
        }
        chain
    }

    /// The call chain in lines. A return address is behind its call, which may
    /// be the last instruction of a function: the line is that of the byte before.
    pub(super) fn describe_calls(&mut self, index: usize) -> String {
        let chain = self.call_chain(index);
        let mut text = format!("  at          {}\n", self.location(index, chain[0]));
        for return_address in &chain[1..] {
            let _ = writeln!(text, "  called from {}", self.location(index, return_address.wrapping_sub(1)));
        }
        text
    }

    /// Two doublewords of a process's memory, where there is any.
    fn read_words(&mut self, index: usize, address: u64) -> Option<[u64; 2]> {
        let mut bytes = [0; 16];
        let Node { processors, processes, memories, devices, interconnects, .. } = self;
        let home = &mut memories[usize::from(processors[index].seats.memory.0)];
        let mut memory = NodeMemory {
            caches: processors,
            own: index,
            main: &mut home.bytes,
            pages: &mut processes[index].pages,
            block_bytes: home.block_bytes,
            devices: [devices, &[]],
            interconnects,
        };
        memory.read(address, &mut bytes).ok()?;
        Some([0, 8].map(|at| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))))
    }

    /// The integer and the floating-point registers of a processor.
    fn registers(&self, index: usize) -> ([u64; 32], [u64; 32]) {
        let processor = &self.processors[index].processor;
        (std::array::from_fn(|number| processor.x(number)), std::array::from_fn(|number| processor.f(number)))
    }

    /// An address with its function and source line, as far as known.
    pub(super) fn location(&self, index: usize, address: u64) -> String {
        let program = &self.processes[index].program;
        let mut text = format!("{address:#x}");
        if let Some((name, offset)) = program.symbol(address) {
            let _ = write!(text, " {name}+{offset:#x}");
        }
        if let Some(line) = program.source_line(address) {
            let _ = write!(text, " ({line})");
        }
        text
    }
}
