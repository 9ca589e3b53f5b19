//! Detailed nodes within the model: some ranks of a schedule are nodes, and this partition of the machine
//! executes all others on the fitted model.
//!
//! ```text
//!   node 0 ─┐                     ┌─ end of rank 2 ─┐
//!   node 1 ─┼─ frames, envelopes ─┼─ end of rank 5 ─┼─ executor (LogGOPS): ranks 2, 3, 4, 5, ...
//!           │                     └─ ...            │
//!       the kernel's windows             one partition
//! ```
//!
//! - Between **ranks of the model** messages take what the model says ([`crate::executor`]).
//! - A message **to a node** leaves its sender's end as the packets of the messaging library, the last one
//!   when such a packet departs from an interface (`departure`, measured), and takes the network's latency. A node
//!   finds what it would find if its sender were one.
//! - A message **from a node** has come when all its packets have, and arrives in the model after what L
//!   has left: o_s + L less the departure and the network's latency. So a message takes o_s + L from the begin
//!   of its send to that of o_r, however its time is divided between the two sides.
//! - An **end** is the port of a node ([`end`]): flow control and buffers are the same.
//!
//! This partition hears of nodes, and they of it, no sooner than the network's latency, and so goes on in
//! the windows of all partitions. At one instant what the ends do comes before what the executor does; both are
//! in the order of their queues. So a result depends neither on windows nor on threads.
//!
//! What the model does not have, this does not have: a rank whose packets find no room goes on handling
//! messages, and there is nothing between ranks of the model but latency.

mod conductor;
mod end;
mod ends;
mod packets;
#[cfg(test)]
mod tests;

use narthex_fabrics::{Frame, Job, Mail, NetworkPort, NodeId};
use narthex_kernel::partition::{Envelope, Outbox, Partition, Status};
use narthex_kernel::{Duration, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::Problem;
use crate::executor::{Executor, State};
use crate::parameters::{Line, Parameters};
use crate::schedule::{Kind, Schedule};

use conductor::Conductor;
use ends::{EndEvent, Ends};
use packets::Format;

/// Ranks of a schedule that the model executes beside nodes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The schedule's file, which the nodes' program reads too.
    pub schedule: String,
    /// The ranks that are nodes, in ascending order.
    pub detailed: Vec<u32>,
    /// The model of the interface.
    pub parameters: Parameters,
    /// From the begin of a send until its message's last packet departs; of messages of one packet.
    pub departure: Line,
    /// How often the schedule is executed.
    pub runs: u32,
}

/// The interface, the network and the messages of a machine, as an end has them.
#[derive(Clone, Copy, Debug)]
pub struct EndParameters {
    /// Bytes of a packet, header included.
    pub packet_bytes: u64,
    /// Bytes of its header.
    pub header_bytes: u64,
    /// How long a frame takes.
    pub latency: Duration,
    /// Packets that wait in the interface to be sent, beyond the flow control's; none in a FIFO.
    pub send_entries: u64,
    /// Those that wait there for the processor.
    pub receive_entries: u64,
}

/// What the ends have in common.
#[derive(Debug)]
struct Settings {
    format: Format,
    parameters: Parameters,
    departure: Line,
    latency: Duration,
    /// Between the packets of a message.
    spacing: Duration,
    send_entries: u64,
    receive_entries: u64,
}

impl Settings {
    fn new(request: &Request, around: &EndParameters) -> Self {
        let format = Format::new(around.packet_bytes, around.header_bytes);
        let spacing = request.parameters.gap.per_byte_ns.max(0.0) * format.payload_bytes as f64 * 1e3;
        Settings {
            format,
            parameters: request.parameters,
            departure: request.departure,
            latency: around.latency,
            spacing: Duration::from_ps(spacing.round() as u64),
            send_entries: around.send_entries,
            receive_entries: around.receive_entries,
        }
    }

    fn gap(&self, bytes: u64) -> Duration {
        Duration::from_ps(self.parameters.gap.engaged_ps(bytes))
    }

    /// From the begin of a send to the departure of its last packet.
    fn departure(&self, bytes: u64) -> Duration {
        let first = Duration::from_ps(self.departure.engaged_ps(bytes.min(self.format.payload_bytes)));
        let more = bytes.saturating_sub(self.format.payload_bytes) as f64;
        first + Duration::from_ps((more * self.parameters.gap.per_byte_ns.max(0.0) * 1e3).round() as u64)
    }

    /// When the first packet of a message goes whose send begins at `begin`.
    fn first_departure(&self, begin: Time, bytes: u64) -> Time {
        let before = self.spacing * u64::from(self.format.packets(bytes) - 1);
        begin
            + self
                .departure(bytes)
                .as_ps()
                .checked_sub(before.as_ps())
                .map_or(Duration::ZERO, Duration::from_ps)
    }

    /// From the arrival of a message's last packet to that of the message in the model.
    fn notice(&self, bytes: u64) -> Duration {
        let Parameters { send_overhead, latency, .. } = &self.parameters;
        let whole = latency.at_ps(bytes).saturating_add_unsigned(send_overhead.engaged_ps(bytes));
        let before = (self.departure(bytes) + self.latency).as_ps();
        Duration::from_ps(whole.saturating_sub_unsigned(before).max(0) as u64)
    }
}

