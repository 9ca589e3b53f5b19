//! System calls: what the simulator answers in the place of Linux.
//!
//! A call takes its number and six arguments and gives a value for register a0,
//! negative for an error, and at most one *effect* on the world outside of the
//! node: output, the end of the program, a result for the report. The node
//! carries effects out; nothing here prints or stops anything.
//!
//! A process has a thread for each of its processors at most ([`super::threads`]),
//! signals ([`super::signals`]), one clock (simulated time), its devices, and files that the user
//! has given it or that it writes itself ([`super::files`]). Calls that only matter with more than that get the answer of
//! a machine on which there is nothing to do. A call that is
//! not known gets ENOSYS, once with a notice, because a program that then
//! misbehaves would be hard to understand otherwise.

// Its answers, and the calls by what they concern.
mod answer;
mod facts;
mod files;
mod handlers;
mod memory;
mod pipes;
mod progress;
mod signals;
mod streams;
mod threads;
mod warm;

pub use answer::{CallResult, Effect, NarthexCall, NewThread, OutputStream};
pub use progress::changes_nothing;

use answer::{EFAULT, EINVAL, ENOSYS, ESRCH, ETIMEDOUT, Error};

use super::address_space::AddressSpace;
use super::files::{Files, GivenFiles, Written};
use super::numbers::name;
use super::signals::{Action, Left, Pending};
use super::threads::{PROCESS, Threads};
use super::{GuestMemory, Protection};
use narthex_kernel::random::Stream;
use narthex_kernel::{Archive, Archived, Damage};
use narthex_memory::Tag;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The longest text that a call takes, Linux' PATH_MAX.
const TEXT_LIMIT_BYTES: u64 = 4096;
/// The only user and group.
const USER: i64 = 1000;

/// The kernel's side of one node's process.
#[derive(Clone, Debug)]
pub struct SystemCalls {
    space: AddressSpace,
    threads: Threads,
    randomness: Stream,
    noticed: BTreeSet<u64>,
    /// What the program wants at signals.
    actions: BTreeMap<u64, Action>,
    /// Signals to the process that all threads block.
    pending: Pending,
    files: Files,
    /// The devices that the program can open, by their names.
    devices: Vec<String>,
    /// Devices of other nodes, by their names, and what is said of them.
    absent: Vec<(String, String)>,
}

/// Its memory's regions, its threads, its place in the random numbers, what it was told, and what
/// it wants at signals.
impl Archived for SystemCalls {
    fn archive(&mut self, archive: &mut Archive<'_>) -> Result<(), Damage> {
        let SystemCalls {
            space,
            threads,
            randomness,
            noticed,
            actions,
            pending,
            files,
            devices: _,
            absent: _,
        } = self;
        archive.value(space)?;
        let most = threads.most();
        archive.value(threads)?;
        archive.ensure(
            threads.most() == most,
            "a process has another number of processors than the machine's",
        )?;
        randomness.archive(archive)?;
        archive.value(noticed)?;
        archive.value(actions)?;
        archive.value(pending)?;
        archive.value(&mut files.state)
    }
}

impl SystemCalls {
    /// The kernel of a process that has this address space and one processor.
    pub fn for_process(space: AddressSpace, seed: u64) -> Self {
        let randomness = Stream::new(seed, "linux/getrandom");
        let (threads, noticed) = (Threads::on(1), BTreeSet::new());
        let (actions, pending) = (BTreeMap::new(), Pending::default());
        let (devices, absent) = (Vec::new(), Vec::new());
        let files = Files::default();
        SystemCalls { space, threads, randomness, noticed, actions, pending, files, devices, absent }
    }

    /// The same for a process with so many processors, of which the first thread
    /// has the first.
    pub fn with_processors(self, processors: usize) -> Self {
        SystemCalls { threads: Threads::on(processors), ..self }
    }

    /// The process's address space.
    pub fn space(&self) -> &AddressSpace {
        &self.space
    }

    /// The process's address space, to add devices to it.
    pub fn space_mut(&mut self) -> &mut AddressSpace {
        &mut self.space
    }

    /// The same for a process that can open these devices: `/dev/` and a name.
    pub fn with_devices(self, devices: Vec<String>) -> Self {
        SystemCalls { devices, ..self }
    }

