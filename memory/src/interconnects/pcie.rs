//! A PCIe link: devices at one end, the host's interconnect at the other.
//!
//! ```text
//!   host's interconnect ── root complex ══ down: writes, read requests, completions ══► endpoint ── devices
//!                          (an agent)   ◄══ up:   writes, read requests, completions ══
//! ```
//!
//! Transactions become packets ([`packets`]). A processor's store to a device, and a flush of a
//! write-combining or block buffer, is a *memory write*, which is posted: it has no completion. A
//! processor's load is a *memory read*, which is non-posted: a *completion* answers it. A block that
//! a device writes is a memory write upwards; one that it reads is a read request upwards and
//! completions downwards.
//!
//! **Writes** are split into packets of at most `max_payload` (MPS).
//!
//! **Reads of a device** are split into requests of at most `max_read_request` (MRRS), each with a
//! tag of its own. A completion has at most MPS, and ends at a `read_completion_boundary` (RCB) or
//! with its request. It is sent as soon as the bytes up to there have been read.
//!
//! **Time.** A packet takes the wires for (overhead + data) / (rate x lanes x encoding x (1 -
//! share)), and then `root_complex_latency` + `link_latency` + `switch_latency` + `endpoint_latency`,
//! in either direction. The overhead is framing, header and checksums.
//!
//! **Credits** count headers and units of 16 bytes of data, for each class. A packet goes when the
//! other end has the buffers for it. A buffer is free when the other end has finished with the
//! packet, and the sender knows that after `link_latency`.
//!
//! **Order.** Packets of one class stay in order. Reads and completions stay behind writes, and pass
//! each other; writes pass both ([`packets::Class::waits_for`]). Two attributes loosen that
//! ([`packets::Order`]). *Relaxed ordering* is asked for by a device's transaction
//! ([`Transaction::relaxed`]): a write may pass older writes in the root complex, and the completions of a read may pass
//! the processor's stores that wait for credits. *ID-based ordering* is asked for by the machine's file, for all
//! packets of devices: they pass writes of other ports. A strict packet waits for relaxed writes before it as for all
//! others. What may pass and does not: a write never passes another one that waits for credits, whose buffers are the
//! same; on the wires nothing passes; writes of one block, and blocks of one write, stay in order.
//!
//! **The root complex** is an agent of the host's interconnect ([`super::BridgeAgent`]) in two roles.
//! As the home of the devices' registers it holds accesses to them until they are answered. As a
//! requester it reads and writes blocks, and the host's caches snoop these transactions like those of
//! any other agent. It handles what comes from the link in the order of arrival, with this much
//! overlap: a write begins when the one before it is complete, and each of its blocks when the block
//! before is in the host's memory; a read, or the answer to a processor, waits until all writes in
//! front of it are complete, but for those that it may pass. With `writes_ahead` it obtains blocks of later writes meanwhile, and writes
//! in the same order ([`writes`]). So a processor that sees a flag sees what the device wrote before it,
//! and one that has loaded a register sees everything that the device wrote before it answered. Reads
//! that have begun overlap with each other and with later writes.
//!
//! The devices' end keeps that order as well: a device works on one access after the other, and gets a completion
//! when it has carried out all stores in front of it, but for those that the completion may pass.
//!
//! **Interrupts.** A device interrupts a processor by a memory write of 4 bytes to an address that is no
//! memory ([`Interrupt`](crate::interrupt::Interrupt)): MSI-X. It is posted, and in order behind the device's other
//! writes; the root complex takes it when those are in the host's memory.
//!
//! **An IOMMU** may stand between root complex and host ([`iommu`]): what misses its IOTLB waits for a page
//! walk, and others pass it, but for the order above.
//!
//! **A store is complete for its processor**, and a write for its device, when the link has the
//! credits for all of its packets. So neither waits for the other end, and neither gets further ahead
//! than the other end's buffers allow.
//!
//! **Tags.** A port of a device issues a transaction as soon as it wants one, unless a read of its
//! own waits for a tag or a write of its own for credits. So a device may have several transactions
//! under way, each with its own [`TransactionTag`](crate::transaction::TransactionTag). The
//! send half of descriptor rings may have several; the other interfaces ask for one block at a time
//! with each port. All share the link's tags.
//!
//! **Left out**: attributes of the host's packets (a store is strict, as those of processors are), retries after errors, packets of 32-bit addresses,
//! byte enables (a store of 1 to 8 bytes carries 4 or 8), the arbitration and buffers of switches
//! (they are a latency), the boundaries of flits in generation 6 (their bytes are counted), the remapping
//! of interrupts by an IOMMU.
//!
//! | file | what it holds |
//! | --- | --- |
//! | `packets` | packets, classes, order and its attributes, splitting |
//! | `link` | generations and times |
//! | `direction` | queues, credits and wires of one direction |
//! | `root_complex` | the host's end |
//! | `iommu` | the translation of devices' addresses |
//! | `writes` | how devices' writes reach the host's memory |
//! | `endpoint` | the devices' end |
//! | `part` | the keys of a machine's file |

