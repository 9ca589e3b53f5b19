//! Accesses that tags refuse, on processors with a cache: what their handlers
//! see, what they cost to the cycle, and what no handler can handle.

use narthex_cores::assemble::assemble;
use narthex_cores::{AccessControl, Code, Config, FaultKind, Functional, InOrder, Processor, Stop, Timing};
use narthex_kernel::{Duration, Time};
use narthex_memory::main_memory::MainMemory;
use narthex_memory::pages::{PageAttributes, PageTable};
use narthex_memory::processor_memory::{StoreBufferConfig, Traffic, UncachedStores};
use narthex_memory::{AgentId, ProcessorMemory, Response, TagError, cache};
use proptest::prelude::*;

const TEXT: u64 = 0x1_0000;
/// A page of ordinary memory.
const DATA: u64 = 0x10_0000;
/// A page of tagged memory behind it.
const TAGGED: u64 = 0x10_1000;
const BLOCK: u64 = 64;

const COSTS: AccessControl = AccessControl { fault_cycles: 7, tag_change_cycles: 4 };

fn config(issue_width: u64) -> Config {
    Config { issue_width, load_use_cycles: 2, store_cycles: 2, branch_taken_cycles: 3, ..Config::simple() }
}

/// A processor with its cache, and a bus that takes no time.
struct Bench<T> {
    processor: Processor<T>,
    own: ProcessorMemory,
    pages: PageTable,
    main: MainMemory,
}

impl<T: Timing> Bench<T> {
    fn new(config: &Config, source: &str) -> Self {
        let code = assemble(TEXT, source).unwrap_or_else(|error| panic!("{error}"));
        let mut main = MainMemory::default();
        main.write(TEXT, &code);
        let mut pages = PageTable::default();
        pages.map(TEXT, 0x1000, PageAttributes { executable: true, ..PageAttributes::READ_ONLY });
        pages.map(DATA, 0x2000, PageAttributes::DATA);
        let data = cache::Config {
            size: "4KiB".parse().unwrap(),
            associativity: 1,
            block: "64B".parse().unwrap(),
            protocol: "MOESI".into(),
            snarfing: false,
            prefetcher: None,
        };
        let stores = StoreBufferConfig {
            uncached_stores: UncachedStores::Blocking,
            entries: 1,
            flushed_blocks: Default::default(),
        };
        let mut own = ProcessorMemory::new(AgentId(0), &data, None, &stores, Duration::ZERO);
        assert!(own.tag_memory(TAGGED..TAGGED + 0x1000, BLOCK));
        let code = Code::new(TEXT, &code);
        let mut processor = Processor::new(config, code.into()).with_access_control(&COSTS);
        processor.set_pc(TEXT);
        Bench { processor, own, pages, main }
    }

    /// Runs in pieces to the first stop that the bus has nothing to do with.
    fn run_in(&mut self, piece: Duration) -> Stop {
        loop {
            let until = self.processor.now().saturating_add(piece);
            match self.processor.run(&mut self.own.port(&self.pages, &mut self.main), until) {
                Stop::Horizon => {}
                Stop::Wait => self.bus_turn(),
                stop => return stop,
            }
        }
    }

    fn bus_turn(&mut self) {
        while let Some(transaction) = self.own.issue(Traffic::All) {
            if let Some(data) = &transaction.data {
                self.main.write(transaction.address, data);
            }
            let fetches = transaction.kind.fetches_block();
            let data = fetches.then(|| self.main.read_block(transaction.address, 64));
            self.own.complete(&transaction, &Response { data, value: 0, shared: false });
        }
        self.processor.resume_at(self.processor.now());
    }
}

/// Runs `source` to its end, at once.
fn run<T: Timing>(config: &Config, source: &str) -> (Bench<T>, Stop) {
    let mut bench = Bench::new(config, source);
    let stop = bench.run_in(Duration::from_ns(1_000_000));
    (bench, stop)
}

