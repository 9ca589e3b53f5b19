//! How a node stands while its run goes on, for who watches the run.
//!
//! It is only looked at: no wait loop is caught up with, no ledger closed. So what is
//! shown may lag behind, and what comes of the run is the same whether it is shown or not.
//! The time from a ledger's last entry to now belongs to what that entry began: a processor
//! whose wait loop is not computed yet is in it.

use narthex_kernel::{Category, Time};
use serde_json::{Value, json};

use super::counts::{ledger_json, waits_json};
use super::processor::State;
use super::{Node, NodeProcessor};
use crate::activity::Spent;

impl Node {
    /// How it stands at `now`: of each processor what it does, and where its time has gone so far;
    /// messages and packets.
    pub fn standing(&self, now: Time) -> Value {
        let flow = self.network.statistics();
        let held = self.network.occupancy();
        json!({
            "node": self.id.0,
            "processors": self.processors.iter().map(|unit| unit.standing(now)).collect::<Vec<_>>(),
            "messages_sent": self.network.message_sizes().total(),
            "packets_sent": flow.sent.get(),
            "packets_delivered": flow.delivered.get(),
            "packets_returned": flow.returned.get(),
            "packets_unacknowledged": held.unacknowledged,
            "packets_waiting": held.waiting,
        })
    }
}

impl NodeProcessor {
    fn standing(&self, now: Time) -> Value {
        let (activity, spent) = self.booked();
        let mut booked = self.ledger.booked_by_category().to_vec();
        booked[(activity, spent).index()] += now.saturating_since(self.ledger.booked_until());
        json!({
            "retired": self.processor.retired(),
            "activity": activity.as_str(),
            "spent_in": Spent::name(spent.index()),
            "has_ended": self.state == State::Exited,
            "ledger_ps": ledger_json(&booked),
            "waits_ps": waits_json(&booked),
        })
    }
}
