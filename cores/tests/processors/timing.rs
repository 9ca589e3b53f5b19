//! Exact cycles of short programs on in-order processors.

use crate::common::{DATA, TEXT, cycles, prepared, slots};
use narthex_cores::assemble::assemble;
use narthex_cores::linux::{GuestMemory, Protection};
use narthex_cores::{Code, Config, FlatMemory, Functional, InOrder, Processor, Stop};
use narthex_kernel::{Duration, Time};
use narthex_memory::Port;
use narthex_memory::port::{AccessFault, Outcome, PortResult};
use narthex_memory::protocols::Access;

fn single_issue() -> Config {
    Config {
        load_use_cycles: 2,
        store_cycles: 2,
        branch_taken_cycles: 3,
        multiply_cycles: 4,
        divide_cycles: 20,
        float_add_cycles: 3,
        float_multiply_cycles: 5,
        float_divide_cycles: 12,
        float_square_root_cycles: 15,
        ..Config::simple()
    }
}

fn dual_issue() -> Config {
    Config { issue_width: 2, ..single_issue() }
}

#[test]
fn one_instruction_issues_in_a_cycle() {
    assert_eq!(cycles(&single_issue(), "nop\n nop\n nop"), 3);
}

#[test]
fn two_independent_instructions_issue_together() {
    assert_eq!(slots(&dual_issue(), "li a0, 1\n li a1, 2"), 2);
    assert_eq!(slots(&dual_issue(), "li a0, 1\n li a1, 2\n li a2, 3"), 3);
}

#[test]
fn a_dependent_instruction_issues_in_the_next_cycle() {
    assert_eq!(slots(&dual_issue(), "li a0, 1\n mv a1, a0"), 3);
    // The pair of the second slot waits for the start of the next cycle only.
    assert_eq!(slots(&dual_issue(), "nop\n li a0, 1\n mv a1, a0"), 3);
}

#[test]
fn four_instructions_issue_together_on_a_wide_processor() {
    let config = Config { issue_width: 4, ..single_issue() };
    assert_eq!(cycles(&config, "li a0, 1\n li a1, 2\n li a2, 3\n li a3, 3\n li a4, 4"), 1);
    assert_eq!(slots(&config, "li a0, 1\n mv a1, a0\n mv a2, a1"), 9);
}

#[test]
fn a_load_delays_its_user_but_not_others() {
    assert_eq!(cycles(&single_issue(), "ld a0, 0(s0)\n nop"), 2);
    assert_eq!(cycles(&single_issue(), "ld a0, 0(s0)\n mv a1, a0"), 3);
    assert_eq!(cycles(&single_issue(), "ld a0, 0(s0)\n nop\n mv a1, a0"), 3);
}

#[test]
fn one_memory_access_issues_in_a_cycle() {
    assert_eq!(slots(&dual_issue(), "ld a0, 0(s0)\n ld a1, 8(s0)"), 3);
    assert_eq!(slots(&dual_issue(), "ld a0, 0(s0)\n nop\n ld a1, 8(s0)"), 3);
}

#[test]
fn a_store_occupies_the_memory_port() {
    assert_eq!(cycles(&single_issue(), "sd zero, 0(s0)\n nop"), 2);
    assert_eq!(cycles(&single_issue(), "sd zero, 0(s0)\n ld a0, 0(s0)"), 3);
}

#[test]
fn a_taken_branch_costs_its_penalty_and_an_untaken_one_nothing() {
    assert_eq!(cycles(&single_issue(), "bnez zero, next\n next: nop"), 2);
    assert_eq!(cycles(&single_issue(), "beqz zero, next\n next: nop"), 1 + 3 + 1);
    // The rest of the branch's own cycle is lost too.
    assert_eq!(slots(&dual_issue(), "beqz zero, next\n next: nop"), 2 + 6 + 1);
}

#[test]
fn one_branch_issues_in_a_cycle() {
    assert_eq!(slots(&dual_issue(), "bnez zero, a\n a: bnez zero, b\n b: nop"), 4);
}

#[test]
fn multiplications_are_pipelined_and_divisions_are_not() {
    let use_both = "\n add a4, a0, a1";
    let multiply = format!("mul a0, a2, a3\n mul a1, a2, a3 {use_both}");
    assert_eq!(cycles(&single_issue(), &multiply), 1 + 4 + 1);
    let divide = format!("div a0, a2, a3\n div a1, a2, a3 {use_both}");
    assert_eq!(cycles(&single_issue(), &divide), 20 + 20 + 1);
}

