//! All ends of modelled ranks: between the executor's messages and the nodes' packets.

use narthex_fabrics::{Frame, Job, Mail, NodeId, Phase, Rank};
use narthex_kernel::partition::{Envelope, Outbox};
use narthex_kernel::{EventQueue, Time};
use rustc_hash::FxHashMap;

use super::Settings;
use super::conductor::Conductor;
use super::end::End;
use super::packets::{CONTENT_BYTES, LEAST_BYTES, Received, SentMessage, handlers};
use crate::executor::wire::{Event, Events, Message, Straight, What, Wire};
use crate::schedule::{Kind, Schedule};

/// No end.
const NONE: u32 = u32::MAX;

/// What happens at an end.
#[derive(Debug)]
pub(super) enum EndEvent {
    /// A frame comes from a node.
    Frame(Frame, Phase),
    /// The flow control of an end asked to be called.
    Retry(u32),
    /// It is time for an end's next packet.
    Send(u32),
    /// The processor of an end is through with an operation, whose last packet has this number.
    Through(u32, u32, u64),
    /// An end takes the next packet in.
    Take(u32),
    /// The processor of an end has handled a message of a node.
    Handled(u32),
    /// A run begins.
    Begin,
}

/// A send of a node's rank, by what its message tells: sender, receiver, tag, bytes.
type Told = (u32, u32, u32, u64);

/// The ends, and what is to happen at them.
pub(super) struct Ends {
    pub settings: Settings,
    pub queue: EventQueue<EndEvent>,
    pub conductor: Conductor,
    /// Messages that have come from nodes.
    pub received: u64,
    job: Job,
    ends: Vec<End>,
    /// The rank of each end, and the end of each rank of the model that has one.
    ranks: Vec<u32>,
    of_rank: Vec<u32>,
    is_detailed: Vec<bool>,
    tags: FxHashMap<(u32, u32), u32>,
    sends: FxHashMap<Told, u32>,
}

impl Ends {
    /// Those of the ranks that exchange messages with nodes, and of the one that conducts.
    pub fn new(
        schedule: &Schedule,
        (is_detailed, conducts): (Vec<bool>, u32),
        settings: Settings,
        job: Job,
        conductor: Conductor,
        mut port: impl FnMut(NodeId) -> narthex_fabrics::NetworkPort,
    ) -> Self {
        let ranks = schedule.ranks();
        let mut of_rank = vec![NONE; ranks as usize];
        let (mut tags, mut sends) = (FxHashMap::default(), FxHashMap::default());
        of_rank[conducts as usize] = 0;
        for rank in 0..ranks {
            for (number, operation) in (0..).zip(schedule.shape(rank).operations()) {
                let peer = schedule.peer(rank, number);
                if operation.kind != Kind::Send || is_detailed[rank as usize] == is_detailed[peer as usize] {
                    continue;
                }
                if is_detailed[rank as usize] {
                    let told = (rank, peer, operation.tag, operation.size.max(LEAST_BYTES));
                    sends.entry(told).or_insert(number);
                    of_rank[peer as usize] = 0;
                } else {
                    tags.insert((rank, number), operation.tag);
                    of_rank[rank as usize] = 0;
                }
            }
        }
        let with_end = (0..ranks).filter(|&rank| of_rank[rank as usize] != NONE).collect::<Vec<u32>>();
        (0..).zip(&with_end).for_each(|(end, &rank)| of_rank[rank as usize] = end);
        let node = |&rank: &u32| NodeId(job.process(Rank(rank as u16)).expect("all ranks have processes").0);
        let ends = with_end.iter().map(|rank| End::new(port(node(rank)))).collect();
        Ends {
            settings,
            queue: EventQueue::new(),
            conductor,
            received: 0,
            job,
            ends,
            ranks: with_end,
            of_rank,
            is_detailed,
            tags,
            sends,
        }
    }

    /// The ends' ports.
    pub fn each(&self) -> impl Iterator<Item = &End> {
        self.ends.iter()
    }

    /// What comes from a node.
    pub fn deliver(&mut self, mut envelope: Envelope<Mail<Frame>>) {
        let Mail::Direct(frame, phase) = &envelope.payload else {
            unreachable!("a network without switches carries frames alone")
        };
        envelope.sequence = frame.order(*phase, envelope.sequence);
        self.queue.receive(envelope, |mail| match mail {
            Mail::Direct(frame, phase) => EndEvent::Frame(frame, phase),
            _ => unreachable!("checked above"),
        });
    }

    /// Lets something happen, all of which is then over.
    pub fn happen(
        &mut self,
        now: Time,
        happening: EndEvent,
        events: &mut Events,
        outbox: &mut Outbox<Mail<Frame>>,
    ) {
        let end = match happening {
            EndEvent::Begin => return,
            EndEvent::Frame(frame, phase) => self.frame(now, frame, phase, events),
            EndEvent::Retry(end) => {
                self.ends[end as usize].port.retry(now);
                end
            }
            EndEvent::Send(end) => {
                self.send(now, end, events);
                end
            }
            EndEvent::Through(end, operation, last_packet) => {
                if self.ends[end as usize].ends(&self.settings, operation, last_packet) {
                    self.over(now, end, operation, events);
                }
                return;
            }
            EndEvent::Take(end) => {
                self.take(now, end);
                end
            }
            EndEvent::Handled(end) => {
                self.ends[end as usize].handled();
                self.take(now, end);
                end
            }
        };
        self.depart(now, end, outbox);
    }

