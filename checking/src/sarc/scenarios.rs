//! What the tiles do with their lines: one scenario for each kind of line that is sensitive to
//! events, and a copy that a counter says is complete.

use narthex_interfaces::sarc::registers::{Role, counter, operation, queue};

use super::program::Meaning::{Acquires, Arrives, Completes, Passes, Releases, Takes};
use super::program::Until::{Any, AtLeast, Is, IsNot};
use super::program::{Op, Scenario};
use super::world::{line, marking};

/// The token of the lock.
const TOKEN: u64 = 77;
/// Items that go through the single-reader queue.
const ITEMS: u64 = 4;
/// Bytes of the copy: the end of a line, a line, and the beginning of one.
const BYTES: u64 = 130;

fn word(line: u64, word: usize) -> u64 {
    line + 8 * word as u64
}

/// The four words of a command that stores one.
fn storing(buffer: u64, to: u64, value: u64) -> Op {
    let words = [operation::STORE | 8 << 8, to, 0, value];
    let stores: Vec<_> = (0..).map(|own| word(buffer, own)).zip(words).collect();
    Op::stores(&stores)
}

/// The words of a counter that begins at a value, and again after each time.
fn counting(at: u64, value: u64, again: u64, told: &[u64]) -> Vec<(u64, u64)> {
    let mut words = vec![(word(at, counter::RESET), again), (word(at, counter::WORD), 1)];
    words.extend((counter::NOTIFICATIONS..).map(|own| word(at, own)).zip(told.iter().copied()));
    words.push((at, value));
    words
}

/// A queue of items of a word, in the line behind it.
fn queue_of(items: u64, at: u64) -> (u64, u64) {
    (word(at, queue::SHAPE), 1 | items << queue::ITEMS_SHIFT)
}

/// Commands whose words are stored in any order, faster than the engine sends.
fn commands() -> Scenario {
    let (first, second, to) = (line(0, 0), line(0, 1), line(1, 0));
    let is_free = |buffer| Op::load(buffer, Is(0));
    Scenario {
        name: "command buffers",
        before: vec![marking(0, 0, Role::CommandBuffer), marking(0, 1, Role::CommandBuffer)],
        bytes: Vec::new(),
        programs: vec![
            vec![
                storing(first, to, 1),
                storing(second, to + 8, 2),
                is_free(first),
                storing(first, to + 16, 3),
                is_free(first),
                storing(first, to + 24, 4),
            ],
            Vec::new(),
        ],
        after: (0..4).map(|own| (word(to, own), own as u64 + 1)).collect(),
    }
}

/// A counter over which tiles meet twice.
fn counters() -> Scenario {
    let at = line(0, 0);
    let flags = [line(0, 1), line(1, 0)];
    let both = 2_u64.wrapping_neg();
    let program = |flag| {
        let arrives = || Op::stores(&[(at, 1)]).that(Arrives);
        let passes = |phase| Op::load(flag, Is(1)).that(Passes(phase));
        vec![arrives(), passes(1), Op::stores(&[(flag, 0)]), arrives(), passes(2)]
    };
    let mut before = vec![marking(0, 0, Role::Counter)];
    before.extend(counting(at, both, both, &flags));
    let programs = flags.map(program).to_vec();
    Scenario { name: "counters", before, bytes: Vec::new(), programs, after: Vec::new() }
}

/// A line that was a counter, is scratchpad, and is a counter again.
fn roles() -> Scenario {
    let (at, flag, go) = (line(0, 0), line(0, 1), line(1, 0));
    let last = 1_u64.wrapping_neg();
    let begins = counting(at, last, 0, &[flag]);
    let (words, value) = begins.split_at(begins.len() - 1);
    Scenario {
        name: "changes of roles",
        before: vec![marking(0, 0, Role::Counter), (at, 3)],
        bytes: Vec::new(),
        programs: vec![
            vec![
                Op::stores(&[marking(0, 0, Role::Scratchpad)]),
                Op::stores(words),
                Op::stores(&[marking(0, 0, Role::Counter)]),
                Op::stores(value),
                Op::stores(&[(go, 1)]).that(Arrives),
                Op::load(flag, Is(1)).that(Passes(1)),
            ],
            vec![Op::load(go, Is(1)), Op::stores(&[(at, 1)]).that(Arrives)],
        ],
        after: Vec::new(),
    }
}

/// A queue of two items, to which another tile sends as many as it has credits.
fn single_reader() -> Scenario {
    let (at, items, buffer, credits) = (line(0, 0), line(0, 1), line(1, 0), line(1, 1));
    let mut reader = Vec::new();
    let mut writer = Vec::new();
    for item in 1..=ITEMS {
        reader.push(Op::load(word(at, queue::TAIL), IsNot((item - 1) % 4)));
        reader.push(Op::load(word(items, (item as usize - 1) % 2), Any).that(Takes(ITEMS)));
        reader.push(Op::stores(&[(word(at, queue::HEAD), item % 4)]));
        reader.push(Op::stores(&[(credits, 1)]));
        if item > 2 {
            writer.push(Op::load(credits, AtLeast(item - 2)));
        }
        let [to, value] = [at, item];
        writer.push(storing(buffer, to, value));
        writer.push(Op::load(buffer, Is(0)));
    }
    Scenario {
        name: "a single-reader queue",
        before: vec![
            marking(0, 0, Role::SingleReaderQueue),
            queue_of(2, at),
            marking(1, 0, Role::CommandBuffer),
            marking(1, 1, Role::Counter),
        ],
        bytes: Vec::new(),
        programs: vec![reader, writer],
        after: vec![],
    }
}

/// A lock: a multiple-reader queue with a token.
fn multiple_readers() -> Scenario {
    let at = line(0, 0);
    let round = || [Op::load(at, Any).that(Acquires(TOKEN)), Op::stores(&[(at, TOKEN)]).that(Releases)];
    let rounds = |count: usize| (0..count).flat_map(|_| round()).collect::<Vec<_>>();
    Scenario {
        name: "a multiple-reader queue",
        before: vec![marking(0, 0, Role::MultipleReaderQueue), queue_of(4, at), (at, TOKEN)],
        bytes: Vec::new(),
        programs: vec![rounds(2), rounds(2), rounds(1)],
        after: Vec::new(),
    }
}

/// A copy whose packets overtake each other, and a counter of its acknowledgements.
fn copies() -> Scenario {
    let (buffer, at) = (line(0, 0), line(0, 1));
    let flags = [line(0, 2), line(1, 0)];
    let (from, to) = (line(0, 3) + 5, line(1, 1) + 8);
    let copy = [operation::COPY | BYTES << 8, to, at, from];
    let stores: Vec<_> = (0..).map(|own| word(buffer, own)).zip(copy).collect();
    let complete = |flag| Op::load(flag, Is(1)).that(Completes(from, to, BYTES as usize));
    let mut before = vec![marking(0, 0, Role::CommandBuffer), marking(0, 1, Role::Counter)];
    before.extend(counting(at, BYTES.wrapping_neg(), 0, &flags));
    Scenario {
        name: "copies",
        before,
        bytes: vec![(from, (0..BYTES).map(|byte| byte as u8 + 1).collect())],
        programs: vec![vec![Op::stores(&stores), complete(flags[0])], vec![complete(flags[1])]],
        after: Vec::new(),
    }
}

/// All of them.
pub fn all() -> Vec<Scenario> {
    vec![commands(), counters(), roles(), single_reader(), multiple_readers(), copies()]
}
