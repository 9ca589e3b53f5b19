//! What the caller of a run sees while it goes on.

use narthex_cores::linux::OutputStream;
use narthex_kernel::Time;
use serde_json::Value;

/// What the caller of a run sees while it goes on.
pub enum Progress<'a> {
    /// A node's program wrote something.
    Output {
        /// Which node.
        node: usize,
        /// Which of its processes.
        process: usize,
        /// To which stream.
        stream: OutputStream,
        /// What.
        bytes: &'a [u8],
    },
    /// Something about the run that its result does not tell, but its user should know.
    Notice(&'a str),
    /// The same where something is not as the user wants it.
    Warning(&'a str),
    /// Something that was asked for besides the result, and is not there.
    Loss(&'a str),
    /// The simulated time so far; comes several times a second.
    Time(Time),
    /// How each node stands ([`Node::standing`](crate::node::Node::standing)), for who wants to know
    /// it; comes with [`Progress::Time`].
    Standing(&'a dyn Fn() -> Value),
    /// The simulation is over; what follows makes the result.
    Over,
}
