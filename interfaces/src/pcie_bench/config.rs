//! The parameters of pcie-bench's card.

use narthex_kernel::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::models::Problem;

/// The parameters of pcie-bench's card.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Time that a register access takes in the card.
    pub register_access_time: Duration,
    /// The step of the timer with which the card takes latencies.
    pub timer_step: Duration,
    /// Time from an access of the DMA engine until its first packet leaves; the command path has none.
    pub dma_time: Duration,
    /// Time of the DMA engine for each 128 bytes of an access behind the first ones, which it copies from or to
    /// the card's memory: before the first packet of a write, behind the last one of a read.
    pub copy_time: Duration,
    /// The most accesses that the DMA engine has under way: reads until their data have come, writes until
    /// the link has taken them.
    #[schemars(range(min = 1, max = 256))]
    pub operations: u32,
    /// Time from a write of the DMA engine to its next access, besides the time that its data are copied: it
    /// fetches them from the card's memory.
    pub write_interval: Duration,
}

impl Config {
    /// The rules that the parameters break.
    ///
    /// # Errors
    /// The first one, with its key.
    pub fn check(&self) -> Result<(), Problem> {
        let refuse = |key: &str, problem: String| Err(Problem { key: key.into(), problem });
        if !(1..=256).contains(&self.operations) {
            return refuse("operations", format!("{} is not from 1 to 256", self.operations));
        }
        if self.timer_step.is_zero() {
            return refuse("timer_step", "0ps is not allowed; expected a time such as 13333ps".into());
        }
        Ok(())
    }
}
