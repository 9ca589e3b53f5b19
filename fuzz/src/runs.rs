//! Runs of whole machines that must end, whatever their input is.

use std::panic::{self, AssertUnwindSafe};

use narthex_kernel::Time;
use narthex_machine::{Failure, Progress, RunRequest, run};
use serde_json::Value;

/// A run that has come to this instant is ended; nothing here needs as long.
const LONGEST: Time = Time::from_ps(20_000_000_000);

/// Simulated time after which a run is told that nothing moves.
pub const PATIENCE: &str = "machine.time_without_progress=100us";

/// What came of a run.
#[derive(PartialEq, Debug)]
pub enum Outcome {
    /// It ended by itself.
    Ended(Result<Value, Failure>),
    /// It goes on and on.
    Endless,
}

/// Runs a program until it ends, has come to an instant that no sensible run
/// reaches, or was observed `observations` times (ten times a second).
///
/// # Errors
/// If it fails without a message, or panics.
pub fn bounded(request: &RunRequest, elf: &[u8], observations: u32) -> Result<Outcome, String> {
    let mut left = observations;
    let mut endless = false;
    let mut goes_on = |progress: Progress<'_>| {
        if let Progress::Time(now) = progress {
            left = left.saturating_sub(1);
            endless = left == 0 || now >= LONGEST;
        }
        !endless
    };
    // The message of a panic is told by then; it does not name the case.
    let result = panic::catch_unwind(AssertUnwindSafe(|| run(request, elf, &mut goes_on))).map_err(|_| {
        let RunRequest { machine, interface, set, nodes, .. } = request;
        format!("it panics with -m {machine} -i '{interface}' {set:?}, {nodes:?} nodes")
    })?;
    match result {
        Err(failure) if endless && failure.message.contains("interrupted") => Ok(Outcome::Endless),
        // A checkpoint may say that a program failed with nothing as its message.
        Err(failure) if failure.message.is_empty() && request.checkpoint.is_none() => {
            Err(format!("a failure that says nothing: {failure:?}"))
        }
        result => Ok(Outcome::Ended(result)),
    }
}

/// As [`bounded`], and each third case on two threads too: the start of a compiled
/// program takes many windows, at the end of each of which threads wait for each other.
///
/// # Errors
/// As [`on_threads`].
pub fn now_and_then_on_threads(
    seed: u64,
    request: &RunRequest,
    elf: &[u8],
    observations: u32,
) -> Result<Outcome, String> {
    let run = if seed.is_multiple_of(3) { on_threads } else { bounded };
    run(request, elf, observations)
}

/// The same on one thread and on two: what comes of it must be the same.
///
/// # Errors
/// If it is not, or as [`bounded`].
pub fn on_threads(request: &RunRequest, elf: &[u8], observations: u32) -> Result<Outcome, String> {
    let one = bounded(request, elf, observations)?;
    if one == Outcome::Endless || request.nodes == Some(1) {
        return Ok(one);
    }
    let two = bounded(&RunRequest { threads: 2, ..request.clone() }, elf, observations)?;
    match one == two || two == Outcome::Endless {
        true => Ok(two),
        false => Err(format!("one thread and two differ:\n{}", difference(&one, &two))),
    }
}

/// The first lines that differ.
fn difference(one: &Outcome, two: &Outcome) -> String {
    let (one, two) = (format!("{one:#?}"), format!("{two:#?}"));
    let pairs = one.lines().zip(two.lines()).filter(|(one, two)| one != two);
    pairs.take(5).map(|(one, two)| format!("  {}\n  {}\n", one.trim(), two.trim())).collect()
}
