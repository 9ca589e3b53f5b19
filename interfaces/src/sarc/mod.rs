//! The device of [`crate::models::sarc`], of which that file tells.
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`registers`] | what programs see: addresses, words of lines, commands, requests |
//! | [`config`] | its parameters |
//! | [`space`] | what an address of the hardware means |
//! | [`regions`] | the tables by which addresses of programs are translated and checked |
//! | [`lines`] | the lines of a tile: bytes, roles, tags, owners |
//! | [`events`], [`queues`] | what accesses to event-sensitive lines do |
//! | [`messages`] | what packets say |
//! | [`jobs`] | the job list of a tile, and its engine |
//! | [`combining`] | the buffer in which remote stores wait for each other |
//! | [`transfers`], [`arrivals`] | launched commands and packets that leave, packets that come |
//! | [`accesses`] | a processor's accesses |
//! | `port` | the second level's port, for which packets and processor compete |
//! | `first_level` | lines of scratchpad in the first level above |
//! | [`gateway`] | the way to other chips |
//! | [`agent`] | the kernel agent: calls of the operating system |
//! | [`rules`] | what checkers can leave out |
//! | [`checked`] | what checkers see and do |
//! | [`device`] | its ports, and which part serves what |

pub mod accesses;
pub mod agent;
pub mod arrivals;
pub mod checked;
pub mod combining;
pub mod config;
pub mod device;
pub mod events;
mod first_level;
pub mod gateway;
pub mod jobs;
pub mod lines;
pub mod lockstep;
pub mod messages;
mod port;
pub mod queues;
pub mod regions;
pub mod registers;
pub mod rtl;
pub mod rules;
pub mod space;
pub mod transfers;

pub use device::{Build, Sarc};

#[cfg(test)]
mod tests;
