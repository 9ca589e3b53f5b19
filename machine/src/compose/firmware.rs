//! The processors that run firmware: what they run, and where it lies.

use std::ops::Range;
use std::sync::Arc;

use narthex_cores::linux::{Program, SystemCalls};
use narthex_cores::{AnyProcessor, Code, firmware};
use narthex_kernel::{Time, did_you_mean};
use narthex_memory::AgentId;
use narthex_memory::main_memory::MainMemory;
use narthex_memory::pages::{PageAttributes, PageTable};
use narthex_memory::translation::Translation;

use super::{Blueprint, Running};
use crate::config::{FIRMWARE, ProcessorPart};
use crate::node::memory::NodeMemory;
use crate::node::{Personality, Process};
use crate::request::{Failure, RunRequest};

/// A program for processors without a system.
pub(super) struct Firmware {
    program: Arc<Program>,
    code: Arc<Code>,
}

impl Blueprint<'_> {
    /// The same machine with firmware for the processors that run it by this name.
    pub fn with_firmware(mut self, name: &str, program: Program) -> Self {
        let line_bytes = self.config.fetch_line_bytes();
        let code = Arc::new(Code::for_lines(line_bytes, program.code()));
        self.firmware.insert(name.to_owned(), Firmware { program: Arc::new(program), code });
        self
    }

    /// The same machine with the firmware that a request gives it.
    ///
    /// # Errors
    /// If a file is no firmware, or nothing runs it.
    pub fn with_firmware_of(self, request: &RunRequest) -> Result<Self, Failure> {
        let named = |part: &ProcessorPart| part.runs.strip_prefix(FIRMWARE).map(str::to_owned);
        let wanted: Vec<String> = self.whole.node.processors.values().filter_map(named).collect();
        let mut given = self;
        for (name, firmware) in &request.firmware {
            if !wanted.contains(name) {
                let wants = match &wanted[..] {
                    [] => "no processor of it runs firmware".to_owned(),
                    names => format!("its processors run {}", names.join(", ")),
                };
                let hint = did_you_mean(name, wanted.iter().map(String::as_str));
                let machine = &given.machine;
                return Err(Failure::usage(format!(
                    "firmware {name:?} is given to {machine}, and {wants}{hint}"
                )));
            }
            let program = Program::parse_firmware(&firmware.file, &*firmware.elf).map_err(Failure::usage)?;
            given = given.with_firmware(name, program);
        }
        Ok(given)
    }

    /// Firmware about to start: its segments are in memory, and the registers of
    /// the devices beside it can be reached, and what it may cache of their memory.
    pub(super) fn firmware_process(
        &self,
        agent: AgentId,
        (part, name): (&str, &str),
        [registers, homes]: [Vec<Range<u64>>; 2],
        main: &mut MainMemory,
    ) -> Result<(Running, Process), Failure> {
        let usage = |problem: String| {
            Failure::usage(format!("{}: node.processors.{part}.runs: {problem}", self.machine))
        };
        let firmware = self.firmware.get(name).ok_or_else(|| {
            usage(format!(
                "runs firmware {name:?}, which is not given; give its file: --firmware {name}=FILE"
            ))
        })?;
        let part = &self.config.node.processors[part];
        self.check_place(part, &firmware.program, &registers).map_err(usage)?;
        let core = self.config.core_named(&part.core);
        let mut processor = AnyProcessor::new(core, firmware.code.clone());
        if let Some(cycles) = core.interrupt_cycles {
            processor = processor.with_interrupts(cycles);
        }
        let mut memory =
            self.memory_of(0, agent, part).with_translation(Translation::default()).with_invalidation();
        let mut pages = PageTable::default();
        if let Some((_, range)) = self.memory_of_firmware(part) {
            let attributes = PageAttributes { kind: memory.page_kind(), ..PageAttributes::DATA };
            pages.map(range.start, range.end - range.start, attributes);
        }
        let block_bytes = self.block_bytes();
        let caches = std::slice::from_mut(&mut memory);
        let (devices, interconnects) = ([&mut [][..], &mut []], &mut [][..]);
        let mut loader =
            NodeMemory { caches, own: 0, main, pages: &mut pages, block_bytes, devices, interconnects };
        let started = firmware::start(&firmware.program, &mut loader).map_err(Failure::usage)?;
        let homes =
            homes.into_iter().filter(|_| part.has_caches()).map(|range| (range, PageAttributes::DATA));
        let registers = registers.into_iter().map(|range| (range, PageAttributes::DEVICE));
        for (range, attributes) in homes.chain(registers) {
            pages.map(range.start, range.end - range.start, attributes);
        }
        processor.set_pc(started.program_counter);
        let calls = SystemCalls::for_process(started.space, self.seed);
        let process = Process::new(firmware.program.clone(), Personality::Bare, pages, calls)
            .with_first_processor(agent.0.into());
        Ok(((processor, memory), process))
    }

    /// The name and the addresses of the memory of a processor that runs firmware, if
    /// they are stated.
    fn memory_of_firmware(&self, part: &ProcessorPart) -> Option<(&str, Range<u64>)> {
        let here = || self.config.node.memories.iter().filter(|(_, memory)| memory.is_on(&part.on));
        let of_all = here().find(|(_, memory)| memory.range().is_none());
        let (name, memory) = of_all.or_else(|| here().next())?;
        Some((name, memory.range()?))
    }

    /// The cycles of a processor that an access to its local memory takes.
    pub(super) fn access_cycles(&self, part: &ProcessorPart) -> u32 {
        let (name, _) = self.memory_of_firmware(part).expect("checked with the machine");
        let access_time = self.config.memory_named(name).access_time;
        let clock = self.config.core_named(&part.core).clock.clock();
        clock.number_at_or_after(Time::ZERO + access_time).max(1) as u32
    }

    /// Refuses firmware that is not where its processor has memory for it.
    fn check_place(
        &self,
        part: &ProcessorPart,
        program: &Program,
        registers: &[Range<u64>],
    ) -> Result<(), String> {
        check_stack(program)?;
        let file = program.name();
        let shares = part.on == self.config.node.host().1.on;
        let of_programs = 0..u64::from(self.config.processes_per_node()) * Translation::SPACE_BYTES;
        for segment in program.segments() {
            let here = segment.address..segment.end();
            let words = format!("'{file}' has a segment from {:#x} to {:#x}", here.start, here.end);
            let overlaps = |other: &Range<u64>| here.start < other.end && other.start < here.end;
            if let Some(device) = registers.iter().find(|range| overlaps(range)) {
                return Err(format!(
                    "{words}, where registers of a device are ({:#x} to {:#x}): link it elsewhere",
                    device.start, device.end
                ));
            }
            if shares && overlaps(&of_programs) {
                return Err(format!(
                    "{words}, where the node's processes are: on their bus firmware begins at {:#x} or higher",
                    of_programs.end
                ));
            }
            if let Some((name, memory)) = self.memory_of_firmware(part)
                && (here.start < memory.start || here.end > memory.end)
            {
                let Range { start, end } = memory;
                let too_large = segment.memory_bytes > end - start;
                let why = if too_large { "is too large for" } else { "does not lie in" };
                return Err(format!(
                    "{words}, which {why} its memory: node.memories.{name} has {start:#x} to {end:#x} \
                     ({} bytes); link it for that, or change the memory's start or size",
                    end - start
                ));
            }
        }
        Ok(())
    }
}

/// The end of the stack of firmware that `narthex cc --firmware` has linked.
const STACK_TOP: &str = "firmware_stack_top";

/// Refuses firmware that says where its stack is, if it cannot be written there.
fn check_stack(program: &Program) -> Result<(), String> {
    let Some(top) = program.address_of(STACK_TOP) else { return Ok(()) };
    let last = top.wrapping_sub(1);
    let holding = program.segments().iter().find(|segment| segment.contains(last));
    let problem = match holding {
        Some(segment) if segment.protection.write => return Ok(()),
        Some(segment) => {
            format!("in its segment from {:#x} to {:#x}, which is read-only", segment.address, segment.end())
        }
        None => "in none of its segments".to_owned(),
    };
    Err(format!(
        "'{}' has its stack end at {top:#x} ({STACK_TOP}), {problem}: put it behind the data, where \
         guest/firmware/firmware.ld has it",
        program.name()
    ))
}
