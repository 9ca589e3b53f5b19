//! A node's end of a network of switches.
//!
//! ```text
//!   hand over ─► lane 0 ▤▤ ─┬─► credits, link ─► switch
//!                lane 1 ▤  ─┘
//!     arrives ◄─ buffer ◄────────────── link ◄── switch
//!                   └─ credit, when the node has taken the parcel ─►
//! ```
//!
//! Parcels wait before the node's link as they do at an output of a switch: the
//! highest priority first, then the oldest. A node takes what arrives at once,
//! unless its flow control lets parcels keep their place in the link's buffer.

use std::collections::VecDeque;
use std::sync::Arc;

use narthex_kernel::random::Stream;
use narthex_kernel::{Archive, Archived, Damage, Time, statistics};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::link::{self, Sender};
use crate::packet::NodeId;
use crate::parcel::{Credit, Mail, Parcel, Sending};
use crate::switch::Plan;
use crate::topologies::Topology;

statistics! {
    /// What a node's end of a network of switches saw.
    pub struct Statistics {
        handed_over: Counter, "parcels_handed_over", "parcels", "parcels that the node handed over to the network";
        arrived: Counter, "parcels_arrived", "parcels", "parcels that arrived at the node";
        latency: Histogram, "network_latency", "ps", "from the hand-over of a parcel's last byte at its source to the arrival of its last byte here";
    }
}

/// A node's end of a network.
pub struct Terminal<C> {
    own: NodeId,
    plan: Arc<Plan>,
    /// The partition of the node's switch, and the port there.
    switch: (usize, u16),
    sender: Sender,
    /// What waits for the link, by lane.
    queues: Vec<VecDeque<Parcel<C>>>,
    queued_bytes: u64,
    /// When [`Terminal::inject`] is to be called; never, if nothing waits for the link.
    injects_at: Time,
    /// What comes over the link from the switch, in order.
    arriving: VecDeque<Parcel<C>>,
    choices: Stream,
    statistics: Statistics,
    /// Bytes that have arrived, by source.
    bytes_from: Vec<u64>,
}

impl<C> Terminal<C> {
    /// The end of node `own`.
    pub fn new(own: NodeId, plan: &Arc<Plan>, seed: u64) -> Self {
        let (switch, port) = plan.topology.attachment(own);
        Terminal {
            own,
            plan: plan.clone(),
            switch: (plan.partition(switch), port),
            sender: plan.sender(false),
            queues: (0..plan.lanes).map(|_| VecDeque::new()).collect(),
            queued_bytes: 0,
            injects_at: Time::NEVER,
            arriving: VecDeque::new(),
            choices: Stream::new(seed, &format!("node {}/routes", own.0)),
            statistics: Statistics::default(),
            bytes_from: vec![0; plan.nodes as usize],
        }
    }

    /// Takes a parcel of this many bytes. It leaves at the next call of
    /// [`Terminal::inject`], or later.
    pub fn hand_over(&mut self, now: Time, destination: NodeId, bytes: u32, priority: u8, cargo: C) {
        // All parcels between two nodes use one group of lanes, and keep their order in it.
        let group = ((self.own.0 ^ destination.0) % u16::from(self.plan.groups())) as u8;
        let choice = if self.plan.is_random() { self.choices.next_u64() } else { 0 };
        let mut parcel = Parcel {
            source: self.own,
            destination,
            towards: self.plan.first_towards((self.own, destination), choice),
            bytes,
            priority,
            group,
            lane: 0,
            is_marked: false,
            has_room: false,
            handed_over: now,
            choice,
            cargo,
        };
        parcel.lane = self.plan.lane(&parcel, 0);
        self.statistics.handed_over.increment();
        self.queued_bytes += u64::from(bytes);
        self.queues[usize::from(parcel.lane)].push_back(parcel);
    }

    /// Bytes of the buffer behind each lane of a link.
    pub fn buffer_bytes(&self) -> u32 {
        self.plan.buffer_bytes()
    }

    /// Whether less waits for the link than fits into a lane's buffer.
    pub fn has_room(&self) -> bool {
        self.queued_bytes < u64::from(self.plan.buffer_bytes())
    }

    /// The same, of what waits with this priority or a higher one.
    pub fn has_room_from(&self, priority: u8) -> bool {
        let waiting = self.waiting().filter(|parcel| parcel.priority >= priority);
        waiting.map(|parcel| u64::from(parcel.bytes)).sum::<u64>() < u64::from(self.plan.buffer_bytes())
    }

