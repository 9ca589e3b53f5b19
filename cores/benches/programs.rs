//! Guest programs whose speed is measured: integers, floating point, pointers.
//!
//! Each runs for ever; its data are in the 4 MiB from [`DATA`] on. They run on
//! four machines: `functional` without time, `timed` dual-issue without
//! caches, `cached` dual-issue with first-level caches, `levels` with a second level
//! below them.

use narthex_cores::assemble::assemble;
use narthex_cores::linux::{GuestMemory, Protection};
use narthex_cores::{Code, Config, FlatMemory, Functional, InOrder, Processor, Stop, Timing};
use narthex_kernel::{Duration, Time};
use narthex_memory::main_memory::MainMemory;
use narthex_memory::pages::{PageAttributes, PageTable};
use narthex_memory::processor_memory::{StoreBufferConfig, Traffic, UncachedStores, second_level};
use narthex_memory::transaction::{AgentId, Response};
use narthex_memory::{ProcessorMemory, cache};

/// Where the programs are.
pub const TEXT: u64 = 0x1_0000;
/// Where their data are.
pub const DATA: u64 = 0x10_0000;
/// Bytes of data.
pub const DATA_BYTES: u64 = 4 << 20;

/// The sieve of Eratosthenes over 8192 bytes, again and again.
pub const SIEVE: &str = "
again:
    li   s0, 0x100000
    li   s1, 8192
    mv   t0, s0
    add  t1, s0, s1
    li   t2, 1
fill:
    sb   t2, 0(t0)
    addi t0, t0, 1
    bne  t0, t1, fill
    li   t3, 2
outer:
    add  t0, s0, t3
    lbu  t4, 0(t0)
    beqz t4, next
    mul  t5, t3, t3
    bgeu t5, s1, count
strike:
    add  t0, s0, t5
    sb   zero, 0(t0)
    add  t5, t5, t3
    bltu t5, s1, strike
next:
    addi t3, t3, 1
    j    outer
count:
    li   a0, 0
    mv   t0, s0
sum:
    lbu  t4, 0(t0)
    add  a0, a0, t4
    addi t0, t0, 1
    bne  t0, t1, sum
    j    again
";

/// A 16 by 16 matrix product of doubles, fused and unfused, again and again.
pub const MATRIX: &str = "
    li   s0, 0x100000
    li   t0, 0
    li   t1, 512
prepare:
    addi t2, t0, 3
    fcvt.d.l fa0, t2
    li   t3, 7
    fcvt.d.l fa1, t3
    fdiv.d fa0, fa0, fa1
    slli t2, t0, 3
    add  t2, t2, s0
    fsd  fa0, 0(t2)
    addi t0, t0, 1
    bne  t0, t1, prepare
again:
    li   s1, 0
row:
    li   s2, 0
column:
    slli t0, s1, 7
    add  t0, t0, s0
    slli t1, s2, 3
    add  t1, t1, s0
    addi t1, t1, 1024
    addi t1, t1, 1024
    li   t2, 16
    fmv.d.x fa0, zero
    fmv.d.x fa3, zero
inner:
    fld  fa1, 0(t0)
    fld  fa2, 0(t1)
    fmadd.d fa0, fa1, fa2, fa0
    fld  fa1, 8(t0)
    fld  fa2, 128(t1)
    fmul.d fa1, fa1, fa2
    fadd.d fa3, fa3, fa1
    addi t0, t0, 16
    addi t1, t1, 256
    addi t2, t2, -2
    bnez t2, inner
    fadd.d fa0, fa0, fa3
    slli t0, s1, 7
    slli t1, s2, 3
    add  t0, t0, t1
    add  t0, t0, s0
    li   t1, 4096
    add  t0, t0, t1
    fsd  fa0, 0(t0)
    addi s2, s2, 1
    li   t0, 16
    bne  s2, t0, column
    addi s1, s1, 1
    bne  s1, t0, row
    j    again
