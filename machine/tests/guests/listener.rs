//! A probe that keeps all that it is told and shown.

use std::hash::Hasher as _;

use narthex_fabrics::NetworkPort;
use narthex_kernel::Time;
use narthex_kernel::digest::Digest;
use narthex_machine::node::Interfaces;
use narthex_machine::node::probe::{Edge, Event, Probe};

/// What a node reported, and what it showed after each of its events.
#[derive(PartialEq, Debug, Default)]
pub struct Listener {
    /// What it reported.
    pub events: Vec<(Time, Event)>,
    /// When it let the probe look, and digests of what was there.
    pub looks: Vec<(Time, Option<Edge>, u64)>,
}

impl Probe for Listener {
    fn record(&mut self, at: Time, event: Event) {
        self.events.push((at, event));
    }

    fn look(&mut self, now: Time, edge: Option<Edge>, interfaces: Interfaces<'_>, network: &NetworkPort) {
        let mut digest = Digest::default();
        (0..interfaces.ports()).for_each(|port| interfaces.hash_state(port, &mut digest));
        digest.write(format!("{:?}", network.occupancy()).as_bytes());
        self.looks.push((now, edge, digest.finish()));
    }
}