/// A program that makes an access to [`TAGGED`], s1, between two looks at the
/// clock: s0 before, s7 behind. Its handler notes the clock (s2), uepc (s3),
/// ucause (s4) and utval (s5), sets the tag in s8, and looks at the clock (s6)
/// before it returns.
fn handled(access: &str) -> String {
    format!(
        "
        jal   t0, main
        csrrs s2, 0xc00, zero
        csrrs s3, 0x041, zero
        csrrs s4, 0x042, zero
        csrrs s5, 0x043, zero
        csrrw zero, 0x800, s8
        csrrs s6, 0xc00, zero
        uret
    main:
        csrrw zero, 0x005, t0
        li    s1, {TAGGED}
        ori   s8, s1, 2
        csrrs s0, 0xc00, zero
        {access}
        csrrs s7, 0xc00, zero
        ecall
    "
    )
}

fn run_handled(access: &str) -> Bench<InOrder> {
    let (bench, stop) = run(&config(1), &handled(access));
    assert_eq!(stop, Stop::SystemCall, "{access}");
    bench
}

fn message(source: &str) -> String {
    let (bench, stop) = run::<InOrder>(&config(1), source);
    assert_eq!(stop, Stop::Fault);
    bench.processor.fault().to_string()
}

#[test]
fn the_handler_of_a_refused_access_starts_exactly_fault_cycles_after_it() {
    for access in ["ld a0, 0(s1)", "sd a0, 0(s1)", "amoadd.d a0, a1, (s1)", "lr.d a0, (s1)"] {
        let Bench { processor, .. } = run_handled(access);
        // The look at the clock takes the cycle before the access.
        assert_eq!(processor.x(18) - processor.x(8), 1 + COSTS.fault_cycles, "{access}");
    }
}

#[test]
fn of_two_instructions_a_cycle_the_refused_one_loses_the_rest_of_its_own() {
    for nops in 0..4 {
        let access = format!("{} ld a0, 0(s1)", "nop\n".repeat(nops));
        let (bench, _) = run::<InOrder>(&config(2), &handled(&access));
        let (bare, _) = run::<InOrder>(&config(2), &handled(&"nop\n".repeat(nops)));
        let issued = bare.processor.x(23);
        assert_eq!(bench.processor.x(18), issued + COSTS.fault_cycles, "{nops}");
    }
}

#[test]
fn the_handler_returns_as_a_taken_jump_does() {
    let Bench { processor, .. } = run_handled("ld a0, 0(s1)");
    // The look at the clock, uret, the branch's three lost cycles, the load.
    assert_eq!(processor.x(23) - processor.x(22), 1 + 1 + 3 + 1);
}

#[test]
fn the_handler_is_told_the_instruction_the_kind_of_access_and_the_address() {
    for (access, cause) in [
        ("lbu a0, 0(s1)", 5),
        ("fld fa0, 0(s1)", 5),
        ("lr.w a0, (s1)", 5),
        ("sb a0, 0(s1)", 7),
        ("fsd fa0, 0(s1)", 7),
        ("sc.w a0, a1, (s1)", 7),
        ("amoswap.w a0, a1, (s1)", 7),
    ] {
        let Bench { processor, .. } = run_handled(&format!("addi s1, s1, 8\n {access}"));
        let told = [19, 20, 21].map(|register| processor.x(register));
        let instruction = TEXT + 4 * 14;
        assert_eq!(told, [instruction, cause, TAGGED + 8], "{access}");
    }
}

#[test]
fn of_an_access_across_two_blocks_the_address_is_the_first_byte_that_is_refused() {
    let Bench { processor, .. } = run_handled("ld a0, -4(s1)");
    assert_eq!(processor.x(21), TAGGED, "ordinary memory lies in front of the block");
    let program = handled(&format!("csrrw zero, 0x800, s8\n addi s8, s8, {BLOCK}\n lw a0, 62(s1)"));
    let (Bench { processor, .. }, stop) = run::<InOrder>(&config(1), &program);
    assert_eq!((stop, processor.x(21)), (Stop::SystemCall, TAGGED + BLOCK));
}

#[test]
fn a_refused_access_is_no_retired_instruction() {
    let refused = run_handled("ld a0, 0(s1)").processor.retired();
    let allowed = run_handled("csrrw zero, 0x800, s8\n ld a0, 0(s1)").processor.retired();
    let handler = 7;
    assert_eq!(refused, allowed - 1 + handler);
    let functional = |access| run::<Functional>(&config(1), &handled(access)).0.processor.retired();
    assert_eq!(functional("ld a0, 0(s1)"), refused);
    assert_eq!(functional("csrrw zero, 0x800, s8\n ld a0, 0(s1)"), allowed);
}