";

/// A walk along a list of 512 nodes of 16 bytes that jumps about in memory.
pub const POINTERS: &str = "
    li   s0, 0x100000
    li   t0, 0
    li   t1, 512
    li   t3, 167
    mv   t4, s0
link:
    add  t0, t0, t3
    andi t0, t0, 511
    slli t2, t0, 4
    add  t2, t2, s0
    sd   t2, 0(t4)
    sd   t0, 8(t4)
    mv   t4, t2
    addi t1, t1, -1
    bnez t1, link
    mv   a0, s0
    li   a1, 0
walk:
    ld   a2, 8(a0)
    ld   a0, 0(a0)
    add  a1, a1, a2
    xor  a3, a1, a2
    bgez a3, walk
    j    walk
";

/// Loads from each block of 16 KiB, which the first level holds.
pub const NEAR: &str = "
    li   s0, 0x100000
    li   s1, 0x104000
again:
    mv   t0, s0
walk:
    ld   a0, 0(t0)
    addi t0, t0, 64
    bne  t0, s1, walk
    j    again
";

/// The same of 128 KiB, which the second level holds, and not the first.
pub const FAR: &str = "
    li   s0, 0x100000
    li   s1, 0x120000
again:
    mv   t0, s0
walk:
    ld   a0, 0(t0)
    addi t0, t0, 64
    bne  t0, s1, walk
    j    again
";

/// The same with stores, whose blocks are written back to the second level.
pub const FAR_STORES: &str = "
    li   s0, 0x100000
    li   s1, 0x120000
again:
    mv   t0, s0
walk:
    sd   a0, 0(t0)
    addi t0, t0, 64
    bne  t0, s1, walk
    j    again
";

/// What is counted on `levels` alone, by name.
#[allow(dead_code, reason = "as `LEVELS`")]
pub const WALKS: [(&str, &str); 3] = [("near", NEAR), ("far", FAR), ("far-stores", FAR_STORES)];

/// The programs by name.
pub const PROGRAMS: [(&str, &str); 3] = [("integer", SIEVE), ("float", MATRIX), ("pointers", POINTERS)];

/// A dual-issue processor as a machine's file would describe it.
pub fn dual_issue() -> Config {
    Config {
        issue_width: 2,
        load_use_cycles: 2,
        branch_taken_cycles: 1,
        multiply_cycles: 4,
        divide_cycles: 20,
        float_add_cycles: 4,
        float_multiply_cycles: 4,
        float_divide_cycles: 16,
        float_square_root_cycles: 20,
        ..Config::simple()
    }
}

/// A processor and memory that runs a program.
pub trait Machine {
    /// Runs to the local time `until`.
    fn run(&mut self, until: Time);
    /// The processor.
    fn now(&self) -> Time;
    /// Instructions retired.
    fn retired(&self) -> u64;
}

/// A processor over memory without caches.
pub struct Flat<T> {
    processor: Processor<T>,
    memory: FlatMemory,
}

impl<T: Timing> Flat<T> {
    /// At the start of a program.
    pub fn new(source: &str) -> Self {
        let (processor, code) = processor(source);
        let mut memory = FlatMemory::with_range(DATA, DATA_BYTES);
        memory.map(TEXT, 0x1000, Protection { read: true, write: false, execute: true });
        memory.write(TEXT, &code).expect("the text is mapped");
        Flat { processor, memory }
    }
}

impl<T: Timing> Machine for Flat<T> {
    fn run(&mut self, until: Time) {
        assert_eq!(self.processor.run(&mut self.memory, until), Stop::Horizon);
    }
    fn now(&self) -> Time {
        self.processor.now()
    }
    fn retired(&self) -> u64 {
        self.processor.retired()
    }
}

/// A dual-issue processor with first-level caches over memory that answers
/// every miss after 60 ns.
pub struct Cached {
    processor: Processor<InOrder>,
    caches: ProcessorMemory,
    pages: PageTable,
    memory: MainMemory,
}

