//! Programs of a few lines, run to their end.
#![allow(dead_code)]

use narthex_cores::assemble::assemble;
use narthex_cores::linux::{GuestMemory, Protection};
use narthex_cores::{
    Code, Config, Fault, FlatMemory, Functional, InOrder, PredictorConfig, PredictorKind, Processor, Stop,
    Timing, WindowConfig,
};
use narthex_kernel::Time;

/// Where programs are.
pub const TEXT: u64 = 0x1_0000;
/// 64 KiB of data.
pub const DATA: u64 = 0x10_0000;

/// A processor with this program, and its memory.
pub fn prepared<T: Timing>(config: &Config, source: &str) -> (Processor<T>, FlatMemory) {
    let code = assemble(TEXT, source).unwrap_or_else(|error| panic!("{error}"));
    let mut memory = FlatMemory::with_range(DATA, 0x1_0000);
    memory.map(TEXT, 0x1000, Protection { read: true, write: false, execute: true });
    memory.write(TEXT, &code).unwrap();
    let mut processor = Processor::new(config, Code::new(TEXT, &code).into());
    processor.set_pc(TEXT);
    (processor, memory)
}

/// A core with a window: four instructions a cycle; a division takes 20 cycles.
pub fn windowed() -> Config {
    Config {
        issue_width: 4,
        load_use_cycles: 4,
        multiply_cycles: 3,
        divide_cycles: 20,
        misses: Some(8),
        window: Some(WindowConfig {
            entries: 64,
            load_queue: 32,
            store_queue: 32,
            mispredict_cycles: 10,
            mmio_loads_serialise: true,
            predictor: PredictorConfig { kind: PredictorKind::Bimodal, entries: 256 },
        }),
        ..Config::simple()
    }
}

/// Runs a program to its first stop, functionally.
pub fn run_program(source: &str) -> (Processor<Functional>, Stop) {
    let (mut processor, mut memory) = prepared(&Config::simple(), source);
    let stop = processor.run(&mut memory, Time::NEVER);
    (processor, stop)
}

/// Runs a program whose first stop is a fault.
pub fn run_to_fault(source: &str) -> (Processor<Functional>, Fault) {
    let (processor, stop) = run_program(source);
    assert_eq!(stop, Stop::Fault, "{source}");
    let fault = processor.fault();
    (processor, fault)
}

/// Runs a program that ends well; an `ecall` is added to it.
pub fn run(source: &str) -> Processor<Functional> {
    let (processor, stop) = run_program(&format!("{source}\n ecall"));
    assert_eq!(stop, Stop::SystemCall);
    processor
}

/// fa0 and the flags after a program that begins with these fa0 and fa1.
pub fn float_result(source: &str, fa0: f64, fa1: f64) -> (f64, u32) {
    let (mut processor, mut memory) = prepared::<Functional>(&Config::simple(), &format!("{source}\n ecall"));
    processor.set_f(10, fa0.to_bits());
    processor.set_f(11, fa1.to_bits());
    assert_eq!(processor.run(&mut memory, Time::NEVER), Stop::SystemCall);
    (f64::from_bits(processor.f(10)), processor.fcsr() & 31)
}

/// The cycle in which the `ecall` behind a program issues, in order.
pub fn cycles(config: &Config, source: &str) -> u64 {
    slots(config, source) / config.issue_width
}

/// The slot in which the `ecall` behind a program issues, in order. The
/// program is preceded by an aligned start: nothing is counted but itself.
pub fn slots(config: &Config, source: &str) -> u64 {
    let (mut processor, mut memory) = prepared::<InOrder>(config, &format!("{source}\n ecall"));
    processor.set_x(8, DATA);
    assert_eq!(processor.run(&mut memory, Time::NEVER), Stop::SystemCall);
    let slots = config.clock.clock().divided_by(config.issue_width);
    // The call itself took the slot before now.
    slots.number_at_or_after(processor.now()) - 1
}
