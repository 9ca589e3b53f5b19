//! Marks of congestion (explicit congestion notification, RFC 3168): a parcel that comes to an output
//! for which much waits is marked, and its receiver's flow control tells the sender.
//!
//! ```text
//!   probability  100 % ┤            ┌────
//!                 most ┤        ___/│
//!                    0 ┼───────/────┴──── bytes that wait for the output
//!                            above  all_above
//! ```
//!
//! This is the rule of random early detection (Floyd and Jacobson, "Random Early Detection Gateways
//! for Congestion Avoidance", 1993) on the queue as it is, as DCQCN has it (Zhu et al., "Congestion Control
//! for Large-Scale RDMA Deployments", 2015, Section 3.1, "CP algorithm"). With `above` and `all_above`
//! equal it is the step of DCTCP (Alizadeh et al., "Data Center TCP", 2010, Section 3.1).

use narthex_kernel::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::parcel::Parcel;

/// Which parcels are marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Marking {
    /// Where fewer bytes wait for an output, no parcel for it is marked.
    pub above: Bytes,
    /// Where more wait, each is.
    pub all_above: Bytes,
    /// Parcels in a hundred that are marked just below that.
    #[schemars(range(min = 0, max = 100))]
    pub percent: u32,
}

impl Marking {
    /// What is wrong with it, as (key, what is wrong) pairs.
    pub fn problems(&self) -> Vec<(&'static str, String)> {
        let mut problems = Vec::new();
        let Marking { above, all_above, percent } = *self;
        if above > all_above {
            problems.push(("above", format!("{above} is more than {all_above} (all_above)")));
        }
        if percent > 100 {
            problems.push(("percent", format!("{percent} is not from 0 to 100")));
        }
        problems
    }

    /// Marks a parcel that comes to an output for which this many bytes wait, or not.
    pub(super) fn mark<C>(&self, waiting_bytes: u64, parcel: &mut Parcel<C>) -> bool {
        let (above, all_above) = (self.above.as_u64(), self.all_above.as_u64());
        let is_marked = if waiting_bytes > all_above {
            true
        } else if waiting_bytes <= above {
            false
        } else {
            let scale = 1 << 16;
            let most = u64::from(self.percent) * scale / 100;
            let share = most * (waiting_bytes - above) / (all_above - above);
            u64::from(parcel.pick(scale as u32)) < share
        };
        parcel.is_marked |= is_marked;
        is_marked
    }
}