#[test]
fn floating_point_latencies_are_those_of_the_configuration() {
    let use_result = "\n fmv.x.d a0, fa0";
    for (instruction, latency) in [
        ("fadd.d fa0, fa1, fa2", 3),
        ("fmul.d fa0, fa1, fa2", 5),
        ("fmadd.d fa0, fa1, fa2, fa3", 5),
        ("fdiv.d fa0, fa1, fa2", 12),
        ("fsqrt.d fa0, fa1", 15),
        ("fsgnj.d fa0, fa1, fa2", 1),
    ] {
        let program = format!("{instruction}{use_result}");
        assert_eq!(cycles(&single_issue(), &program), latency + 1, "{instruction}");
    }
}

#[test]
fn a_fused_multiply_add_waits_for_its_addend() {
    let program = "fdiv.d fa3, fa1, fa2\n fmadd.d fa0, fa1, fa2, fa3";
    assert_eq!(cycles(&single_issue(), program), 12 + 1);
}

#[test]
fn markers_take_no_time_and_are_not_counted() {
    let (mut processor, mut memory) =
        prepared::<InOrder>(&single_issue(), "nop\n slti zero, zero, 0x4e1\n nop\n ecall");
    assert_eq!(processor.run(&mut memory, Time::NEVER), Stop::Marker(0x4e1));
    assert_eq!((processor.pc(), processor.retired()), (TEXT + 8, 1));
    assert_eq!(processor.now(), Time::from_ps(1_000));
    assert_eq!(processor.run(&mut memory, Time::NEVER), Stop::SystemCall);
    assert_eq!(processor.retired(), 3);
    assert_eq!(processor.now(), Time::from_ps(3_000));
}

#[test]
fn the_counters_tell_cycles_and_nanoseconds() {
    let config = Config { clock: "200MHz".parse().unwrap(), ..single_issue() };
    let program = "nop\n csrrs a0, 0xc00, zero\n csrrs a1, 0xc01, zero\n ecall";
    let (mut processor, mut memory) = prepared::<InOrder>(&config, program);
    assert_eq!(processor.run(&mut memory, Time::NEVER), Stop::SystemCall);
    assert_eq!((processor.x(10), processor.x(11)), (1, 10));
    assert_eq!((processor.cycles(), processor.retired()), (4, 4));
}

/// Memory that makes the first accesses of each kind wait, and counts.
struct Slow {
    memory: FlatMemory,
    waits: usize,
    loads: usize,
    fetches: Vec<u64>,
    /// What it does by itself for an access, by its time.
    serves: fn(Time) -> PortResult,
    /// What stores asked for.
    stored: Vec<u64>,
}

impl Slow {
    fn over(memory: FlatMemory, waits: usize) -> Self {
        let serves = |_| PortResult::No;
        Slow { memory, waits, loads: 0, fetches: Vec::new(), serves, stored: Vec::new() }
    }

    fn waits<V>(&mut self, then: impl FnOnce(&mut FlatMemory) -> Outcome<V>) -> Outcome<V> {
        if self.waits > 0 {
            self.waits -= 1;
            return Outcome::Wait;
        }
        then(&mut self.memory)
    }
}

impl Port for Slow {
    fn serve(
        &mut self,
        _: u64,
        _: usize,
        access: Access,
        value: u64,
        now: impl FnOnce() -> Time,
    ) -> PortResult {
        if access == Access::Store {
            self.stored.push(value);
        }
        (self.serves)(now())
    }
    fn load_hit<const SIZE: usize>(&mut self, _: u64) -> Option<u64> {
        None
    }
    fn store_hit<const SIZE: usize>(&mut self, _: u64, _: u64) -> bool {
        false
    }
    fn fetch_hit(&mut self, address: u64) -> bool {
        self.fetches.push(address);
        true
    }
    fn load(&mut self, address: u64, size: usize) -> Outcome<u64> {
        self.loads += 1;
        self.waits(|memory| memory.load(address, size))
    }
    fn store(&mut self, address: u64, size: usize, value: u64) -> Outcome<()> {
        self.waits(|memory| memory.store(address, size, value))
    }
    fn fetch(&mut self, _: u64) -> Outcome<()> {
        unreachable!("every fetch hits")
    }
    fn code(&mut self, address: u64) -> Result<u32, AccessFault> {
        self.memory.code(address)
    }
    fn load_reserved(&mut self, address: u64, size: usize) -> Outcome<u64> {
        self.waits(|memory| memory.load_reserved(address, size))
    }
    fn store_conditional(&mut self, address: u64, size: usize, value: u64) -> Outcome<bool> {
        self.waits(|memory| memory.store_conditional(address, size, value))
    }
    fn load_for_update(&mut self, address: u64, size: usize) -> Outcome<u64> {
        self.waits(|memory| memory.load_for_update(address, size))
    }
    fn fence(&mut self) -> Outcome<()> {
        self.waits(|memory| memory.fence())
    }
    fn fence_instructions(&mut self) -> Outcome<()> {
        Outcome::Done(())
    }
    fn code_removals(&self) -> u64 {
        self.memory.code_removals()
    }
}