    /// The same for a process that has these files.
    pub fn with_files(self, given: Arc<GivenFiles>) -> Self {
        SystemCalls { files: Files::new(given), ..self }
    }

    /// The files and folders that the process has written, in the order of their names.
    pub fn written(&self) -> impl Iterator<Item = Written<'_>> {
        self.files.written()
    }

    /// The same for a process that is told why it cannot open these others.
    pub fn with_absent_devices(self, absent: Vec<(String, String)>) -> Self {
        SystemCalls { absent, ..self }
    }

    /// Answers call `number` (register a7) of the first thread with `arguments` (a0
    /// to a5) at `now_ns` nanoseconds of simulated time.
    pub fn handle(
        &mut self,
        number: u64,
        arguments: [u64; 6],
        memory: &mut impl GuestMemory,
        now_ns: u64,
    ) -> CallResult {
        self.handle_of(0, number, arguments, memory, now_ns)
    }

    /// The same for the thread at this place. A signal that is due comes before its call, which is
    /// made again behind the handler ([`SystemCalls::attend`]).
    pub fn handle_of(
        &mut self,
        caller: usize,
        number: u64,
        arguments: [u64; 6],
        memory: &mut impl GuestMemory,
        now_ns: u64,
    ) -> CallResult {
        if self.signal_is_due(caller) {
            self.threads.repeat(caller, arguments[0]);
            return CallResult::from(0);
        }
        let mut call = Call { calls: self, caller, number, a: arguments, memory, now_ns };
        call.answer().unwrap_or_else(|error| CallResult::from(-error.0))
    }

    /// The time is over for which a thread sleeps: what its call returns.
    pub fn time_is_over(&mut self, thread: usize) -> i64 {
        if self.threads.time_is_over(thread) { -ETIMEDOUT.0 } else { 0 }
    }

    /// The word for which a thread sleeps, if it does.
    pub fn awaited_word(&self, thread: usize) -> Option<u64> {
        self.threads.awaited_word(thread)
    }

    /// Whether a thread sleeps until a signal comes, or a byte in a pipe.
    pub fn sleeps_for_ever(&self, thread: usize) -> bool {
        self.threads.sleeps_for_ever(thread)
    }

    /// A device interrupts the process: the place of the thread that waits for it, if one does. The next
    /// one that waits for it goes on at once otherwise.
    pub fn interrupt(&mut self, vector: u8) -> Option<usize> {
        self.threads.interrupt_of_device(vector)
    }

    /// The interrupt for which a thread sleeps, if it does.
    pub fn awaited_interrupt(&self, thread: usize) -> Option<u8> {
        self.threads.awaited_interrupt(thread)
    }

    /// The number by which the program knows a thread.
    pub fn thread_number(&self, thread: usize) -> i64 {
        self.threads.number(thread)
    }
}

type Answer = Result<CallResult, Error>;

/// One call while it is answered.
struct Call<'a, M> {
    calls: &'a mut SystemCalls,
    /// The place of the thread that calls.
    caller: usize,
    number: u64,
    a: [u64; 6],
    memory: &'a mut M,
    now_ns: u64,
}

