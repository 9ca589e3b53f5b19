//! `CNI_i`: cachable device registers (isca96, Sections 2.1 and 3).
//!
//! ```text
//!   send      STATUS: room? ─► write i blocks ─► MESSAGE_READY ─► the interface reads them ─► room
//!
//!   receive   STATUS: arrived? ─► read i blocks ─► CLEAR ─► barrier ─► STATUS …
//!                  ▲                                 │
//!                  └──── next message ◄── invalidations on the bus
//! ```
//!
//! The simplest coherent interface: i blocks of the interface's memory on each
//! side are registers that the processor caches, so that a message crosses the
//! bus in blocks. "By extending this baseline device by using four CDRs to
//! expose a 256-byte network message", CNI4 has a whole message in view; a
//! smaller i shows a message in parts, each with a handshake of its own. Status
//! and control registers are uncached.
//!
//! **Send.** When the processor announces what it has written, the interface
//! reads the *whole* of each block in use, and only then shows room again. Blocks
//! are read as early as possible (virtual polling): a request to write block j
//! says that block j-1 is done.
//!
//! **Receive.** The processor may hold copies of the old message, so it takes
//! three steps to see a new one: the processor clears the registers by an
//! uncached store and waits until the store has reached the interface; the
//! interface makes the copies go on the bus; the processor looks at the status
//! register, which shows no message before that is done.
//!
//! Packets wait in the flow control's incoming buffers: the registers hold one.
//!
//! It is the home of its registers, so it is told of each request for them, on a bus and on a directory.

use schemars::schema_for;
use serde_json::json;

use super::{Built, Makes, Model, NO_COHERENCE, Setup};
use crate::attachment::Attachment;
use crate::cachable_register::receive::RegisterReceive;
use crate::cachable_register::send::RegisterSend;
use crate::cachable_register::{self, Config, Registers};
use crate::taxonomy::{self, Queue};

/// Why the size of a coherent interface does not count words.
const NO_WORDS: &str = "a coherent interface exchanges cache blocks, and its size counts them rather than words \
     (hpca98, Section 4)";

fn send(setup: &Setup<'_>) -> Built {
    let registers = Registers::new(setup, super::config(setup)?, setup.addresses.send_queue())?;
    Ok(Box::new(RegisterSend::new(registers)))
}

fn receive(setup: &Setup<'_>) -> Built {
    let registers = Registers::new(setup, super::config(setup)?, setup.addresses.receive_queue())?;
    Ok(Box::new(RegisterReceive::new(registers)))
}

/// Coherent interfaces with cachable device registers.
pub static MODEL: Model = Model {
    section: "cni_i",
    family: "CNI_i",
    summary: "cachable device registers, reused after a three-cycle handshake (Wisconsin CNI)",
    examples: &["CNI4"],
    read: |text| {
        taxonomy::read(text, |name| match (name.coherent, name.words, name.queue, name.addition) {
            (true, true, ..) => Err(NO_WORDS),
            (true, false, Queue::None, None) => Ok(Some("CNI{}")),
            _ => Ok(None),
        })
    },
    programming: &cachable_register::PROGRAMMING,
    attaches: |attachment| match attachment {
        Attachment::MemoryBus | Attachment::IoBus => Ok(()),
        Attachment::CacheBus | Attachment::Register => Err(NO_COHERENCE),
    },
    makes: Makes::Halves { send, receive },
    schema: || schema_for!(Config),
    sample: || json!({ "memory_access_time": "60ns", "register_access_time": "60ns", "engine_time": "40ns", "deposit_time": "60ns" }),
};