#[test]
fn an_allowed_access_to_tagged_memory_costs_what_one_to_ordinary_memory_does() {
    let work = "
        li    a2, 50
    loop:
        ld    a0, 0(a3)
        addi  a0, a0, 1
        sd    a0, 0(a3)
        lw    a1, 60(a3)
        amoadd.d a1, a0, (a3)
        fld   fa0, 8(a3)
        sh    a0, 30(a3)
        lw    a1, 61(a3)
        addi  a2, a2, -1
        bnez  a2, loop
    ";
    let program = |offset: u64| {
        format!(
            "li s1, {TAGGED}\n li a3, {}\n ori s1, s1, 2\n csrrw zero, 0x800, s1\n addi s1, s1, 64
            csrrw zero, 0x800, s1\n {work}\n ecall",
            TAGGED - offset
        )
    };
    for width in [1, 2] {
        let [tagged, ordinary] = [0, 0x800].map(|offset| {
            let (bench, stop) = run::<InOrder>(&config(width), &program(offset));
            assert_eq!(stop, Stop::SystemCall);
            (bench.processor.now(), bench.processor.retired())
        });
        assert_eq!(tagged, ordinary);
    }
}

#[test]
fn a_tag_change_occupies_the_memory_port() {
    let between = |rest: &str| {
        let open = "csrrw zero, 0x800, s8\n ld a0, 0(s1)\n nop\n nop\n nop\n csrrs s0, 0xc00, zero";
        let Bench { processor, .. } = run_handled(&format!("{open}\n csrrw zero, 0x800, s8\n {rest}"));
        processor.x(23) - processor.x(8)
    };
    assert_eq!(between("nop"), 1 + 1 + 1, "nothing else waits");
    assert_eq!(between("ld a0, 0(s1)"), 1 + COSTS.tag_change_cycles + 1);
    assert_eq!(between("csrrw zero, 0x800, s8\n ld a0, 0(s1)"), 1 + 2 * COSTS.tag_change_cycles + 1);
    // A change waits for the port too: a store keeps it for two cycles.
    assert_eq!(between("sd a0, 0(s1)\n csrrw zero, 0x800, s8"), 1 + COSTS.tag_change_cycles + 2 + 1);
}

#[test]
fn the_registers_of_traps_hold_what_is_written_and_the_tag_register_says_the_block() {
    let (bench, _) = run::<InOrder>(
        &config(1),
        "li a0, -1
        csrrw zero, 0x005, a0
        csrrw zero, 0x040, a0
        csrrw zero, 0x041, a0
        csrrwi zero, 0x042, 5
        csrrw zero, 0x043, a0
        csrrs s2, 0x005, zero
        csrrs s3, 0x040, zero
        csrrs s4, 0x041, zero
        csrrs s5, 0x042, zero
        csrrs s6, 0x043, zero
        csrrs s7, 0x800, zero
        ecall",
    );
    let values = [18, 19, 20, 21, 22, 23].map(|register| bench.processor.x(register));
    assert_eq!(values, [u64::MAX - 1, u64::MAX, u64::MAX - 1, 5, u64::MAX, BLOCK]);
}

#[test]
fn a_refused_access_without_a_handler_ends_the_run() {
    let source = format!("li s1, {TAGGED}\n ld a0, 72(s1)");
    let (bench, stop) = run::<InOrder>(&config(1), &source);
    assert_eq!(stop, Stop::Fault);
    let fault = bench.processor.fault();
    let at = bench.processor.pc();
    assert_eq!(
        fault.to_string(),
        format!(
            "load from 0x101048 at {at:#x}: block 0x101040 is tagged none; no handler is installed (utvec is 0)"
        )
    );
    let source = format!("li s1, {TAGGED}\n ori s8, s1, 1\n csrrw zero, 0x800, s8\n sd a0, 0(s1)");
    assert!(message(&source).contains("store to 0x101000 at 0x10010: block 0x101000 is tagged read; "));
}

