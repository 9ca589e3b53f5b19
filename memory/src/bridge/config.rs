//! The part of a machine's file that describes an I/O bus and the bridge to it.

use narthex_kernel::Duration;
use narthex_kernel::quantity::{Bytes, Frequency};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::bus::{ExtraCycles, Phases};
use crate::kind::Kind;
use crate::traffic::{Traffic, WithoutEffect};

/// The parameters of an I/O bus and of the bridge to it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The I/O bus's clock.
    pub clock: Frequency,
    /// Bytes that cross the I/O bus in one data cycle.
    pub width: Bytes,
    /// I/O bus cycles of arbitration before the address of each transaction.
    pub arbitration_cycles: u32,
    /// I/O bus cycles of a transaction's address.
    #[schemars(range(min = 1))]
    pub address_cycles: u32,
    /// Extra I/O bus cycles for each kind of transaction, beyond arbitration,
    /// address and data cycles.
    pub extra_cycles: ExtraCycles,
    /// Time that the bridge needs to take a processor's access, beyond the
    /// memory bus's own cycles.
    pub bridge_access_time: Duration,
    /// Writes and invalidations of processors that the bridge holds, 1 to 64.
    #[schemars(range(min = 1, max = 64))]
    pub downward_entries: u32,
    /// Writes and invalidations of devices that the bridge holds, 1 to 64.
    #[schemars(range(min = 1, max = 64))]
    pub upward_entries: u32,
}

impl Config {
    /// The rules that the parameters break, as (key, what is wrong) pairs.
    pub fn problems(&self) -> Vec<(&'static str, String)> {
        let mut problems = Phases::problems(self.width, self.address_cycles);
        for (key, entries) in
            [("downward_entries", self.downward_entries), ("upward_entries", self.upward_entries)]
        {
            if !(1..=64).contains(&entries) {
                problems.push((key, format!("{entries} is not from 1 to 64")));
            }
        }
        problems
    }

    /// The parameters that change nothing with this traffic on the I/O bus, as (key, why) pairs.
    pub fn without_effect(&self, traffic: &Traffic) -> Vec<WithoutEffect> {
        let mut found = traffic.extra_cycles_without_effect();
        if !traffic.has_posted_of_devices() {
            let why = "the device writes and invalidates no blocks";
            found.push(("upward_entries".into(), why.into()));
        }
        found
    }

    /// I/O bus cycles of a transaction of this kind.
    pub fn phases(&self, kind: Kind, block_bytes: usize) -> Phases {
        let Config { width, arbitration_cycles, address_cycles, ref extra_cycles, .. } = *self;
        Phases::new(kind, block_bytes, width, arbitration_cycles, address_cycles, extra_cycles)
    }
}
