//! What a file format of timelines has to write.

use std::io;

use narthex_kernel::Time;

use super::rows::{Detail, Label, Row, Step};
use narthex_fabrics::FrameSummary;

/// A packet at one of its steps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Frame {
    /// The packet.
    pub note: FrameSummary,
    /// The number of the arrow that joins its steps, if it has been seen to leave.
    pub flow: Option<u64>,
}

impl Frame {
    /// What there is to know about it, by name.
    pub fn details(&self) -> Vec<(&'static str, Detail)> {
        let FrameSummary { source, destination, sequence, payload_bytes: bytes, .. } = self.note;
        vec![
            ("packet", Detail::Number(sequence)),
            ("from rank", Detail::Number(source.0.into())),
            ("to rank", Detail::Number(destination.0.into())),
            ("payload bytes", Detail::Number(bytes as u64)),
        ]
    }
}

/// A file format. What it is given comes in the order of time; what begins in a
/// row ends there, innermost first.
pub trait Format: Send {
    /// Something begins, in what goes on in its row already.
    ///
    /// # Errors
    /// If it cannot be written; so all that follow.
    fn begin(&mut self, at: Time, row: Row, label: &Label) -> io::Result<()>;

    /// The innermost of what goes on in a row ends.
    fn end(&mut self, at: Time, row: Row) -> io::Result<()>;

    /// From here on a row shows this number.
    fn number(&mut self, _at: Time, _row: Row, _value: u64) -> io::Result<()> {
        Ok(())
    }

    /// Something becomes of a packet.
    fn packet(&mut self, _at: Time, _row: Row, _step: Step, _frame: &Frame) -> io::Result<()> {
        Ok(())
    }

    /// Whether it holds as much as its viewer can show, so that the timeline is to end.
    fn is_full(&self) -> bool {
        false
    }

    /// The timeline ends at `at` because it [is full](Format::is_full), and the run goes on.
    fn cut(&mut self, _at: Time) -> io::Result<()> {
        Ok(())
    }

    /// The timeline ends, and nothing goes on any more.
    fn finish(&mut self, at: Time) -> io::Result<()>;
}