#[path = "pcie/direction.rs"]
mod direction;
#[path = "pcie/endpoint.rs"]
mod endpoint;
#[path = "pcie/iommu.rs"]
mod iommu;
#[path = "pcie/link.rs"]
pub(super) mod link;
#[path = "pcie/packets.rs"]
mod packets;
#[path = "pcie/part.rs"]
mod part;
#[path = "pcie/root_complex.rs"]
mod root_complex;
#[path = "pcie/writes.rs"]
mod writes;

use std::hash::{Hash, Hasher};

use narthex_kernel::statistics::StatisticSet;
use narthex_kernel::{Archive, Clock, Damage, Duration, Time};
use serde::{Deserialize, Serialize};

use super::accesses::NextStep;
use super::link_packets::{PacketLog, show};
use super::{
    AddressMap, Admits, AgentPorts, Interconnect, InterconnectHost, InterconnectId, InterconnectModel, Names,
    Step, Words, request,
};
use crate::transaction::{AccessReply, AgentId, Response, Transaction, TransactionTag};
use direction::Direction;
use endpoint::Endpoint;
pub use iommu::Config as IommuConfig;
use iommu::Iommu;
use link::Link;
use packets::{Class, PacketKind, Way};
pub use part::{Keys, ReceiveBuffers};
use root_complex::RootComplex;

narthex_kernel::statistics! {
    /// What crossed a link.
    pub struct Statistics {
        packets: Tally<PacketKind>, "packets", "packets", "transaction layer packets, by kind and direction: down is to the device";
        payload: Tally<Way>, "payload", "bytes", "data in them, by direction";
        overhead: Tally<Way>, "overhead", "bytes", "bytes of them besides data: framing, headers and checksums";
        busy: Tally<Way>, "busy", "ps", "time for which they had the wires, with the link layer's share";
        credit_time: Tally<Way>, "credit_wait", "ps", "time for which they waited for credits, or behind packets that did, summed over packets";
        tag_time: TimeTotal, "tag_wait", "ps", "time for which devices' read requests waited for a tag, summed over requests";
    }
}

/// A PCIe link with the devices behind it.
#[derive(Clone, Debug)]
pub struct Pcie {
    names: Names,
    /// The host's interconnect, and the root complex as an agent there.
    above: (InterconnectId, AgentId),
    link: Link,
    /// The most bytes of data in a packet, and of a read.
    max_payload: u32,
    max_read_request: u32,
    /// Where every completion of a read ends but the last.
    boundary: u32,
    block_bytes: u32,
    /// What a read or a write takes in the root complex before its blocks are asked for.
    host_time: Duration,
    /// Packets of devices have the attribute of ID-based ordering.
    id_based: bool,
    iommu: Option<Iommu>,
    ports: AgentPorts,
    homes: AddressMap,
    state: State,
    statistics: Statistics,
    log: PacketLog,
}

/// What a link remembers.
#[derive(Clone, Hash, Debug, Serialize, Deserialize)]
struct State {
    down: Direction,
    up: Direction,
    root_complex: RootComplex,
    endpoint: Endpoint,
    next_step: NextStep,
}

