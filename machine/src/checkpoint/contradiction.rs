//! States that no run was ever in.
//!
//! Only a checkpoint that was made by hand, with a checksum that is right, holds
//! one. Each part is checked when it is read, as far as its own code relies on it.
//! That parts fit to each other (a transaction to who waits for it, a packet to
//! its sender's window) shows where they meet, as the run goes on: there the
//! simulator finds a rule broken that it never breaks itself, and panics. In a
//! run that was resumed that is said of the file. Nothing is unsafe about such a
//! state: whatever the simulator does without a check follows from values that it
//! computes itself.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::path::Path;
use std::sync::Once;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::request::Failure;

/// Runs of this process that have been resumed; panics are printed while there are none.
static RESUMED: AtomicUsize = AtomicUsize::new(0);

/// Carries out a run that goes on from a checkpoint.
///
/// # Errors
/// Those of the run; if it panics, that the checkpoint cannot be resumed.
pub fn caught<T>(file: &Path, run: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let print = take_hook();
        set_hook(Box::new(move |panic| {
            if RESUMED.load(Ordering::Relaxed) == 0 {
                print(panic);
            }
        }));
    });
    RESUMED.fetch_add(1, Ordering::Relaxed);
    // Nothing of a run that panics is used any more.
    let outcome = catch_unwind(AssertUnwindSafe(run));
    RESUMED.fetch_sub(1, Ordering::Relaxed);
    outcome.unwrap_or_else(|panic| Err(contradiction(file, &*panic)))
}

fn contradiction(file: &Path, panic: &(dyn Any + Send)) -> Failure {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("without a message");
    Failure::usage(format!(
        "the checkpoint '{}' cannot be resumed: no run was ever in its state ({text}). Delete it to start at the \
         beginning; if narthex wrote it as it is, that is a mistake of narthex",
        file.display()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_of_a_resumed_run_is_said_of_its_checkpoint() {
        let checkpoint = Path::new("made.checkpoint");
        let all = [3, 5];
        let failure = caught(checkpoint, || Ok(all[std::hint::black_box(7)])).expect_err("it panics");
        assert_eq!(failure.exit_code, Failure::USAGE);
        for part in ["'made.checkpoint' cannot be resumed", "index is 7", "Delete it"] {
            assert!(failure.message.contains(part), "{part}: {failure}");
        }
        assert_eq!(caught(checkpoint, || Ok(all[1])), Ok(5));
    }
}
