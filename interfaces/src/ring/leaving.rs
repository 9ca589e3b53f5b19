//! A packet on its way from its send buffer to the network.

use narthex_fabrics::Header;
use narthex_kernel::{Duration, Time};
use serde::{Deserialize, Serialize};

use crate::half::{Context, RegisterFault};

/// A packet that the engine works on, or has worked on.
#[derive(Clone, Hash, Debug, Serialize, Deserialize)]
pub struct Leaving {
    /// Its header.
    pub header: Header,
    payload: Vec<u8>,
    /// When the engine has prepared it.
    pub ready: Time,
}

impl Leaving {
    /// The packet that lay in a buffer, its header first. It leaves when the engine has worked on it for
    /// `engine_time`; `fault` refuses it.
    ///
    /// # Errors
    /// What is wrong with its header.
    pub fn prepare(
        context: &mut Context<'_>,
        mut bytes: Vec<u8>,
        engine_time: Duration,
        fault: impl FnOnce(&str) -> RegisterFault,
    ) -> Result<Self, RegisterFault> {
        let length = bytes.len();
        let header = Header::of(&bytes).with_sense(false);
        context.check(header, length - Header::BYTES)?;
        if header.payload_bytes() + Header::BYTES != length {
            let payload = header.payload_bytes();
            return Err(fault(&format!(
                "{length} bytes, and the packet's header says {payload} bytes of payload behind its own 8"
            )));
        }
        bytes.drain(..Header::BYTES);
        Ok(Leaving { header, payload: bytes, ready: context.timer_after(engine_time) })
    }

    /// Whether the engine has prepared it, and the flow control has room for it.
    pub fn may_leave(&self, context: &Context<'_>) -> bool {
        self.ready <= context.now && context.network.can_send(self.header.peer())
    }

    /// Goes to the network.
    pub fn leave(self, context: &mut Context<'_>) {
        context.network.send(self.header, self.payload);
    }

    /// What becomes of it, for observers.
    pub fn doing(&self, now: Time) -> &'static str {
        if self.ready <= now { "waits for the flow control" } else { "prepares a packet" }
    }
}
