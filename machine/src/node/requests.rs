//! The order of grants for which processors ask between two events.
//!
//! Processors run one after the other, each up to where another one may matter. So the host
//! comes to a request before it comes to one that another processor makes sooner, and which comes
//! first depends on what else stops them. Where both are granted different interconnects
//! at the same instant, the grants happen in the order of the requests' own instants, and of the
//! processors' numbers:
//!
//! ```text
//!   processor 0   ──────┤ asks ├─────│   executed second
//!   processor 1   ─────────┤ asks ├──│   executed first
//!                                    └ grants: that of processor 0, that of processor 1
//! ```

use narthex_kernel::queue::EventPlace;
use narthex_kernel::{EventQueue, Time};
use narthex_memory::interconnects::{InterconnectId, Step};

use super::{Event, Node};

/// When a processor asks, and its number.
type Request = (Time, usize);

/// The grants for which processors have asked since the last event.
#[derive(Debug, Default)]
pub(super) struct Requests {
    /// The request that a processor makes at present.
    asking: Option<Request>,
    /// In their order, with the places of their events.
    scheduled: Vec<(Request, EventPlace)>,
}

impl Requests {
    /// An event happens: what comes later is later.
    #[inline]
    pub fn forget(&mut self) {
        if !self.scheduled.is_empty() {
            self.scheduled.clear();
        }
    }

    /// The request that a processor makes at present.
    #[inline]
    pub fn asking(&self) -> Option<Request> {
        self.asking
    }
}

impl Node {
    /// A processor that has stopped at `now` asks for what it needs.
    pub(super) fn ask_in_order(&mut self, index: usize, now: Time) {
        self.requests.asking = Some((now, index));
        self.ask_at_stop(index, now);
        self.requests.asking = None;
    }

    /// Schedules the grant for which a processor asks, before those for which others ask later.
    pub(super) fn schedule_grant(&mut self, request: Request, at: Time, on: InterconnectId) {
        let scheduled = &mut self.requests.scheduled;
        let position = scheduled.partition_point(|&(other, _)| other <= request);
        let place_at = |events: &mut EventQueue<Event>, scheduled: &[(Request, EventPlace)]| {
            let Some(&(_, later)) = scheduled.get(position) else { return Some(events.keep_place()) };
            let sooner = position.checked_sub(1).map(|sooner| scheduled[sooner].1);
            events.place_before(later, sooner)
        };
        let place = place_at(&mut self.events, scheduled).unwrap_or_else(|| {
            let later = scheduled[position].1;
            self.events.make_room_before(later, scheduled.iter_mut().map(|(_, place)| place));
            place_at(&mut self.events, scheduled).expect("there is room between any two now")
        });
        scheduled.insert(position, (request, place));
        self.events.schedule_in(place, at, Event::Interconnect(on, Step::Grant));
    }
}
