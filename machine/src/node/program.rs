//! The program on a node: its system calls, its ends, its failures.
//!
//! Threads of a process have a processor each, by the place that they have in the
//! books of its system calls ([`threads`](super::threads) starts, stops and wakes
//! them).
//!
//! No kernel is simulated: a system call is carried out at its beginning, and takes
//! the time that the machine's file states ([`crate::config::operating_system`]).

use std::fmt::Write as _;

use narthex_cores::Fault;
use narthex_cores::linux::{
    Context, Effect, FaultReport, GuestMemory, NarthexCall, OutputStream, SystemCalls, changes_nothing,
    is_firmwares, is_simulators, write_registers,
};
use narthex_interfaces::Device;
use narthex_interfaces::declarations;
use narthex_interfaces::programming::Requirement;
use narthex_interfaces::registers::Addresses;
use narthex_kernel::{Duration, Time};

use super::Node;
use super::NodeProcessor;
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
        let NodeProcessor { processor, process, state, .. } = &mut self.processors[index];
        let (now, process) = (processor.now(), *process);
        let is_caller = std::mem::replace(state, State::Running) == State::Calling;
        self.callers -= usize::from(is_caller);
        self.end_polling(index);
        if let Some(fault) = self.processors[index].processor.has_faulted() {
            return self.fault(index, &fault);
        }
        let is_firmware = self.processes[process].personality == Personality::Bare;
        let processor = &self.processors[index].processor;
        let number = processor.x(A7);
        if is_firmware && !is_firmwares(number) {
            return self.fail(index, "firmware calls a system, and there is none on its processor");
        }
        let arguments = std::array::from_fn(|place| processor.x(A0 + place));
        let (thread, calls, mut memory) = self.system_of(index);
        let result = calls.handle_of(thread, number, arguments, &mut memory, now.as_ps() / 1_000);
        if is_firmware && result.value < 0 {
            return self.fail(index, "firmware hands over a text that is not in its memory, or no stream");
        }
        if let Some(Effect::Narthex(call)) = &result.effect
            && self.waits_at(index, now, call)
        {
            return self.note_progress(now);
        }
        // What firmware tells shows no progress: it may tell that it waits.
        if !is_firmware && !changes_nothing(number, arguments, &result) {
            self.note_progress(now);
        }
        let mut value = result.value;
        let mut time = match is_simulators(number) || is_firmware {
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
        self.attend(index);
        self.spend_in_system(index, now, time);
    }

    /// The place of a processor's thread in the books of its process, these, and its memory.
    pub(super) fn system_of(
        &mut self,
        index: usize,
    ) -> (usize, &mut SystemCalls, NodeMemory<'_, NodeProcessor>) {
        let Node { processors, processes, memories, devices, interconnects, .. } = self;
        let Process { pages, calls, processors: own, .. } = &mut processes[processors[index].process];
        let home = &mut memories[usize::from(processors[index].ports.memory.0)];
        let thread = index - own.start;
        let memory = NodeMemory {
            caches: processors,
            own: index,
            main: &mut home.bytes,
            pages,
            block_bytes: home.block_bytes,
            devices: [devices, &mut []],
            interconnects,
        };
        (thread, calls, memory)
    }

    /// Handlers of signals begin or return on a thread, if its process has not ended.
    fn attend(&mut self, index: usize) {
        let NodeProcessor { processor, process, state, .. } = &self.processors[index];
        let Process { calls, processors: own, .. } = &self.processes[*process];
        if *state == State::Exited || !calls.has_to_attend(index - own.start) {
            return;
        }
        let (now, mut context) = (processor.now(), processor.context());
        let (thread, calls, mut memory) = self.system_of(index);
        let end = calls.attend(thread, &mut context, &mut memory);
        self.processors[index].processor.restore(&context);
        self.note_progress(now);
        if let Some(effect) = end {
            self.carry_out(index, now, effect);
        }
    }

    /// The threads at these places of a process go on, whose sleep a signal has ended, or what
    /// they have waited for.
    fn interrupt_threads(&mut self, now: Time, process: usize, places: &[usize]) {
        let first = self.processes[process].processors.start;
        self.wake_threads(now, process, places);
        places.iter().for_each(|place| self.attend(first + place));
    }

    /// The operating system works for a process.
    pub(super) fn spend_in_system(&mut self, index: usize, now: Time, time: Duration) {
        let state = self.processors[index].state;
        if matches!(state, State::Exited | State::Vacant) {
            return;
        }
        let waited = self.tiles_lookahead.unwrap_or(Duration::ZERO);
        let time = if time > waited { time - waited } else { Duration::ZERO };
        if time.is_zero() {
            if !waited.is_zero() && state != State::Sleeping {
                self.book(index, now, Occupation::Execute);
            }
            return;
        }
        self.book(index, now, Occupation::SystemCall);
        let processor = &mut self.processors[index].processor;
        processor.pass_until(now + time);
        let end = processor.now();
        match state {
            State::Sleeping => self.book_sleep(index, end),
            _ => self.book(index, end, Occupation::Execute),
        }
    }

    fn carry_out(&mut self, index: usize, now: Time, effect: Effect) {
        let process = self.processors[index].process;
        match effect {
            Effect::Device { .. } => unreachable!("a device gives the call's value"),
            Effect::Output { stream, bytes } => self.write(index, stream, bytes),
            Effect::Notice(text) => {
                let line = format!("narthex: {}: {text}\n", self.place(process));
                self.write(index, OutputStream::Error, line.into_bytes());
            }
            Effect::Exit(code) => self.end(now, process, Ended::Exited(code)),
            Effect::Start(thread) => self.start_thread(now, index, thread),
            Effect::ExitThread { woken } => {
                self.wake_threads(now, process, &woken);
                self.end_thread(now, index);
            }
            Effect::Sleep { until_ns } => self.sleep(now, index, until_ns),
            Effect::Wake(woken) => self.wake_threads(now, process, &woken),
            Effect::Interrupt(places) => self.interrupt_threads(now, process, &places),
            Effect::Killed { signal, name } => {
                let text = format!("the program ended itself with signal {signal} ({name})");
                self.end_by_its_own_call(index, &text);
            }
            Effect::Narthex(NarthexCall::Report { name, value, unit }) => {
                self.processes[process].reports.push(Report { name, value, unit });
            }
            Effect::Narthex(NarthexCall::Checkpoint) => {}
            Effect::Narthex(NarthexCall::Fail(message)) => self.end_by_its_own_call(index, &message),
            Effect::Narthex(NarthexCall::Region { name, begin: true }) => {
                self.tell_of_region(now, index, &name, true);
                let counts = self.counts(index, now);
                self.processes[process].regions.begin(index, name, now, counts);
            }
            Effect::Narthex(NarthexCall::Region { name, begin: false }) => {
                self.tell_of_region(now, index, &name, false);
                let counts = self.counts(index, now);
                if !self.processes[process].regions.end(index, name.clone(), now, &counts) {
                    let by =
                        if self.processes[process].processors.len() > 1 { " on this thread" } else { "" };
                    let message = format!("the region {name:?} ends, but has not begun{by}");
                    self.end_by_its_own_call(index, &message);
                }
            }
        }
    }

    /// What a program does now is no waiting for messages.
    fn end_polling(&mut self, index: usize) {
        self.processors[index].activities.end_polling();
        self.probe.tell_held(index, false);
    }

    fn tell_of_region(&mut self, now: Time, processor: usize, name: &str, begins: bool) {
        self.probe.all().iter_mut().for_each(|probe| probe.region(now, processor, name, begins));
    }

    fn write(&mut self, index: usize, stream: OutputStream, bytes: Vec<u8>) {
        let NodeProcessor { processor, process, .. } = &self.processors[index];
        let (at, process) = (processor.now(), *process);
        let stream = match self.processes[process].personality {
            Personality::Linux => stream,
            Personality::Bare => OutputStream::Firmware,
        };
        self.output.push_back(Output { at, process, stream, bytes });
    }

    /// A process ends: its processors stop.
    pub(super) fn end(&mut self, now: Time, process: usize, ended: Ended) {
        // A device may still find a mistake in what the program left behind.
        if self.processes[process].failure().is_none() {
            self.processes[process].ended = Some((now, ended));
        }
        for index in self.processes[process].processors.clone() {
            self.disturb(now, index);
            let unit = &mut self.processors[index];
            if unit.state != State::Exited {
                self.callers -= usize::from(unit.state == State::Calling);
                unit.state = State::Exited;
                let at = now.max(unit.ledger.booked_until());
                self.end_polling(index);
                self.book_as(index, at, (Activity::Exited, Occupation::Execute));
            }
        }
    }

    /// Nothing runs as this process: it has ended before the run begins.
    pub(crate) fn leave_vacant(&mut self, process: usize) {
        self.end(Time::ZERO, process, Ended::Exited(0));
    }

    /// The program has called what ends it: the message says what is wrong, and registers nothing more.
    fn end_by_its_own_call(&mut self, index: usize, message: &str) {
        let now = self.processors[index].processor.now();
        let text = self.describe_failure(now, index, message);
        self.end(now, self.processors[index].process, Ended::Failed(text));
    }

    /// A device or the node refuses what the program does.
    pub(super) fn fail(&mut self, index: usize, message: &str) {
        let now = self.processors[index].processor.now();
        self.fail_on(now, index, message);
    }

    /// A check failed at an instant that is not that of a process's processor.
    pub(super) fn fail_at(&mut self, now: Time, process: usize, message: &str) {
        self.fail_on(now, self.processes[process].processors.start, message);
    }

    /// The same for one of its processors.
    pub(super) fn fail_on(&mut self, now: Time, index: usize, message: &str) {
        let mut text = self.describe_failure(now, index, message);
        let (integers, floats) = self.registers(index);
        let _ = write_registers(&mut text, &integers, &floats);
        self.end(now, self.processors[index].process, Ended::Failed(text));
    }

    /// A message with who, where and when.
    fn describe_failure(&mut self, now: Time, index: usize, message: &str) -> String {
        self.disturb(now, index);
        let mut text = format!("{}: {message}\n", self.who(index));
        text += &self.describe_calls(index);
        let _ = writeln!(text, "  simulated time {now}");
        text
    }

    /// An instruction cannot be executed: the program's handler begins, if it has one.
    pub(super) fn fault(&mut self, index: usize, fault: &Fault) {
        if self.processors[index].processor.has_loads_under_way() {
            // The handler sees all registers: the instruction is tried again when they are there.
            self.processors[index].processor.forget_fault();
            return self.wait_for_load(index);
        }
        let NodeProcessor { processor, process, .. } = &self.processors[index];
        let (now, mut context) = (processor.now(), processor.context());
        let unhandled = match self.processes[*process].personality {
            Personality::Bare => None,
            Personality::Linux => {
                let (thread, calls, mut memory) = self.system_of(index);
                match calls.handle_fault(thread, fault, &mut context, &mut memory) {
                    Err(unhandled) => unhandled,
                    Ok(()) => return self.begin_handler(index, now, &context),
                }
            }
        };
        self.end_by_fault(index, fault, unhandled);
    }

    fn begin_handler(&mut self, index: usize, now: Time, context: &Context) {
        let processor = &mut self.processors[index].processor;
        processor.forget_fault();
        processor.restore(context);
        let time = self.operating_system.time_of_call(0);
        self.spend_in_system(index, now, time);
    }

    /// A fault ends its process.
    fn end_by_fault(&mut self, index: usize, fault: &Fault, unhandled: Option<String>) {
        let calls = self.call_chain(index);
        let NodeProcessor { processor, process, .. } = &self.processors[index];
        let (now, process) = (processor.now(), *process);
        let (integers, floats) = self.registers(index);
        let report = FaultReport {
            who: &self.who(index),
            fault: *fault,
            calls: &calls[1..],
            integers: &integers,
            floats: &floats,
            program: &self.processes[process].program,
            space: self.processes[process].calls.space(),
            owner: self.owner_of(process, fault.address).or_else(|| self.lacking_at(fault.address)),
            unhandled,
        };
        let text = report.to_string();
        self.end(now, process, Ended::Failed(text));
    }

    /// What an address is of an interface with parts in tiles, if the node's is another one.
    fn lacking_at(&self, address: u64) -> Option<String> {
        let lacking = declarations::gathered(|programming| programming.requirements).into_iter().find_map(
            |requirement| match requirement {
                Requirement::TileAddresses { start, end, lacking } => {
                    (start..end).contains(&address).then_some(lacking)
                }
                _ => None,
            },
        )?;
        let has_tiles = |device: &dyn Device| device.ports().iter().any(|port| port.of_tile.is_some());
        (!self.devices.iter().any(|device| has_tiles(&**device))).then(|| lacking.to_owned())
    }

    /// A process by its node and, where there are several, its number.
    pub fn place(&self, process: usize) -> String {
        let (node, processes) = (self.id.0, self.programs());
        match processes {
            _ if process >= processes => {
                let processor = self.processes[process].processors.start;
                format!("node {node}, firmware on processor {processor}")
            }
            1 => format!("node {node}"),
            _ => format!("node {node}, process {process} (rank {})", usize::from(node) * processes + process),
        }
    }

    /// The thread that a processor runs, where its process can have several.
    pub(super) fn thread_name(&self, index: usize) -> Option<String> {
        let process = &self.processes[self.processors[index].process];
        let number = || process.calls.thread_number(index - process.processors.start);
        (process.processors.len() > 1).then(|| format!("thread {} on processor {index}", number()))
    }

    /// Who did something wrong, or waits, at the beginning of a message.
    pub(super) fn who(&self, index: usize) -> String {
        let place = self.place(self.processors[index].process);
        match self.thread_name(index) {
            Some(thread) => format!("{place}, {thread}"),
            None if self.processes.len() == 1 => format!("{place}, processor {index}"),
            None => place,
        }
    }

    /// What an address is, if it belongs to another process of the node.
    fn owner_of(&self, process: usize, address: u64) -> Option<String> {
        let owner = usize::from(Addresses::process_at(address)?);
        (owner != process && owner < self.processes.len()).then(|| Addresses::describe(address))?
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
    pub(super) fn read_words(&mut self, index: usize, address: u64) -> Option<[u64; 2]> {
        let mut bytes = [0; 16];
        let (_, _, mut memory) = self.system_of(index);
        memory.read(address, &mut bytes).ok()?;
        Some([0, 8].map(|at| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))))
    }

    /// The integer and the floating-point registers of a processor.
    fn registers(&self, index: usize) -> ([u64; 32], [u64; 32]) {
        let Context { integers, floats, .. } = self.processors[index].processor.context();
        (integers, floats)
    }

    /// An address with its function and source line, as far as known.
    pub(super) fn location(&self, index: usize, address: u64) -> String {
        let program = &self.processes[self.processors[index].process].program;
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
