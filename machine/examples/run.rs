//! Runs an ELF file on a machine and prints what it reports: the command line
//! without Python, for profilers and debuggers.
//!
//! ```text
//! cargo run --release -p narthex-machine --example run -- PROGRAM.elf hpca98 CNI32Qm 2 [ARGS...]
//! ```
//!
//! `SET=key=value,...` changes the machine, `THREADS=2` uses two host threads, `WAIT_LOOPS=execute`
//! executes wait loops, `NODES=1` prints the statistics of each node; what the run cost the host goes to the error output.

use std::io::Write as _;
use std::process::ExitCode;
use std::time::Instant;

use narthex_machine::{Progress, RunRequest, run_measured};

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let (Some(path), Some(machine), Some(interface), Some(nodes)) =
        (arguments.next(), arguments.next(), arguments.next(), arguments.next())
    else {
        eprintln!("usage: run PROGRAM.elf MACHINE INTERFACE NODES [ARGS...]");
        return ExitCode::from(2);
    };
    let request = RunRequest {
        program: path.clone(),
        args: arguments.collect(),
        machine,
        interface,
        nodes: nodes.parse().ok(),
        set: std::env::var("SET")
            .map(|sets| sets.split(',').map(str::to_owned).collect())
            .unwrap_or_default(),
        threads: std::env::var("THREADS").ok().and_then(|threads| threads.parse().ok()).unwrap_or(1),
        seed: None,
        execute_wait_loops: std::env::var("WAIT_LOOPS").is_ok_and(|how| how == "execute"),
    };
    let elf = match std::fs::read(&path) {
        Ok(elf) => elf,
        Err(error) => {
            eprintln!("{path}: {error}");
            return ExitCode::from(2);
        }
    };
    let begin = Instant::now();
    let result = run_measured(&request, &elf, &mut |progress| {
        if let Progress::Output { bytes, .. } = progress {
            let _ = std::io::stdout().write_all(bytes);
        }
        true
    });
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
            eprintln!("host: {:.3} s, {effort:?}", begin.elapsed().as_secs_f64());
            ExitCode::SUCCESS
        }
        Err(failure) => {
            let _ = writeln!(std::io::stderr(), "{failure}");
            ExitCode::from(failure.exit_code as u8)
        }
    }
}
