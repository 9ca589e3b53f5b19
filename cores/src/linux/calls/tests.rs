use super::super::address_space::{MMAP_START, Use};
use super::super::test_memory::TestMemory;
use super::answer::{EBADF, ENOTTY, ESPIPE, ESRCH};
use super::*;
use proptest::prelude::*;

mod files;
mod signals;
mod threads;

/// A page that the program may read and write.
const DATA: u64 = 0x2_0000;
/// A page that it may only read.
const CONSTANTS: u64 = 0x3_0000;

struct Process {
    calls: SystemCalls,
    memory: TestMemory,
}

impl Process {
    fn new() -> Self {
        let mut memory = TestMemory::default();
        let mut space = AddressSpace::with_heap_at(0x10_0000);
        space.add(&mut memory, DATA..DATA + 4096, Protection::READ_WRITE, Use::Program);
        space.add(&mut memory, CONSTANTS..CONSTANTS + 4096, Protection::READ, Use::Program);
        Process { calls: SystemCalls::for_process(space, 1), memory }
    }

    fn call(&mut self, number: u64, arguments: &[u64]) -> CallResult {
        let mut all = [0; 6];
        all[..arguments.len()].copy_from_slice(arguments);
        self.calls.handle(number, all, &mut self.memory, 1_234_567_890_123)
    }

    fn value(&mut self, number: u64, arguments: &[u64]) -> i64 {
        self.call(number, arguments).value
    }

    fn put(&mut self, address: u64, bytes: &[u8]) {
        self.memory.write(address, bytes).expect("the test writes mapped memory");
    }
}

#[test]
fn what_is_written_comes_out_on_its_stream() {
    let mut process = Process::new();
    process.put(DATA, b"hello");
    let result = process.call(64, &[1, DATA, 5]);
    let bytes = b"hello".to_vec();
    assert_eq!(
        result,
        CallResult {
            value: 5,
            effect: Some(Effect::Output { stream: OutputStream::Output, bytes }),
            pages: 0
        }
    );
    assert_eq!(process.value(64, &[7, DATA, 5]), -EBADF.0);
    assert_eq!(process.value(64, &[1, DATA + 4090, 7]), -EFAULT.0);
    assert_eq!(process.call(64, &[1, DATA, 0]), CallResult::from(0));
}

#[test]
fn pieces_are_written_in_order_up_to_a_bad_one() {
    let mut process = Process::new();
    process.put(DATA, b"abcdef");
    let words = [DATA, 2, DATA + 3, 3, 0x10, 5];
    let bytes: Vec<u8> = words.iter().flat_map(|word: &u64| word.to_le_bytes()).collect();
    process.put(DATA + 64, &bytes);
    let result = process.call(66, &[2, DATA + 64, 3]);
    let bytes = b"abdef".to_vec();
    assert_eq!(result.effect, Some(Effect::Output { stream: OutputStream::Error, bytes }));
    assert_eq!(result.value, 5);
    assert_eq!(process.value(66, &[1, DATA + 64 + 32, 1]), -EFAULT.0);
    assert_eq!(process.value(66, &[1, DATA, 1025]), -EINVAL.0);
}

#[test]
fn the_program_ends_by_exit_or_by_its_own_signal() {
    let mut process = Process::new();
    assert_eq!(process.call(94, &[259]).effect, Some(Effect::Exit(3)));
    let killed = Some(Effect::Killed { signal: 6, name: "SIGABRT" });
    assert_eq!(process.call(131, &[1000, 1000, 6]).effect, killed);
    assert_eq!(process.call(129, &[1000, 17]), CallResult::from(0));
    assert_eq!(process.value(129, &[1, 9]), -ESRCH.0);
}

#[test]
fn what_nodes_do_not_have_is_told_at_its_first_use() {
    let told = [
        (63, vec![0, DATA, 4], 0, "reads standard input"),
        (65, vec![0, DATA, 1], 0, "reads standard input"),
        (98, vec![DATA, 0x8b], -38, "operation 11 of a futex (requeue with priority inheritance)"),
        (167, vec![99], -22, "option 99 of prctl"),
        (98, vec![DATA, 5], -38, "operation 5 of a futex is"),
    ];
    for (number, arguments, value, words) in told {
        let mut process = Process::new();
        let first = process.call(number, &arguments);
        assert_eq!(first.value, value);
        assert!(matches!(first.effect, Some(Effect::Notice(text)) if text.contains(words)), "{words}");
        assert_eq!(process.call(number, &arguments), CallResult::from(value));
    }
}

