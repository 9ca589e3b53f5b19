//! The device of [`crate::models::via`], of which that file tells.
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`registers`] | what programs and firmware see: doorbells, windows, registers, requests |
//! | [`config`] | its parameters |
//! | [`device`] | its two ports, and which part serves what |
//! | [`doorbells`] | the FIFO of doorbells |
//! | [`agent`] | the kernel agent: calls of the operating system, commands to the firmware |
//! | [`network`] | sending, receiving, the packet-to-address table |
//! | [`copies`] | tags and the state of each block |
//! | [`eager`] | the controller of Eager Data Transfer |
//! | [`ports`] | the registers, and the window |

pub mod agent;
pub mod config;
pub mod copies;
pub mod device;
pub mod doorbells;
pub mod eager;
pub mod network;
pub mod ports;
pub mod registers;

pub use device::{Build, Via};
