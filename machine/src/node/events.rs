//! What can happen at a node, and what comes of it.
//!
//! A part that wants to be called later, or is told something later, schedules an [`Event`]; when its
//! time has come, `handle` calls the part. The steps of interconnects and the messages of a
//! directory are by far the most frequent, so they are handled in line. Whatever changes what
//! the network port has to send ends in `depart`, which takes the frames to the node's outbox, or
//! to its own queue if they are for one of its own processes.
//!
//! A new kind of event is a variant here, an arm of `handle_rarer`, and, if programs may wait for
//! it, one in [`Partition::awaits`](narthex_kernel::partition::Partition::awaits) of the node.

use narthex_fabrics::flow_control::Arrival;
use narthex_fabrics::port::Attempt;
use narthex_fabrics::{Credit, Frame, Mail, Phase, Sending};
use narthex_interfaces::on_chip::End;
use narthex_kernel::Time;
use narthex_kernel::partition::Envelope;
use narthex_memory::directory::{Carried, Endpoint};
use narthex_memory::interconnects::{self, InterconnectId, Step};
use serde::{Deserialize, Serialize};

use super::{Node, probe};

/// What can happen at a node: a step of one of its parts.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Event {
    /// A step of an interconnect.
    Interconnect(InterconnectId, Step),
    /// The block that a processor moves has reached the pins.
    BlockMoved(usize),
    /// A port of a device asked to be called.
    Timer(usize, usize),
    /// A frame arrives from the network, sent in this phase.
    Frame(Frame, Phase),
    /// The flow control asked to be called.
    Retry,
    /// A packet that the node has refused comes again.
    Attempt(Attempt),
    /// The time is over for which a processor's thread sleeps, if it is that sleep
    /// still.
    SleepOver(usize, u64),
    /// A device's message interrupts a process by this vector.
    Interrupt(usize, u8),
    /// The job of a process begins.
    Start(usize),
    /// The job of a process is over.
    Stop(usize),
    /// Devices assert these interrupt lines of a processor from now on.
    InterruptLines(usize, u64),
    /// Packets have come to or gone from the network port's relay.
    Relayed,
    /// The next parcel arrives from the node's switch.
    Parcel,
    /// There is room behind the node's link to its switch.
    Credit(Credit),
    /// The node's link to its switch is free.
    LinkFree,
    /// There is room for sending that there was not before.
    Room,
    /// A message of the directory is at a processor or device.
    Message(Endpoint, Carried),
    /// A packet of a device on the network on chip has come to its end.
    Packet(u8, End, u32),
    /// A write-combining buffer of a processor has been open for as long as may be.
    BufferDue(usize),
}

impl Node {
    /// Lets an event happen.
    #[inline]
    pub(super) fn handle(&mut self, now: Time, event: Event) {
        self.instant.count(now);
        self.requests.forget();
        self.check_watched_event(&event);
        let edge = self.probe.edge(&event);
        match event {
            Event::Interconnect(on, step) => interconnects::happen(self, now, on, step),
            Event::Message(to, carried) => self.message_arrives(now, to, carried),
            rarer => self.handle_rarer(now, rarer),
        }
        self.show(now, edge);
    }

