//! What a machine's file says of the switches of its network.

use narthex_kernel::{Bytes, Duration};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::crossbar::OutputQueues;
use super::marking::Marking;
use crate::backpressure;

/// The switches of a network, which are all alike.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// When a switch passes a parcel on.
    pub switching: Switching,
    /// Time from the arrival of a parcel (its head, or the whole where parcels are
    /// stored) to the instant at which it may leave.
    pub delay: Duration,
    /// The buffer of each lane of an input, and of a node: at least one parcel.
    pub buffer: Bytes,
    /// How parcels wait in a buffer.
    pub queues: QueueKind,
    /// Which parcel of those with the same priority goes first.
    pub arbitration: Arbitration,
    /// How many parcels may leave an input at once; without it as many as it has queues.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 64))]
    pub input_ways: Option<u32>,
    /// Queues behind the crossbar, and how fast that is; without it parcels go straight to the links.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_queues: Option<OutputQueues>,
    /// What keeps the sender of a link from filling the buffer behind it; without it credits.
    #[serde(default, skip_serializing_if = "backpressure::Config::is_default")]
    pub backpressure: backpressure::Config,
    /// Which parcels are marked, as those that have met congestion; without it none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub marking: Option<Marking>,
}

/// When a switch passes a parcel on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Switching {
    /// As soon as its head has arrived, if there is room for all of it behind the next link.
    VirtualCutThrough,
    /// When all of it has arrived.
    StoreAndForward,
}

/// How parcels wait in a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum QueueKind {
    /// In one queue for each lane of an input.
    Single,
    /// In a queue for each output, of each lane of an input.
    ByOutput,
}

/// Which parcel of those with the same priority goes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Arbitration {
    /// Inputs and their lanes take turns.
    RoundRobin,
    /// The parcel that was handed over to the network first; of several, the one at the
    /// lowest input.
    Age,
}