#[test]
fn an_access_that_waits_is_repeated_when_the_processor_is_resumed() {
    for instruction in [
        "ld a0, 0(s0)",
        "sd a0, 0(s0)",
        "amoadd.d a0, a0, (s0)",
        "lr.d a0, (s0)",
        "sc.d a0, a0, (s0)",
        "fence",
    ] {
        let program = format!("nop\n {instruction}\n ecall");
        let (mut processor, memory) = prepared::<InOrder>(&dual_issue(), &program);
        let mut memory = Slow::over(memory, 1);
        processor.set_x(8, DATA);
        assert_eq!(processor.run(&mut memory, Time::NEVER), Stop::Wait, "{instruction}");
        assert_eq!((processor.pc(), processor.retired()), (TEXT + 4, 1), "{instruction}");
        processor.resume_at(Time::from_ps(10_300));
        assert_eq!(processor.now(), Time::from_ps(11_000), "{instruction}");
        assert_eq!(processor.run(&mut memory, Time::NEVER), Stop::SystemCall, "{instruction}");
        assert_eq!(processor.retired(), 3, "{instruction}");
    }
}

#[test]
fn a_resumed_processor_executes_one_instruction_even_at_the_horizon() {
    let program = "ld a0, 0(s0)\n ld a1, 8(s0)\n ecall";
    let (mut processor, memory) = prepared::<InOrder>(&single_issue(), program);
    let mut memory = Slow::over(memory, 1);
    processor.set_x(8, DATA);
    let horizon = Time::from_ps(5_000);
    assert_eq!(processor.run(&mut memory, horizon), Stop::Wait);
    processor.resume_at(Time::from_ps(9_000));
    assert_eq!(processor.run(&mut memory, horizon), Stop::Horizon);
    assert_eq!((processor.pc(), memory.loads), (TEXT + 4, 2));
    assert_eq!(processor.run(&mut memory, horizon), Stop::Horizon);
    assert_eq!((processor.pc(), memory.loads), (TEXT + 4, 2));
}

#[test]
fn no_access_is_made_at_the_horizon_or_later() {
    let program = "nop\n nop\n sd s0, 0(s0)\n ecall";
    let (mut processor, mut memory) = prepared::<InOrder>(&single_issue(), program);
    processor.set_x(8, DATA);
    assert_eq!(processor.run(&mut memory, Time::from_ps(2_000)), Stop::Horizon);
    assert_eq!(memory.load(DATA, 8), Outcome::Done(0));
    assert_eq!(processor.run(&mut memory, Time::from_ps(2_001)), Stop::Horizon);
    assert_eq!(memory.load(DATA, 8), Outcome::Done(DATA));
}

#[test]
fn accesses_that_hit_are_made_ahead_and_a_system_call_is_not() {
    let program = "nop\n sd s0, 0(s0)\n nop\n nop\n sd s0, 8(s0)\n ecall";
    let (mut processor, mut memory) = prepared::<InOrder>(&single_issue(), program);
    processor.set_x(8, DATA);
    // Its page hits from now on.
    assert_eq!(memory.store(DATA, 8, 0), Outcome::Done(()));
    let [until, hits_until] = [1_000, 4_000].map(Time::from_ps);
    assert_eq!(processor.run_ahead(&mut memory, until, hits_until), Stop::Horizon);
    assert_eq!([0, 8].map(|place| memory.load(DATA + place, 8)), [DATA, 0].map(Outcome::Done));
    assert_eq!(processor.run_ahead(&mut memory, until, Time::from_ps(9_000)), Stop::Horizon);
    assert_eq!(memory.load(DATA + 8, 8), Outcome::Done(DATA));
    assert_eq!((processor.pc(), processor.retired()), (TEXT + 20, 5));
    assert_eq!(processor.run_ahead(&mut memory, Time::from_ps(9_000), Time::NEVER), Stop::SystemCall);
}

