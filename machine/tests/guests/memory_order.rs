//! Litmus tests: in which order processors see each other's accesses, on a bus and on a directory.
//!
//! A test has a thread for each column of its table and two words, x at 0(s2) and y at 64(s2), which are
//! other blocks in each round. The threads meet, wait for a while that is another one in each round and
//! thread, and make their accesses. The loads at 0(s4) and 0(s5) that precede some come from blocks that compete
//! for one set of a cache: the load behind them is made later than the one that follows it. RISC-V's
//! memory model (RVWMO) says what may be seen; what this model shows of that is stated with each test.

use narthex_machine::RunRequest;

use crate::coherence::prefetching;
use crate::process_threads::{END, several, threads};
use crate::reorder::windowed;
use crate::support::{DATA, reported, result, with};

/// Rounds of each test.
const ROUNDS: u64 = 64;

/// What each thread does; what it sees goes to t3 and t4, each 0 or 1.
struct Litmus {
    name: &'static str,
    /// For each thread what it does before all meet, and then.
    threads: &'static [(&'static str, &'static str)],
    /// In the last of them and the one before: t3 and t4 of the outcome that is looked for.
    outcome: &'static [[u64; 2]],
}

/// Loads from blocks that take the set of x, or of y, for a while.
const DELAY_X: &str = "ld t5, 0(s4)\n ld t6, 0(s5)\n";
const DELAY_Y: &str = "ld t5, 64(s4)\n ld t6, 64(s5)\n";

/// A copy of a word.
const HAS_X: &str = "ld t3, 0(s2)\n add t3, t3, t3\n li t3, 0";
const HAS_Y: &str = "ld t3, 64(s2)\n add t3, t3, t3\n li t3, 0";

/// How often the outcome is seen, and in how many rounds a load of the last thread sees a store.
fn seen(test: &Litmus, [fence, release, acquire]: [&str; 3], request: &RunRequest) -> (i64, i64) {
    let count = test.threads.len();
    let bodies = [0, 1].map(|place| {
        let (mut dispatch, mut bodies) = (String::new(), String::new());
        for (number, own) in test.threads.iter().enumerate() {
            let does = if place == 0 { own.0 } else { own.1 };
            let does = does.replace("RELEASE", release).replace("ACQUIRE", acquire);
            let does = does.replace("FENCE", fence).replace("DELAY_X", DELAY_X).replace("DELAY_Y", DELAY_Y);
            dispatch += &format!("li t0, {number}\n beq s8, t0, does{place}_{number}\n");
            bodies += &format!("does{place}_{number}:\n {does}\n j done{place}\n");
        }
        format!("{dispatch} {bodies} done{place}:\n")
    });
    let expected: String = test.outcome.iter().enumerate().fold(String::new(), |words, (place, own)| {
        let offset = 8 * (count - test.outcome.len() + place);
        let value = own[0] + 2 * own[1];
        words + &format!("ld t0, {offset}(s1)\n li t1, {value}\n bne t0, t1, another\n")
    });
    let last = 8 * (count - 1);
    let guest = format!(
        "{}
        li   s0, 0
        li   s1, {results}
        li   s2, {words}
        li   s6, 0
        li   s7, {ROUNDS}
    round:
        li   t0, 0x2000
        add  s4, s2, t0
        add  s5, s4, t0
        li   t3, 0
        li   t4, 0
        {before}
        {MEET_AND_WAIT}
        {then}
        fence
        add  t4, t4, t4
        add  t3, t3, t4
        slli t0, s8, 3
        add  t0, t0, s1
        sd   t3, 0(t0)
        addi s0, s0, 1
        addi s1, s1, 64
        addi s2, s2, 128
        bne  s0, s7, round
        fence
        add  s6, s6, s9
        li   t1, {meeting}
        li   t0, 1
        amoadd.d t0, t0, (t1)
    over:
        ld   t0, 0(t1)
        bne  t0, s6, over
        fence
        bnez s8, end
        li   s1, {results}
        li   s2, 0
        li   s3, 0
    count:
        ld   t0, {last}(s1)
        beqz t0, unseen
        addi s3, s3, 1
    unseen:
        {expected}
        addi s2, s2, 1
    another:
        addi s1, s1, 64
        addi s0, s0, -1
        bnez s0, count
        report outcome, s2
        report stored, s3
    end:
        {END}",
        threads(count as u32),
        before = bodies[0],
        then = bodies[1],
        results = DATA + 0x2000,
        words = DATA + 0x8000,
        meeting = DATA + 0x1000,
    );
    let document = result(request, &guest);
    (reported(&document, 0, "outcome"), reported(&document, 0, "stored"))
}

/// All threads meet, and each waits for some of 16 whiles.
const MEET_AND_WAIT: &str = "
    fence
    add  s6, s6, s9
    li   t1, 0x101000
    li   t0, 1
    amoadd.d t0, t0, (t1)
    met:
    ld   t0, 0(t1)
    bne  t0, s6, met
    fence
    addi t0, s8, 1
    mul  t0, t0, s0
    li   t1, 40503
    mul  t0, t0, t1
    srli t0, t0, 6
    andi t0, t0, 15
    slli t0, t0, 3
    wait:
    addi t0, t0, -1
    bgez t0, wait
