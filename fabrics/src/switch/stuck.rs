//! What waits in a switch, for the explanation of a run without progress.

use narthex_kernel::Time;

use super::Switch;
use super::events::Event;
use crate::parcel::Parcel;

/// A parcel in a switch.
#[derive(Clone, Debug)]
pub struct StuckParcel<'a, C> {
    /// The switch: "switch (1, 2)".
    pub at: String,
    /// The end of the link that it needs: "node 3".
    pub needs: String,
    /// The lane of it.
    pub lane: u8,
    /// There is no room behind that link; otherwise another parcel is before it.
    pub lacks_room: bool,
    /// Bytes of the buffer behind that lane.
    pub buffer_bytes: u32,
    /// Since when it could have left.
    pub since: Time,
    /// The parcel.
    pub parcel: &'a Parcel<C>,
}

impl<C> Switch<C> {
    /// The parcels that wait here.
    pub fn stuck(&self) -> impl Iterator<Item = StuckParcel<'_, C>> {
        let staged = self.further.iter().flat_map(|further| further.waiting());
        self.queues.waiting().map(|(_, waiting)| waiting).chain(staged).map(|waiting| {
            let parcel = &waiting.parcel;
            let sender = &self.outputs[usize::from(waiting.output)].sender;
            StuckParcel {
                at: self.name(),
                needs: self.end_name(waiting.output),
                lane: parcel.lane,
                lacks_room: !sender.has_room(parcel.lane, parcel.bytes),
                buffer_bytes: self.plan.buffer_bytes(),
                since: waiting.since,
                parcel,
            }
        })
    }

    /// The parcels that are on a link to this switch.
    pub fn under_way(&self) -> impl Iterator<Item = &Parcel<C>> {
        self.events.iter().filter_map(|(_, event)| match event {
            Event::Parcel(_, parcel) | Event::Started(_, _, parcel) => Some(parcel),
            _ => None,
        })
    }
}