impl Pcie {
    /// An idle link.
    pub fn new(
        names: Names,
        keys: &Keys,
        above: (InterconnectId, AgentId),
        (ports, homes): (AgentPorts, AddressMap),
        block_bytes: usize,
    ) -> Self {
        Pcie {
            names,
            above,
            link: Link::new(keys),
            max_payload: keys.max_payload.as_u64() as u32,
            max_read_request: keys.max_read_request.as_u64() as u32,
            boundary: keys.completion_size.unwrap_or(keys.read_completion_boundary).as_u64() as u32,
            block_bytes: block_bytes as u32,
            host_time: keys.host_time.unwrap_or(Duration::ZERO),
            id_based: keys.id_based_ordering == Some(true),
            iommu: keys.iommu.as_deref().map(Iommu::new),
            ports,
            homes,
            state: State {
                down: Direction::new(Way::Down, keys.endpoint_credits.credits()),
                up: Direction::new(Way::Up, keys.root_complex_credits.credits()),
                root_complex: RootComplex::new(keys.writes_ahead),
                endpoint: Endpoint::with_tags(keys.tags as u16),
                next_step: NextStep::default(),
            },
            statistics: Statistics::default(),
            log: PacketLog::default(),
        }
    }

    fn of<C: InterconnectHost>(composition: &mut C, on: InterconnectId) -> &mut Self {
        match composition.interconnect(on) {
            Interconnect::Pcie(link) => link,
            other => unreachable!("{} is no PCIe link", other.name()),
        }
    }

    /// The most bytes that the root complex writes to memory as one transfer: whole blocks.
    fn write_bytes(&self) -> u32 {
        self.max_payload.max(self.block_bytes)
    }

    /// Advances all that may advance at `now`, and schedules the next step.
    fn go_on<C: InterconnectHost>(composition: &mut C, now: Time, on: InterconnectId) {
        loop {
            let Pcie { state: State { down, up, .. }, link, statistics, log, .. } = Self::of(composition, on);
            down.advance(now, link, (statistics, log));
            up.advance(now, link, (statistics, log));
            let (stored, written) = (std::mem::take(&mut down.taken), std::mem::take(&mut up.taken));
            Self::end_stores(composition, now, on, stored);
            Self::end_writes(composition, now, on, written);
            let is_done = !Self::work_at_endpoint(composition, now, on)
                && !Self::work_at_root_complex(composition, now, on)
                && (stored, written) == (0, 0);
            if is_done {
                break;
            }
        }
        let own = Self::of(composition, on);
        let (upper, agent) = own.above;
        let wants = own.wants_above();
        Self::schedule_next(composition, now, on);
        if wants {
            request(composition, now, upper, agent);
        }
    }

    fn schedule_next<C: InterconnectHost>(composition: &mut C, now: Time, on: InterconnectId) {
        let is_observed = composition.is_observed();
        let packets = Self::of(composition, on).log.take(is_observed);
        show(composition, on, packets);
        let state = &mut Self::of(composition, on).state;
        let State { down, up, endpoint, root_complex, .. } = state;
        let times =
            [down.next_time(), up.next_time(), endpoint.accesses.next_time(), root_complex.next_time()];
        if let Some(next) = state.next_step.brought_forward(now, times) {
            composition.schedule(next, on, Step::Release);
        }
    }
}

impl InterconnectModel for Pcie {
    const KIND: &'static str = "pcie";
    const ADMITS: Admits = Admits { coherent_devices: true, ..Admits::NOTHING };
    const OVERLAPS: bool = true;
    const POSTS_ACCESSES: bool = true;
    const UNOWNED: &'static str =
        "unsupported request, says the root complex: PCI Express Base Specification 6.0, Section 2.3.1";

    fn ask<C: InterconnectHost>(composition: &mut C, now: Time, on: InterconnectId, agent: AgentId) {
        if Self::of(composition, on).state.endpoint.asking.ask(now, agent) {
            composition.schedule(now, on, Step::Grant);
        }
    }

    fn happen<C: InterconnectHost>(composition: &mut C, now: Time, on: InterconnectId, step: Step) {
        match step {
            Step::Grant => {
                while let Some(agent) = Self::of(composition, on).state.endpoint.asking.next(now) {
                    Self::grant_to(composition, now, on, agent);
                }
            }
            Step::Release => {
                Self::of(composition, on).state.next_step.has_come(now);
                Self::go_on(composition, now, on);
            }
            Step::Address | Step::Forward => unreachable!("a link is no bus and no directory"),
        }
    }

    fn answer<C: InterconnectHost>(
        composition: &mut C,
        at: Time,
        on: InterconnectId,
        access: (AgentId, TransactionTag),
        response: Response,
    ) {
        Self::of(composition, on).state.endpoint.accesses.answer(at, access, response);
        composition.schedule(at, on, Step::Release);
    }

    fn grant_to<C: InterconnectHost>(composition: &mut C, now: Time, on: InterconnectId, agent: AgentId) {
        Self::take_from_device(composition, now, on, agent);
        Self::go_on(composition, now, on);
    }

