//! What the chip says of itself, and what of it a checkpoint has.

use narthex_kernel::digest::Digest;
use narthex_kernel::statistics::StatisticSet;
use narthex_kernel::{Archive, Archived, Damage, Time};

use super::{OF_TILE, RtlSarc};
use crate::address_names::AddressName;
use crate::description::{DeviceDescription, DevicePort, Engine, LargestPacket, Layout};
use crate::queue::QueueState;
use crate::sarc::registers::LINE_BYTES;
use crate::sarc::rtl::packets;
use crate::sarc::space::{Spot, split};

impl DeviceDescription for RtlSarc {
    fn largest_packet(&self) -> Option<LargestPacket> {
        self.around.largest_packet()
    }

    fn ports(&self) -> Vec<DevicePort> {
        self.around.ports()
    }

    fn part(&self, port: usize) -> &'static str {
        self.around.part(port)
    }

    fn calls_name(&self) -> Option<&'static str> {
        self.around.calls_name()
    }

    fn receiver(&self, process: u8) -> Option<usize> {
        self.around.receiver(process)
    }

    fn sender(&self, process: u8) -> Option<usize> {
        self.around.sender(process)
    }

    fn layouts(&self, process: u8) -> Vec<Layout> {
        self.around.layouts(process)
    }

    fn name_of(&self, address: u64, block_bytes: u64) -> Option<AddressName> {
        let (process, own) = split(address);
        if let Some(Spot::Line(_, tile, offset)) =
            self.around.space.at(self.around.place_of(process, own).ok()?)
        {
            let line = (offset / LINE_BYTES) as usize;
            let role = self.tiles[usize::from(tile)].arrays.role(line).name();
            return Some(AddressName {
                name: format!("{role} of tile {tile}"),
                part: Some(format!("line {line}")),
            });
        }
        self.around.name_of(address, block_bytes)
    }

    fn packet_name(&self, content: u32) -> &'static str {
        if content & OF_TILE == 0 {
            return self.around.packet_name(content);
        }
        packets::announced(self.under_way.get(content & !OF_TILE).first).0.as_str()
    }

    fn engine(&self, port: usize, _now: Time) -> Option<Engine> {
        Some(Engine { doing: (!self.tiles[port].is_quiet()).then_some("works"), messages: 0 })
    }

    fn hash_state(&self, port: usize, digest: &mut Digest) {
        self.tiles[port].hash_state(digest);
    }

    fn statistics(&self) -> Vec<&dyn StatisticSet> {
        vec![&self.statistics]
    }

    fn statistics_mut(&mut self) -> Vec<&mut dyn StatisticSet> {
        vec![&mut self.statistics]
    }

    fn queue(&self, port: usize) -> QueueState {
        let note =
            format!("the hardware {} in cycle {}: {}", self.name, self.next, self.tiles[port].standing());
        QueueState::of("packets under way", self.under_way.count() as u64, None).with_note(note)
    }
}

impl Archived for RtlSarc {
    fn archive(&mut self, archive: &mut Archive<'_>) -> Result<(), Damage> {
        let RtlSarc {
            around,
            name: _,
            clock: _,
            tiles,
            next,
            called_at,
            under_way,
            sending,
            is_recorded: _,
            statistics,
            said: _,
            speakers: _,
        } = self;
        around.archive(archive)?;
        archive.each(tiles)?;
        archive.value(next)?;
        archive.value(called_at)?;
        archive.value(under_way)?;
        archive.value(sending)?;
        archive.value(statistics)
    }
}
