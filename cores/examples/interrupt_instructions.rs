//! Runs turns of a loop that enables an interrupt, with or without its line asserted, so
//! that a tool can count the host instructions of an interrupt as a difference:
//!
//! ```text
//! cargo build --release -p narthex-cores --example interrupt_instructions
//! valgrind --tool=callgrind target/release/examples/interrupt_instructions asserted 100000
//! ```
//!
//! The handler masks the line and returns: two instructions of each interrupt are its own.
//! Run it with two counts and take the difference, to leave out the start.

use std::process::ExitCode;

use narthex_cores::assemble::assemble;
use narthex_cores::linux::{GuestMemory, Protection};
use narthex_cores::{Code, Config, FlatMemory, InOrder, Processor, Stop};
use narthex_kernel::Time;

const TEXT: u64 = 0x1_0000;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [lines, turns] = &arguments[..] else {
        eprintln!("usage: interrupt_instructions asserted|quiet TURNS");
        return ExitCode::from(2);
    };
    let source = format!(
        "
        jal   t0, main
        csrrc zero, 0x004, t1
        uret
    main:
        csrrw zero, 0x005, t0
        csrrsi zero, 0x000, 1
        li    t1, 0x10000
        li    s0, {turns}
    loop:
        csrrs zero, 0x004, t1
        addi  s0, s0, -1
        bnez  s0, loop
        ecall"
    );
    let code = assemble(TEXT, &source).expect("a sound program");
    let mut memory = FlatMemory::new();
    memory.map(TEXT, 0x1000, Protection { read: true, write: false, execute: true });
    memory.write(TEXT, &code).expect("it is mapped");
    let code = Code::new(TEXT, &code);
    let mut processor = Processor::<InOrder>::new(&Config::simple(), code.into()).with_interrupts(1);
    processor.set_pc(TEXT);
    processor.assert_lines(u64::from(lines == "asserted"));
    assert_eq!(processor.run(&mut memory, Time::NEVER), Stop::SystemCall);
    println!("{} instructions", processor.retired());
    ExitCode::SUCCESS
}
