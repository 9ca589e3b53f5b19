//! Interrupts: from a device's line to the processor that it leads to.
//!
//! ```text
//!   verb of a device ──► its lines have changed ──► event, at the same instant
//!                                                      │
//!   processor: runs, up to the event ─────────► takes it at the next place where it can stop
//!              waits for an interrupt ────────► goes on at that instant
//! ```
//!
//! No processor passes the node's next event, so the event is what delivers an
//! interrupt, and nothing looks at lines while instructions are executed. A line is
//! a level: it stays asserted until the device has been served.

use narthex_kernel::Time;

use super::Node;
use super::processor::State;
use crate::activity::{Activity, Occupation};

/// The interrupt lines of a processor.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct InterruptLines {
    /// Which processor.
    pub processor: usize,
    /// The ports that assert them: device, port, and the number of its first line here.
    pub sources: Vec<(usize, usize, u32)>,
    /// The lines that were asserted last.
    level: u64,
}

impl InterruptLines {
    /// InterruptLines of which none is asserted.
    pub fn new(processor: usize, sources: Vec<(usize, usize, u32)>) -> Self {
        InterruptLines { processor, sources, level: 0 }
    }

    /// The lines that were asserted last, for an archive.
    pub(super) fn level_mut(&mut self) -> &mut u64 {
        &mut self.level
    }
}

impl Node {
    /// A verb of a device is over: what has become of its lines is an event.
    #[inline]
    pub(super) fn look_at_lines(&mut self, now: Time, device: usize) {
        if !self.lines.is_empty() {
            self.look_closely_at_lines(now, device);
        }
    }

    #[inline(never)]
    fn look_closely_at_lines(&mut self, now: Time, device: usize) {
        let Node { lines, devices, events, .. } = self;
        for InterruptLines { processor, sources, level } in lines {
            if sources.iter().all(|&(source, ..)| source != device) {
                continue;
            }
            let asserted =
                |&(device, port, first): &(usize, usize, u32)| devices[device].asserted_lines(port) << first;
            let now_asserted = sources.iter().map(asserted).fold(0, |all, one| all | one);
            if std::mem::replace(level, now_asserted) != now_asserted {
                events.schedule(now, super::Event::InterruptLines(*processor, now_asserted));
            }
        }
    }

    /// Devices assert these lines of a processor, and no others.
    pub(super) fn assert_lines(&mut self, now: Time, index: usize, lines: u64) {
        self.disturb(now, index);
        let unit = &mut self.processors[index];
        unit.processor.assert_lines(lines);
        if unit.state == State::Idle && unit.processor.has_awaited_interrupt() {
            unit.state = State::Running;
            unit.processor.pass_until(now);
            let at = now.max(unit.ledger.booked_until());
            self.book(index, at, Occupation::Execute);
        }
    }

    /// A processor waits for an interrupt: firmware that is at nothing else looks for work so.
    pub(super) fn wait_for_interrupt(&mut self, index: usize) {
        let unit = &mut self.processors[index];
        unit.state = State::Idle;
        let now = unit.processor.now();
        let activity = match unit.activities.current() {
            Activity::Application => Activity::Poll,
            other => other,
        };
        self.book_as(index, now, (activity, Occupation::Interrupt));
    }
}
