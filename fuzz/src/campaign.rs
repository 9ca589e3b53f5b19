//! Cases one after the other, in a process of their own.
//!
//! ```text
//!   parent ── starts ──► child: seed 7 ... 8 ... 9 X
//!     │  ◄── seeds, as they begin ────┘            │
//!     └─► keeps the input of seed 9, starts another child at seed 10
//! ```
//!
//! The child stops at its first finding, whatever that is: something that the
//! class found, a panic, a signal, more memory than a case may take. The parent
//! ends a child that is silent for too long.

use std::io::{self, BufRead as _, BufReader, IsTerminal as _, Read, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use narthex_machine::host_memory::LIMIT_VARIABLE;

use crate::class::{Class, Name};

/// The name of the file with a case's input, without its ending.
const INPUT: &str = "input";
/// A case that takes longer hangs. Most take milliseconds.
const LONGEST_CASE: Duration = Duration::from_secs(30);
/// The address space of a child; a case needs a small part of it.
const MEMORY_KIBIBYTES: u64 = 4 << 20;
/// After this many findings, a campaign ends.
const MOST_FINDINGS: usize = 10;
/// Time between two lines of progress.
const PROGRESS_EVERY: Duration = Duration::from_secs(1);

/// Cases of one class.
#[derive(Clone, Debug)]
pub struct Campaign {
    /// The class.
    pub class: Name,
    /// The seed of the first case; the next has one more.
    pub seed: u64,
    /// Cases, at most.
    pub cases: u64,
    /// Time, at most.
    pub time: Option<Duration>,
    /// Where the input of a finding is kept.
    pub keep: PathBuf,
    /// Where QEMU is, if not where it is installed.
    pub qemu: Option<PathBuf>,
}

/// What a campaign came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Tally {
    /// Cases that were begun.
    pub cases: u64,
    /// Those that went wrong.
    pub findings: usize,
}

/// Why a child is no more.
enum End {
    /// It has carried out all of its cases, or the campaign's time is over.
    Done,
    /// Its last case went wrong.
    Finding(String),
}

impl Campaign {
    /// Runs cases until there are enough, in time or number; prints each finding.
    ///
    /// # Errors
    /// If a child cannot be started, or a file not be written.
    pub fn run(&self) -> io::Result<Tally> {
        let deadline = self.time.map(|time| Instant::now() + time);
        let scratch = tempfile::tempdir()?;
        let mut tally = Tally::default();
        while tally.cases < self.cases && tally.findings < MOST_FINDINGS {
            let mut child = self.start(&tally, scratch.path())?;
            let seeds = lines_of(child.stdout.take().expect("a pipe"));
            let complaint = text_of(child.stderr.take().expect("a pipe"));
            let end = self.watch(&seeds, deadline, &mut tally);
            if end.is_some() {
                child.kill()?;
            }
            let status = child.wait()?;
            let complaint = complaint.join().unwrap_or_default();
            match end.unwrap_or_else(|| ended(status, &complaint)) {
                End::Done => break,
                End::Finding(text) => self.tell(&mut tally, &text, scratch.path())?,
            }
        }
        Ok(tally)
    }

    /// A child for the cases that are left.
    fn start(&self, tally: &Tally, scratch: &Path) -> io::Result<Child> {
        // More memory than that is a finding; the limit is the shell's to set.
        let limited = format!("ulimit -v {MEMORY_KIBIBYTES} 2>/dev/null; exec \"$0\" \"$@\"");
        let mut command = Command::new("sh");
        command.args(["-c", &limited]).arg(std::env::current_exe()?).arg(self.class.to_string());
        command.args(["--seed", &(self.seed + tally.cases).to_string()]);
        command.args(["--cases", &(self.cases - tally.cases).to_string()]);
        command.arg("--child").arg(scratch);
        if let Some(qemu) = &self.qemu {
            command.arg("--qemu").arg(qemu);
        }
        // What is refused must not depend on what else the host does.
        command.env(LIMIT_VARIABLE, "1GiB");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()
    }

    /// Counts the cases that a child begins, until it ends (then nothing), the
    /// time is over, or one case takes too long.
    fn watch(&self, seeds: &Receiver<String>, deadline: Option<Instant>, tally: &mut Tally) -> Option<End> {
        let mut progress = Progress::default();
        loop {
            let left = deadline.map_or(Duration::MAX, |deadline| deadline.duration_since(Instant::now()));
            match seeds.recv_timeout(left.min(LONGEST_CASE)) {
                _ if left.is_zero() => return Some(End::Done),
                Ok(_) => tally.cases += 1,
                Err(RecvTimeoutError::Disconnected) => return None,
                Err(RecvTimeoutError::Timeout) if left <= LONGEST_CASE => return Some(End::Done),
                Err(RecvTimeoutError::Timeout) => {
                    let text = format!("it has not ended after {} s", LONGEST_CASE.as_secs());
                    return Some(End::Finding(text));
                }
            }
            progress.show(self.class, tally);
        }
    }

    /// Keeps the input of the last case, and prints what went wrong with it.
    fn tell(&self, tally: &mut Tally, text: &str, scratch: &Path) -> io::Result<()> {
        tally.findings += 1;
        let (class, seed) = (self.class, self.seed + tally.cases - 1);
        println!("\n{class}, seed {seed}: {}", text.trim_end());
        for entry in std::fs::read_dir(scratch)? {
            let path = entry?.path();
            if path.file_stem().is_some_and(|stem| stem == INPUT) {
                let ending = path.extension().unwrap_or_default().display().to_string();
                let kept = self.keep.join(format!("{class}-{seed}.{ending}"));
                std::fs::copy(path, &kept)?;
                println!("kept as {}", kept.display());
            }
        }
        println!("repeat it with: narthex-fuzz {class} --seed {seed} --cases 1\n");
        Ok(())
    }
}

/// A child's whole work: cases from `seed` on, each announced by its seed; ends
/// at the first that goes wrong.
///
/// # Errors
/// What went wrong.
pub fn run_cases(class: &dyn Class, seed: u64, cases: u64, scratch: &Path) -> Result<(), String> {
    let file = scratch.join(format!("{INPUT}.{}", class.ending()));
    let mut out = io::stdout().lock();
    for seed in (seed..).take(usize::try_from(cases).unwrap_or(usize::MAX)) {
        let begun = writeln!(out, "{seed}");
        let written = begun.and_then(|()| std::fs::write(&file, class.input(seed)));
        written.map_err(|error| format!("{}: {error}", file.display()))?;
        class.check(seed, &file)?;
    }
    Ok(())
}

/// Why a child that was not killed has ended.
fn ended(status: ExitStatus, complaint: &str) -> End {
    if status.success() { End::Done } else { End::Finding(format!("{status}\n{complaint}")) }
}

/// The lines that come out of a pipe, as they come.
fn lines_of(pipe: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        let lines = BufReader::new(pipe).lines().map_while(Result::ok);
        lines.map(|line| sender.send(line)).take_while(Result::is_ok).count()
    });
    receiver
}

/// All that comes out of a pipe.
fn text_of(mut pipe: impl Read + Send + 'static) -> JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = pipe.read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

/// The line that says how far a campaign is, on a terminal.
#[derive(Default)]
struct Progress(Option<Instant>);

impl Progress {
    fn show(&mut self, class: Name, tally: &Tally) {
        let is_due = self.0.is_none_or(|last| last.elapsed() >= PROGRESS_EVERY);
        if is_due && io::stderr().is_terminal() {
            self.0 = Some(Instant::now());
            eprint!("\r{class}: {} cases ", tally.cases);
        }
    }
}
