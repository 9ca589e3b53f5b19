//! The numbers of Linux' system calls on RISC-V, and of the simulator's own.
//!
//! One table of facts, in ascending order: [`super::calls`] answers calls by
//! name, and a call that it does not know is named in the notice about it.

/// Number and name.
const CALLS: &[(u64, &str)] = &[
    (17, "getcwd"),
    (19, "eventfd2"),
    (20, "epoll_create1"),
    (21, "epoll_ctl"),
    (22, "epoll_pwait"),
    (23, "dup"),
    (24, "dup3"),
    (25, "fcntl"),
    (29, "ioctl"),
    (32, "flock"),
    (34, "mkdirat"),
    (35, "unlinkat"),
    (36, "symlinkat"),
    (37, "linkat"),
    (43, "statfs"),
    (44, "fstatfs"),
    (45, "truncate"),
    (46, "ftruncate"),
    (47, "fallocate"),
    (48, "faccessat"),
    (49, "chdir"),
    (50, "fchdir"),
    (52, "fchmod"),
    (53, "fchmodat"),
    (54, "fchownat"),
    (55, "fchown"),
    (56, "openat"),
    (57, "close"),
    (59, "pipe2"),
    (61, "getdents64"),
    (62, "lseek"),
    (63, "read"),
    (64, "write"),
    (65, "readv"),
    (66, "writev"),
    (67, "pread64"),
    (68, "pwrite64"),
    (69, "preadv"),
    (70, "pwritev"),
    (71, "sendfile"),
    (72, "pselect6"),
    (73, "ppoll"),
    (78, "readlinkat"),
    (79, "newfstatat"),
    (80, "fstat"),
    (81, "sync"),
    (82, "fsync"),
    (83, "fdatasync"),
    (85, "timerfd_create"),
    (88, "utimensat"),
    (93, "exit"),
    (94, "exit_group"),
    (95, "waitid"),
    (96, "set_tid_address"),
    (98, "futex"),
    (99, "set_robust_list"),
    (101, "nanosleep"),
    (103, "setitimer"),
    (107, "timer_create"),
    (112, "clock_settime"),
    (113, "clock_gettime"),
    (114, "clock_getres"),
    (115, "clock_nanosleep"),
    (119, "sched_setscheduler"),
    (120, "sched_getscheduler"),
    (122, "sched_setaffinity"),
    (123, "sched_getaffinity"),
    (124, "sched_yield"),
    (129, "kill"),
    (130, "tkill"),
    (131, "tgkill"),
    (132, "sigaltstack"),
    (133, "rt_sigsuspend"),
    (134, "rt_sigaction"),
    (135, "rt_sigprocmask"),
    (136, "rt_sigpending"),
    (137, "rt_sigtimedwait"),
    (138, "rt_sigqueueinfo"),
    (139, "rt_sigreturn"),
    (140, "setpriority"),
    (153, "times"),
    (157, "setsid"),
    (160, "uname"),
    (163, "getrlimit"),
    (165, "getrusage"),
    (166, "umask"),
    (167, "prctl"),
    (168, "getcpu"),
    (169, "gettimeofday"),
    (172, "getpid"),
    (173, "getppid"),
    (174, "getuid"),
    (175, "geteuid"),
    (176, "getgid"),
    (177, "getegid"),
    (178, "gettid"),
    (179, "sysinfo"),
    (194, "shmget"),
    (196, "shmat"),
    (198, "socket"),
    (200, "bind"),
    (201, "listen"),
    (203, "connect"),
    (206, "sendto"),
    (207, "recvfrom"),
    (214, "brk"),
    (215, "munmap"),
    (216, "mremap"),
    (220, "clone"),
    (221, "execve"),
    (222, "mmap"),
    (226, "mprotect"),
    (227, "msync"),
    (228, "mlock"),
    (229, "munlock"),
    (233, "madvise"),
    (258, "riscv_hwprobe"),
    (259, "riscv_flush_icache"),
    (260, "wait4"),
    (261, "prlimit64"),
    (276, "renameat2"),
    (278, "getrandom"),
    (279, "memfd_create"),
    (283, "membarrier"),
    (291, "statx"),
    (293, "rseq"),
    (435, "clone3"),
    (436, "close_range"),
    (439, "faccessat2"),
    (0x4e00, "narthex_report"),
    (0x4e01, "narthex_fail"),
    (0x4e02, "narthex_region"),
    (0x4e03, "narthex_shared"),
    (0x4e04, "narthex_count"),
    (0x4e05, "narthex_checkpoint"),
    // Of drivers: the operating system works for it, as for a read of a device that waits.
    (0x4e06, "wait_for_interrupt"),
];

/// The name of a system call, or nothing for a number that Linux hardly uses.
pub fn name(number: u64) -> Option<&'static str> {
    let index = CALLS.binary_search_by_key(&number, |(number, _)| *number).ok()?;
    Some(CALLS[index].1)
}

/// Whether a call speaks to the simulator, not to Linux.
pub fn is_simulators(number: u64) -> bool {
    name(number).is_some_and(|name| name.starts_with("narthex_"))
}

/// Whether firmware, which has no Linux below it, can make a call: to tell the user something.
pub fn is_firmwares(number: u64) -> bool {
    matches!(name(number), Some("write" | "narthex_count" | "narthex_region"))
}

/// The names of the signals that end a program.
pub fn signal_name(signal: u64) -> Option<&'static str> {
    const SIGNALS: [&str; 16] = [
        "SIGHUP",
        "SIGINT",
        "SIGQUIT",
        "SIGILL",
        "SIGTRAP",
        "SIGABRT",
        "SIGBUS",
        "SIGFPE",
        "SIGKILL",
        "SIGUSR1",
        "SIGSEGV",
        "SIGUSR2",
        "SIGPIPE",
        "SIGALRM",
        "SIGTERM",
        "SIGSTKFLT",
    ];
    match signal {
        // Of C libraries, which keep the first real-time signals to themselves.
        32 => Some("pthread_cancel in glibc"),
        33 => Some("pthread_cancel in musl"),
        _ => SIGNALS.get(usize::try_from(signal.checked_sub(1)?).ok()?).copied(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_order_so_that_every_call_is_found() {
        assert!(CALLS.is_sorted_by(|low, high| low.0 < high.0));
        assert_eq!(name(64), Some("write"));
        assert_eq!(name(1), None);
        assert_eq!(signal_name(6), Some("SIGABRT"));
        assert_eq!(signal_name(32), Some("pthread_cancel in glibc"));
        assert_eq!((signal_name(0), signal_name(99)), (None, None));
    }
}
