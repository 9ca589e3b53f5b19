//! What switches tell each other: how much waits for each of their links, so that the switch before
//! knows more of a way than its first link ([`super::Routes::UgalG`]).
//!
//! ```text
//!   switch ── parcels ──► switch ── 3 parcels wait ──►
//!          ◄─ told: output 4, 192 bytes ─┘
//! ```
//!
//! A real switch puts this on its links beside other traffic (Jiang, Kim and Dally, "Indirect Adaptive Routing on
//! Large Scale Interconnection Networks", 2009, Section 3.1, piggyback routing). Here it takes no
//! bandwidth, but as much time as a credit: so a switch knows what waited a latency and a delay ago. It
//! tells what has changed, at most once in that time, and only while anything waits.

use narthex_kernel::{Archive, Archived, Damage, Duration, Time};

use crate::parcel::Told;

/// What a switch was told, and what it tells.
#[derive(Debug)]
pub(super) struct Neighbours {
    ports: usize,
    /// The shortest time between two times of telling.
    pub interval: Duration,
    /// Bytes that wait at the switch behind each port, for each of its outputs.
    waiting: Vec<u32>,
    /// What this switch told last of each of its outputs.
    told: Vec<u32>,
    /// It will tell at an instant that is an event.
    pub is_due: bool,
    /// It tells not before.
    pub not_before: Time,
}

impl Neighbours {
    pub fn new(ports: u16, interval: Duration) -> Self {
        let ports = usize::from(ports);
        Neighbours {
            ports,
            interval,
            waiting: vec![0; ports * ports],
            told: vec![0; ports],
            is_due: false,
            not_before: Time::ZERO,
        }
    }

    /// Bytes that wait behind a port for an output of the switch there.
    pub fn waiting(&self, port: u16, output: u16) -> u64 {
        self.waiting[usize::from(port) * self.ports + usize::from(output)].into()
    }

    /// A neighbour has told something.
    pub fn hear(&mut self, told: Told) {
        self.waiting[usize::from(told.port) * self.ports + usize::from(told.output)] = told.bytes;
    }

    /// Whether what waits for an output is not what was told last; now it is.
    pub fn has_changed(&mut self, output: u16, bytes: u32) -> bool {
        std::mem::replace(&mut self.told[usize::from(output)], bytes) != bytes
    }
}

impl Archived for Neighbours {
    fn archive(&mut self, archive: &mut Archive<'_>) -> Result<(), Damage> {
        let Neighbours { ports: _, interval: _, waiting, told, is_due, not_before } = self;
        archive.each(waiting.iter_mut())?;
        archive.each(told.iter_mut())?;
        archive.value(is_due)?;
        archive.value(not_before)
    }
}
