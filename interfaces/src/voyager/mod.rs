//! The device of [`crate::models::voyager`], of which that file tells.
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`registers`] | what programs and firmware see: pointer windows, registers, commands, requests |
//! | [`config`] | its parameters |
//! | [`layout`] | what lies where |
//! | [`sram`] | the two SRAM banks |
//! | [`queues`] | physical queues, and the map from logical ones |
//! | [`wire`] | what crosses the network |
//! | [`transmit`], [`receive`] | the units of basic messages |
//! | [`blocks`] | the units of block transfers, channels, translation of addresses |
//! | [`bus_unit`] | the master of the host's bus |
//! | [`commands`], [`execute`] | the local command queues, and how a command begins |
//! | [`program_commands`] | what programs may issue to them |
//! | [`space`] | captured accesses, approvals, permissions |
//! | [`ports`] | what is behind the device's addresses, and OnePoll |
//! | [`agent`] | the kernel agent: calls of the operating system |
//! | [`device`] | its two ports, and which part serves what |

pub mod agent;
pub mod blocks;
pub mod bus_unit;
pub mod commands;
pub mod config;
pub mod device;
pub mod execute;
pub mod layout;
pub mod ports;
pub mod program_commands;
pub mod queues;
pub mod receive;
pub mod registers;
pub mod space;
pub mod sram;
pub mod transmit;
pub mod wire;

pub use device::{Build, Voyager};

#[cfg(test)]
mod tests;
