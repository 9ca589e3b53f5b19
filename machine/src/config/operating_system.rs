//! What the operating system of a node takes, and where it puts a process's pages.
//!
//! The system itself is not simulated: its calls are answered by the simulator
//! ([`narthex_cores::linux`]). A machine's file states what they cost; without the
//! table they cost nothing, and frames follow each other as pages do.

use narthex_kernel::Duration;
use narthex_memory::page_frames::FramePlacement;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The operating system of a node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Time of a system call, from its instruction to the next one. Calls of the
    /// simulator itself, such as the report of a result, take none.
    pub system_call_time: Duration,
    /// Further time for each page that a call maps, unmaps, protects, pins or unpins.
    pub page_time: Duration,
    /// Which frames of memory the pages of a process are in.
    pub page_frames: FramePlacement,
    /// How many pages of a process may be pinned at a time.
    pub pinned_pages: u64,
    /// Time from a device's interrupt to the next instruction of the thread that waits for it: handler,
    /// scheduler, end of the call. Interfaces that interrupt need it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interrupt_time: Option<Duration>,
}

impl Config {
    /// One that costs nothing: that of a machine whose file states none.
    pub fn free() -> Self {
        Config {
            system_call_time: Duration::ZERO,
            page_time: Duration::ZERO,
            page_frames: FramePlacement::Contiguous,
            pinned_pages: u64::MAX,
            interrupt_time: None,
        }
    }

    /// How long a system call takes that works on so many pages.
    pub fn time_of_call(&self, pages: u64) -> Duration {
        self.system_call_time + self.page_time * pages
    }
}
