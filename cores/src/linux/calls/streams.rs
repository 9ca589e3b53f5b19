//! Calls on descriptors: reading and writing, whatever a descriptor stands for.

use super::answer::{
    CallResult, EBADF, EFAULT, EINVAL, EISDIR, EMFILE, ENOTTY, EOPNOTSUPP, ESPIPE, Effect, Error,
};
use super::{Answer, Call, done};
use crate::linux::GuestMemory;
use crate::linux::files::descriptors::{Open, PIPE_BYTES, What};
use crate::linux::files::tree::{Contents, Trouble};

/// The most that one call writes to a stream; a program calls again for the rest.
const OUTPUT_LIMIT_BYTES: u64 = 1 << 20;
/// The descriptor of the first device, behind the three streams.
const FIRST_DEVICE: u64 = 3;

// As openat has them.
const ACCESS: u64 = 3;
pub(super) const READ_ONLY: u64 = 0;
const WRITE_ONLY: u64 = 1;
const APPEND: u64 = 0x400;
pub(super) const NONBLOCK: u64 = 0x800;
pub(super) const CLOSES: u64 = 0x8_0000;

/// A range of the program's memory.
pub(super) type Piece = (u64, u64);

impl<M: GuestMemory> Call<'_, M> {
    /// What a descriptor stands for.
    pub(super) fn open_at(&self, descriptor: u64) -> Result<&Open, Error> {
        self.calls.files.state.descriptors.get(descriptor).ok_or(EBADF)
    }

    fn open_at_mut(&mut self, descriptor: u64) -> Result<&mut Open, Error> {
        self.calls.files.state.descriptors.get_mut(descriptor).ok_or(EBADF)
    }

    /// The first descriptor that can be a file's.
    pub(super) fn first_descriptor(&self) -> u64 {
        FIRST_DEVICE + self.calls.devices.len() as u64
    }

    /// `read` and `write`: one range.
    pub(super) fn piece(&self) -> Vec<Piece> {
        vec![(self.a[1], self.a[2])]
    }

    /// `readv` and `writev`: up to the first that cannot be read.
    pub(super) fn pieces(&mut self) -> Result<Vec<Piece>, Error> {
        if self.a[2] > 1024 {
            return Err(EINVAL);
        }
        let mut pieces = Vec::new();
        for index in 0..self.a[2] {
            let entry = self.a[1].checked_add(16 * index).ok_or(EFAULT)?;
            match self.word(entry).and_then(|base| Ok((base, self.word(entry.wrapping_add(8))?))) {
                Ok(piece) => pieces.push(piece),
                Err(error) if pieces.is_empty() => return Err(error),
                Err(_) => break,
            }
        }
        Ok(pieces)
    }

    /// Reads into the ranges: from a place in a file, if one is given.
    pub(super) fn read(&mut self, pieces: &[Piece], at: Option<u64>) -> Answer {
        let &Open { ref what, offset, flags } = self.open_at(self.a[0])?;
        if flags & ACCESS == WRITE_ONLY {
            return Err(EBADF);
        }
        let wanted = pieces.iter().fold(0, |all: u64, (_, length)| all.saturating_add(*length));
        match what.clone() {
            What::NoInput => {
                let text = "the program reads standard input, and the run has none: it is at its end \
                            (give it with --input FILE)";
                Ok(self.told(0, text.into()))
            }
            What::Null => done(()),
            What::Folder(..) => Err(EISDIR),
            What::Stream(_) | What::PipeIn(_) => Err(EBADF),
            What::PipeOut(_) if at.is_some() => Err(ESPIPE),
            What::PipeOut(pipe) => self.read_pipe(pipe, pieces, wanted, flags),
            What::File(contents) => {
                let files = &self.calls.files;
                let bytes = files.state.tree.bytes(&files.given, &contents);
                let from = usize::try_from(at.unwrap_or(offset)).unwrap_or(usize::MAX).min(bytes.len());
                let count = usize::try_from(wanted).unwrap_or(usize::MAX).min(bytes.len() - from);
                let bytes = bytes[from..from + count].to_vec();
                let read = self.scatter(pieces, &bytes)?;
                if at.is_none() {
                    self.open_at_mut(self.a[0])?.offset += read;
                }
                Ok((read as i64).into())
            }
        }
    }

    /// Puts bytes into the ranges, up to the first that is out of reach: how many.
    pub(super) fn scatter(&mut self, pieces: &[Piece], bytes: &[u8]) -> Result<u64, Error> {
        let mut put = 0;
        for &(address, length) in pieces {
            let count = (bytes.len() - put).min(usize::try_from(length).unwrap_or(usize::MAX));
            match self.put(address, &bytes[put..put + count]) {
                Ok(()) => put += count,
                Err(error) if put == 0 => return Err(error),
                Err(_) => break,
            }
        }
        Ok(put as u64)
    }

    /// The bytes of the ranges, up to the first that is out of reach.
    pub(super) fn gather(&mut self, pieces: &[Piece], most: u64) -> Result<Vec<u8>, Error> {
        let mut bytes: Vec<u8> = Vec::new();
        for &(address, length) in pieces {
            let room = most - bytes.len() as u64;
            match self.bytes(address, length.min(room)) {
                Ok(piece) => bytes.extend(piece),
                Err(error) if bytes.is_empty() => return Err(error),
                Err(_) => break,
            }
        }
        Ok(bytes)
    }

    /// Writes the ranges: to a place in a file, if one is given.
    pub(super) fn write(&mut self, pieces: &[Piece], at: Option<u64>) -> Answer {
        let &Open { ref what, offset, flags } = self.open_at(self.a[0])?;
        if flags & ACCESS == READ_ONLY {
            return Err(EBADF);
        }
        match *what {
            What::Stream(_) | What::PipeIn(_) if at.is_some() => Err(ESPIPE),
            What::Stream(stream) => {
                let bytes = self.gather(pieces, OUTPUT_LIMIT_BYTES)?;
                let value = bytes.len() as i64;
                let effect = (value > 0).then_some(Effect::Output { stream, bytes });
                Ok(CallResult { effect, ..CallResult::from(value) })
            }
            What::Null => {
                let all = pieces.iter().fold(0, |all: u64, (_, length)| all.saturating_add(*length));
                Ok((all.min(i64::MAX as u64) as i64).into())
            }
            What::PipeIn(pipe) => self.write_pipe(pipe, pieces, flags),
            What::File(Contents::Own(number)) => self.write_file(number, pieces, (at, offset, flags)),
            What::NoInput | What::File(_) | What::Folder(..) | What::PipeOut(_) => Err(EBADF),
        }
    }

    fn write_file(
        &mut self,
        number: u64,
        pieces: &[Piece],
        (at, offset, flags): (Option<u64>, u64, u64),
    ) -> Answer {
        let bytes = self.gather(pieces, crate::linux::files::MOST_WRITTEN_BYTES)?;
        let files = &mut self.calls.files;
        let length = files.state.tree.bytes(&files.given, &Contents::Own(number)).len() as u64;
        let from = if flags & APPEND != 0 { length } else { at.unwrap_or(offset) };
        if let Err(trouble) = files.state.tree.write(number, from, &bytes) {
            return self.trouble(trouble, "");
        }
        if at.is_none() {
            self.open_at_mut(self.a[0])?.offset = from + bytes.len() as u64;
        }
        Ok((bytes.len() as i64).into())
    }

    pub(super) fn close(&mut self) -> Answer {
        if self.device().is_some() {
            return done(());
        }
        let state = &mut self.calls.files.state;
        let closed = state.descriptors.close(self.a[0]).ok_or(EBADF)?;
        match closed {
            Some(What::PipeIn(pipe) | What::PipeOut(pipe)) => Ok(self.with_woken(0, pipe)),
            Some(What::File(Contents::Own(_))) => {
                state.tree.forget_unnamed(|number| state.descriptors.has_file(number));
                done(())
            }
            _ => done(()),
        }
    }

    /// Another descriptor for the same: the lowest free one.
    pub(super) fn duplicate(&mut self, least: u64, closes: bool) -> Answer {
        self.open_at(self.a[0])?;
        let least = if least <= 2 { least } else { least.max(self.first_descriptor()) };
        let lowest = self.lowest_descriptor(least);
        let other = self.calls.files.state.descriptors.duplicate(self.a[0], lowest, closes).ok_or(EMFILE)?;
        Ok((other as i64).into())
    }

    /// The lowest free descriptor from `least` on that is no device's.
    pub(super) fn lowest_descriptor(&self, least: u64) -> u64 {
        let is_free = |descriptor: &u64| self.calls.files.state.descriptors.get(*descriptor).is_none();
        (least..FIRST_DEVICE).find(is_free).unwrap_or_else(|| self.first_descriptor().max(least))
    }

    /// The same at a place of the program's choice.
    pub(super) fn duplicate_at(&mut self) -> Answer {
        let [descriptor, other, flags, ..] = self.a;
        self.open_at(descriptor)?;
        if descriptor == other || flags & !CLOSES != 0 {
            return Err(EINVAL);
        }
        if (FIRST_DEVICE..self.first_descriptor()).contains(&other) {
            return Err(EBADF);
        }
        let descriptors = &mut self.calls.files.state.descriptors;
        let closed = descriptors.close(other).flatten();
        if !descriptors.duplicate_at(descriptor, other, flags & CLOSES != 0) {
            return Err(EBADF);
        }
        Ok(match closed {
            Some(What::PipeIn(pipe) | What::PipeOut(pipe)) => self.with_woken(other as i64, pipe),
            _ => (other as i64).into(),
        })
    }

    pub(super) fn seek(&mut self) -> Answer {
        const SET: u64 = 0;
        const CURRENT: u64 = 1;
        const END: u64 = 2;
        let [descriptor, offset, from, ..] = self.a;
        let open = self.open_at(descriptor)?;
        let length = match &open.what {
            What::File(contents) => {
                let files = &self.calls.files;
                files.state.tree.bytes(&files.given, contents).len() as u64
            }
            What::Folder(..) | What::Null => 0,
            _ => return Err(ESPIPE),
        };
        let base = match from {
            SET => 0,
            CURRENT => open.offset,
            END => length,
            _ => return Err(EINVAL),
        };
        let place = base.checked_add_signed(offset as i64).filter(|place| *place <= i64::MAX as u64);
        let place = place.ok_or(EINVAL)?;
        let open = self.open_at_mut(descriptor)?;
        open.offset = place;
        if let What::Folder(_, list) = &mut open.what
            && place == 0
        {
            *list = None;
        }
        Ok((place as i64).into())
    }

    /// Flags of a descriptor, and of what it stands for; locks, which nobody else could hold.
    pub(super) fn control_descriptor(&mut self) -> Answer {
        const DUPLICATE: u64 = 0;
        const GET_CLOSES: u64 = 1;
        const SET_CLOSES: u64 = 2;
        const GET_FLAGS: u64 = 3;
        const SET_FLAGS: u64 = 4;
        const LOCK: u64 = 6;
        const LOCK_WAITING: u64 = 7;
        const DUPLICATE_CLOSING: u64 = 1030;
        let [descriptor, command, argument, ..] = self.a;
        if self.device().is_some() {
            return done(());
        }
        let open = self.open_at_mut(descriptor)?;
        match command {
            DUPLICATE => self.duplicate(argument, false),
            DUPLICATE_CLOSING => self.duplicate(argument, true),
            GET_FLAGS => Ok((open.flags as i64).into()),
            SET_FLAGS => {
                open.flags = open.flags & !(APPEND | NONBLOCK) | argument & (APPEND | NONBLOCK);
                done(())
            }
            GET_CLOSES | SET_CLOSES => {
                let closes = self.calls.files.state.descriptors.closes_mut(descriptor).ok_or(EBADF)?;
                if command == SET_CLOSES {
                    *closes = argument & 1 != 0;
                    return done(());
                }
                Ok(i64::from(*closes).into())
            }
            LOCK | LOCK_WAITING => done(()),
            _ => Err(EINVAL),
        }
    }

    /// Streams and files are always ready, pipes as far as they have bytes or room; other
    /// descriptors are invalid.
    pub(super) fn poll(&mut self) -> Answer {
        const INVALID: u16 = 0x20;
        if self.a[1] > 1024 {
            return Err(EINVAL);
        }
        let (mut ready, mut has_pipe) = (0, false);
        for index in 0..self.a[1] {
            let entry = self.a[0].checked_add(8 * index).ok_or(EFAULT)?;
            let word = self.word(entry)?;
            let (descriptor, events) = (word as i32, (word >> 32) as u16);
            let found = match u64::try_from(descriptor).ok().map(|descriptor| self.open_at(descriptor)) {
                None => 0,
                Some(Err(_)) => INVALID,
                Some(Ok(open)) => {
                    has_pipe |= matches!(open.what, What::PipeOut(_) | What::PipeIn(_));
                    self.readiness(&open.what, events)
                }
            };
            ready += i64::from(found != 0);
            self.put(entry.wrapping_add(6), &found.to_le_bytes())?;
        }
        if ready == 0 && has_pipe {
            let text = "the program waits for a pipe with poll, which does not wait in this simulator: it gets 0; \
                        let a thread read instead";
            return Ok(self.told(0, text.into()));
        }
        Ok(ready.into())
    }

    fn readiness(&self, what: &What, events: u16) -> u16 {
        const READABLE: u16 = 1;
        const WRITABLE: u16 = 4;
        const HUNG_UP: u16 = 0x10;
        let descriptors = &self.calls.files.state.descriptors;
        let held = |pipe| descriptors.pipes.get(pipe).map_or(0, |held| held.len());
        match what {
            What::NoInput => events & READABLE,
            What::Stream(_) => events & WRITABLE,
            What::File(_) | What::Folder(..) | What::Null => events & (READABLE | WRITABLE),
            What::PipeOut(pipe) if held(pipe) > 0 => events & READABLE,
            What::PipeOut(pipe) if !descriptors.has_end(&What::PipeIn(*pipe)) => HUNG_UP,
            What::PipeIn(pipe) if held(pipe) < PIPE_BYTES => events & WRITABLE,
            What::PipeOut(_) | What::PipeIn(_) => 0,
        }
    }

    /// The place of the device that a descriptor stands for.
    pub(super) fn device(&self) -> Option<usize> {
        let place = usize::try_from(self.a[0].checked_sub(FIRST_DEVICE)?).ok()?;
        (place < self.calls.devices.len()).then_some(place)
    }

    /// A call of a device; nothing else is a terminal.
    pub(super) fn control(&mut self) -> Answer {
        let [descriptor, request, argument, ..] = self.a;
        match self.device() {
            Some(place) => Ok(Effect::Device { place, request, argument }.into()),
            None => self.open_at(descriptor).and(Err(ENOTTY)),
        }
    }

    /// The descriptor of a device, the same each time.
    pub(super) fn device_descriptor(&self, place: usize) -> Answer {
        Ok((FIRST_DEVICE as i64 + place as i64).into())
    }

    /// A file of the process's own that a descriptor stands for has another length.
    pub(super) fn truncate_open(&mut self, length: u64) -> Answer {
        let Open { what, flags, .. } = self.open_at(self.a[0])?;
        match *what {
            What::File(Contents::Own(number)) if flags & ACCESS != READ_ONLY => self.truncate(number, length),
            _ => Err(EINVAL),
        }
    }

    /// Room for a range of a file.
    pub(super) fn allocate(&mut self) -> Answer {
        let [descriptor, mode, offset, length, ..] = self.a;
        if mode != 0 {
            return Err(EOPNOTSUPP);
        }
        let Open { what: What::File(contents), .. } = self.open_at(descriptor)? else { return Err(EBADF) };
        let files = &self.calls.files;
        let now = files.state.tree.bytes(&files.given, contents).len() as u64;
        self.truncate_open(offset.saturating_add(length).max(now))
    }

    pub(super) fn truncate(&mut self, number: u64, length: u64) -> Answer {
        match self.calls.files.state.tree.resize(number, length) {
            Ok(()) => done(()),
            Err(Trouble::TooMuch) if length > i64::MAX as u64 => Err(EINVAL),
            Err(trouble) => self.trouble(trouble, ""),
        }
    }
}