#[test]
fn what_leaves_the_caches_is_not_made_ahead_unless_the_processor_was_resumed_for_it() {
    for instruction in ["ld a0, 0(s0)", "sd a0, 0(s0)", "amoadd.d a0, a0, (s0)", "lr.d a0, (s0)", "fence"] {
        let (mut processor, memory) =
            prepared::<InOrder>(&single_issue(), &format!("nop\n {instruction}\n ecall"));
        let mut memory = Slow::over(memory, 1);
        processor.set_x(8, DATA);
        let until = Time::from_ps(1_000);
        assert_eq!(processor.run_ahead(&mut memory, until, Time::NEVER), Stop::Horizon, "{instruction}");
        assert_eq!((processor.pc(), memory.waits), (TEXT + 4, 1), "{instruction}");
        assert_eq!(processor.run_ahead(&mut memory, Time::from_ps(1_001), Time::NEVER), Stop::Wait);
        processor.resume_at(Time::from_ps(3_000));
        assert_eq!(processor.run_ahead(&mut memory, until, Time::NEVER), Stop::Horizon, "{instruction}");
        assert_eq!((processor.pc(), processor.retired()), (TEXT + 8, 2), "{instruction}");
    }
}

#[test]
fn a_register_that_the_port_accesses_by_itself_is_there_when_that_is_over() {
    // The load issues at 1 ns and is over at 6 ns, the store at 7 ns and 12 ns.
    let program = "nop\n lw a0, 0(s0)\n sw a1, 0(s0)\n ecall";
    for stops in [false, true] {
        let (mut processor, memory) = prepared::<InOrder>(&single_issue(), program);
        let serves: fn(Time) -> PortResult = match stops {
            false => |now| PortResult::Register { over: now + Duration::from_ns(5), value: 7, stops: false },
            true => |now| PortResult::Register { over: now + Duration::from_ns(5), value: 7, stops: true },
        };
        let mut port = Slow { serves, ..Slow::over(memory, 0) };
        processor.set_x(11, 0x1_0000_0005);
        if stops {
            for (pc, now) in [(8, 7_000), (12, 13_000)] {
                assert_eq!(processor.run(&mut port, Time::NEVER), Stop::Horizon);
                assert_eq!((processor.pc(), processor.now()), (TEXT + pc, Time::from_ps(now)));
            }
        }
        assert_eq!(processor.run(&mut port, Time::NEVER), Stop::SystemCall);
        assert_eq!((processor.now(), processor.retired()), (Time::from_ps(14_000), 4));
        assert_eq!((processor.x(10), &port.stored[..]), (7, &[5][..]), "a word is stored");
        assert_eq!(port.loads, 0, "each access is served");
    }
}

#[test]
fn a_processor_stops_before_an_access_that_a_device_refuses() {
    let (mut processor, memory) = prepared::<InOrder>(&single_issue(), "nop\n ld a0, 0(s0)\n ecall");
    let mut port = Slow { serves: |_| PortResult::Refused, ..Slow::over(memory, 0) };
    assert_eq!(processor.run(&mut port, Time::NEVER), Stop::Wait);
    assert_eq!((processor.pc(), processor.now()), (TEXT + 4, Time::from_ps(1_000)));
    assert_eq!(processor.retired(), 1);
}

#[test]
fn a_fault_ahead_is_found_when_its_time_has_come() {
    let (mut processor, mut memory) = prepared::<InOrder>(&single_issue(), "nop\n nop\n ebreak");
    let until = Time::from_ps(1_000);
    assert_eq!(processor.run_ahead(&mut memory, until, Time::NEVER), Stop::Horizon);
    assert_eq!((processor.pc(), processor.now()), (TEXT + 8, Time::from_ps(2_000)));
    assert_eq!(processor.run_ahead(&mut memory, Time::from_ps(2_001), Time::NEVER), Stop::Fault);
    assert_eq!(processor.fault().pc, TEXT + 8);
}

#[test]
fn cutting_a_run_into_pieces_changes_nothing() {
    let program = "
        li a0, 200
    loop:
        ld a1, 0(s0)
        mul a2, a1, a0
        addi a2, a2, 3
        sd a2, 0(s0)
        addi a0, a0, -1
        bnez a0, loop
        ecall
    ";
    let (mut whole, mut memory) = prepared::<InOrder>(&dual_issue(), program);
    whole.set_x(8, DATA);
    assert_eq!(whole.run(&mut memory, Time::NEVER), Stop::SystemCall);
    for (step_ps, ahead_ps) in [(500, 0), (1_500, 0), (7_000, 0), (500, 700), (7_000, 3_500)] {
        let (mut pieces, mut memory) = prepared::<InOrder>(&dual_issue(), program);
        pieces.set_x(8, DATA);
        let mut until = Time::ZERO;
        loop {
            until += Duration::from_ps(step_ps);
            match pieces.run_ahead(&mut memory, until, until + Duration::from_ps(ahead_ps)) {
                Stop::Horizon => {}
                stop => break assert_eq!(stop, Stop::SystemCall),
            }
        }
        assert_eq!(pieces.now(), whole.now());
        assert_eq!(pieces.retired(), whole.retired());
        assert_eq!(pieces.x(12), whole.x(12));
    }
}

