//! Calls of a device: what a program asks of it through the operating system.
//!
//! ```text
//!   program                      system                     device
//!   open("/dev/NAME")  ────────► finds it
//!   ioctl(fd, request, ──────────► system_call_time ──────► call(request, argument)
//!         argument)                                            │ reads and writes memory,
//!      ◄───────────────────────── pages × page_time ◄──────────┘ pins pages
//! ```
//!
//! A device answers calls if it has a name for them
//! ([`DeviceDescription::calls_name`](crate::description::DeviceDescription::calls_name)).
//! The call is carried out at its beginning; the time that it takes follows. What a
//! driver in the kernel would do, such as to register memory, is done here; what takes
//! the device's own time is the business of its engines.

use narthex_kernel::Duration;

/// What a program asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceCall {
    /// The program's process.
    pub process: u8,
    /// The request's number.
    pub request: u64,
    /// Its argument: mostly the address of a structure of the program.
    pub argument: u64,
}

/// Why a call is refused: the error number that the program sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallError {
    /// There is no such thing (ENOENT).
    Absent,
    /// It cannot be done now; the program may try again (EAGAIN).
    Again,
    /// There is no room, or the limit of pinned pages is reached (ENOMEM).
    NoMemory,
    /// An address that the program may not use so (EFAULT).
    BadAddress,
    /// It is in use (EBUSY).
    Busy,
    /// An argument makes no sense (EINVAL).
    Invalid,
    /// The device knows no such request (ENOTTY).
    UnknownRequest,
}

impl CallError {
    /// Linux' number of the error.
    pub fn number(self) -> i64 {
        match self {
            CallError::Absent => 2,
            CallError::Again => 11,
            CallError::NoMemory => 12,
            CallError::BadAddress => 14,
            CallError::Busy => 16,
            CallError::Invalid => 22,
            CallError::UnknownRequest => 25,
        }
    }
}

/// What the operating system does for a device while it answers a call. Addresses are
/// the program's.
pub trait OperatingSystem {
    /// Reads memory that the program may read.
    ///
    /// # Errors
    /// [`CallError::BadAddress`] where it may not.
    fn read(&mut self, address: u64, bytes: &mut [u8]) -> Result<(), CallError>;

    /// Writes memory that the program may write.
    ///
    /// # Errors
    /// [`CallError::BadAddress`] where it may not.
    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), CallError>;

    /// Pins the pages that the range touches and gives the address of each one's frame
    /// in the node, in order: they stay there until they are unpinned as often as they
    /// were pinned. Each page takes `page_time`.
    ///
    /// # Errors
    /// [`CallError::BadAddress`] where the program has no memory of its own that it may
    /// write; [`CallError::NoMemory`] beyond the limit of pinned pages. Then none is pinned.
    fn pin(&mut self, address: u64, length: u64) -> Result<Vec<u64>, CallError>;

    /// Unpins the pages that the range touches. Each page takes `page_time`.
    ///
    /// # Errors
    /// [`CallError::Invalid`] if one of them is not pinned. Then none is unpinned.
    fn unpin(&mut self, address: u64, length: u64) -> Result<(), CallError>;

    /// Writes the system's own memory, which no process has: an address of the node, from
    /// [`KERNEL_MEMORY`](crate::registers::KERNEL_MEMORY).
    fn write_kernel(&mut self, address: u64, bytes: &[u8]);

    /// The call takes this much longer.
    fn take_time(&mut self, time: Duration);

    /// Takes lines of the second-level cache of one of the program's processors, by set and way,
    /// away from caching; what was newer than memory in them is written back.
    ///
    /// # Errors
    /// [`CallError::NoMemory`] if the cache would lose a set's last line.
    fn lock_lines(&mut self, _processor: usize, _lines: &[(usize, usize)]) -> Result<(), CallError> {
        Err(CallError::NoMemory)
    }

    /// Gives such lines back, empty.
    fn free_lines(&mut self, _processor: usize, _lines: &[(usize, usize)]) {}
}