impl<M: GuestMemory> Call<'_, M> {
    fn answer(&mut self) -> Answer {
        match name(self.number).unwrap_or_default() {
            "read" => self.read(&self.piece(), None),
            "pread64" => self.read(&self.piece(), Some(self.a[3])),
            "readv" => self.pieces().and_then(|pieces| self.read(&pieces, None)),
            "preadv" => self.pieces().and_then(|pieces| self.read(&pieces, Some(self.a[3]))),
            "write" => self.write(&self.piece(), None),
            "pwrite64" => self.write(&self.piece(), Some(self.a[3])),
            "writev" => self.pieces().and_then(|pieces| self.write(&pieces, None)),
            "pwritev" => self.pieces().and_then(|pieces| self.write(&pieces, Some(self.a[3]))),
            "exit" => self.exit_thread(),
            "exit_group" => Ok(Effect::Exit(self.a[0] as u8).into()),
            "kill" => self.kill(),
            "tkill" => self.kill_thread(self.a[0], self.a[1]),
            "tgkill" if self.a[0] != PROCESS as u64 => Err(ESRCH),
            "tgkill" => self.kill_thread(self.a[1], self.a[2]),
            "rt_sigqueueinfo" => self.queue_signal(),

            "brk" => Ok(self.set_break()),
            "mmap" => self.map(),
            "munmap" => self.unmap(),
            "mprotect" => self.protect(),
            "mremap" => self.resize(),
            "madvise" => self.advise(),
            "riscv_flush_icache" => self.flush_instructions(),

            "clock_gettime" => self.clock(),
            "clock_getres" => self.clock_resolution(),
            "gettimeofday" => self.time_of_day(),
            "getrandom" => self.random(),
            "uname" => self.system_name(),
            "sysinfo" => self.system_information(),
            "prlimit64" => self.limits(),
            "sched_getaffinity" => self.affinity(),
            "sched_setaffinity" => self.set_affinity(),
            "getcpu" => self.processor_number(),
            "prctl" => self.control_process(),
            "membarrier" => self.barrier_of_memory(),
            "getrusage" => self.resource_usage(),
            "times" => self.process_times(),

            "getpid" => Ok(PROCESS.into()),
            "gettid" => Ok(self.calls.threads.number(self.caller).into()),
            "set_tid_address" => self.set_thread_address(),
            "getppid" => Ok(1.into()),
            "getuid" | "geteuid" | "getgid" | "getegid" => Ok(USER.into()),
            "set_robust_list" | "sched_yield" | "mlock" | "munlock" => done(()),
            "rt_sigaction" => self.signal_action(),
            "rt_sigprocmask" => self.signal_mask(),
            "rt_sigpending" => self.pending_signals(),
            "rt_sigsuspend" => self.suspend(),
            "rt_sigtimedwait" => self.take_signal(),
            "sigaltstack" => self.alternate_stack(),
            "rt_sigreturn" => self.return_from_handler(),
            "futex" => self.futex(),
            "clone" => self.start_thread(),
            "nanosleep" => self.sleep_for_time(),
            "clock_nanosleep" => self.sleep_by_clock(),

            "fstat" => self.open_status(self.a[0], self.a[1]),
            "newfstatat" => self.file_status(),
            "ioctl" => self.control(),
            "lseek" => self.seek(),
            "close" => self.close(),
            "dup" => self.duplicate(0, false),
            "dup3" => self.duplicate_at(),
            "pipe2" => self.make_pipe(),
            "fsync" | "fdatasync" | "flock" | "fchmod" | "fchown" => self.pass_over(),
            "sync" => done(()),
            "umask" => Ok(0o022.into()),
            "fcntl" => self.control_descriptor(),
            "ppoll" if self.a[1] == 0 && self.a[2] == 0 => self.pause(),
            "ppoll" => self.poll(),
            "openat" => self.open(),
            "getdents64" => self.list_folder(),
            "mkdirat" => self.make_folder(),
            "unlinkat" => self.remove(),
            "renameat2" => self.rename(),
            "truncate" => self.truncate_named(),
            "ftruncate" => self.truncate_open(self.a[1]),
            "fallocate" => self.allocate(),
            "faccessat" | "faccessat2" => self.access(),
            "readlinkat" => self.read_link(),
            "fchmodat" | "fchownat" | "utimensat" => self.change_attributes(),
            "chdir" => self.change_folder(),
            "fchdir" => self.change_open_folder(),
            "getcwd" => self.working_folder(),

            // C libraries ask for these at every start and do without.
            "rseq" | "riscv_hwprobe" | "statx" | "clone3" => Err(ENOSYS),

            "narthex_report" => self.report(f64::from_bits(self.a[1])),
            // Of firmware, whose compiler has no floating point.
            "narthex_count" => self.report(self.a[1] as f64),
            "narthex_fail" => Ok(Effect::Narthex(NarthexCall::Fail(self.text(self.a[0])?)).into()),
            "narthex_region" => self.region(),
            "narthex_checkpoint" => Ok(Effect::Narthex(NarthexCall::Checkpoint).into()),
            "narthex_shared" => self.share(),
            "wait_for_interrupt" => self.wait_for_interrupt(),
            _ => Ok(self.unknown()),
        }
    }

    /// The thread's address at which a zero is written at its end.
    fn set_thread_address(&mut self) -> Answer {
        self.calls.threads.clear_at_exit(self.caller, self.a[0]);
        Ok(self.calls.threads.number(self.caller).into())
    }

    fn return_from_handler(&mut self) -> Answer {
        self.own_signals().left = Some(Left::Return);
        done(())
    }

    /// What an open file needs not, as everything is written at once and belongs to one user.
    fn pass_over(&mut self) -> Answer {
        self.open_at(self.a[0]).map(|_| ()).and_then(done)
    }

    // The simulator's own calls.

    fn report(&mut self, value: f64) -> Answer {
        let (name, unit) = (self.text(self.a[0])?, self.text(self.a[2])?);
        Ok(Effect::Narthex(NarthexCall::Report { name, value, unit }).into())
    }

    fn region(&mut self) -> Answer {
        let (name, begin) = (self.text(self.a[0])?, self.a[1] != 0);
        Ok(Effect::Narthex(NarthexCall::Region { name, begin }).into())
    }

    /// Makes a part of the address space tagged memory: start, length, block. The
    /// tags are one processor's, so the process has one thread.
    fn share(&mut self) -> Answer {
        let [address, length, block_bytes, ..] = self.a;
        if self.calls.threads.count() > 1 {
            let text = "the program tags memory, but a process with several threads cannot: it gets EINVAL";
            return Ok(self.notice(EINVAL, text.into()));
        }
        done(self.calls.space.add_shared(self.memory, address, length, block_bytes)?)
    }

    fn unknown(&mut self) -> CallResult {
        let name = name(self.number).unwrap_or("unknown");
        let number = self.number;
        self.notice(
            ENOSYS,
            format!("system call {number} ({name}) is not simulated: the program gets ENOSYS"),
        )
    }

    /// Returns the error, with the notice if this call has not had one yet.
    fn notice(&mut self, error: Error, text: String) -> CallResult {
        self.told(-error.0, text)
    }

    /// The same for a call that does not fail.
    fn told(&mut self, value: i64, text: String) -> CallResult {
        let first = self.calls.noticed.insert(self.number);
        CallResult { value, effect: first.then_some(Effect::Notice(text)), pages: 0 }
    }

    // The program's memory, as far as the program itself may use it.

    fn check(&mut self, address: u64, length: u64, needed: Protection) -> Result<(), Error> {
        let tag = if needed.write { Tag::Write } else { Tag::Read };
        let allowed = self.calls.space.allows(address, length, needed)
            && self.memory.bytes_tagged(address, length, tag) == length;
        if allowed { Ok(()) } else { Err(EFAULT) }
    }

    fn bytes(&mut self, address: u64, length: u64) -> Result<Vec<u8>, Error> {
        self.check(address, length, Protection::READ)?;
        let mut bytes = vec![0; length as usize];
        self.memory.read(address, &mut bytes).map_err(|_| EFAULT)?;
        Ok(bytes)
    }

    fn word(&mut self, address: u64) -> Result<u64, Error> {
        let bytes = self.bytes(address, 8)?;
        Ok(bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)))
    }

    /// The text up to its zero byte, or the limit; whatever is not UTF-8 in it
    /// is replaced.
    fn text(&mut self, address: u64) -> Result<String, Error> {
        let mapped = self.calls.space.allowed_bytes(address, TEXT_LIMIT_BYTES, Protection::READ);
        let length = self.memory.bytes_tagged(address, mapped, Tag::Read);
        let bytes = self.bytes(address, length)?;
        let end = bytes.iter().position(|byte| *byte == 0);
        if end.is_none() && length < TEXT_LIMIT_BYTES {
            return Err(EFAULT);
        }
        Ok(String::from_utf8_lossy(&bytes[..end.unwrap_or(bytes.len())]).into_owned())
    }

    fn put(&mut self, address: u64, bytes: &[u8]) -> Result<(), Error> {
        self.check(address, bytes.len() as u64, Protection { write: true, ..Protection::NONE })?;
        self.memory.write(address, bytes).map_err(|_| EFAULT)
    }

    fn put_words(&mut self, address: u64, words: &[u64]) -> Answer {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        self.put(address, &bytes).and_then(done)
    }
}

fn done((): ()) -> Answer {
    Ok(0.into())
}

#[cfg(test)]
mod tests;
