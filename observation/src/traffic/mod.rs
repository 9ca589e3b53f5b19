//! Who talks to whom, and what was busy when.
//!
//! ```text
//!   nodes ── listeners ──► packets: emptied every few microseconds ──► pairs, sizes
//!                    `───► series: buses, queues, buffers, activities, in bins
//!   network ── looks at each interval's end, where these are asked for ──► links, queues, room
//! ```
//!
//! A packet's latency lasts from the instant at which it leaves its node for the
//! first time to the one at which the receiving interface takes it from the flow
//! control's buffers: the network, returns, and waiting for the interface. That of
//! a message begins with its first packet and ends with its last.
//!
//! **Small.** Pairs that never talk have no entry. A series has at most
//! [`series::MOST_BINS`] bins, which become twice as wide whenever the run is longer.
//! Of many nodes there are series of all together alone.
//!
//! **The same on any number of threads.** Packets of all nodes are joined in one order,
//! at instants of simulated time; series belong to one node.

mod listener;
mod over_time;
mod pairs;
mod series;

use narthex_fabrics::Frame;
use narthex_fabrics::switch::Switch;
use narthex_kernel::{Duration, Time};
use narthex_machine::node::Node;
use schemars::JsonSchema;
use serde::Serialize;

use listener::Listener;
use over_time::{OverTime, OverTimeEntry};
use pairs::{PairEntry, Pairs, SizeEntry};
use series::{Series, SeriesEntry};

/// Listeners hold the packets of this much time of all nodes together.
const NODE_TIME: Duration = Duration::from_ns(1_000_000);
/// They are emptied no more often.
const SHORTEST_STEP: Duration = Duration::from_ns(1_000);
/// Nodes that have series of their own, at most.
const MOST_NODES: usize = 16;

/// Counts who talks to whom in a run.
pub struct Traffic {
    step: Duration,
    is_attached: bool,
    pairs: Pairs,
    over_time: Option<OverTime>,
}

impl Traffic {
    /// Of these nodes, which are about to start, and of the network in intervals of this length.
    pub fn new(nodes: &[Node], interval: Option<Duration>) -> Self {
        let processes = nodes.first().map_or(1, Node::process_count);
        let step = Duration::from_ps(NODE_TIME.as_ps() / nodes.len().max(1) as u64);
        Traffic {
            step: step.max(SHORTEST_STEP),
            is_attached: false,
            pairs: Pairs::new(nodes.len(), processes),
            over_time: interval.map(OverTime::new),
        }
    }

    /// The instant at which [`Traffic::stop`] is to be called next.
    pub fn next_stop(&self, now: Time) -> Time {
        let interval = self.over_time.as_ref().map_or(Time::NEVER, OverTime::next_look);
        now.saturating_add(self.step).min(interval)
    }

    /// Everything before `now` has happened, and nothing after it.
    pub fn stop(&mut self, now: Time, nodes: &mut [&mut Node], switches: &[&Switch<Frame>]) {
        if let Some(over_time) = &mut self.over_time {
            over_time.stop(now, nodes, switches);
        }
        self.drain(now, nodes);
    }

    /// Takes what listeners have heard.
    fn drain(&mut self, now: Time, nodes: &mut [&mut Node]) {
        if !std::mem::replace(&mut self.is_attached, true) {
            nodes.iter_mut().for_each(|node| node.attach_at(now, Box::<Listener>::default()));
        }
        let seen = nodes.iter_mut().enumerate().flat_map(|(number, node)| {
            let seen = node.probe::<Listener>().map(|listener| listener.drain(now)).unwrap_or_default();
            seen.into_iter().map(move |(at, seen)| (at, number, seen))
        });
        self.pairs.take(seen.collect());
    }

    /// The run is over at `end`: the entry `traffic` of its document.
    pub fn finish(mut self, end: Time, nodes: &mut [Node], switches: &[Switch<Frame>]) -> TrafficEntry {
        let mut all: Vec<&mut Node> = nodes.iter_mut().collect();
        // What happens at the end itself belongs to the run.
        self.drain(end + Duration::from_ps(1), &mut all);
        let switches: Vec<&Switch<Frame>> = switches.iter().collect();
        let over_time = self.over_time.take().map(|over_time| over_time.finish(end, &all, &switches));
        let sent = all.iter().map(|node| node.message_sizes().total()).sum();
        let of_nodes: Vec<Series> = all
            .iter_mut()
            .filter_map(|node| node.detach::<Listener>())
            .map(|listener| listener.into_series(end))
            .collect();
        let (pairs, sizes) = self.pairs.entries(sent);
        TrafficEntry { ranks: self.pairs.ranks(), pairs, sizes, series: series_of(of_nodes, end), over_time }
    }
}

/// The series of each node, or of all together where there are many.
fn series_of(of_nodes: Vec<Series>, end: Time) -> SeriesOfRun {
    let count = of_nodes.len();
    let named: Vec<(Option<usize>, Series)> = if count <= MOST_NODES {
        of_nodes.into_iter().enumerate().map(|(node, series)| (Some(node), series)).collect()
    } else {
        let mut all = Series::default();
        of_nodes.iter().for_each(|series| all.add(series));
        vec![(None, all.divided_by(count as u64))]
    };
    let bin = series::width(end);
    let rows = named.iter().flat_map(|(node, series)| series.entries(*node, bin, end));
    SeriesOfRun { bin_ps: bin.as_ps(), rows: rows.collect() }
}

/// The entry `traffic` of a run's document.
#[derive(Serialize, JsonSchema)]
pub struct TrafficEntry {
    /// How many ranks the machine has.
    #[schemars(range(min = 1))]
    ranks: usize,
    /// What each rank sent each other one, where it sent any.
    pairs: Vec<PairEntry>,
    /// Latencies of messages by size, where the end of each message is known.
    sizes: Vec<SizeEntry>,
    /// What was busy when.
    series: SeriesOfRun,
    /// What the network did, if that is asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    over_time: Option<OverTimeEntry>,
}

/// Amounts over time, in bins of one width.
#[derive(Serialize, JsonSchema)]
struct SeriesOfRun {
    /// The width.
    #[schemars(range(min = 1))]
    bin_ps: u64,
    rows: Vec<SeriesEntry>,
}