    fn wants_above(&self) -> bool {
        self.state.root_complex.next().is_some()
    }

    fn issue_above<C: InterconnectHost>(
        composition: &mut C,
        _now: Time,
        on: InterconnectId,
    ) -> Option<Transaction> {
        let own = Self::of(composition, on);
        own.state.root_complex.issue(own.above.1, own.block_bytes)
    }

    fn complete_above<C: InterconnectHost>(
        composition: &mut C,
        now: Time,
        on: InterconnectId,
        transaction: &Transaction,
        response: &Response,
    ) {
        Self::end_above(composition, now, on, transaction, response);
        Self::go_on(composition, now, on);
    }

    fn access_from_above<C: InterconnectHost>(
        composition: &mut C,
        now: Time,
        on: InterconnectId,
        transaction: &Transaction,
    ) -> AccessReply {
        Self::take_from_above(composition, now, on, transaction)
    }

    fn ports(&self) -> &AgentPorts {
        &self.ports
    }

    fn name(&self) -> &'static str {
        self.names.name
    }

    /// One nanosecond: a link has no clock that its devices could see.
    fn clock(&self) -> Clock {
        Clock::with_period(Duration::from_ns(1))
    }

    fn is_idle_at(&self, now: Time) -> bool {
        let State { down, up, root_complex, endpoint, next_step: _ } = &self.state;
        down.is_idle_at(now) && up.is_idle_at(now) && root_complex.is_idle() && endpoint.is_idle()
    }

    fn statistics(&self) -> Vec<(&'static str, &dyn StatisticSet)> {
        let iommu =
            self.iommu.iter().map(|iommu| (self.names.prefix, &iommu.statistics as &dyn StatisticSet));
        std::iter::once((self.names.prefix, &self.statistics as &dyn StatisticSet)).chain(iommu).collect()
    }

    fn statistics_mut(&mut self) -> Vec<&mut dyn StatisticSet> {
        let iommu = self.iommu.iter_mut().map(|iommu| &mut iommu.statistics as &mut dyn StatisticSet);
        std::iter::once(&mut self.statistics as &mut dyn StatisticSet).chain(iommu).collect()
    }

    fn describe(&self, words: &dyn Words) -> Option<String> {
        let State { down, up, root_complex, endpoint, .. } = &self.state;
        let mut waits = Vec::new();
        for (direction, way) in [(down, "to the device"), (up, "to the host")] {
            let kinds = [("writes", Class::Posted), ("read requests", Class::NonPosted)];
            for (what, class) in kinds.into_iter().chain([("completions", Class::Completion)]) {
                if let Some(own) = direction.waits(class) {
                    waits.push(format!("{what} {way} that wait for credits {}", own.in_words(words)));
                }
            }
        }
        let mut say = |count: usize, what: &str, first: Option<(u64, Option<u16>)>| {
            let first = first.map_or(String::new(), |(address, tag)| {
                let tag = tag.map_or(String::new(), |tag| format!(" with tag {tag}"));
                format!(", the first of {}{tag}", words.place(address))
            });
            if count > 0 {
                waits.push(format!("{what} ({count}{first})"));
            }
        };
        let (untagged, under_way) = (endpoint.waiting_for_tags(), endpoint.reads_under_way());
        say(untagged.0, "read requests of devices that wait for a tag", untagged.1);
        say(under_way.0, "reads of devices that wait for completions", under_way.1);
        say(root_complex.loads_under_way(), "loads of processors that wait for completions", None);
        say(root_complex.writes_here(), "writes of devices that wait for the host", None);
        let coming = root_complex.coming();
        say(coming, "reads of devices that wait for the root complex or a page walk", None);
        (!waits.is_empty()).then(|| format!("{}: {}", self.names.name, waits.join(", ")))
    }

    fn hash_state<H: Hasher>(&self, hasher: &mut H) {
        self.state.hash(hasher);
        self.iommu.as_ref().map(|iommu| &iommu.state).hash(hasher);
    }

    fn archive(&mut self, archive: &mut Archive<'_>) -> Result<(), Damage> {
        archive.value(&mut self.state)?;
        archive.value(&mut self.statistics)?;
        let Some(iommu) = &mut self.iommu else { return Ok(()) };
        archive.value(&mut iommu.state)?;
        archive.value(&mut iommu.statistics)
    }
}
