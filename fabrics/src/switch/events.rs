//! What can happen at a switch, and what it does then.

use narthex_kernel::Time;
use narthex_kernel::partition::{Envelope, Outbox, Partition, Status};
use serde::{Deserialize, Serialize};

use super::Switch;
use super::queues::Slot;
use crate::parcel::{Credit, Mail, Parcel, Told};
use crate::topologies::Hop;

/// What can happen at a switch.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) enum Event<C> {
    /// The head of a parcel that has come through this port may leave.
    Parcel(u16, Parcel<C>),
    /// A parcel that came over a slower link than that of this output has a head start.
    Started(u16, Hop, Parcel<C>),
    /// There is room behind a link.
    Credit(Credit),
    /// The arbiter of this output was to decide now.
    Arbitrate(u16),
    /// What happens only where there are further parts.
    Further(FurtherEvent),
}

/// What can happen at a switch that is not a plain one.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) enum FurtherEvent {
    /// The last byte of a parcel has left a lane of an input.
    Left(Slot),
    /// The last byte of a parcel has left the queue of this lane of an output.
    Drained(u16, u8, u32),
    /// A neighbour has told what waits there.
    Told(Told),
    /// The switch tells its neighbours.
    Tell,
}

impl<C: Send> Partition for Switch<C> {
    type Payload = Mail<C>;

    fn next_time(&self) -> Option<Time> {
        self.events.next_time()
    }

    fn advance(&mut self, outbox: &mut Outbox<Mail<C>>) {
        while let Some((now, event)) = self.events.pop_before(outbox.until()) {
            match event {
                Event::Parcel(port, parcel) => self.take_in(now, port, parcel, outbox),
                Event::Started(port, hop, parcel) => self.queue(now, port, hop, parcel),
                Event::Credit(Credit { port, lane, bytes }) => {
                    self.outputs[usize::from(port)].sender.credit(lane, bytes);
                    self.has_room(now, port, outbox);
                }
                Event::Arbitrate(output) => self.arbitrate(now, output, outbox),
                Event::Further(event) => self.handle(now, event, outbox),
            }
        }
    }

    fn deliver(&mut self, envelope: Envelope<Mail<C>>) {
        self.events.receive(envelope, |mail| match mail {
            Mail::Parcel { port, parcel } => Event::Parcel(port, parcel),
            Mail::Credit(credit) => Event::Credit(credit),
            Mail::Told(told) => Event::Further(FurtherEvent::Told(told)),
            Mail::Direct(..) => unreachable!("what goes through a switch has a label"),
        });
    }

    /// A switch has no work of its own.
    fn status(&self) -> Status {
        Status::Finished { at: Time::ZERO }
    }

    /// That a parcel has come further is shown by its arrival at a node.
    fn progress(&self) -> u64 {
        0
    }
}
