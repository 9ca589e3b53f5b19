//! Whole machines that run programs: messages, time, faults, bad requests.

#[path = "../support/mod.rs"]
mod support;

mod attachments;
mod bad_requests;
mod coherence;
mod determinism;
mod dma;
mod explain;
mod faults;
mod no_progress;
mod overflow;
mod packets;
mod processes;
mod timing;
mod traffic;

/// Every interface whose programs the tests run.
const INTERFACES: [&str; 7] =
    ["NI2w", "NI16w", "CNI512Q", "CNI32Qm", "CNI32Qm+Throttle", "CNI0Qm", "(NI2w)S(CNI32Qm)R"];
/// Every machine that is built in.
const MACHINES: [&str; 2] = ["hpca98", "isca96"];
