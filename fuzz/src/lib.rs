//! Fuzzing: random input of many classes, and what must come of it.
//!
//! | class | input | what must come of it |
//! | --- | --- | --- |
//! | [`instructions`] | random programs | the processor leaves behind what QEMU does |
//! | [`elf_files`] | crafted and damaged ELF files | a refusal, or a run that ends |
//! | [`machine_files`] | damaged machine files | a refusal with file and key, or a run that ends |
//! | [`registers`] | programs with random accesses to a device | a run that ends |
//! | [`firmware`] | firmware with random accesses to its device, and programs to SARC's lines | a run that ends |
//! | [`checkpoints`] | damaged checkpoints, some signed again | a refusal, or a run that ends |
//!
//! A case follows from the number of its [`class`](mod@class) and its seed alone ([`choice`]), so it can be
//! repeated. [`campaign`] runs cases one after the other in a process of their
//! own, so that a crash, a hang or a flood of memory names its seed.

pub mod campaign;
pub mod catalogue;
pub mod checkpoints;
pub mod choice;
pub mod class;
pub mod elf_files;
pub mod firmware;
pub mod instructions;
pub mod machine_files;
pub mod mutation;
pub mod registers;
pub mod runs;

/// Guest programs, as the tests of whole machines have them.
#[path = "../../machine/tests/support/mod.rs"]
mod guest;