#[test]
fn the_instruction_cache_is_asked_when_another_line_is_entered() {
    // 17 instructions are 68 bytes; then jumps forth within the line, and back
    // to the 16th.
    let program =
        format!("{} back: nop\n nop\n beqz a0, again\n ecall\n again: li a0, 1\n j back", "nop\n".repeat(15));
    let (mut processor, memory) = prepared::<InOrder>(&single_issue(), &program);
    let mut memory = Slow::over(memory, 0);
    assert_eq!(processor.run(&mut memory, Time::NEVER), Stop::SystemCall);
    let lines: Vec<u64> = memory.fetches.iter().map(|address| address - TEXT).collect();
    assert_eq!(lines, [0, 64, 60, 64]);
}

#[test]
fn written_code_is_executed_after_a_fence_i() {
    // Stores `addi a0, a0, 1; ret` and calls it; then overwrites it with
    // `addi a0, a0, 16; ret`, and calls it before and after the fence.
    let program = "
        li a1, 0x0000806700150513
        sd a1, 0(s0)
        fence.i
        jalr ra, 0(s0)
        li a1, 0x0000806701050513
        sd a1, 0(s0)
        jalr ra, 0(s0)
        fence.i
        jalr ra, 0(s0)
        ecall
    ";
    let (mut processor, mut memory) = prepared::<Functional>(&Config::simple(), program);
    let all = narthex_cores::linux::Protection { read: true, write: true, execute: true };
    memory.map(DATA, 0x1000, all);
    processor.set_x(8, DATA);
    assert_eq!(processor.run(&mut memory, Time::NEVER), Stop::SystemCall);
    assert_eq!(processor.x(10), 1 + 1 + 16);
}

#[test]
fn code_runs_across_the_pages_in_which_it_is_decoded() {
    let program = format!("{} addi a0, a0, 1\n ecall", "addi a0, a0, 1\n".repeat(1500));
    let code = assemble(0x2002, &program).unwrap();
    let mut memory = FlatMemory::new();
    memory.map(0x2000, 0x3000, Protection { read: true, write: false, execute: true });
    memory.write(0x2002, &code).unwrap();
    let mut processor = Processor::<Functional>::new(&Config::simple(), Code::empty().into());
    processor.set_pc(0x2002);
    assert_eq!(processor.run(&mut memory, Time::NEVER), Stop::SystemCall);
    assert_eq!((processor.x(10), processor.retired()), (1501, 1502));
}

#[test]
fn a_step_executes_one_instruction() {
    let (mut processor, mut memory) =
        prepared::<Functional>(&Config::simple(), "li a0, 1\n li a0, 2\n ecall");
    assert_eq!(processor.step(&mut memory), None);
    assert_eq!((processor.x(10), processor.pc()), (1, TEXT + 4));
    assert_eq!(processor.step(&mut memory), None);
    assert_eq!(processor.step(&mut memory), Some(Stop::SystemCall));
}

#[test]
fn code_that_is_decoded_on_the_way_may_lie_beside_code_that_is_known() {
    let source = "
        li a0, 1
    known: li a1, 3
    turn:
        add a0, a0, a0
        addi a1, a1, -1
        auipc a2, 0
        bnez a1, turn
        bnez a3, finished
        li a3, 1
        j known                     # what was decoded goes back to what is known
    finished:
        ecall
    ";
    let code = assemble(TEXT, source).unwrap();
    for known in [8, 10, 12, 14] {
        let mut memory = FlatMemory::new();
        memory.map(TEXT, 0x1000, Protection { read: true, write: false, execute: true });
        memory.write(TEXT, &code).unwrap();
        let mut processor = Processor::<InOrder>::new(&dual_issue(), Code::new(TEXT, &code[..known]).into());
        processor.set_pc(TEXT);
        assert_eq!(processor.run(&mut memory, Time::NEVER), Stop::SystemCall, "{known} bytes are known");
        assert_eq!((processor.x(10), processor.x(12)), (64, TEXT + 16), "{known} bytes are known");
    }
}
