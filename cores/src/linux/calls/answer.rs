//! What a system call answers: a value, an error number, and what the node has to do.

use crate::linux::address_space::{PAGE_BYTES, Refusal};
use serde::{Deserialize, Serialize};

/// The answer to a system call.
#[derive(Clone, Debug, PartialEq)]
pub struct CallResult {
    /// What register a0 receives.
    pub value: i64,
    /// What the node has to carry out.
    pub effect: Option<Effect>,
    /// How many pages of the address space the call worked on.
    pub pages: u64,
}

impl CallResult {
    /// The same, of a call that worked on the pages that `length` bytes fill.
    pub(super) fn over(self, length: u64) -> Self {
        CallResult { pages: length.div_ceil(PAGE_BYTES), ..self }
    }
}

/// What a call does to the world outside of its node.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// The program writes to one of its streams.
    Output {
        /// Which one.
        stream: OutputStream,
        /// What, which need not be text.
        bytes: Vec<u8>,
    },
    /// The program ends with this code, 0 for success.
    Exit(u8),
    /// A thread starts, with the registers of the one that calls.
    Start(NewThread),
    /// The thread that calls ends, which wakes those at these places.
    ExitThread {
        /// Threads that go on.
        woken: Vec<usize>,
    },
    /// The thread that calls sleeps until another one wakes it.
    Sleep {
        /// When it goes on in any case, in nanoseconds of simulated time.
        until_ns: Option<u64>,
    },
    /// The threads at these places go on.
    Wake(Vec<usize>),
    /// The sleep of the threads at these places ends early; the books say what that makes of their
    /// calls ([`SystemCalls::attend`](super::SystemCalls::attend)).
    Interrupt(Vec<usize>),
    /// The program ended itself by a signal, as `abort` does.
    Killed {
        /// The number.
        signal: u64,
        /// The signal's name.
        name: &'static str,
    },
    /// The program calls a device, which gives the value and what else there is to do.
    Device {
        /// The device's place among those that programs can open.
        place: usize,
        /// The number of the request.
        request: u64,
        /// Its argument.
        argument: u64,
    },
    /// The program speaks to the simulator.
    Narthex(NarthexCall),
    /// The user should know, once, that the program asks for something that
    /// nodes do not have.
    Notice(String),
}

/// A thread that starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewThread {
    /// Its place: the number of its processor among those of its process.
    pub place: usize,
    /// Its stack pointer; 0 is that of the thread that starts it.
    pub stack: u64,
    /// What register tp holds, if not what it does for the thread that starts it.
    pub thread_pointer: Option<u64>,
}

/// Where output comes from: a program's streams, or firmware.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum OutputStream {
    /// File descriptor 1.
    Output,
    /// File descriptor 2.
    Error,
    /// Either of them, of firmware.
    Firmware,
}

impl OutputStream {
    /// What results call it.
    pub const fn as_str(self) -> &'static str {
        match self {
            OutputStream::Output => "stdout",
            OutputStream::Error => "stderr",
            OutputStream::Firmware => "firmware",
        }
    }
}

/// A call to the simulator, not to Linux.
#[derive(Clone, Debug, PartialEq)]
pub enum NarthexCall {
    /// A result of the program's for the report.
    Report {
        /// What was measured.
        name: String,
        /// How much.
        value: f64,
        /// In which unit.
        unit: String,
    },
    /// A check in the program failed: the run ends as a failure.
    Fail(String),
    /// A measured region begins or ends on this node.
    Region {
        /// The region's name.
        name: String,
        /// Whether it begins.
        begin: bool,
    },
    /// The program has come to where a warm checkpoint may be made.
    Checkpoint,
}

impl From<i64> for CallResult {
    fn from(value: i64) -> Self {
        CallResult { value, effect: None, pages: 0 }
    }
}

impl From<Effect> for CallResult {
    fn from(effect: Effect) -> Self {
        CallResult { value: 0, effect: Some(effect), pages: 0 }
    }
}

/// A Linux error number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Error(pub(super) i64);

pub(super) const EPERM: Error = Error(1);
pub(super) const ENOENT: Error = Error(2);
pub(super) const ESRCH: Error = Error(3);
pub(super) const EINTR: Error = Error(4);
pub(super) const EBADF: Error = Error(9);
pub(super) const EAGAIN: Error = Error(11);
pub(super) const ENOMEM: Error = Error(12);
pub(super) const EACCES: Error = Error(13);
pub(super) const EFAULT: Error = Error(14);
pub(super) const EBUSY: Error = Error(16);
pub(super) const EEXIST: Error = Error(17);
pub(super) const ENODEV: Error = Error(19);
pub(super) const ENOTDIR: Error = Error(20);
pub(super) const EISDIR: Error = Error(21);
pub(super) const EINVAL: Error = Error(22);
pub(super) const EMFILE: Error = Error(24);
pub(super) const ENOTTY: Error = Error(25);
pub(super) const ENOSPC: Error = Error(28);
pub(super) const ESPIPE: Error = Error(29);
pub(super) const EROFS: Error = Error(30);
pub(super) const EPIPE: Error = Error(32);
pub(super) const ERANGE: Error = Error(34);
pub(super) const EDEADLK: Error = Error(35);
pub(super) const ENAMETOOLONG: Error = Error(36);
pub(super) const ENOSYS: Error = Error(38);
pub(super) const ENOTEMPTY: Error = Error(39);
pub(super) const EOPNOTSUPP: Error = Error(95);
pub(super) const ETIMEDOUT: Error = Error(110);

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Invalid => EINVAL,
            Refusal::NoMemory => ENOMEM,
            Refusal::Exists => EEXIST,
            Refusal::Busy => EBUSY,
        }
    }
}
