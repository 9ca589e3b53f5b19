//! Where a node's interface lies in the guest's addresses: the device region,
//! the information page, the registers and the queues. The runtime finds them on the information
//! page ([`crate::information`]).

use serde::{Deserialize, Serialize};

use crate::programming::Register;

/// The addresses that belong to devices: no program may use them. Each process
/// of a node has a part of its own ([`Addresses`]); the constants are those of
/// process 0. They are physical addresses: every process that may use one finds
/// it where all others do.
pub const DEVICE_REGION: std::ops::Range<u64> = 0x5000_0000..0x6000_0000;
/// A read-only page that tells the guest which machine it runs on.
pub const INFORMATION_PAGE: u64 = 0x5000_0000;
/// The page of uncached registers.
pub const REGISTER_PAGE: u64 = 0x5000_1000;
/// The processor's count of messages sent; one block. Pointers and queues lie
/// where an operating system that colours pages would place them: from the end of
/// a direct-mapped cache of 1 MiB or 256 KiB backwards the pointers, the stack,
/// the send queue and the receive queue (512 blocks each) share none of its lines.
/// The guest's runtime keeps the program's memory off theirs (guest/runtime/colours.h).
pub const SEND_TAIL: u64 = 0x500f_f000;
/// The interface's count of messages taken from the send queue; one block.
pub const SEND_HEAD: u64 = 0x500f_f100;
/// The processor's count of messages taken from the receive queue; one block.
pub const RECEIVE_HEAD: u64 = 0x500f_f200;
/// The page of the processor's block buffers.
pub const BLOCK_BUFFERS: u64 = 0x5000_8000;
/// A window into an interface's memory.
pub const WINDOW: u64 = 0x5001_0000;
/// Bytes of the blocks of the three pointers.
const POINTERS_BYTES: u64 = 0x1000;
/// The send queue.
pub const SEND_QUEUE: u64 = 0x510b_3000;
/// The receive queue. In a cache of 1 MiB half of it lies between the two queues:
/// there they may be larger.
pub const RECEIVE_QUEUE: u64 = 0x5182_b000;
/// Most bytes that a queue may have.
pub const LARGEST_QUEUE_BYTES: u64 = RECEIVE_QUEUE - SEND_QUEUE;
/// From one process's part of the device region to the next one's.
pub const PROCESS_STRIDE: u64 = 0x0200_0000;
/// Processes whose parts are in the device region; the rest of it is theirs in common.
const PROCESSES_IN_REGION: u32 = 7;
/// Most processes that a node can have. The parts of the last ones are in [`FURTHER_PARTS`].
pub const PROCESSES_LIMIT: u32 = 32;
/// The parts of further processes, on nodes that have so many.
const FURTHER_PARTS: std::ops::Range<u64> =
    0x8000_0000..0x8000_0000 + (PROCESSES_LIMIT - PROCESSES_IN_REGION) as u64 * PROCESS_STRIDE;
/// Cachable memory that all processes of a node have in common. Its first 44 KiB
/// share no line of a direct-mapped cache with queues and pointers.
pub const NODE_MEMORY: std::ops::Range<u64> = 0x5e02_0000..0x5e12_0000;

/// Memory of the operating system: no process has pages in it. Lists of frames that
/// devices read are here.
pub const KERNEL_MEMORY: std::ops::Range<u64> = 0x5e20_0000..0x5f00_0000;

/// The addresses that are the same for all processes of a node that has so many of them.
pub fn common_region(processes: u32) -> std::ops::Range<u64> {
    match processes > PROCESSES_IN_REGION {
        true => DEVICE_REGION.start..FURTHER_PARTS.end,
        false => DEVICE_REGION,
    }
}

/// Where one process's part of the interface lies (isca96, Section 2.4: "Each
/// process communicates with a CNI using its own data queues").
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Addresses {
    offset: u64,
}

impl Addresses {
    /// Those of the process with this number, less than [`PROCESSES_LIMIT`].
    pub const fn of_process(process: u8) -> Self {
        assert!((process as u32) < PROCESSES_LIMIT);
        let offset = match (process as u32).checked_sub(PROCESSES_IN_REGION) {
            None => process as u64 * PROCESS_STRIDE,
            Some(further) => FURTHER_PARTS.start - DEVICE_REGION.start + further as u64 * PROCESS_STRIDE,
        };
        Addresses { offset }
    }

    /// Whose part of the region an address is in; none if it is no process's.
    pub fn process_at(address: u64) -> Option<u8> {
        if FURTHER_PARTS.contains(&address) {
            return Some(
                ((address - FURTHER_PARTS.start) / PROCESS_STRIDE) as u8 + PROCESSES_IN_REGION as u8,
            );
        }
        let process = address.checked_sub(DEVICE_REGION.start)? / PROCESS_STRIDE;
        (process < u64::from(PROCESSES_IN_REGION)).then_some(process as u8)
    }

    /// Whether an address is in some process's queues, cachable registers or
    /// queue pointers: where messages cross from processor to interface.
    pub fn carries_messages(address: u64) -> bool {
        Self::process_at(address).is_some_and(|process| {
            let own = Self::of_process(process);
            own.pointers().contains(&address) || address >= own.send_queue()
        })
    }

    /// What is at an address of the region, in words; none if nothing ever is.
    pub fn describe(address: u64) -> Option<String> {
        let process = Self::process_at(address)?;
        let own = Self::of_process(process);
        let page = |start| start..start + POINTERS_BYTES;
        let queue = |start| start..start + LARGEST_QUEUE_BYTES;
        let parts = [
            (page(own.information_page()), "information page"),
            (page(own.register_page()), "registers"),
            (own.pointers(), "queue pointers"),
            (queue(own.send_queue()), "send queue"),
            (queue(own.receive_queue()), "receive queue"),
        ];
        let (_, name) = parts.into_iter().find(|(range, _)| range.contains(&address))?;
        Some(format!("process {process}'s {name}"))
    }

