//! `narthex-fuzz`: random input of a class, and whether what must come of it
//! comes; or QEMU's outputs for the fixed set of programs.

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::{Parser, ValueEnum as _};
use narthex_fuzz::campaign::{Campaign, run_cases};
use narthex_fuzz::class::Name;
use narthex_fuzz::instructions::Instructions;

/// Feeds the simulator with random input, and looks for crashes, hangs and
/// differences. The exit code is 1 if there was one.
#[derive(Parser)]
struct Options {
    /// The class of input, or `all` for one after the other.
    #[arg(value_parser = classes)]
    class: Classes,
    /// Seed of the first case; the next has one more.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Time for each class.
    #[arg(long, default_value_t = 60, conflicts_with = "cases")]
    seconds: u64,
    /// Cases of each class, instead of a time.
    #[arg(long)]
    cases: Option<u64>,
    /// Where the input of a finding is kept.
    #[arg(long, value_name = "FOLDER", default_value = ".")]
    keep: PathBuf,
    /// The reference of the class `instructions` [default: qemu-riscv64 on the PATH].
    #[arg(long, value_name = "FILE")]
    qemu: Option<PathBuf>,
    /// Print the fixed set instead: this many seeds, hashes of programs and of QEMU's output.
    #[arg(long, value_name = "N")]
    record: Option<u64>,
    /// Run the cases here, with files in this folder.
    #[arg(long, hide = true)]
    child: Option<PathBuf>,
}

#[derive(Clone)]
struct Classes(Vec<Name>);

fn classes(text: &str) -> Result<Classes, String> {
    match text {
        "all" => Ok(Classes(Name::value_variants().to_vec())),
        name => Ok(Classes(vec![Name::from_str(name, false).map_err(|_| {
            let names: Vec<String> = Name::value_variants().iter().map(ToString::to_string).collect();
            format!("expected all or one of {}", names.join(", "))
        })?])),
    }
}

fn main() -> ExitCode {
    let options = Options::parse();
    let outcome = match (&options.child, options.record) {
        (Some(scratch), _) => return child(&options, scratch.clone()),
        (None, Some(count)) => record(&options, count),
        (None, None) => fuzz(&options),
    };
    outcome.unwrap_or_else(|message| failure(2, &message))
}

fn failure(code: u8, message: &str) -> ExitCode {
    eprintln!("narthex-fuzz: {message}");
    ExitCode::from(code)
}

/// Prints seeds and hashes for the fixed set.
fn record(options: &Options, count: u64) -> Result<ExitCode, String> {
    let text = |error: &dyn ToString| error.to_string();
    let instructions =
        Instructions::open(options.qemu.clone(), &std::env::temp_dir()).map_err(|error| text(&error))?;
    for seed in 1..=count {
        println!("{}", instructions.record(seed).map_err(|error| text(&error))?);
    }
    Ok(ExitCode::SUCCESS)
}

/// Runs cases of each class that was asked for.
fn fuzz(options: &Options) -> Result<ExitCode, String> {
    let mut findings = 0;
    for &class in &options.class.0 {
        class.open(options.qemu.clone(), &std::env::temp_dir()).map_err(|error| error.to_string())?;
        findings += campaign(options, class).map_err(|error| error.to_string())?;
    }
    Ok(ExitCode::from(u8::from(findings > 0)))
}

/// Runs cases of a class, and says what came of them; the number of findings.
fn campaign(options: &Options, class: Name) -> io::Result<usize> {
    let begin = Instant::now();
    let campaign = Campaign {
        class,
        seed: options.seed,
        cases: options.cases.unwrap_or(u64::MAX),
        time: options.cases.is_none().then(|| Duration::from_secs(options.seconds)),
        keep: options.keep.clone(),
        qemu: options.qemu.clone(),
    };
    let tally = campaign.run()?;
    let findings = match tally.findings {
        0 => "no finding".to_owned(),
        1 => "1 finding".to_owned(),
        more => format!("{more} findings"),
    };
    println!("{class}: {} cases, {findings} ({:.0} s)", tally.cases, begin.elapsed().as_secs_f64());
    Ok(tally.findings)
}

/// The part of a child: runs the cases of one class.
fn child(options: &Options, scratch: PathBuf) -> ExitCode {
    let class = match options.class.0[0].open(options.qemu.clone(), &scratch) {
        Ok(class) => class,
        Err(error) => return failure(2, &error.to_string()),
    };
    match run_cases(&*class, options.seed, options.cases.unwrap_or(u64::MAX), &scratch) {
        Ok(()) => ExitCode::SUCCESS,
        Err(text) => {
            eprintln!("{text}");
            ExitCode::from(1)
        }
    }
}
