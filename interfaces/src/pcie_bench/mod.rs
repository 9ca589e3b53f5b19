//! pcie-bench's card: registers, and an engine that makes accesses and takes their times.
//!
//! | file | what it holds |
//! | --- | --- |
//! | [`config`] | the keys of a machine's file |
//! | [`registers`] | what programs see |
//! | [`test`] | the tests, and the addresses of their accesses |
//! | [`engine`] | accesses under way, and their times |
//! | `device` | the device as its node has it |

pub mod config;
mod device;
pub mod engine;
pub mod registers;
pub mod test;

pub use device::{Build, PcieBench};
