//! The network of both studies: topology is ignored, and a frame takes a fixed
//! time from the injection of its last byte at the source to the arrival of its
//! first at the destination (isca96, Section 4.1; hpca98, Section 5.1.2).

use narthex_kernel::{Duration, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Network, Parameters};
use crate::packet::{Frame, NodeId};

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
}

impl Parameters for Config {
    fn build(&self) -> Box<dyn Network> {
        Box::new(Ideal { latency: self.latency })
    }
}

impl Network for Ideal {
    fn smallest_latency(&self) -> Duration {
        self.latency
    }

    fn arrival(&mut self, now: Time, _destination: NodeId, _frame: &Frame) -> Time {
        now + self.latency
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Rank;

    #[test]
    fn every_frame_takes_the_same_time() {
        let mut network = Config { latency: Duration::from_ns(40) }.build();
        let frame = Frame::Acknowledgement { from: Rank(0), to: Rank(1), sequence: 1 };
        let arrival = network.arrival(Time::from_ps(7), NodeId(1), &frame);
        assert_eq!(arrival, Time::from_ps(40_007));
        assert_eq!(network.smallest_latency(), Duration::from_ns(40));
    }
}
