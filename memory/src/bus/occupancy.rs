//! For how many cycles a transaction has the bus: what a machine's file states of it, and the phases.

use narthex_kernel::Duration;
use narthex_kernel::quantity::{Bytes, Frequency};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::kind::{Kind, transaction_kinds};
use crate::traffic::{Traffic, WithoutEffect};
use crate::transaction::Transaction;

/// The parameters of a bus.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The bus's clock.
    pub clock: Frequency,
    /// Bytes that cross in one data cycle.
    pub width: Bytes,
    /// Bus cycles of arbitration before the address of each transaction; 0 where it
    /// overlaps the transaction before.
    pub arbitration_cycles: u32,
    /// Bus cycles of a transaction's address.
    #[schemars(range(min = 1))]
    pub address_cycles: u32,
    /// Extra bus cycles for each kind of transaction, beyond arbitration,
    /// address and data cycles.
    pub extra_cycles: ExtraCycles,
    /// Time that a processor's cache needs to supply a block, beyond the bus's own cycles.
    pub cache_supply_time: Duration,
    /// What the owner of a dirty block does when another agent asks for it.
    #[serde(default, skip_serializing_if = "DirtyOwner::intervenes")]
    pub dirty_owner: DirtyOwner,
    /// Bus cycles of a transaction that an agent refuses, arbitration and address
    /// included; stated where agents may refuse.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub retry_cycles: Option<u32>,
}

/// What the owner of a dirty block does when another agent asks for it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DirtyOwner {
    /// It supplies the block instead of its home.
    #[default]
    Intervene,
    /// It refuses the transaction and returns the block to its home first; the
    /// transaction is tried again then.
    RetryAndPush,
}

impl DirtyOwner {
    /// Whether it supplies the block.
    pub fn intervenes(&self) -> bool {
        *self == DirtyOwner::Intervene
    }
}

macro_rules! declare_extra_cycles {
    ($(
        $kind:ident, $name:ident, $what:literal, $moves:ident, $snoop:expr,
        $field:ident, $statistic:literal, $counted:literal, $words:literal;
    )*) => {
        /// Bus cycles a kind of transaction takes beyond arbitration, address and data.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct ExtraCycles {
            $(#[doc = $what] pub $name: u32,)*
        }

        impl ExtraCycles {
            fn of(&self, kind: Kind) -> u32 {
                match kind {
                    $(Kind::$kind => self.$name,)*
                }
            }
        }
    };
}

transaction_kinds!(declare_extra_cycles);

/// The cycles of a bus that a transaction takes, without its supplier's delay and without the
/// data cycles of one that [says how many bytes it moves](Kind::states_bytes).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Phases {
    /// Until the bus is the agent's.
    pub arbitration: u64,
    /// The address crosses.
    pub address: u64,
    /// The data cross.
    pub data: u64,
    /// Of its kind.
    pub extra: u64,
}

impl Phases {
    /// Of what takes no time.
    pub const NONE: Phases = Phases { arbitration: 0, address: 0, data: 0, extra: 0 };

    /// Those of a transaction of this kind on a bus with these parameters.
    pub fn new(
        kind: Kind,
        block_bytes: usize,
        width: Bytes,
        arbitration_cycles: u32,
        address_cycles: u32,
        extra_cycles: &ExtraCycles,
    ) -> Self {
        Phases {
            arbitration: arbitration_cycles.into(),
            address: address_cycles.into(),
            data: kind.data_bytes(block_bytes).unwrap_or(0).div_ceil(width.as_u64()),
            extra: extra_cycles.of(kind).into(),
        }
    }

    /// Those of `transaction`, which is of this kind, on a bus of this width.
    #[inline]
    pub fn of(self, transaction: &Transaction, width: Option<u64>) -> Self {
        Phases { data: self.data + stated_cycles(transaction, width), ..self }
    }

    /// All of them.
    pub fn total(self) -> u64 {
        self.arbitration + self.address + self.data + self.extra
    }

    /// The rules that a bus's parameters break, as (key, what is wrong) pairs.
    pub fn problems(width: Bytes, address_cycles: u32) -> Vec<(&'static str, String)> {
        let mut problems = Vec::new();
        if !width.as_u64().is_power_of_two() || width.as_u64() > 256 {
            problems.push(("width", format!("{width} is not a power of two from 1B to 256B")));
        }
        if address_cycles == 0 {
            problems.push(("address_cycles", "0 is too few: an address needs at least one cycle".into()));
        }
        problems
    }
}

/// The data cycles of a transaction that says how many bytes it moves.
#[inline(always)]
pub(super) fn stated_cycles(transaction: &Transaction, width: Option<u64>) -> u64 {
    match width {
        Some(width) if transaction.kind.states_bytes() => u64::from(transaction.size).div_ceil(width),
        _ => 0,
    }
}

impl Config {
    /// The rules that the parameters break, as (key, what is wrong) pairs.
    pub fn problems(&self) -> Vec<(&'static str, String)> {
        let mut problems = Phases::problems(self.width, self.address_cycles);
        match (self.retry_cycles, self.dirty_owner) {
            (Some(0), _) => {
                problems.push((
                    "retry_cycles",
                    "0 is too few: a refused address needs at least one cycle".into(),
                ));
            }
            (None, DirtyOwner::RetryAndPush) => {
                let message = "is not stated; dirty_owner = \"retry-and-push\" refuses transactions, and a \
                               refused one takes bus cycles";
                problems.push(("retry_cycles", message.into()));
            }
            _ => {}
        }
        problems
    }

    /// The parameters that change nothing with this traffic, as (key, why) pairs.
    pub fn without_effect(&self, traffic: &Traffic) -> Vec<WithoutEffect> {
        let mut found = traffic.extra_cycles_without_effect();
        if !traffic.has_other_readers() {
            let why = "nobody asks for what the only cache on the bus holds";
            found.push(("cache_supply_time".into(), why.into()));
        } else if !self.dirty_owner.intervenes() {
            let why = "the owner of a dirty block pushes it home, and supplies nothing";
            found.push(("cache_supply_time".into(), why.into()));
        }
        found
    }

    /// Bus cycles of a transaction of this kind.
    pub fn phases(&self, kind: Kind, block_bytes: usize) -> Phases {
        let Config { width, arbitration_cycles, address_cycles, ref extra_cycles, .. } = *self;
        Phases::new(kind, block_bytes, width, arbitration_cycles, address_cycles, extra_cycles)
    }

    /// All of them, without its supplier's delay.
    pub fn occupancy_cycles(&self, kind: Kind, block_bytes: usize) -> u64 {
        self.phases(kind, block_bytes).total()
    }
}