#[test]
fn clocks_show_simulated_time() {
    let mut process = Process::new();
    assert_eq!(process.value(113, &[1, DATA]), 0);
    assert_eq!((process.memory.number(DATA), process.memory.number(DATA + 8)), (1234, 567_890_123));
    assert_eq!(process.value(169, &[DATA, 0]), 0);
    assert_eq!((process.memory.number(DATA), process.memory.number(DATA + 8)), (1234, 567_890));
    assert_eq!(process.value(113, &[1, CONSTANTS]), -EFAULT.0);
    assert_eq!(process.value(113, &[99, DATA]), -EINVAL.0);
}

#[test]
fn memory_is_allocated_by_brk_and_mmap() {
    let mut process = Process::new();
    assert_eq!(process.value(214, &[0]), 0x10_0000);
    assert_eq!(process.value(214, &[0x10_2000]), 0x10_2000);
    let mapped = process.value(222, &[0, 8192, 3, 0x22, u64::MAX, 0]);
    assert_eq!(mapped, MMAP_START as i64);
    assert_eq!(process.value(226, &[mapped as u64, 4096, 1]), 0);
    assert_eq!(process.value(278, &[mapped as u64, 16, 0]), -EFAULT.0);
    assert_eq!(process.value(278, &[mapped as u64 + 4096, 16, 0]), 16);
    assert_ne!(process.memory.number(mapped as u64 + 4096), 0);
    assert_eq!(process.value(233, &[mapped as u64 + 4096, 4096, 4]), 0);
    assert_eq!(process.memory.number(mapped as u64 + 4096), 0);
    assert_eq!(process.value(215, &[mapped as u64, 8192]), 0);
    assert_eq!(process.value(222, &[0, 4096, 3, 2, 9, 0]), -EBADF.0);
}

#[test]
fn a_mapping_grows_in_place_moves_with_its_contents_and_shrinks() {
    let mut process = Process::new();
    let map = |process: &mut Process| process.value(222, &[0, 8192, 3, 0x22, u64::MAX, 0]) as u64;
    let first = map(&mut process);
    process.put(first + 4096, b"kept");
    assert_eq!(process.value(216, &[first, 8192, 12_288, 0]), first as i64, "nothing is behind it");
    let behind = map(&mut process);
    assert_eq!(behind, first + 12_288);
    assert_eq!(process.value(216, &[first, 12_288, 16_384, 0]), -12, "its neighbour is in the way");
    let moved = process.value(216, &[first, 12_288, 16_384, 1]) as u64;
    assert_eq!(moved, behind + 8192);
    assert_eq!(process.memory.number(moved + 4096), u64::from(u32::from_le_bytes(*b"kept")));
    assert_eq!(process.value(64, &[1, first, 1]), -EFAULT.0, "nothing is left there");
    assert_eq!(process.value(216, &[moved, 16_384, 4096, 0]), moved as i64);
    assert_eq!(process.value(64, &[1, moved + 4096, 1]), -EFAULT.0);
    assert_eq!(process.value(216, &[moved, 4096, 8192, 3, behind]), behind as i64, "in place of another");
    assert_eq!(process.value(216, &[DATA, 4096, 8192, 1]), -EINVAL.0, "no mapping");
}

#[test]
fn streams_look_like_pipes_and_have_no_terminal() {
    let mut process = Process::new();
    assert_eq!(process.value(80, &[1, DATA]), 0);
    assert_eq!(process.memory.number(DATA + 16) as u32, 0o010_600);
    assert_eq!(process.value(29, &[1, 0x5413, DATA]), -ENOTTY.0);
    assert_eq!(process.value(62, &[1, 0, 1]), -ESPIPE.0);
    assert_eq!(process.value(63, &[0, DATA, 100]), 0);
    assert_eq!(process.value(57, &[9]), -EBADF.0);
}

#[test]
fn an_unknown_call_is_named_once() {
    let mut process = Process::new();
    let first = process.call(260, &[]);
    let text = "system call 260 (wait4) is not simulated: the program gets ENOSYS".to_string();
    assert_eq!(first, CallResult { value: -38, effect: Some(Effect::Notice(text)), pages: 0 });
    assert_eq!(process.call(260, &[]), CallResult::from(-38));
    assert!(
        matches!(process.call(7777, &[]).effect, Some(Effect::Notice(text)) if text.contains("7777 (unknown)"))
    );
}

