//! Who looks on while a schedule is executed.

/// Told what is executed; nothing by default.
pub(crate) trait Watch {
    /// A processor is engaged with a calculation or a send of its rank.
    #[inline]
    fn engaged(&mut self, _rank: u32, _operation: u32, _begin: u64, _end: u64) {}

    /// A receive is posted.
    #[inline]
    fn posted(&mut self, _rank: u32, _operation: u32, _now: u64) {}

    /// A processor handles the message of a send, which the sender has under this number.
    #[inline]
    fn handled(&mut self, _sender: u32, _operation: u32, _begin: u64, _end: u64) {}

    /// An operation is over.
    #[inline]
    fn over(&mut self, _rank: u32, _operation: u32, _now: u64) {}
}

/// Nobody looks on.
impl Watch for () {}
