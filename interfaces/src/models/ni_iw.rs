//! `NI_i w`: a FIFO behind uncached registers, after the CM-5's interface.
//!
//! ```text
//!   send:     load STATUS ─► store SEND (header) ─► store SEND (payload) … ─► network
//!   receive:  load STATUS ─► load RECEIVE (header) ─► load RECEIVE (payload) …
//!             or look at the first i words: load RECEIVE_WINDOW + 8 k
//! ```
//!
//! The processor moves every message through its registers, eight bytes (two
//! words) an access: "Messages are sent by first checking an uncachable
//! status register, to ensure there is room to inject the message, then the
//! message is written to an uncachable device register backed by a hardware
//! queue. Similarly, receives check an uncached status register to see if a
//! message is available, then read the message from an uncachable device
//! register" (isca96, Section 3).
//!
//! The size is the part of the FIFO's head that the processor can see: "the
//! processor can access only the first two words of the NI fifo" of `NI2w`, while
//! that of `NI64w` can "examine the first 64 words" (hpca98, Section 4). So i words
//! can be looked at without popping them, at registers of their own; as an
//! access moves two words whatever the size, software that reads a packet in
//! order, as the messaging library does, gains nothing from a larger window.

use narthex_kernel::Duration;
use schemars::{JsonSchema, schema_for};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{Built, Makes, Model, Problem, Setup};
use crate::fifo::{self, ReceiveFifo, SendFifo, Times, check_window};
use crate::taxonomy;

/// The parameters of a FIFO interface.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Time that a register access takes beyond the bus's own cycles.
    pub register_access_time: Duration,
    /// Time from the last word of a packet in the send FIFO to its injection.
    #[schemars(extend("half" = "send"))]
    pub send_time: Duration,
    /// Time from a packet's arrival until the status register shows it, beyond its deposit.
    #[schemars(extend("half" = "receive"))]
    pub receive_time: Duration,
    /// Time that each block of an arriving network message takes into the FIFO's memory.
    #[schemars(extend("half" = "receive"))]
    pub deposit_time: Duration,
}

fn times(setup: &Setup<'_>) -> Result<Times, Problem> {
    check_window(setup)?;
    let config: Config = super::config(setup)?;
    Ok(Times {
        register_access: config.register_access_time,
        send: config.send_time,
        receive: fifo::until_visible(setup, config.deposit_time, config.receive_time),
    })
}

fn send(setup: &Setup<'_>) -> Built {
    Ok(Box::new(SendFifo::new(times(setup)?, setup.packet_bytes)))
}

fn receive(setup: &Setup<'_>) -> Built {
    Ok(Box::new(ReceiveFifo::new(times(setup)?, setup.name.size)))
}

/// FIFO interfaces whose registers show this many words.
pub static MODEL: Model = Model {
    section: "ni_iw",
    family: "NI_i w",
    summary: "a FIFO behind uncached registers (TMC CM-5)",
    examples: &["NI2w"],
    read: |text| {
        taxonomy::read(text, |name| Ok((name.is_fifo() && name.addition.is_none()).then_some("NI{}w")))
    },
    programming: &fifo::PROGRAMMING,
    attaches: |_| Ok(()),
    makes: Makes::Halves { send, receive },
    schema: || schema_for!(Config),
    sample: || {
        json!({
            "register_access_time": "60ns",
            "send_time": "16ns",
            "receive_time": "60ns",
            "deposit_time": "60ns",
        })
    },
};
