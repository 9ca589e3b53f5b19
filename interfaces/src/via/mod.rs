//! The device of [`crate::models::via`], of which that file tells.

pub mod config;
pub mod device;
pub mod registers;

pub use device::{Build, Via};
