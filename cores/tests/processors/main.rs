//! Processors that run programs of a few lines: instructions, their time, faults, interrupts.
//!
//! All are one program, so that the instructions' handlers are compiled once for it.

#[path = "../common/mod.rs"]
mod common;

mod access_tags;
mod cache_blocks;
mod instructions;
mod interrupts;
mod jumps;
mod reorder;
mod stalls;
mod timing;