    /// Out of line, so that the steps of interconnects need none of its locals.
    #[inline(never)]
    fn handle_rarer(&mut self, now: Time, event: Event) {
        match event {
            Event::Interconnect(..) | Event::Message(..) => {
                unreachable!("the steps of interconnects are handled at once")
            }
            Event::Timer(device, port) => self.timer(now, device, port),
            Event::Packet(device, to, content) => self.packet_arrives(now, device, to, content),
            Event::BlockMoved(index) => {
                self.processors[index].memory.end_block_move();
                self.processors[index].awaits_another(now);
                self.ask_for_processor(index, now);
            }
            Event::BufferDue(index) => {
                self.processors[index].memory.close_due_buffers(now);
                self.ask_for_processor(index, now);
            }
            Event::InterruptLines(index, lines) => self.assert_lines(now, index, lines),
            Event::Relayed => self.announce_relayed(now),
            Event::Frame(frame, phase) => self.frame(now, frame, phase),
            Event::Attempt(attempt) => {
                let arrival = self.network.attempt(attempt);
                self.arrived(now, arrival);
            }
            Event::Parcel => {
                let Node { network, departures, .. } = self;
                let frame = network.receive(now, &mut |sending| departures.push(sending));
                self.frame(now, frame, Phase::Own);
            }
            Event::Credit(credit) => {
                self.network.credit(credit);
                self.depart(now);
            }
            Event::LinkFree => self.depart(now),
            Event::Room => self.offer_room(now),
            Event::Retry => {
                self.network.retry(now);
                self.depart(now);
                self.network.end_step();
            }
            Event::SleepOver(index, sleep) => self.end_sleep(now, index, sleep),
            Event::Interrupt(process, vector) => self.interrupt_process(now, process, vector),
            Event::Start(process) => self.start_process(now, process),
            Event::Stop(process) => self.stop_process(now, process),
        }
    }

    /// A frame has arrived from the network.
    fn frame(&mut self, now: Time, frame: Frame, phase: Phase) {
        let summary = self.probe.is_attached().then(|| frame.summary());
        let arrival = self.network.arrive(now, frame, phase);
        if let Some(summary) = summary {
            self.probe.report(now, || probe::Event::Arrival(summary, arrival.packet.is_some()));
        }
        self.arrived(now, arrival);
    }

    /// What has arrived from the network has its effects.
    fn arrived(&mut self, now: Time, arrival: Arrival) {
        if let Some(process) = arrival.packet {
            // Packets that may come again and again show by themselves that nothing gets on.
            if self.devices.iter().all(|device| device.progress().is_none()) {
                self.note_progress(now);
            }
            self.announce_packet(now, process);
            self.discard_if_stopped(process);
        }
        if arrival.room {
            self.offer_room(now);
        }
        self.depart(now);
        self.network.end_step();
    }

    /// A message was delivered, or a system call of a program had an effect.
    pub(super) fn note_progress(&mut self, now: Time) {
        self.progress += 1;
        self.progressed_at = self.progressed_at.max(now);
    }

    /// Sends off the frames that leave after a step.
    #[inline]
    pub(super) fn depart(&mut self, now: Time) {
        // After most steps nothing leaves.
        if self.network.has_departures_now() {
            self.send_off(now);
        }
    }

    #[inline(never)]
    fn send_off(&mut self, now: Time) {
        let Node { id, events, sent_to_itself, departures, probe, network, horizons, .. } = self;
        let show = |frame: &Frame, destination| {
            probe.report(now, || probe::Event::Departure(frame.summary(), destination));
        };
        let node = usize::from(id.0);
        let send = |(arrival, destination, mail): Sending<Frame>| match mail {
            Mail::Direct(frame, phase) if destination == node => {
                let sequence = frame.order(phase, *sent_to_itself);
                *sent_to_itself += 1;
                let envelope = Envelope { arrival, source: node, sequence, destination, payload: frame };
                events.receive(envelope, |frame| Event::Frame(frame, phase));
            }
            mail => {
                horizons.expect_answer(arrival);
                departures.push((arrival, destination, mail));
            }
        };
        let calls = network.departures(now, show, send);
        if let Some(at) = calls.retry_at {
            self.events.schedule(at, Event::Retry);
        }
        if let Some(at) = calls.depart_at {
            self.events.schedule(at, Event::LinkFree);
        }
        if calls.room {
            self.events.schedule(now, Event::Room);
        }
        if let Some(attempt) = calls.attempt {
            self.receive(attempt.at, attempt.place, Event::Attempt(attempt));
        }
        if self.network.take_relay_news() {
            self.events.schedule(now, Event::Relayed);
        }
    }
}
