//! Time, events, partitions, statistics, the time ledger and trace hooks.
pub mod ledger;
pub mod partition;
pub mod quantity;
pub mod queue;
pub mod random;
pub mod simulation;
pub mod statistics;
pub mod time;
pub mod trace;
pub use ledger::{Category, Ledger};
pub use partition::{Envelope, Outbox, Partition, Status};
pub use quantity::{Bytes, Frequency, QuantityError};
pub use queue::EventQueue;
pub use simulation::{Ending, Limits, Simulation, Stall};
pub use time::{Clock, Duration, Time};
