//! The device of [`crate::models::voyager`], of which that file tells.
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`registers`] | what programs and firmware see: pointer windows, registers, commands, requests |
//! | [`config`] | its parameters |
//! | [`layout`] | what lies where |
//! | [`device`] | its two seats, and which part serves what |

pub mod config;
pub mod device;
pub mod layout;
pub mod registers;

pub use device::{Build, Voyager};
