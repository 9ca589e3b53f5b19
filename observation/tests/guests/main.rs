//! What is observed of whole machines that run programs: hangs, lives of messages, timelines,
//! profiles, traffic.

#[path = "../../../machine/tests/support/mod.rs"]
mod support;

mod explain;
mod hangs;
mod profiles;
mod timeline;
mod traffic;

use narthex_machine::{Failure, RunRequest};
use narthex_observation::{TraceRequest, run};
use support::Guest;

/// The failure of a run.
fn failure(request: &RunRequest, trace: Option<&TraceRequest>, guest: &(impl Guest + ?Sized)) -> Failure {
    let outcome = run(&guest.in_run(request), trace, &guest.elf(), &mut |_| true);
    outcome.expect_err("the run was to fail")
}
