//! Calls on descriptors: the three standard streams, and devices. Nodes have no files.

use super::answer::{CallResult, EBADF, EFAULT, EINVAL, ENOENT, ENOTTY, Effect, Error, OutputStream};
use super::{Answer, Call, USER, done};
use crate::linux::GuestMemory;

/// The most that one call writes; a program calls again for the rest.
const OUTPUT_LIMIT_BYTES: u64 = 1 << 20;
/// The descriptor of the first device, behind the three streams.
const FIRST_DEVICE: u64 = 3;

impl<M: GuestMemory> Call<'_, M> {
    /// Input is always at its end.
    pub(super) fn read_nothing(&mut self) -> Answer {
        if self.a[0] != 0 {
            return Err(EBADF);
        }
        let text = "the program reads standard input, but nodes have no input: it is at its end";
        Ok(self.told(0, text.into()))
    }

    pub(super) fn write(&mut self) -> Answer {
        let stream = self.output_stream()?;
        let bytes = self.bytes(self.a[1], self.a[2].min(OUTPUT_LIMIT_BYTES))?;
        Ok(output(stream, bytes))
    }

    /// Writes the pieces up to the first that is out of reach.
    pub(super) fn write_vector(&mut self) -> Answer {
        let stream = self.output_stream()?;
        let count = self.a[2];
        if count > 1024 {
            return Err(EINVAL);
        }
        let mut bytes: Vec<u8> = Vec::new();
        for index in 0..count {
            let room = OUTPUT_LIMIT_BYTES - bytes.len() as u64;
            match self.vector_piece(index, room) {
                Ok(piece) => bytes.extend(piece),
                Err(_) if !bytes.is_empty() => break,
                Err(error) => return Err(error),
            }
        }
        Ok(output(stream, bytes))
    }

    pub(super) fn vector_piece(&mut self, index: u64, room: u64) -> Result<Vec<u8>, Error> {
        let entry = self.a[1].checked_add(16 * index).ok_or(EFAULT)?;
        let (address, length) = (self.word(entry)?, self.word(entry.wrapping_add(8))?);
        self.bytes(address, length.min(room))
    }

    pub(super) fn output_stream(&self) -> Result<OutputStream, Error> {
        match self.a[0] {
            1 => Ok(OutputStream::Output),
            2 => Ok(OutputStream::Error),
            _ => Err(EBADF),
        }
    }

    pub(super) fn stream(&self) -> Result<(), Error> {
        if self.a[0] <= 2 { Ok(()) } else { Err(EBADF) }
    }

    pub(super) fn stream_or(&self, error: Error) -> Error {
        self.stream().err().unwrap_or(error)
    }

    /// Streams are pipes: C libraries then write in large pieces.
    pub(super) fn stream_status(&mut self, descriptor: u64, address: u64) -> Answer {
        const PIPE_READ_WRITE: u32 = 0o010_600;
        if descriptor > 2 {
            return Err(EBADF);
        }
        let mut status = [0; 128];
        status[16..20].copy_from_slice(&PIPE_READ_WRITE.to_le_bytes());
        status[20] = 1; // one link
        status[24..28].copy_from_slice(&(USER as u32).to_le_bytes());
        status[28..32].copy_from_slice(&(USER as u32).to_le_bytes());
        status[56..60].copy_from_slice(&4096u32.to_le_bytes());
        self.put(address, &status).and_then(done)
    }

    pub(super) fn file_status(&mut self) -> Answer {
        const EMPTY_PATH: u64 = 0x1000;
        let path = self.text(self.a[1])?;
        match path.is_empty() && self.a[3] & EMPTY_PATH != 0 {
            true => self.stream_status(self.a[0], self.a[2]),
            false => Err(ENOENT),
        }
    }

    pub(super) fn descriptor_flags(&self) -> Answer {
        const GET_FLAGS: u64 = 3;
        const READ_WRITE: i64 = 2;
        self.stream()?;
        Ok(if self.a[1] == GET_FLAGS { READ_WRITE } else { 0 }.into())
    }

    /// Streams are always ready; other descriptors are invalid.
    pub(super) fn poll(&mut self) -> Answer {
        const READABLE: u16 = 1;
        const WRITABLE: u16 = 4;
        const INVALID: u16 = 0x20;
        if self.a[1] > 1024 {
            return Err(EINVAL);
        }
        let mut ready = 0;
        for index in 0..self.a[1] {
            let entry = self.a[0].checked_add(8 * index).ok_or(EFAULT)?;
            let word = self.word(entry)?;
            let (descriptor, events) = (word as i32, (word >> 32) as u16);
            let found = match descriptor {
                ..0 => 0,
                0 => events & READABLE,
                1 | 2 => events & WRITABLE,
                _ => INVALID,
            };
            ready += i64::from(found != 0);
            self.put(entry.wrapping_add(6), &found.to_le_bytes())?;
        }
        Ok(ready.into())
    }

    /// The place of the device that a descriptor stands for.
    pub(super) fn device(&self) -> Option<usize> {
        let place = usize::try_from(self.a[0].checked_sub(FIRST_DEVICE)?).ok()?;
        (place < self.calls.devices.len()).then_some(place)
    }

    /// A call of a device; the streams are no terminals.
    pub(super) fn control(&mut self) -> Answer {
        let [_, request, argument, ..] = self.a;
        match self.device() {
            Some(place) => Ok(Effect::Device { place, request, argument }.into()),
            None => Err(self.stream_or(ENOTTY)),
        }
    }

    /// A device has the same descriptor each time; other files do not exist.
    pub(super) fn open(&mut self) -> Answer {
        let path = self.text(self.a[1])?;
        let name = path.strip_prefix("/dev/").unwrap_or_default();
        if let Some(place) = self.calls.devices.iter().position(|device| device == name) {
            return Ok((FIRST_DEVICE as i64 + place as i64).into());
        }
        let absent = self.calls.absent.iter().find(|(device, _)| device == name);
        let notice = match absent {
            Some((_, reason)) => format!("the program opens {path:?}, {reason}: it gets ENOENT"),
            None => format!("the program opens the file {path:?}, but nodes have no files: it gets ENOENT"),
        };
        Ok(self.notice(ENOENT, notice))
    }
}

fn output(stream: OutputStream, bytes: Vec<u8>) -> CallResult {
    let value = bytes.len() as i64;
    CallResult { value, effect: (value > 0).then_some(Effect::Output { stream, bytes }), pages: 0 }
}
