//! Traces: what happened, written down by wrappers around the models.
//!
//! Models do not trace. A wrapper around a port (the boundary between two
//! components) sees everything that crosses it and records it in a [`Trace`];
//! so a model has no tracing lines, and a run without a trace pays nothing.
//!
//! ```
//! use narthex_kernel::Time;
//! use narthex_kernel::trace::{JsonLines, Trace, TraceEvent};
//!
//! let mut trace = JsonLines::new(Vec::new());
//! trace.record(TraceEvent::new(Time::from_ps(1_500), "node 0/bus", "Read 0x1040"));
//! let text = String::from_utf8(trace.finish()?).unwrap();
//! assert_eq!(text, "{\"time_ps\":1500,\"component\":\"node 0/bus\",\"what\":\"Read 0x1040\"}\n");
//! # Ok::<(), std::io::Error>(())
//! ```

use std::borrow::Cow;
use std::collections::VecDeque;
use std::io::{self, Write};
use std::sync::Arc;

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use crate::time::Time;

/// One thing that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceEvent {
    /// When.
    pub time: Time,
    /// To whom: a path such as "node 3/bus". Wrappers keep one and share it.
    pub component: Arc<str>,
    /// What, in the component's words.
    pub what: Cow<'static, str>,
}

impl TraceEvent {
    /// At `time`, `what` happened to `component`.
    pub fn new(time: Time, component: impl Into<Arc<str>>, what: impl Into<Cow<'static, str>>) -> Self {
        TraceEvent { time, component: component.into(), what: what.into() }
    }
}

impl Serialize for TraceEvent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("TraceEvent", 3)?;
        fields.serialize_field("time_ps", &self.time.as_ps())?;
        fields.serialize_field("component", &*self.component)?;
        fields.serialize_field("what", &self.what)?;
        fields.end()
    }
}

/// Whoever wants to know what happened.
pub trait Trace {
    /// Whether events are wanted; a wrapper asks before it makes an expensive one.
    fn wants_events(&self) -> bool {
        true
    }

    /// Takes note of an event. The default forgets it.
    fn record(&mut self, _event: TraceEvent) {}
}

/// Wants nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoTrace;

impl Trace for NoTrace {
    fn wants_events(&self) -> bool {
        false
    }
}

/// Remembers the last events, for the explanation of a hang or a fault.
#[derive(Debug, Clone)]
pub struct RingTrace {
    events: VecDeque<TraceEvent>,
    capacity: usize,
}

impl RingTrace {
    /// Remembers at most `capacity` events.
    pub fn new(capacity: usize) -> Self {
        RingTrace { events: VecDeque::with_capacity(capacity), capacity }
    }

    /// The events it remembers, oldest first.
    pub fn events(&self) -> impl Iterator<Item = &TraceEvent> {
        self.events.iter()
    }
}

impl Trace for RingTrace {
    fn wants_events(&self) -> bool {
        self.capacity > 0
    }

    fn record(&mut self, event: TraceEvent) {
        if self.events.len() == self.capacity {
            self.events.pop_front();
        }
        if self.capacity > 0 {
            self.events.push_back(event);
        }
    }
}

/// Writes each event as a line of JSON. The first error ends the writing and
/// is reported by [`finish`](Self::finish), so that models need not handle it.
#[derive(Debug)]
pub struct JsonLines<W: Write> {
    writer: W,
    error: Option<io::Error>,
}

impl<W: Write> JsonLines<W> {
    /// Writes to `writer`, which should be buffered.
    pub fn new(writer: W) -> Self {
        JsonLines { writer, error: None }
    }

    /// Flushes and returns the writer, or the first error there was.
    pub fn finish(mut self) -> io::Result<W> {
        match self.error {
            Some(error) => Err(error),
            None => self.writer.flush().map(|()| self.writer),
        }
    }

    fn write(&mut self, event: &TraceEvent) -> io::Result<()> {
        serde_json::to_writer(&mut self.writer, event)?;
        self.writer.write_all(b"\n")
    }
}

impl<W: Write> Trace for JsonLines<W> {
    fn wants_events(&self) -> bool {
        self.error.is_none()
    }

    fn record(&mut self, event: TraceEvent) {
        if self.wants_events() {
            self.error = self.write(&event).err();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(picoseconds: u64) -> TraceEvent {
        TraceEvent::new(Time::from_ps(picoseconds), "bell", "rings")
    }

    #[test]
    fn a_ring_remembers_the_last_events_in_order() {
        let mut ring = RingTrace::new(3);
        (0..10).for_each(|time| ring.record(event(time)));
        assert!(ring.events().map(|event| event.time.as_ps()).eq([7, 8, 9]));
        let mut none = RingTrace::new(0);
        none.record(event(1));
        assert_eq!((none.events().count(), none.wants_events()), (0, false));
    }

    #[test]
    fn the_first_error_of_a_writer_is_reported_at_the_end() {
        let mut space = [0u8; 100];
        let mut trace = JsonLines::new(&mut space[..]);
        (0..10).for_each(|time| trace.record(event(time)));
        assert!(!trace.wants_events());
        assert_eq!(trace.finish().unwrap_err().kind(), io::ErrorKind::WriteZero);
    }

    #[test]
    fn no_trace_wants_nothing() {
        let mut trace = NoTrace;
        trace.record(event(0));
        assert!(!trace.wants_events());
    }
}