impl Cached {
    /// At the start of a program, with a second level of 512 KiB below the first.
    pub fn with_second_level(source: &str) -> Self {
        let cached = Self::new(source);
        let first = first_level();
        let second = second_level::Config {
            size: "512KiB".parse().expect("a size"),
            associativity: 4,
            block: first.block,
            latency_cycles: 10,
            port: second_level::CachePort::Pipelined,
            inclusion: second_level::Inclusion::Inclusive,
            data_cache_stores: second_level::Stores::WriteBack,
            prefetcher: None,
        };
        Cached { caches: cached.caches.with_second_level(&second, &first), ..cached }
    }

    /// At the start of a program.
    pub fn new(source: &str) -> Self {
        let (processor, code) = processor(source);
        let cache = first_level();
        let store_buffer = StoreBufferConfig {
            uncached_stores: UncachedStores::Blocking,
            entries: 1,
            flushed_blocks: Default::default(),
        };
        let supply = Duration::from_ns(12);
        let caches = ProcessorMemory::new(AgentId(0), &cache, Some(&cache), &store_buffer, supply);
        let mut pages = PageTable::default();
        pages.map(DATA, DATA_BYTES, PageAttributes::DATA);
        pages.map(TEXT, 0x1000, PageAttributes { executable: true, ..PageAttributes::READ_ONLY });
        let mut memory = MainMemory::default();
        memory.write(TEXT, &code);
        Cached { processor, caches, pages, memory }
    }

    /// Carries out what the caches ask for, until the processor may go on.
    fn answer(&mut self) {
        while let Some(transaction) = self.caches.issue(Traffic::All) {
            if let Some(data) = &transaction.data {
                self.memory.write(transaction.address, data);
            }
            let fetched = transaction.kind.fetches_block();
            let data = fetched.then(|| self.memory.read_block(transaction.address, 64));
            if self.caches.complete(&transaction, &Response { data, value: 0, shared: false }) {
                break;
            }
        }
        self.processor.resume_at(self.processor.now() + Duration::from_ns(60));
    }
}

impl Machine for Cached {
    fn run(&mut self, until: Time) {
        loop {
            let mut port = self.caches.port(&self.pages, &mut self.memory);
            match self.processor.run(&mut port, until) {
                Stop::Wait => self.answer(),
                stop => return assert_eq!(stop, Stop::Horizon),
            }
        }
    }
    fn now(&self) -> Time {
        self.processor.now()
    }
    fn retired(&self) -> u64 {
        self.processor.retired()
    }
}

/// A first level of 32 KiB.
fn first_level() -> cache::Config {
    cache::Config {
        size: "32KiB".parse().expect("a size"),
        associativity: 2,
        block: "64B".parse().expect("a size"),
        protocol: "MOESI".into(),
        snarfing: false,
        prefetcher: None,
    }
}

/// A processor at the start of a program, and the program.
fn processor<T: Timing>(source: &str) -> (Processor<T>, Vec<u8>) {
    let code = assemble(TEXT, source).expect("the program is in order");
    let mut processor = Processor::new(&dual_issue(), Code::new(TEXT, &code).into());
    processor.set_pc(TEXT);
    (processor, code)
}

/// A way to execute a program.
pub type Make = fn(&str) -> Box<dyn Machine>;

/// The ways to execute a program, by name.
pub const MACHINES: [(&str, Make); 3] = [
    ("functional", |source| Box::new(Flat::<Functional>::new(source))),
    ("timed", |source| Box::new(Flat::<InOrder>::new(source))),
    ("cached", |source| Box::new(Cached::new(source))),
];

/// The machine for [`WALKS`].
#[allow(dead_code, reason = "its host instructions are counted, its speed is not")]
pub const LEVELS: (&str, Make) = ("levels", |source| Box::new(Cached::with_second_level(source)));
