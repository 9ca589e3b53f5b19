//! Whole machines that run programs: messages, time, faults, bad requests.

#[path = "../support/mod.rs"]
mod support;

mod attachments;
mod bad_requests;
mod cachable_registers;
mod coherence;
mod determinism;
mod explain;
mod faults;
mod no_progress;
mod overflow;
mod packets;
mod processes;
mod timing;
mod traffic;

/// Every interface whose programs the tests run.
const INTERFACES: [&str; 5] = ["NI2w", "CNI512Q", "CNI32Qm", "CNI32Qm+Throttle", "CNI0Qm"];
/// Every machine that is built in.
const MACHINES: [&str; 2] = ["hpca98", "isca96"];