";

const MESSAGE_PASSING: Litmus = Litmus {
    name: "message passing",
    threads: &[
        ("", "li t0, 1\n sd t0, 0(s2)\n FENCE\n sd t0, 64(s2)"),
        (HAS_X, "DELAY_Y ld t3, 64(s2)\n FENCE\n ld t4, 0(s2)"),
    ],
    outcome: &[[1, 0]],
};

const STORE_BUFFERING: Litmus = Litmus {
    name: "store buffering",
    threads: &[
        (HAS_Y, "li t0, 1\n sd t0, 0(s2)\n FENCE\n ld t3, 64(s2)"),
        (HAS_X, "li t0, 1\n sd t0, 64(s2)\n FENCE\n ld t3, 0(s2)"),
    ],
    outcome: &[[0, 0], [0, 0]],
};

const LOAD_BUFFERING: Litmus = Litmus {
    name: "load buffering",
    threads: &[
        ("sd zero, 64(s2)", "li t0, 1\n DELAY_X ld t3, 0(s2)\n FENCE\n sd t0, 64(s2)"),
        ("sd zero, 0(s2)", "li t0, 1\n DELAY_Y ld t3, 64(s2)\n FENCE\n sd t0, 0(s2)"),
    ],
    outcome: &[[1, 0], [1, 0]],
};

const IRIW: Litmus = Litmus {
    name: "independent reads of independent writes",
    threads: &[
        ("", "li t0, 1\n sd t0, 0(s2)"),
        ("", "li t0, 1\n sd t0, 64(s2)"),
        (HAS_Y, "DELAY_X ld t3, 0(s2)\n FENCE\n ld t4, 64(s2)"),
        (HAS_X, "DELAY_Y ld t3, 64(s2)\n FENCE\n ld t4, 0(s2)"),
    ],
    outcome: &[[1, 0], [1, 0]],
};

/// The second load needs the value of the first for its address.
const DEPENDENT: Litmus = Litmus {
    name: "message passing with a dependent load",
    threads: &[
        ("", "li t0, 1\n sd t0, 0(s2)\n fence\n sd t0, 64(s2)"),
        (HAS_X, "DELAY_Y ld t3, 64(s2)\n xor t0, t3, t3\n add t0, t0, s2\n ld t4, 0(t0)"),
    ],
    outcome: &[[1, 0]],
};

/// Two loads of one word.
const ONE_WORD: Litmus = Litmus {
    name: "two loads of one word",
    threads: &[("", "li t0, 1\n sd t0, 0(s2)"), ("", "DELAY_X ld t3, 0(s2)\n ld t4, 0(s2)")],
    outcome: &[[1, 0]],
};

/// A load and the store behind it of one word: the load does not see the later store.
const OWN_STORE: Litmus = Litmus {
    name: "a load and a later store of one word",
    threads: &[("", ""), ("", "li t0, 1\n DELAY_X ld t3, 0(s2)\n sd t0, 0(s2)\n ld t4, 0(s2)")],
    outcome: &[[1, 1]],
};

/// A store to a block that the first thread has alone does not overtake the one before it.
const OWN_BLOCK: Litmus = Litmus {
    name: "message passing through a block of one's own",
    threads: &[
        ("sd zero, 64(s2)", "li t0, 1\n sd t0, 0(s2)\n FENCE\n sd t0, 64(s2)"),
        (HAS_X, "ld t3, 64(s2)\n FENCE\n ld t4, 0(s2)"),
    ],
    outcome: &[[1, 0]],
};

/// The flag is set, and read, by atomics with this order.
const ATOMIC: Litmus = Litmus {
    name: "message passing by atomics",
    threads: &[
        ("sd zero, 64(s2)", "li t0, 1\n addi t1, s2, 64\n sd t0, 0(s2)\n amoswap.dRELEASE t2, t0, (t1)"),
        (HAS_X, "addi t1, s2, 64\n DELAY_Y lr.dACQUIRE t3, (t1)\n ld t4, 0(s2)"),
    ],
    outcome: &[[1, 0]],
};

