//! Differential testing: random programs run on the simulator's processor and
//! on an independent implementation, and everything they leave behind must be
//! equal to the last bit.
//!
//! Reading order: [`generate`] draws a [`program`] out of instructions that
//! [`encode`] knows and [`values`] on which implementations differ; [`elf`]
//! makes a file of it. [`simulator`] and [`mod@reference`] (QEMU in user mode) run
//! the file; [`compare`] finds the first record that differs, and [`shrink`]
//! removes whatever is not needed for the difference.
//!
//! A fixed set of programs, `fixed.txt`, holds the reference's outputs as
//! hashes, so that `cargo test` repeats the comparison without QEMU.

pub mod choice;
pub mod compare;
pub mod elf;
pub mod encode;
pub mod generate;
pub mod program;
pub mod reference;
pub mod shrink;
pub mod simulator;
pub mod values;