#[test]
fn a_program_reports_results_and_failed_checks() {
    let mut process = Process::new();
    process.put(DATA, b"round trip\0us\0");
    let result = process.call(0x4e00, &[DATA, 1.5f64.to_bits(), DATA + 11]);
    let (name, unit) = ("round trip".to_string(), "us".to_string());
    let expected = NarthexCall::Report { name, value: 1.5, unit };
    assert_eq!(result, CallResult::from(Effect::Narthex(expected)));
    let failed = Effect::Narthex(NarthexCall::Fail("us".into()));
    assert_eq!(process.call(0x4e01, &[DATA + 11]).effect, Some(failed));
    let begun = Effect::Narthex(NarthexCall::Region { name: "us".into(), begin: true });
    assert_eq!(process.call(0x4e02, &[DATA + 11, 1]).effect, Some(begun));
    assert_eq!(process.value(0x4e01, &[8]), -EFAULT.0);
}

#[test]
fn shared_memory_is_out_of_reach_of_calls_as_far_as_its_tags_say() {
    const SHARED: u64 = 0x2000_0000;
    let mut process = Process::new();
    assert_eq!(process.value(0x4e03, &[SHARED, 8192, 24]), -EINVAL.0);
    assert_eq!(process.value(0x4e03, &[DATA, 4096, 64]), -EINVAL.0);
    assert_eq!(process.value(0x4e03, &[SHARED, 8192, 64]), 0);
    assert_eq!(process.value(0x4e03, &[SHARED + 8192, 4096, 64]), -EINVAL.0);
    process.put(SHARED, b"hello\0");
    let tags = |process: &mut Process, tag| {
        let shared = process.memory.tags.as_mut().expect("there is shared memory");
        shared.set(SHARED, tag).expect("a block");
    };
    assert_eq!(process.value(64, &[1, SHARED, 5]), -EFAULT.0);
    tags(&mut process, Tag::Read);
    assert_eq!(process.value(64, &[1, SHARED, 5]), 5);
    assert_eq!(process.value(64, &[1, SHARED + 60, 5]), -EFAULT.0);
    // A text ends with its zero byte: what lies behind does not matter.
    let failed = Effect::Narthex(NarthexCall::Fail("hello".into()));
    assert_eq!(process.call(0x4e01, &[SHARED]).effect, Some(failed));
    assert_eq!(process.value(278, &[SHARED, 8, 0]), -EFAULT.0);
    tags(&mut process, Tag::Write);
    assert_eq!(process.value(278, &[SHARED, 8, 0]), 8);
}

#[test]
fn random_bytes_are_the_same_in_every_run() {
    let bytes = || {
        let mut process = Process::new();
        process.call(278, &[DATA, 8, 0]);
        process.memory.number(DATA)
    };
    assert_eq!(bytes(), bytes());
}

proptest! {
    #[test]
    fn no_arguments_make_a_call_panic(
        number in prop_oneof![0u64..450, 0x4e00u64..0x4e04],
        arguments in prop::array::uniform6(prop_oneof![
            any::<u64>(),
            0u64..32,
            DATA - 16..DATA + 32,
            DATA + 4080..DATA + 4112,
            Just(u64::MAX),
        ]),
    ) {
        let mut process = Process::new();
        // Mapping gigabytes page by page would only test the test's memory.
        prop_assume!(number != 222 && number != 214);
        process.call(number, &arguments);
    }
}

#[test]
fn a_process_has_used_all_the_time_that_there_was_and_its_children_none() {
    let mut process = Process::new();
    let words = |process: &mut Process, count: usize| {
        let mut bytes = vec![0; 8 * count];
        process.memory.read(DATA, &mut bytes).expect("the test reads mapped memory");
        let word = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().expect("eight bytes"));
        bytes.chunks_exact(8).map(word).collect::<Vec<_>>()
    };
    for (who, seconds, microseconds) in [(0, 1234, 567_890), (1, 1234, 567_890), (-1i64, 0, 0)] {
        process.put(DATA, &[0xff; 160]);
        assert_eq!(process.value(165, &[who as u64, DATA]), 0);
        let found = words(&mut process, 19);
        assert_eq!(found[..2], [seconds, microseconds], "who {who}");
        assert_eq!((found[2..18].iter().max(), found[18]), (Some(&0), u64::MAX), "144 bytes");
    }
    assert_eq!(process.value(165, &[2, DATA]), -EINVAL.0);
    assert_eq!(process.value(165, &[0, CONSTANTS]), -EFAULT.0);
    assert_eq!(process.value(153, &[DATA]), 123_456);
    assert_eq!(words(&mut process, 4), [123_456, 0, 0, 0]);
    assert_eq!((process.value(153, &[0]), process.value(153, &[CONSTANTS])), (123_456, -EFAULT.0));
}

#[test]
fn a_flush_of_instructions_takes_the_flag_for_the_own_thread_and_no_other() {
    let mut process = Process::new();
    let flags = [0, 1, 2, u64::MAX].map(|flags| process.value(259, &[0, 0, flags]));
    assert_eq!(flags, [0, 0, -EINVAL.0, -EINVAL.0]);
}
