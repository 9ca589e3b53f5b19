//! Threads: locks with priority inheritance, processors, names.

use super::super::answer::{EAGAIN, EDEADLK, EPERM};
use super::*;

const FUTEX: u64 = 98;
const LOCK: u64 = 6;
const UNLOCK: u64 = 7;
const TRY: u64 = 8;
const HAS_WAITERS: u64 = 0x8000_0000;

fn of_two() -> Process {
    let mut process = Process::new();
    process.calls = process.calls.with_processors(2);
    assert_eq!(process.call(220, &[0x50f00, 0]).value, 1001);
    process
}

impl Process {
    fn of(&mut self, thread: usize, number: u64, arguments: [u64; 6]) -> CallResult {
        self.calls.handle_of(thread, number, arguments, &mut self.memory, 0)
    }

    fn futex(&mut self, thread: usize, operation: u64) -> CallResult {
        self.of(thread, FUTEX, [DATA, 0x80 | operation, 0, 0, 0, 0])
    }
}

#[test]
fn a_lock_with_priority_inheritance_is_handed_to_the_first_that_waits() {
    let mut process = of_two();
    assert_eq!(process.futex(0, LOCK), CallResult::from(0));
    assert_eq!(process.memory.number(DATA), 1000);
    assert_eq!(process.futex(0, LOCK).value, -EDEADLK.0);
    assert_eq!(process.futex(1, TRY).value, -EAGAIN.0);
    assert_eq!(process.futex(1, UNLOCK).value, -EPERM.0);
    assert_eq!(process.futex(1, LOCK).effect, Some(Effect::Sleep { until_ns: None }));
    assert_eq!(process.memory.number(DATA), 1000 | HAS_WAITERS);
    assert_eq!(process.futex(0, UNLOCK).effect, Some(Effect::Wake(vec![1])));
    assert_eq!(process.memory.number(DATA), 1001);
    assert_eq!(process.futex(1, UNLOCK), CallResult::from(0));
    assert_eq!(process.memory.number(DATA), 0);
    process.put(DATA, &77_u32.to_le_bytes());
    assert_eq!(process.futex(0, LOCK).value, -ESRCH.0, "there is no such owner");
}

#[test]
fn a_thread_names_itself_and_knows_its_processor_which_it_keeps() {
    let mut process = of_two();
    process.put(DATA, b"a worker with a long name\0");
    assert_eq!(process.of(1, 167, [15, DATA, 0, 0, 0, 0]).value, 0);
    process.of(1, 167, [16, DATA + 64, 0, 0, 0, 0]);
    assert_eq!(process.memory.text(DATA + 64), "a worker with a");
    process.of(1, 168, [DATA, 0, 0, 0, 0, 0]);
    assert_eq!(process.memory.number(DATA) as u32, 1);
    process.put(DATA, &2_u64.to_le_bytes());
    assert_eq!(process.of(1, 122, [0, 8, DATA, 0, 0, 0]), CallResult::from(0));
    assert_eq!(process.of(1, 123, [0, 8, DATA + 8, 0, 0, 0]).value, 8);
    assert_eq!(process.memory.number(DATA + 8), 2);
    let told = process.of(0, 122, [1000, 8, DATA, 0, 0, 0]);
    let stays = |text: &String| text.contains("thread 1000") && text.contains("stays on the processor");
    assert!(told.value == 0 && matches!(&told.effect, Some(Effect::Notice(text)) if stays(text)));
    process.put(DATA, &4_u64.to_le_bytes());
    assert_eq!(process.of(0, 122, [0, 8, DATA, 0, 0, 0]).value, -EINVAL.0, "there is no such processor");
    assert_eq!(process.of(0, 122, [7, 8, DATA, 0, 0, 0]).value, -ESRCH.0);
    assert_eq!(
        [[0, 0], [8, 0], [8, 1], [32, 0]].map(|[a, b]| process.value(283, &[a, b])),
        [31, 0, -22, -22]
    );
}
