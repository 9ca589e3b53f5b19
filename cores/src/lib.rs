//! RISC-V processors that run Linux programs in user mode, or firmware.
//!
//! A [`Processor`] executes RV64GC (I, M, A, F, D, C, Zicsr, Zifencei, Zicntr)
//! over any [`Port`](narthex_memory::Port), and does not know whether it serves
//! a host or a network interface. It runs ahead inside its caches and stops
//! when another part of the node has to act. Reading order:
//!
//! 1. [`instruction`]: an instruction as the manual writes it;
//! 2. `extensions/`: the instruction set, one file an extension;
//! 3. `operation`, `decode`, `code`: decoded once, 16 bytes for each halfword;
//! 4. `execute`: handlers that jump from one to the next;
//! 5. [`timing`]: when instructions issue, [`Functional`] or [`InOrder`], and `reorder`, for cores with a
//!    [`ReorderWindow`];
//! 6. `float/`: the host's arithmetic, and integers where that is not enough;
//! 7. `traps`: refused accesses and interrupts that the program itself handles;
//! 8. [`Processor`]: the loop around all of it;
//! 9. [`follow`]: what it executes, told instruction by instruction;
//! 10. [`linux`]: what a program finds around it, and [`firmware`], which finds nothing.
//!
//! [`FlatMemory`] is a port without caches; [`assemble`] makes programs for
//! tests.

mod access_control;
mod any;
mod code;
mod config;
mod decode;
mod execute;
mod extensions;
mod flat_memory;
mod float;
pub mod follow;
pub mod network_registers;
mod operation;
mod processor;
mod reorder;
mod stop;
pub mod traps;

pub mod assemble;
pub mod compressed;
pub mod firmware;
pub mod instruction;
pub mod linux;
pub mod timing;
pub mod wait_loop;

#[cfg(test)]
#[path = "../tests/common/elf.rs"]
mod test_elf;

pub use access_control::AccessControl;
pub use any::AnyProcessor;
pub use code::Code;
pub use config::{Config, ConfigError};
pub use flat_memory::FlatMemory;
pub use operation::{ALL_IN_ONE_LINE, FETCH_BLOCK_BYTES};
pub use processor::Processor;
pub use reorder::{Config as WindowConfig, PredictorConfig, PredictorKind, ReorderWindow, Stall};
pub use stop::{Fault, FaultKind, Stop, Unhandled};
pub use timing::{Functional, InOrder, Timing};
pub use traps::{INTERRUPT_LINES, Trapped};