/// The ranks of the model in a run's document.
#[derive(Serialize, JsonSchema)]
pub struct RanksEntry {
    /// Their numbers.
    pub ranks: Vec<u32>,
    /// When each was through, from the begin of the last execution on.
    pub finish_ps: Vec<u64>,
    /// Events of the executor and at ends.
    pub events: u64,
    /// Ranks that talked to nodes.
    pub ends: usize,
    /// The statistics of their flow control by name.
    #[schemars(with = "serde_json::Map<String, Value>")]
    pub flow_control: Value,
}

/// The ranks of the model: a partition of the machine.
pub struct Ranks {
    schedule: Schedule,
    parameters: Parameters,
    modelled: Vec<u32>,
    /// Their operations.
    operations: u64,
    state: State,
    /// When the executor's next event is.
    next_event: Time,
    ends: Ends,
}

impl Ranks {
    /// All ranks but those of the request, of which some but not all are. `job` says which process is
    /// whose, and `port` makes that of a node.
    ///
    /// # Errors
    /// If a rank of the request is not there, or a message is longer than the library's.
    pub fn new(
        request: &Request,
        schedule: Schedule,
        around: &EndParameters,
        job: Job,
        port: impl FnMut(NodeId) -> NetworkPort,
    ) -> Result<Self, Problem> {
        let ranks = schedule.ranks();
        let mut is_detailed = vec![false; ranks as usize];
        for &rank in &request.detailed {
            let place = is_detailed.get_mut(rank as usize);
            *place.ok_or_else(|| {
                Problem::new(format!(
                    "rank {rank} is to be a node; the schedule has the ranks 0 to {}",
                    ranks - 1
                ))
            })? = true;
        }
        let modelled: Vec<u32> = (0..ranks).filter(|&rank| !is_detailed[rank as usize]).collect();
        let Some(&conducts) = modelled.first() else {
            return Err(Problem::new("all ranks are nodes, and none is left for the model"));
        };
        let settings = Settings::new(request, around);
        check_sizes(&schedule, &settings.format)?;
        let conductor = Conductor::new(request.detailed.len() as u32, request.runs);
        let ends = Ends::new(&schedule, (is_detailed, conducts), settings, job, conductor, port);
        let operations = modelled.iter().map(|&rank| schedule.range(rank).len() as u64).sum();
        let state = State::new(&schedule);
        let parameters = request.parameters;
        Ok(Ranks { schedule, parameters, modelled, operations, state, next_event: Time::NEVER, ends })
    }

    /// What came of them, for a run's document: when each was through, after the common begin.
    pub fn entry(&self) -> RanksEntry {
        let begin = self.ends.conductor.begin.as_ps();
        let mut packets = narthex_fabrics::flow_control::Statistics::default();
        self.ends.each().for_each(|end| packets.merge(end.statistics()));
        let finish = |&rank: &u32| self.state.finish_ps(rank).saturating_sub(begin);
        RanksEntry {
            ranks: self.modelled.clone(),
            finish_ps: self.modelled.iter().map(finish).collect(),
            events: self.events(),
            ends: self.ends.each().count(),
            flow_control: json!(packets.reported()),
        }
    }

    /// How many events there were, of the executor and at ends.
    pub fn events(&self) -> u64 {
        self.state.taken + self.ends.queue.taken()
    }
}

/// A node cannot receive what its library cannot send.
fn check_sizes(schedule: &Schedule, format: &Format) -> Result<(), Problem> {
    for rank in 0..schedule.ranks() {
        let mut sends = schedule.shape(rank).operations().iter().filter(|own| own.kind == Kind::Send);
        if let Some(own) = sends.find(|own| own.size > format.most_bytes()) {
            return Err(Problem::new(format!(
                "rank {rank} sends a message of {} bytes; between nodes they have at most {}",
                own.size,
                format.most_bytes()
            )));
        }
    }
    Ok(())
}

impl Partition for Ranks {
    type Payload = Mail<Frame>;

    fn next_time(&self) -> Option<Time> {
        let next = self.ends.queue.next_instant().min(self.next_event);
        (next < Time::NEVER).then_some(next)
    }

    fn advance(&mut self, outbox: &mut Outbox<Mail<Frame>>) {
        let Ranks { schedule, parameters, modelled, operations, state, next_event, ends } = self;
        let conducts = modelled[0];
        let mut watch = ();
        let mut executor = Executor::new(schedule, parameters, ends, &mut watch, state);
        loop {
            let next = executor.wire.queue.next_instant();
            if next.min(*next_event) >= outbox.until() {
                break;
            }
            let now = next.min(*next_event);
            if next > *next_event {
                let (at, event) = executor.state.events.pop().expect("its time was told");
                executor.take(at, event);
            } else {
                let (_, happening) =
                    executor.wire.queue.pop_before(outbox.until()).expect("its time was told");
                if let EndEvent::Begin = happening {
                    executor.state.repeat(schedule);
                    modelled.iter().for_each(|&rank| executor.begin_rank(rank, now.as_ps()));
                }
                executor.wire.happen(now, happening, &mut executor.state.events, outbox);
            }
            if executor.wire.conductor.is_due(executor.state.over == *operations) {
                executor.wire.conduct(now, conducts, outbox, &mut executor.state.events);
            }
            *next_event = executor.state.events.next_time().map_or(Time::NEVER, Time::from_ps);
        }
    }

    fn deliver(&mut self, envelope: Envelope<Mail<Frame>>) {
        self.ends.deliver(envelope);
    }

    fn status(&self) -> Status {
        self.ends.conductor.over_at.map_or(Status::Running, |at| Status::Finished { at })
    }

    fn progress(&self) -> u64 {
        self.ends.received + u64::from(self.ends.conductor.begun()) * self.operations + self.state.over
    }
}