    /// Sends what can leave now, and says when to call again, if that is sooner than
    /// was said before.
    pub fn inject(&mut self, now: Time, send: &mut impl FnMut(Sending<C>)) -> Option<Time> {
        if now >= self.injects_at {
            self.injects_at = Time::NEVER;
        }
        if self.queued_bytes == 0 {
            return None;
        }
        if self.sender.free_at() <= now
            && let Some(lane) = self.next_lane()
        {
            let parcel = self.queues[lane].pop_front().expect("it waits");
            self.queued_bytes -= u64::from(parcel.bytes);
            let waited = now.saturating_since(parcel.handed_over);
            let serialization = self.sender.start(now, self.plan.timings.of_nodes(), &parcel, waited);
            let (partition, port) = self.switch;
            let arrival = self.plan.timings.of_nodes().at_switch(now, serialization);
            send((arrival, partition, Mail::Parcel { port, parcel }));
        }
        let at = self.sender.free_at();
        let is_sooner = self.queued_bytes > 0 && at > now && at < self.injects_at;
        is_sooner.then(|| {
            self.injects_at = at;
            at
        })
    }

    /// Whether nothing waits for the link, and [`Terminal::inject`] is not to be called.
    pub fn is_idle(&self) -> bool {
        self.queued_bytes == 0 && self.injects_at == Time::NEVER
    }

    /// The lane whose first parcel leaves next, if there is room for any.
    fn next_lane(&self) -> Option<usize> {
        let heads = self.queues.iter().enumerate().filter_map(|(lane, queue)| Some((lane, queue.front()?)));
        let with_room = heads.filter(|(_, parcel)| self.sender.has_room(parcel.lane, parcel.bytes));
        let order =
            |(lane, parcel): &(usize, &Parcel<C>)| (u8::MAX - parcel.priority, parcel.handed_over, *lane);
        with_room.min_by_key(order).map(|(lane, _)| lane)
    }

    /// There is room behind the node's link; [`Terminal::inject`] may use it.
    pub fn credit(&mut self, credit: Credit) {
        self.sender.credit(credit.lane, credit.bytes);
    }

    /// A parcel is under way to the node; parcels arrive in the order of these calls.
    pub fn expect(&mut self, parcel: Parcel<C>) {
        self.arriving.push_back(parcel);
    }

    /// The next parcel has arrived. Its place in the link's buffer is free when
    /// [`Terminal::release`] is called with the credit.
    pub fn arrive(&mut self, now: Time) -> (Parcel<C>, Credit) {
        let parcel = self.arriving.pop_front().expect("a parcel was under way");
        self.statistics.arrived.increment();
        self.statistics.latency.record((now - parcel.handed_over).as_ps());
        self.bytes_from[usize::from(parcel.source.0)] += u64::from(parcel.bytes);
        let credit = Credit { port: self.switch.1, lane: parcel.lane, bytes: parcel.bytes };
        (parcel, credit)
    }

    /// Tells the switch that there is room.
    pub fn release(&self, now: Time, credit: Credit) -> Sending<C> {
        (self.plan.timings.of_nodes().credited(now), self.switch.0, Mail::Credit(credit))
    }

    /// What it saw.
    pub fn statistics(&self) -> &Statistics {
        &self.statistics
    }

    /// What the node's link to its switch carried.
    pub fn link(&self) -> &link::Statistics {
        &self.sender.statistics
    }

    /// The sender's end of it.
    pub fn sender(&self) -> &Sender {
        &self.sender
    }

    /// Bytes that wait for it.
    pub fn queued_bytes(&self) -> u64 {
        self.queued_bytes
    }

    /// What the node's switch is called.
    pub fn switch_name(&self) -> String {
        self.plan.topology.name(self.plan.topology.attachment(self.own).0)
    }

    /// Bytes that have arrived, by source.
    pub fn bytes_from(&self) -> &[u64] {
        &self.bytes_from
    }

    /// Parcels that wait for the node's link.
    pub fn waiting(&self) -> impl Iterator<Item = &Parcel<C>> {
        self.queues.iter().flatten()
    }

    /// Parcels on the link from the switch.
    pub fn arriving(&self) -> impl Iterator<Item = &Parcel<C>> {
        self.arriving.iter()
    }
}

impl<C: Serialize + DeserializeOwned> Archived for Terminal<C> {
    fn archive(&mut self, archive: &mut Archive<'_>) -> Result<(), Damage> {
        let Terminal {
            own: _,
            plan,
            switch: _,
            sender,
            queues,
            queued_bytes,
            injects_at,
            arriving,
            choices,
            statistics,
            bytes_from,
        } = self;
        archive.value(sender)?;
        archive.each(queues.iter_mut())?;
        archive.value(queued_bytes)?;
        archive.value(injects_at)?;
        archive.value(arriving)?;
        choices.archive(archive)?;
        archive.value(statistics)?;
        archive.each(bytes_from.iter_mut())?;
        let bytes: u64 = queues.iter().flatten().map(|parcel| u64::from(parcel.bytes)).sum();
        archive.ensure(bytes == *queued_bytes, "a node's link has lost count of its bytes")?;
        archive.ensure(
            sender.lanes() == usize::from(plan.lanes),
            "a node's link has other lanes than the machine's",
        )?;
        let parcels = queues.iter().flatten().chain(arriving.iter());
        archive.ensure(
            parcels.into_iter().all(|parcel| plan.fits(parcel)),
            "a node has a parcel of another machine",
        )
    }
}
