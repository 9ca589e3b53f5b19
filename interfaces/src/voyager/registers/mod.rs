//! What a voyager device shows: to programs the pointer windows and buffers of their
//! queues, to the operating system the requests of its kernel agent, to firmware its
//! registers, the state of its physical queues, its memories and its commands.
//!
//! Both C headers are generated from these lists (`make headers`): what programs see goes
//! to guest/runtime/registers.h, what firmware sees to guest/firmware/devices.h.
//!
//! | module | what it names |
//! | --- | --- |
//! | [`queues`] | what programs see of a queue: pointer windows, slots, status |
//! | [`firmware`] | the registers of firmware, the state of physical queues, sources of events |
//! | [`commands`] | local commands, and why they fail |
//! | [`space`] | captured accesses, and permissions of snooped space |
//! | [`requests`] | requests of the kernel agent |
//! | [`for_programs`], [`for_firmware`] | the lists for the headers |

pub mod commands;
pub mod firmware;
pub mod for_firmware;
pub mod for_programs;
pub mod queues;
pub mod requests;
pub mod space;

pub use commands::*;
pub use firmware::*;
pub use for_firmware::FIRMWARE;
pub(in crate::voyager) use for_programs::fact;
pub use for_programs::{CONSTANTS, FACTS};
pub use queues::*;
pub use requests::*;
pub use space::*;