#[test]
fn a_refused_access_in_the_handler_ends_the_run_and_names_both_addresses() {
    let source = handled("ld a0, 8(s1)").replace("csrrs s6, 0xc00, zero", "sd a0, 128(s1)");
    assert_eq!(
        message(&source),
        "store to 0x101080 at 0x10018: block 0x101080 is tagged none; the handler has not returned yet \
         (uret) from the access to 0x101008"
    );
}

#[test]
fn a_second_refusal_after_the_return_is_handled_again() {
    let again = format!("ld a0, 0(s1)\n addi s8, s8, {BLOCK}\n sd a0, 64(s1)");
    let bench = run_handled(&again);
    assert_eq!(bench.processor.x(21), TAGGED + BLOCK);
}

#[test]
fn a_tag_that_cannot_be_set_ends_the_run_and_says_why() {
    let change = |value: u64| message(&format!("li a0, {value}\n csrrw zero, 0x800, a0"));
    assert!(change(TAGGED | 3).ends_with(
        "change of the tag of 0x101000 at 0x10008: there is no tag 3: allowed are 0 (none), 1 (read) and 2 (write)"
    ));
    assert!(change(DATA | 1).ends_with("tag of 0x100000 at 0x10008: tagged memory is 0x101000 to 0x102000"));
    assert!(change(TAGGED + 32).ends_with("the address is not a multiple of the block of 64 bytes"));
}

#[test]
fn plain_memory_has_no_tags() {
    let source = "li a0, 0x100001\n csrrs s2, 0x800, zero\n csrrw zero, 0x800, a0";
    let code = assemble(TEXT, source).expect("sound");
    let mut memory = narthex_cores::FlatMemory::with_range(DATA, 0x1000);
    let mut processor = Processor::<Functional>::new(&Config::simple(), Code::new(TEXT, &code).into());
    processor.set_pc(TEXT);
    processor.set_x(18, 7);
    let stop = processor.run(&mut memory, Time::NEVER);
    assert_eq!(stop, Stop::Fault);
    assert_eq!(processor.fault().kind, FaultKind::TagChange(TagError::NoMemory));
    assert_eq!(processor.x(18), 0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn where_a_run_is_interrupted_cannot_be_seen(piece_ns in 1u64..40, width in prop_oneof![Just(1u64), Just(2)]) {
        // Every block is refused once for its load and once for its store.
        let program = "
            jal   t0, main
            csrrs t1, 0x042, zero
            csrrs t2, 0x043, zero
            andi  t2, t2, -64
            addi  t1, t1, -3
            srai  t1, t1, 1
            or    t2, t2, t1
            csrrw zero, 0x800, t2
            uret
        main:
            csrrw zero, 0x005, t0
            li    s1, 0x101000
            li    a2, 30
        loop:
            ld    a0, 0(s1)
            add   a1, a1, a0
            sd    a2, 0(s1)
            addi  s1, s1, 32
            addi  a2, a2, -1
            bnez  a2, loop
            ecall
        ";
        let end = |piece: Duration| {
            let mut bench = Bench::<InOrder>::new(&config(width), program);
            let stop = bench.run_in(piece);
            let faults = bench.own.statistics.tag_read_faults.get() + bench.own.statistics.tag_write_faults.get();
            (stop, bench.processor.now(), bench.processor.retired(), faults)
        };
        let whole = end(Duration::from_ns(1_000_000));
        prop_assert_eq!(whole.3, 30);
        prop_assert_eq!(end(Duration::from_ns(piece_ns)), whole);
    }
}

#[test]
fn a_refused_access_of_an_interrupts_handler_cannot_be_handled() {
    let source = format!(
        "
        jal   t0, main
        ld    a0, 0(s1)
    main:
        csrrw zero, 0x005, t0
        li    s1, {TAGGED}
        li    t1, 0x10000
        csrrs zero, 0x004, t1
        csrrsi zero, 0x000, 1
    "
    );
    let mut bench = Bench::<InOrder>::new(&config(1), &source);
    bench.processor = bench.processor.with_interrupts(1);
    bench.processor.assert_lines(1);
    assert_eq!(bench.run_in(Duration::from_ns(1_000)), Stop::Fault);
    let fault = bench.processor.fault();
    let why = "the handler has not returned yet (uret) from the interrupt of line 0";
    assert!(fault.to_string().ends_with(why), "{fault}");
}
