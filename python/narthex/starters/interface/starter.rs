//! `Starter`: a FIFO behind uncached registers, to begin with.
//!
//! ```text
//!   processor ── SEND ──► SendFifo ──► network
//!   processor ◄─ RECEIVE ─ ReceiveFifo ◄──┘
//! ```
//!
//! It is programmed like `NI2w`, so every program runs on it, and takes the same times to the
//! picosecond. What makes an interface of your own
//! goes here: state and verbs of its halves (docs/add-an-interface.md goes through one that has
//! both), instead of the FIFOs that several models share.

use narthex_kernel::Duration;
use schemars::{JsonSchema, schema_for};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{Built, Makes, Model, Problem, Setup};
use crate::fifo::{self, ReceiveFifo, SendFifo, Times};
use crate::name::Reading;

/// Doublewords that the receive half shows at once.
const WINDOW: u32 = 2;

/// The parameters, which are the keys of [interfaces.starter] in a machine's file.
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
    /// Time that each block of an arriving packet takes into the FIFO's memory.
    #[schemars(extend("half" = "receive"))]
    pub deposit_time: Duration,
}

fn times(setup: &Setup<'_>) -> Result<Times, Problem> {
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
    Ok(Box::new(ReceiveFifo::new(times(setup)?, WINDOW)))
}

/// What the registry knows of the model.
pub static MODEL: Model = Model {
    section: "starter",
    family: "Starter",
    summary: "a FIFO behind uncached registers, to begin with",
    examples: &["Starter"],
    read: |text| Reading::exactly(text, "Starter"),
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
