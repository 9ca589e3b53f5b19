//! A switch in a checkpoint.

use narthex_kernel::{Archive, Archived, Damage};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::events::{Event, FurtherEvent};
use super::{Output, Switch};

impl<C: Serialize + DeserializeOwned> Archived for Switch<C> {
    fn archive(&mut self, archive: &mut Archive<'_>) -> Result<(), Damage> {
        let Switch { number: _, plan, events, outputs, queues, further } = self;
        events.archive(archive)?;
        for Output { end: _, timing: _, sender, arbiter, waiting_bytes } in outputs.iter_mut() {
            let lanes = sender.lanes();
            archive.value(sender)?;
            archive.ensure(sender.lanes() == lanes, "a link has other lanes than the machine's")?;
            arbiter.archive(archive)?;
            archive.value(waiting_bytes)?;
        }
        further.as_mut().map_or(Ok(()), |further| further.archive(archive))?;
        queues.archive(archive)?;
        for (index, output) in queues.heads() {
            outputs[usize::from(output)].arbiter.add(index);
        }
        let ports = outputs.len();
        let tells = further.as_ref().is_some_and(|further| further.neighbours.is_some());
        let fits = |event: &Event<C>| match event {
            Event::Started(_, hop, _) if usize::from(hop.port) >= ports => false,
            Event::Parcel(port, parcel) | Event::Started(port, _, parcel) => {
                usize::from(*port) < ports && plan.fits(parcel) && outputs[usize::from(*port)].end.is_some()
            }
            Event::Credit(credit) => usize::from(credit.port) < ports && credit.lane < plan.lanes,
            Event::Arbitrate(output) => usize::from(*output) < ports,
            Event::Further(FurtherEvent::Tell) => tells,
            Event::Further(FurtherEvent::Told(told)) => {
                tells && usize::from(told.port.max(told.output)) < ports
            }
            Event::Further(FurtherEvent::Left(slot)) => {
                usize::from(slot.input) < ports && slot.lane < plan.lanes
            }
            Event::Further(FurtherEvent::Drained(output, lane, _)) => {
                further.as_ref().is_some_and(|further| further.free_at(*output).is_some())
                    && *lane < plan.lanes
            }
        };
        archive.ensure(
            events.iter().all(|(_, event)| fits(event)),
            "a switch has an event of another machine",
        )?;
        let staged = further.iter().flat_map(|further| further.waiting());
        let parcels = queues.parcels().chain(staged.map(|waiting| &waiting.parcel));
        archive.ensure(
            parcels.into_iter().all(|parcel| plan.fits(parcel)),
            "a switch has a parcel of another machine",
        )
    }
}
