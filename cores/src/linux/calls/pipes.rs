//! Pipes: bytes from one thread of the process to another, in the order of their calls.
//!
//! A thread that finds no bytes, or no room, sleeps; the other end's call lets it make its own again.

use super::answer::{CallResult, EAGAIN, EINVAL, EMFILE, EPIPE, Effect};
use super::streams::{CLOSES, NONBLOCK, Piece};
use super::{Answer, Call, done};
use crate::linux::GuestMemory;
use crate::linux::files::descriptors::{PIPE_BYTES, What};
use crate::linux::signals::Again;
use crate::linux::threads::Awaited;

impl<M: GuestMemory> Call<'_, M> {
    pub(super) fn read_pipe(&mut self, pipe: u64, pieces: &[Piece], wanted: u64, flags: u64) -> Answer {
        let descriptors = &mut self.calls.files.state.descriptors;
        let waiting = descriptors.pipes.get(&pipe).map_or(0, |bytes| bytes.len() as u64);
        let count = waiting.min(wanted) as usize;
        if count == 0 && wanted > 0 && descriptors.has_end(&What::PipeIn(pipe)) {
            return self.wait_for_pipe(pipe, flags);
        }
        let held = descriptors.pipes.get(&pipe);
        let bytes: Vec<u8> = held.map(|held| held.iter().take(count).copied().collect()).unwrap_or_default();
        let read = self.scatter(pieces, &bytes)?;
        if let Some(held) = self.calls.files.state.descriptors.pipes.get_mut(&pipe) {
            held.drain(..read as usize);
        }
        Ok(self.with_woken(read as i64, pipe))
    }

    pub(super) fn write_pipe(&mut self, pipe: u64, pieces: &[Piece], flags: u64) -> Answer {
        const BROKEN_PIPE: u64 = 13;
        const BY_SYSTEM: i32 = 0x80;
        let descriptors = &self.calls.files.state.descriptors;
        if !descriptors.has_end(&What::PipeOut(pipe)) {
            let raised = self.raise(Some(self.caller), BROKEN_PIPE, BY_SYSTEM, 0, 0)?;
            return Ok(CallResult { value: -EPIPE.0, ..raised });
        }
        let room = PIPE_BYTES - descriptors.pipes.get(&pipe).map_or(0, |held| held.len());
        let bytes = self.gather(pieces, room as u64)?;
        if bytes.is_empty() && pieces.iter().any(|(_, length)| *length > 0) {
            return self.wait_for_pipe(pipe, flags);
        }
        if let Some(held) = self.calls.files.state.descriptors.pipes.get_mut(&pipe) {
            held.extend(&bytes);
        }
        Ok(self.with_woken(bytes.len() as i64, pipe))
    }

    fn wait_for_pipe(&mut self, pipe: u64, flags: u64) -> Answer {
        match flags & NONBLOCK {
            0 => self.sleep(Awaited::Pipe(pipe), None, Again::IfWanted, 0),
            _ => Err(EAGAIN),
        }
    }

    /// A value, with those that have waited for a pipe.
    pub(super) fn with_woken(&mut self, value: i64, pipe: u64) -> CallResult {
        let woken = self.calls.threads.wake_for_pipe(pipe);
        let effect = (!woken.is_empty()).then_some(Effect::Interrupt(woken));
        CallResult { effect, ..CallResult::from(value) }
    }

    pub(super) fn make_pipe(&mut self) -> Answer {
        let [address, flags, ..] = self.a;
        if flags & !(NONBLOCK | CLOSES) != 0 {
            return Err(EINVAL);
        }
        self.put(address, &[0; 8])?;
        let least = self.first_descriptor();
        let descriptors = &mut self.calls.files.state.descriptors;
        let ends = descriptors.pipe(least, flags & NONBLOCK, flags & CLOSES != 0).ok_or(EMFILE)?;
        let bytes: Vec<u8> = ends.iter().flat_map(|end| (*end as u32).to_le_bytes()).collect();
        self.put(address, &bytes).and_then(done)
    }
}
