//! Files: given and written ones, folders, pipes.

use super::super::answer::*;
use super::*;
use crate::linux::{GivenFiles, Written};

const OPENAT: u64 = 56;
const CLOSE: u64 = 57;
const LSEEK: u64 = 62;
const READ: u64 = 63;
const WRITE: u64 = 64;
const PREAD: u64 = 67;
const HERE: u64 = -100i64 as u64;
const WRITES_NEW: u64 = 1 | 0x40 | 0x200;
/// Where texts are put that a call takes, and where it puts what it gives.
const TEXT: u64 = DATA;
const OTHER: u64 = DATA + 256;
const BUFFER: u64 = DATA + 512;

fn with_files(keeps_written: bool) -> Process {
    let process = Process::new();
    let files = [("in/a.txt", &b"0123456789"[..]), ("parameters.txt", b"n=4")];
    let given = GivenFiles {
        input: Some(b"typed\n"[..].into()),
        files: files.map(|(name, bytes)| (name.to_owned(), bytes.into())).into(),
        folders: ["empty".to_owned()].into(),
        keeps_written,
    };
    Process { calls: process.calls.with_files(given.into()), ..process }
}

impl Process {
    fn text(&mut self, at: u64, text: &str) -> u64 {
        self.put(at, format!("{text}\0").as_bytes());
        at
    }

    fn open(&mut self, name: &str, flags: u64) -> CallResult {
        let text = self.text(TEXT, name);
        self.call(OPENAT, &[HERE, text, flags])
    }

    fn read(&mut self, descriptor: u64, count: u64) -> Vec<u8> {
        let read = self.value(READ, &[descriptor, BUFFER, count]);
        let mut bytes = vec![0; usize::try_from(read).expect("no error")];
        self.memory.read(BUFFER, &mut bytes).expect("it has been written");
        bytes
    }

    fn named(&mut self, number: u64, name: &str, more: &[u64]) -> i64 {
        let text = self.text(TEXT, name);
        self.value(number, &[&[HERE, text], more].concat())
    }

    fn notice(result: &CallResult) -> &str {
        match &result.effect {
            Some(Effect::Notice(text)) => text,
            other => panic!("no notice, but {other:?}"),
        }
    }
}

#[test]
fn given_files_and_input_are_read_as_files_are() {
    let mut process = with_files(false);
    assert_eq!(process.read(0, 100), b"typed\n");
    assert!(process.read(0, 100).is_empty());
    assert_eq!(process.open("./in//a.txt", 0).value, 3);
    assert_eq!(process.read(3, 4), b"0123");
    assert_eq!(process.value(LSEEK, &[3, -2i64 as u64, 2]), 8);
    assert_eq!(process.read(3, 4), b"89");
    assert_eq!(process.value(PREAD, &[3, BUFFER, 2, 5]), 2);
    assert_eq!(process.memory.number(BUFFER) as u16, u16::from_le_bytes(*b"56"));
    assert_eq!(process.value(80, &[3, BUFFER]), 0);
    assert_eq!(
        (process.memory.number(BUFFER + 16) as u32, process.memory.number(BUFFER + 48)),
        (0o100_444, 10)
    );
    assert_eq!(process.value(WRITE, &[3, BUFFER, 1]), -EBADF.0);
    let copied = process.value(222, &[0, 4096, 1, 2, 3, 0]) as u64;
    assert_eq!(process.memory.text(copied), "0123456789");
    assert_eq!(process.value(CLOSE, &[3]), 0);
    assert_eq!(process.value(READ, &[3, BUFFER, 1]), -EBADF.0);
    assert_eq!(process.open("in/a.txt", 2), CallResult::from(-EACCES.0), "runtimes try that first");
    let words = process.open("in/a.txt", 1);
    assert_eq!(words.value, -EACCES.0);
    assert!(Process::notice(&words).contains("only reads"));
}

#[test]
fn a_file_that_is_not_there_is_named_once_with_how_to_give_it() {
    let mut process = with_files(false);
    let told = process.open("/data/Parameter.txt", 0);
    assert_eq!(told.value, -ENOENT.0);
    let text = Process::notice(&told);
    assert!(text.contains("--file data/Parameter.txt=PATH"), "{text}");
    assert!(text.contains("\"parameters.txt\": is that meant?"), "{text}");
    assert_eq!(process.open("/data/Parameter.txt", 0), CallResult::from(-ENOENT.0));
    assert_eq!(process.open("/proc/self/maps", 0), CallResult::from(-ENOENT.0), "of that, nothing is told");
    let told = process.open("out.txt", WRITES_NEW);
    assert_eq!(told.value, -EROFS.0);
    assert!(Process::notice(&told).contains("--output-files FOLDER"));
}

