//! What an observer sees of a link: each packet, or message, that takes its wires.

use narthex_kernel::Time;

use super::{InterconnectHost, InterconnectId, Observation};

/// A packet or message of a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LinkPacket {
    /// It goes from the host to the device; otherwise it goes up.
    pub is_down: bool,
    /// What the link's specification calls it.
    pub name: &'static str,
    /// When it begins to take the wires, and when it has left them.
    pub wires: (Time, Time),
    /// When the other end works on it.
    pub arrival: Time,
    /// Bytes of data in it.
    pub data_bytes: u32,
    /// The address that it is about; none of a part of a write or an answer that its last packet names.
    pub address: Option<u64>,
    /// The tag, or the number, that an answer has from its request.
    pub tag: Option<u16>,
}

/// Packets of which an observer has not been told yet.
#[derive(Clone, Debug)]
pub(super) struct PacketLog {
    is_on: bool,
    packets: Vec<LinkPacket>,
}

/// Whether it is observed is known after the first packets.
impl Default for PacketLog {
    fn default() -> Self {
        PacketLog { is_on: true, packets: Vec::new() }
    }
}

impl PacketLog {
    /// A packet takes the wires.
    #[inline]
    pub fn note(&mut self, packet: impl FnOnce() -> LinkPacket) {
        if self.is_on {
            self.packets.push(packet());
        }
    }

    /// The packets since this was asked last. It goes on if the link `is_observed`.
    pub fn take(&mut self, is_observed: bool) -> Vec<LinkPacket> {
        self.is_on = is_observed;
        std::mem::take(&mut self.packets)
    }
}

/// Tells an observer of these packets.
pub(super) fn show<C: InterconnectHost>(composition: &mut C, on: InterconnectId, packets: Vec<LinkPacket>) {
    if composition.is_observed() {
        for packet in packets {
            composition.observe(packet.wires.0, on, Observation::Packet(packet));
        }
    }
}
