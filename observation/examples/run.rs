//! Runs an ELF file on a machine and prints what it reports: the command line
//! without Python, for profilers, debuggers and `make bench`.
//!
//! ```text
//! cargo run --release -p narthex-observation --example run -- PROGRAM.elf hpca98 CNI32Qm 2 [ARGS...]
//! ```
//!
//! `CHECKPOINT=FILE` resumes a checkpoint and makes one every `EVERY` (such as `1s`).
//! `TRACE=FILE` writes a timeline, of `TRACE_NODES`, from `TRACE_FROM` to `TRACE_TO`.
//! `SET=key=value,...` changes the machine, `THREADS=2` uses two host threads, `WAIT_LOOPS=execute`
//! executes wait loops, `STEPS=schedule` makes an event of each step of an interconnect,
//! `FIRMWARE=NAME=FILE` gives firmware, `NODES=1` prints the statistics of each node. `WINDOWS=1`
//! counts the work of each node in each window and says what threads could make of it, as JSON
//! behind `windows: ` on the error output. What the run cost the host is the last line there, as
//! JSON behind `host: `.

#[path = "run/windows.rs"]
mod windows;

use std::collections::BTreeMap;
use std::io::Write as _;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use narthex_machine::{CheckpointRequest, Effort, FirmwareFile, Progress, RunRequest, run_monitored};
use narthex_observation::{TraceRequest, run_measured};
use serde_json::{Value, json};

use windows::Windows;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let (Some(path), Some(machine), Some(interface), Some(nodes)) =
        (arguments.next(), arguments.next(), arguments.next(), arguments.next())
    else {
        eprintln!("usage: run PROGRAM.elf MACHINE INTERFACE NODES [ARGS...]");
        return ExitCode::from(2);
    };
    let request = request([&path, &machine, &interface, &nodes], arguments.collect());
    let trace = std::env::var_os("TRACE").map(|file| TraceRequest {
        nodes: std::env::var("TRACE_NODES").ok(),
        from: std::env::var("TRACE_FROM").ok(),
        to: std::env::var("TRACE_TO").ok(),
        ..TraceRequest::whole(file.into())
    });
    let elf = match std::fs::read(&path) {
        Ok(elf) => elf,
        Err(error) => {
            eprintln!("{path}: {error}");
            return ExitCode::from(2);
        }
    };
    let begin = Instant::now();
    let mut windows = std::env::var_os("WINDOWS").map(|_| Windows::default());
    let mut observer = |progress: Progress<'_>| {
        match progress {
            Progress::Output { bytes, .. } => drop(std::io::stdout().write_all(bytes)),
            Progress::Notice(notice) | Progress::Warning(notice) | Progress::Loss(notice) => {
                eprintln!("{notice}")
            }
            Progress::Time(_) | Progress::Standing(_) | Progress::Over => {}
        }
        true
    };
    let result = match &mut windows {
        Some(windows) => run_monitored(&request, &elf, windows, &mut observer),
        None => run_measured(&request, trace.as_ref(), &elf, &mut observer),
    };
    match result {
        Ok((document, effort)) => {
            // A reader that has seen enough may close the pipe.
            let mut out = std::io::stdout();
            for report in document["reports"].as_array().into_iter().flatten() {
                let _ = writeln!(out, "{report}");
            }
            if std::env::var_os("NODES").is_some() {
                let _ = writeln!(out, "{:#}", document["nodes"]);
            }
            let _ = writeln!(out, "simulated {} ps", document["simulated_ps"]);
            if let Some(windows) = windows {
                eprintln!("windows: {}", windows.found());
            }
            eprintln!("host: {}", cost(begin.elapsed(), effort, &document));
            ExitCode::SUCCESS
        }
        Err(failure) => {
            let _ = writeln!(std::io::stderr(), "{failure}");
            ExitCode::from(failure.exit_code as u8)
        }
    }
}

/// The run that the command's words and the environment ask for.
fn request([path, machine, interface, nodes]: [&str; 4], args: Vec<String>) -> RunRequest {
    RunRequest {
        program: path.into(),
        args,
        machine: machine.into(),
        interface: interface.into(),
        nodes: nodes.parse().ok(),
        set: std::env::var("SET")
            .map(|sets| sets.split(',').map(str::to_owned).collect())
            .unwrap_or_default(),
        threads: std::env::var("THREADS").ok().and_then(|threads| threads.parse().ok()).unwrap_or(1),
        seed: None,
        execute_wait_loops: std::env::var("WAIT_LOOPS").is_ok_and(|how| how == "execute"),
        schedule_steps: std::env::var("STEPS").is_ok_and(|how| how == "schedule"),
        job_nodes: None,
        model: None,
        jobs: Vec::new(),
        surroundings: Default::default(),
        firmware: firmware(),
        hardware: None,
        warm: None,
        until: None,
        timeout: None,
        checkpoint: std::env::var_os("CHECKPOINT").map(|file| CheckpointRequest {
            file: file.into(),
            every: std::env::var("EVERY").ok(),
            resume: true,
        }),
    }
}

/// The firmware that the environment names, if its file can be read.
fn firmware() -> BTreeMap<String, FirmwareFile> {
    let given = std::env::var("FIRMWARE").unwrap_or_default();
    let named = given.split_once('=').and_then(|(name, file)| Some((name, file, std::fs::read(file).ok()?)));
    named
        .into_iter()
        .map(|(name, file, elf)| (name.into(), FirmwareFile { file: file.into(), elf }))
        .collect()
}

/// What a run cost the host, and the guest's pages that it had to keep.
fn cost(elapsed: Duration, effort: Effort, document: &Value) -> Value {
    let nodes = document["nodes"].as_array().into_iter().flatten();
    json!({
        "seconds": elapsed.as_secs_f64(),
        "peak_memory_bytes": peak_memory_bytes(),
        "touched_pages": nodes.filter_map(|node| node["touched_pages"].as_u64()).sum::<u64>(),
        "effort": effort,
    })
}

/// The most memory that this process has had at once, where the system tells (Linux).
fn peak_memory_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes << 10)
}
