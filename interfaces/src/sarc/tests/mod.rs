//! The device on benches: a chip of tiles whose network takes fixed times, or random ones.

pub mod bench;

mod commands;
mod counters;
mod first_level;
mod lines;
mod protection;
mod queues;
mod regions;
mod reordering;