    /// Tells all nodes when the next run begins, or that there is none.
    pub fn conduct(
        &mut self,
        now: Time,
        conducts: u32,
        outbox: &mut Outbox<Mail<Frame>>,
        events: &mut Events,
    ) {
        let begin = self.conductor.decide(now);
        if let Some(at) = begin {
            self.queue.schedule(at, EndEvent::Begin);
        }
        let content = begin.map_or(0, |at| at.as_ps() / 1_000).to_le_bytes();
        let end = self.of_rank[conducts as usize];
        for rank in (0..).zip(&self.is_detailed).filter_map(|(rank, is_detailed)| is_detailed.then_some(rank))
        {
            let sent = SentMessage {
                to: Rank(rank),
                handler: handlers::CONDUCT,
                number: 0,
                content,
                bytes: CONTENT_BYTES as u64,
            };
            self.ends[end as usize].enqueue(&self.settings, sent, now);
        }
        self.send(now, end, events);
        self.depart(now, end, outbox);
    }

    fn over(&self, now: Time, end: u32, operation: u32, events: &mut Events) {
        let rank = self.ranks[end as usize];
        events.push(now.as_ps(), Event { rank, operation, sender: rank, what: What::Over });
    }

    fn send(&mut self, now: Time, number: u32, events: &mut Events) {
        let end = &mut self.ends[number as usize];
        if let Some(at) = end.send(&self.settings, now) {
            self.queue.schedule(at, EndEvent::Send(number));
        }
        while let Some(operation) = self.ends[number as usize].release(&self.settings) {
            self.over(now, number, operation, events);
        }
    }

    fn take(&mut self, now: Time, number: u32) {
        if let Some(at) = self.ends[number as usize].take(&self.settings, now) {
            self.queue.schedule(at, EndEvent::Take(number));
        }
    }

    /// A frame has come; returns to which end.
    fn frame(&mut self, now: Time, frame: Frame, phase: Phase, events: &mut Events) -> u32 {
        let to = match &frame {
            Frame::Data(packet) => packet.destination,
            Frame::Returned(packet) => packet.source,
            Frame::Acknowledgement { to, .. } | Frame::Notice { to, .. } => *to,
        };
        let rank = self.job.rank_of(to).expect("frames come to ranks");
        let number = self.of_rank[usize::from(rank.0)];
        let has_room = self.ends[number as usize].arrive(now, frame, phase);
        let is_control = |message: &Received| message.handler != handlers::MESSAGE;
        while let Some(message) = self.ends[number as usize].look(&self.settings, is_control) {
            message.into_iter().for_each(|message| self.come(now, number, message, events));
        }
        self.take(now, number);
        if has_room {
            self.send(now, number, events);
        }
        number
    }

    /// A message has come whole.
    fn come(&mut self, now: Time, number: u32, message: Received, events: &mut Events) {
        self.received += 1;
        if message.handler != handlers::MESSAGE {
            return self.conductor.node_is_ready();
        }
        let rank = self.ranks[number as usize];
        let tag = u32::from_le_bytes(*message.content.first_chunk().expect("it has eight bytes"));
        let told = (u32::from(message.from.0), rank, tag, message.bytes);
        let operation = *self.sends.get(&told).expect("nodes send what the schedule says");
        let arrived = Event { rank, operation, sender: told.0, what: What::Arrived };
        events.push((now + self.settings.notice(message.bytes)).as_ps(), arrived);
    }

    /// What leaves an end after a step.
    fn depart(&mut self, now: Time, number: u32, outbox: &mut Outbox<Mail<Frame>>) {
        let end = &mut self.ends[number as usize];
        let calls = end.depart(now, |(at, node, mail)| outbox.send(at, node, mail));
        end.port.end_step();
        if let Some(at) = calls.retry_at {
            self.queue.schedule(at, EndEvent::Retry(number));
        }
    }
}

impl Wire for &mut Ends {
    fn send(
        &mut self,
        message: Message,
        (begin, end): (u64, u64),
        latency: i64,
        events: &mut Events,
    ) -> bool {
        if !self.is_detailed[message.receiver as usize] {
            return Straight.send(message, (begin, end), latency, events);
        }
        let number = self.of_rank[message.sender as usize];
        let bytes = message.bytes.max(LEAST_BYTES);
        let mut content = [0; CONTENT_BYTES];
        let tag = self.tags[&(message.sender, message.operation)];
        content[..4].copy_from_slice(&tag.to_le_bytes());
        let to = Rank(message.receiver as u16);
        let sent = SentMessage { to, handler: handlers::MESSAGE, number: 0, content, bytes };
        let first = self.settings.first_departure(Time::from_ps(begin), bytes);
        let last_packet = self.ends[number as usize].enqueue(&self.settings, sent, first);
        self.queue.schedule(first, EndEvent::Send(number));
        let through = EndEvent::Through(number, message.operation, last_packet);
        self.queue.schedule(Time::from_ps(end), through);
        false
    }

    fn engaged(&mut self, arrived: Event, end: u64) {
        if self.is_detailed[arrived.sender as usize] {
            let number = self.of_rank[arrived.rank as usize];
            self.queue.schedule(Time::from_ps(end), EndEvent::Handled(number));
        }
    }

    fn take(&mut self, _now: u64, _event: Event, _events: &mut Events) {}
}
