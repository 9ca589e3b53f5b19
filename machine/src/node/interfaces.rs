//! The network interfaces of a node as probes see them: one row of ports.

use narthex_interfaces::Device;
use narthex_interfaces::description::Engine;
use narthex_kernel::Time;
use narthex_kernel::digest::Digest;

/// The network interfaces of a node, the run's first. Their ports are numbered through, as the
/// node does it.
#[derive(Clone, Copy, Debug)]
pub struct Interfaces<'a>(pub(super) &'a [Box<dyn Device>]);

impl<'a> Interfaces<'a> {
    /// How many ports they have.
    pub fn ports(self) -> usize {
        self.0.iter().map(|device| device.ports().len()).sum()
    }

    /// The interface of a port, and its number there.
    fn find(self, mut port: usize) -> (&'a dyn Device, usize) {
        let (last, others) = self.0.split_last().expect("a node has an interface");
        for device in others {
            let ports = device.ports().len();
            if port < ports {
                return (&**device, port);
            }
            port -= ports;
        }
        (&**last, port)
    }

    /// What explanations call the port.
    pub fn part(self, port: usize) -> &'static str {
        let (device, port) = self.find(port);
        device.part(port)
    }

    /// What the engine behind the port does, if it has one.
    pub fn engine(self, port: usize, now: Time) -> Option<Engine> {
        let (device, port) = self.find(port);
        device.engine(port, now)
    }

    /// Feeds the state of what is behind the port to `digest`.
    pub fn hash_state(self, port: usize, digest: &mut Digest) {
        let (device, port) = self.find(port);
        device.hash_state(port, digest);
    }
}
