//! The network of both studies: topology is ignored, and a frame takes a fixed
//! time from the injection of its last byte at the source to the arrival of its
//! first at the destination (isca96, Section 4.1; hpca98, Section 5.1.2).

use narthex_kernel::{Duration, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Network, NetworkContext, Parameters};
use crate::packet::{Frame, NodeId};
use crate::parcel::{Mail, Phase, Sending};

/// Every frame takes the same time, and none meets another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Time from the injection of the last byte to the arrival of the first. Without
    /// it nodes have no lookahead: a run takes longer, and one host thread.
    pub latency: Duration,
}

/// One node's end of the ideal network.
#[derive(Debug, Serialize, Deserialize)]
pub struct Ideal {
    latency: Duration,
    /// The partition of this node and of all behind it.
    last_partition: u16,
}

impl Parameters for Config {
    fn lookahead(&self) -> Duration {
        self.latency
    }

    fn build(&self, _own: NodeId, around: &NetworkContext) -> Box<dyn Network> {
        let last_partition = around.in_one_partition_from as u16;
        Box::new(Ideal { latency: self.latency, last_partition })
    }
}

impl Network for Ideal {
    fn send(&mut self, now: Time, destination: NodeId, frame: Frame) -> Option<Sending<Frame>> {
        let partition = destination.0.min(self.last_partition);
        Some((now + self.latency, partition.into(), Mail::Direct(frame, Phase::Own)))
    }

    fn fixed_latency(&self) -> Option<Duration> {
        (!self.latency.is_zero()).then_some(self.latency)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Rank;

    #[test]
    fn every_frame_takes_the_same_time() {
        let config = super::super::Config::Ideal(Config { latency: Duration::from_ns(40) });
        let around = NetworkContext { nodes: 2, in_one_partition_from: 2, seed: 0, packet_bytes: 256 };
        let mut network = config.build(NodeId(0), &around);
        let frame = Frame::Acknowledgement { from: Rank(0), to: Rank(1), sequence: 1 };
        let sent = network.send(Time::from_ps(7), NodeId(1), frame.clone());
        assert_eq!(sent, Some((Time::from_ps(40_007), 1, Mail::Direct(frame, Phase::Own))));
        assert_eq!(config.lookahead(), Duration::from_ns(40));
        assert_eq!(config.problems(&around), []);
    }
}