#[test]
fn what_is_written_is_kept_under_its_last_name() {
    let mut process = with_files(true);
    assert_eq!(process.named(34, "out", &[0o755]), 0);
    assert_eq!(process.open("out/log", WRITES_NEW).value, 3);
    process.put(BUFFER, b"abcdef");
    assert_eq!(process.value(WRITE, &[3, BUFFER, 6]), 6);
    assert_eq!(process.value(68, &[3, BUFFER, 1, 8]), 1, "pwrite");
    assert_eq!(process.value(46, &[3, 10]), 0, "ftruncate");
    assert_eq!(process.named(34, "out", &[0o755]), -EEXIST.0);
    process.text(OTHER, "result");
    assert_eq!(process.named(276, "out/log", &[HERE, OTHER, 0]), 0);
    assert_eq!(process.open("gone", WRITES_NEW).value, 4);
    assert_eq!(process.named(35, "gone", &[0]), 0);
    assert_eq!(process.named(35, "in/a.txt", &[0]), -EACCES.0);
    assert_eq!(process.value(23, &[3]), 5, "dup");
    assert_eq!(process.value(LSEEK, &[5, 0, 1]), 6, "both have one offset");
    let written: Vec<Written<'_>> = process.calls.written().collect();
    let expected = [("out", None), ("result", Some(&b"abcdef\0\0a\0"[..]))];
    assert_eq!(written, expected.map(|(name, bytes)| Written { name, bytes }));
}

#[test]
fn folders_are_listed_and_gone_into() {
    let mut process = with_files(true);
    let root = process.open(".", 0x1_0000).value as u64;
    let count = process.value(61, &[root, BUFFER, 1024]) as usize;
    let mut bytes = vec![0; count];
    process.memory.read(BUFFER, &mut bytes).expect("it has been written");
    let mut names = Vec::new();
    let mut at = 0;
    while at < count {
        let length = usize::from(u16::from_le_bytes([bytes[at + 16], bytes[at + 17]]));
        let name = bytes[at + 19..at + length].split(|byte| *byte == 0).next().expect("a name");
        names.push((String::from_utf8(name.to_vec()).expect("a text"), bytes[at + 18]));
        at += length;
    }
    let expected = [(".", 4), ("..", 4), ("empty", 4), ("in", 4), ("parameters.txt", 8)];
    assert_eq!(names, expected.map(|(name, kind)| (name.to_owned(), kind)));
    assert_eq!(process.value(61, &[root, BUFFER, 1024]), 0);
    let text = process.text(TEXT, "in");
    assert_eq!(process.value(49, &[text]), 0);
    assert_eq!((process.value(17, &[BUFFER, 64]), process.value(17, &[BUFFER, 3])), (4, -ERANGE.0));
    assert_eq!(process.memory.text(BUFFER), "/in");
    assert_eq!(process.open("a.txt", 0).value, 4);
    assert_eq!(process.open("..", 1).value, -EISDIR.0);
}

#[test]
fn a_pipe_carries_bytes_between_threads_which_wait_for_them() {
    let mut process = with_files(false);
    process.calls = process.calls.with_processors(2);
    process.call(220, &[0x50f00, 0]);
    assert_eq!(process.value(59, &[BUFFER, 0]), 0);
    assert_eq!(process.memory.number(BUFFER), 3 | 4 << 32);
    let read = [3, BUFFER, 4, 0, 0, 0];
    let asleep = process.calls.handle_of(1, READ, read, &mut process.memory, 0);
    assert_eq!(asleep.effect, Some(Effect::Sleep { until_ns: None }));
    process.put(BUFFER, b"ab");
    let written = process.call(WRITE, &[4, BUFFER, 2]);
    assert_eq!((written.value, written.effect), (2, Some(Effect::Interrupt(vec![1]))));
    assert!(process.calls.has_to_attend(1), "it calls again");
    assert_eq!(process.calls.handle_of(1, READ, read, &mut process.memory, 0).value, 2);
    assert_eq!(process.value(CLOSE, &[4]), 0);
    assert_eq!(process.value(READ, &[3, BUFFER, 4]), 0, "nobody writes any more");
    assert_eq!(process.value(59, &[BUFFER, 0x800]), 0);
    assert_eq!(process.value(READ, &[4, BUFFER, 4]), -EAGAIN.0);
    process.value(CLOSE, &[4]);
    let broken = process.call(WRITE, &[5, BUFFER, 1]).effect;
    assert_eq!(broken, Some(Effect::Killed { signal: 13, name: "SIGPIPE" }));
}
