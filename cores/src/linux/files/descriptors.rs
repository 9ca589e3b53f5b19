//! What a process has open: descriptors, what they share after `dup`, and pipes.

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};

use super::tree::Contents;
use crate::linux::calls::OutputStream;

/// The most descriptors of a process, Linux' usual limit.
const MOST_DESCRIPTORS: u64 = 1024;
/// What a pipe holds.
pub const PIPE_BYTES: usize = 65_536;
/// O_RDWR: the access of the standard streams.
const READ_WRITE: u64 = 2;

/// What is open.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum What {
    /// Standard input that the user has not given.
    NoInput,
    /// One of the streams that a program writes to.
    Stream(OutputStream),
    /// A file.
    File(Contents),
    /// A folder of this name, with the names that it had when its list was begun.
    Folder(String, Option<Vec<(String, bool)>>),
    /// The end of a pipe from which is read.
    PipeOut(u64),
    /// The one into which is written.
    PipeIn(u64),
    /// What is empty and takes everything: `/dev/null`.
    Null,
}

/// Something open, with what all its descriptors share.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Open {
    pub what: What,
    /// Where the next access is, in bytes; of a folder, in entries.
    pub offset: u64,
    /// As openat has them.
    pub flags: u64,
}

/// The descriptors of a process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Descriptors {
    /// Each with the number of what is open, and whether it ends with the program (`FD_CLOEXEC`).
    numbers: BTreeMap<u64, (u64, bool)>,
    opens: BTreeMap<u64, Open>,
    /// Bytes on their way in pipes.
    pub pipes: BTreeMap<u64, VecDeque<u8>>,
    next: u64,
}

impl Default for Descriptors {
    /// The three standard streams, without input.
    fn default() -> Self {
        let streams = [What::NoInput, What::Stream(OutputStream::Output), What::Stream(OutputStream::Error)];
        let mut all =
            Descriptors { numbers: BTreeMap::new(), opens: BTreeMap::new(), pipes: BTreeMap::new(), next: 0 };
        for what in streams {
            all.open(Open { what, offset: 0, flags: READ_WRITE }, 0, false);
        }
        all
    }
}

impl Descriptors {
    /// Standard input is a file that is read from its beginning.
    pub fn give_input(&mut self) {
        self.close(0);
        self.open(Open { what: What::File(Contents::Input), offset: 0, flags: 0 }, 0, false);
    }

    /// The lowest free descriptor from `least` on stands for something new; none if there is none.
    pub fn open(&mut self, open: Open, least: u64, closes: bool) -> Option<u64> {
        let descriptor = self.free(least)?;
        let number = self.next;
        self.next += 1;
        self.opens.insert(number, open);
        self.numbers.insert(descriptor, (number, closes));
        Some(descriptor)
    }

    fn free(&self, least: u64) -> Option<u64> {
        (least..MOST_DESCRIPTORS).find(|descriptor| !self.numbers.contains_key(descriptor))
    }

    /// What a descriptor stands for.
    pub fn get(&self, descriptor: u64) -> Option<&Open> {
        self.opens.get(&self.numbers.get(&descriptor)?.0)
    }

    /// The same, to change it.
    pub fn get_mut(&mut self, descriptor: u64) -> Option<&mut Open> {
        self.opens.get_mut(&self.numbers.get(&descriptor)?.0)
    }

    /// Whether a descriptor ends with the program.
    pub fn closes_mut(&mut self, descriptor: u64) -> Option<&mut bool> {
        self.numbers.get_mut(&descriptor).map(|(_, closes)| closes)
    }

    /// Another descriptor for the same, the lowest free one from `least` on.
    pub fn duplicate(&mut self, descriptor: u64, least: u64, closes: bool) -> Option<u64> {
        let number = self.numbers.get(&descriptor)?.0;
        let other = self.free(least)?;
        self.numbers.insert(other, (number, closes));
        Some(other)
    }

    /// The same at a descriptor that stands for nothing; false if it cannot be.
    pub fn duplicate_at(&mut self, descriptor: u64, other: u64, closes: bool) -> bool {
        let Some(&(number, _)) = self.numbers.get(&descriptor) else { return false };
        other < MOST_DESCRIPTORS && self.numbers.insert(other, (number, closes)).is_none()
    }

    /// A descriptor stands for nothing any more: what it was the last one for; none if it stood
    /// for nothing.
    pub fn close(&mut self, descriptor: u64) -> Option<Option<What>> {
        let (number, _) = self.numbers.remove(&descriptor)?;
        if self.numbers.values().any(|(other, _)| *other == number) {
            return Some(None);
        }
        let Open { what, .. } = self.opens.remove(&number)?;
        if let What::PipeIn(pipe) | What::PipeOut(pipe) = what
            && !self.has_end(&What::PipeIn(pipe))
            && !self.has_end(&What::PipeOut(pipe))
        {
            self.pipes.remove(&pipe);
        }
        Some(Some(what))
    }

    /// Whether an end of a pipe is open.
    pub fn has_end(&self, end: &What) -> bool {
        self.opens.values().any(|open| open.what == *end)
    }

    /// Whether a written file is open.
    pub fn has_file(&self, number: u64) -> bool {
        self.opens.values().any(|open| open.what == What::File(Contents::Own(number)))
    }

    /// A new pipe: the descriptors of its two ends.
    pub fn pipe(&mut self, least: u64, flags: u64, closes: bool) -> Option<[u64; 2]> {
        let pipe = self.next;
        self.pipes.insert(pipe, VecDeque::new());
        let out = self.open(Open { what: What::PipeOut(pipe), offset: 0, flags }, least, closes)?;
        let into = Open { what: What::PipeIn(pipe), offset: 0, flags: flags | 1 };
        Some([out, self.open(into, least, closes)?])
    }
}