    /// The process's information page.
    pub const fn information_page(self) -> u64 {
        INFORMATION_PAGE + self.offset
    }

    /// Its page of uncached registers.
    pub const fn register_page(self) -> u64 {
        REGISTER_PAGE + self.offset
    }

    /// Its window into the memory of an interface that has one for it.
    pub const fn window(self) -> u64 {
        WINDOW + self.offset
    }

    /// The block buffers of its processor.
    pub const fn block_buffers(self) -> u64 {
        BLOCK_BUFFERS + self.offset
    }

    /// Its send queue.
    pub const fn send_queue(self) -> u64 {
        SEND_QUEUE + self.offset
    }

    /// Its receive queue.
    pub const fn receive_queue(self) -> u64 {
        RECEIVE_QUEUE + self.offset
    }

    /// Its count of messages sent.
    pub const fn send_tail(self) -> u64 {
        SEND_TAIL + self.offset
    }

    /// The interface's count of messages taken from its send queue.
    pub const fn send_head(self) -> u64 {
        SEND_HEAD + self.offset
    }

    /// Its count of messages taken from its receive queue.
    pub const fn receive_head(self) -> u64 {
        RECEIVE_HEAD + self.offset
    }

    /// The blocks of the pointers of its send queue.
    pub const fn send_pointers(self) -> std::ops::Range<u64> {
        self.send_tail()..self.receive_head()
    }

    /// The blocks of the pointer of its receive queue.
    pub const fn receive_pointers(self) -> std::ops::Range<u64> {
        self.receive_head()..self.send_tail() + POINTERS_BYTES
    }

    /// The blocks of its three pointers.
    pub const fn pointers(self) -> std::ops::Range<u64> {
        self.send_tail()..self.send_tail() + POINTERS_BYTES
    }
}

/// What a load of [`STATUS`] shows: there is room for a packet.
pub const STATUS_CAN_SEND: u64 = 1;
/// What a load of [`STATUS`] shows: a packet can be received.
pub const STATUS_HAS_RECEIVED: u64 = 2;

/// Load: bit 0, a packet can be sent; bit 1, a packet has arrived.
pub const STATUS: u64 = 0x00;
/// [`STATUS`], for those who have it.
pub const STATUS_REGISTER: Register =
    ("STATUS", STATUS, "load: bit 0, a packet can be sent; bit 1, a packet has arrived");
/// Store: this many more messages are in the send queue.
pub const MESSAGE_READY: u64 = 0x18;
/// [`MESSAGE_READY`], for those who have it.
pub const MESSAGE_READY_REGISTER: Register =
    ("MESSAGE_READY", MESSAGE_READY, "store: so many more messages are in the send queue");

/// A queue pointer's first value: index 0, the sense of the first pass.
pub const FIRST_POINTER: u64 = 1 << 32;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_described_by_its_process_and_its_part() {
        let other = Addresses::of_process(1);
        assert_eq!(Addresses::describe(REGISTER_PAGE + 8).as_deref(), Some("process 0's registers"));
        assert_eq!(Addresses::describe(other.send_head()).as_deref(), Some("process 1's queue pointers"));
        let entry = other.receive_queue() + 256;
        assert_eq!(Addresses::describe(entry).as_deref(), Some("process 1's receive queue"));
        assert_eq!(Addresses::describe(REGISTER_PAGE + 0x10_0000), None);
        assert_eq!(Addresses::process_at(NODE_MEMORY.start), None, "it is nobody's own");
    }

    #[test]
    fn a_process_of_any_number_finds_its_own_part() {
        for process in 0..PROCESSES_LIMIT as u8 {
            let own = Addresses::of_process(process);
            let ends = [own.information_page(), own.receive_queue() + LARGEST_QUEUE_BYTES - 1];
            assert_eq!(ends.map(Addresses::process_at), [Some(process); 2]);
        }
        assert_eq!(Addresses::process_at(FURTHER_PARTS.end), None);
        assert_eq!(common_region(7), DEVICE_REGION);
        assert!(common_region(8).contains(&Addresses::of_process(7).register_page()));
    }

    #[test]
    fn messages_cross_in_queues_and_pointers_alone() {
        let other = Addresses::of_process(1);
        let carrying =
            [other.send_tail(), other.receive_head(), other.send_queue(), other.receive_queue() + 64];
        assert!(carrying.into_iter().all(Addresses::carries_messages));
        let others =
            [INFORMATION_PAGE, REGISTER_PAGE, BLOCK_BUFFERS, other.information_page(), NODE_MEMORY.start, 64];
        assert!(!others.into_iter().any(Addresses::carries_messages));
    }

    #[test]
    fn the_largest_queues_stay_inside_the_device_region() {
        let last = Addresses::of_process(PROCESSES_IN_REGION as u8 - 1);
        assert!(last.receive_queue() + LARGEST_QUEUE_BYTES <= NODE_MEMORY.start);
        const { assert!(NODE_MEMORY.end <= DEVICE_REGION.end) };
        let further = Addresses::of_process(PROCESSES_LIMIT as u8 - 1);
        assert!(further.receive_queue() + LARGEST_QUEUE_BYTES <= common_region(PROCESSES_LIMIT).end);
        assert!(
            last.send_queue() - PROCESS_STRIDE + LARGEST_QUEUE_BYTES
                < last.information_page() + PROCESS_STRIDE
        );
    }
}