/// What a processor may have under way.
#[derive(Clone, Copy, Debug)]
enum UnderWay {
    /// So many loads that miss.
    Loads(u32),
    /// The same, and stores that wait in a queue with this order.
    Stores(u32, &'static str),
    /// The same, out of order, and blocks that are prefetched.
    Prefetches(u32),
    /// A core with a window and this many miss registers, and a store queue with this order.
    Window(u32, &'static str),
}

use UnderWay::{Loads, Prefetches, Stores, Window};

impl UnderWay {
    fn of(self, request: RunRequest) -> RunRequest {
        let (Loads(misses) | Stores(misses, _) | Prefetches(misses) | Window(misses, _)) = self;
        let request = with(request, &format!("processor.misses={misses}"));
        let (request, order) = match self {
            Loads(_) => return request,
            Stores(_, order) => (request, order),
            Window(_, order) => (windowed(request), order),
            // The other word's block is the next one.
            Prefetches(_) => {
                let is_one_level = ["hpca98", "isca96"].contains(&&*request.machine);
                let table = if is_one_level { "data_cache" } else { "second_level_cache" };
                let settings = prefetching(table, "next-line");
                (settings.iter().fold(request, |request, setting| with(request, setting)), "out-of-order")
            }
        };
        let request = with(request, "store_queue.entries=8");
        with(request, &format!("store_queue.drain_order={order}"))
    }
}

/// Machines whose caches are kept coherent by a bus, with one level and two, and by a directory.
fn machines(under_way: UnderWay, processors: usize) -> [RunRequest; 3] {
    let chip = [
        "data_cache.size=8KiB",
        "instruction_cache.size=8KiB",
        "second_level_cache.size=16KiB",
        "second_level_cache.associativity=2",
        "directory.transactions=8",
    ];
    let processors = processors as u32;
    let chip = chip.iter().fold(several("chip", processors), |request, setting| with(request, setting));
    [several("hpca98", processors), several("smp", processors), chip].map(|request| under_way.of(request))
}

/// A bus with a bridge to an I/O bus, on which the interface is.
fn bridged(under_way: UnderWay, processors: usize) -> RunRequest {
    let interface = "NI2w on io-bus".into();
    under_way.of(RunRequest { interface, ..several("isca96", processors as u32) })
}

/// With fences, and with atomics that are ordered.
fn ordered() -> impl Iterator<Item = (Litmus, &'static str)> {
    let by_fences = [MESSAGE_PASSING, STORE_BUFFERING, LOAD_BUFFERING, IRIW, OWN_BLOCK];
    let tests = by_fences.map(|test| (test, "fence")).into_iter();
    tests.chain([DEPENDENT, ONE_WORD, OWN_STORE, ATOMIC].map(|test| (test, "")))
}

#[test]
fn what_the_memory_model_forbids_is_never_seen() {
    for (test, fence) in ordered() {
        for under_way in [Loads(1), Loads(8), Stores(1, "in-order"), Stores(8, "out-of-order"), Prefetches(8)]
            .into_iter()
            .chain([Window(8, "in-order"), Window(8, "out-of-order")])
        {
            for request in machines(under_way, test.threads.len()) {
                is_never_seen(&test, fence, &request, under_way);
            }
        }
        let under_way = Prefetches(8);
        is_never_seen(&test, fence, &bridged(under_way, test.threads.len()), under_way);
    }
}

fn is_never_seen(test: &Litmus, fence: &str, request: &RunRequest, under_way: UnderWay) {
    let (outcomes, stored) = seen(test, [fence, ".rl", ".aq"], request);
    let place = format!("{} on {} with {under_way:?}", test.name, request.machine);
    assert_eq!(outcomes, 0, "{place}");
    assert!(stored > 0, "{place}: no load saw the other one's store");
}

#[test]
fn loads_are_seen_out_of_order_where_several_may_miss_and_stores_never_behind_loads() {
    for (test, under_way, is_seen) in [
        (MESSAGE_PASSING, Loads(1), false),
        (LOAD_BUFFERING, Loads(1), false),
        (IRIW, Loads(1), false),
        (MESSAGE_PASSING, Loads(8), true),
        (LOAD_BUFFERING, Loads(8), true),
        (IRIW, Loads(8), true),
        // A store is waited for: no later load is made before it.
        (STORE_BUFFERING, Loads(8), false),
        (MESSAGE_PASSING, Window(8, "in-order"), true),
        (LOAD_BUFFERING, Window(8, "in-order"), true),
        (IRIW, Window(8, "in-order"), true),
    ] {
        for request in machines(under_way, test.threads.len()) {
            let (outcomes, _) = seen(&test, [""; 3], &request);
            let place = format!("{} on {} with {under_way:?}", test.name, request.machine);
            assert_eq!(outcomes > 0, is_seen, "{place}: {outcomes} of {ROUNDS}");
        }
    }
}

#[test]
fn loads_pass_stores_that_wait_in_a_queue_and_in_order_nothing_else_passes_anything() {
    let under_way = Stores(1, "in-order");
    for test in [MESSAGE_PASSING, LOAD_BUFFERING, IRIW, OWN_BLOCK, ATOMIC] {
        for request in machines(under_way, test.threads.len()) {
            assert_eq!(seen(&test, [""; 3], &request).0, 0, "{} on {}", test.name, request.machine);
        }
    }
    for order in ["in-order", "out-of-order"] {
        let [bus, _, directory] = machines(Stores(1, order), 2);
        let [windowed_bus, _, windowed_directory] = machines(Window(8, order), 2);
        for request in [bus, directory, windowed_bus, windowed_directory] {
            let (outcomes, _) = seen(&STORE_BUFFERING, [""; 3], &request);
            assert!(outcomes > 0, "{order} on {}", request.machine);
        }
    }
}
