//! What the processor of a node does: orders to its program, and where its accesses go.

use narthex_fabrics::Header;
use narthex_interfaces::fifo::{RECEIVE, RECEIVE_WINDOW};
use narthex_memory::processor_memory::block_buffers::{FLUSH, LOAD, RECEIVE_BUFFER};
use narthex_memory::{BlockData, Kind, Response, Transaction};

use super::guest::{Guest, Order, RECEIVED, SENT};
use super::{BLOCK_BYTES, Message, Node, PROCESSOR};

/// Packets have at most this many bytes of payload.
pub const LONGEST_PAYLOAD: u64 = 248;

/// The doublewords beside the payload that arrives, from the beginning of its buffer
/// on: in its first block, and the last of each of its blocks, most of which a payload
/// may cover.
fn neighbours(buffer: u64) -> impl Iterator<Item = u64> {
    let ends = (buffer..buffer + LONGEST_PAYLOAD + BLOCK_BYTES).step_by(BLOCK_BYTES as usize);
    std::iter::once(buffer - 8)
        .chain(ends.map(|address| address / BLOCK_BYTES * BLOCK_BYTES + BLOCK_BYTES - 8))
}

impl Node {
    /// Orders the program to send a message to a node, if it has nothing else to do.
    pub fn order_to_send(&mut self, destination: u16, message: &Message) {
        if !self.guest().is_idle() {
            return;
        }
        let bytes = message.payload.len() as u64;
        let header =
            u64::from(self.rank(destination).0) | bytes << 16 | u64::from(message.handler) << 24 | 1 << 61;
        let buffer = self.guest().buffers + SENT;
        for (place, chunk) in message.payload.chunks(8).enumerate() {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.store(buffer + 8 * place as u64, 8, u64::from_le_bytes(word));
        }
        self.sending = Some(message.clone());
        self.guest().give(Order::Send { header, bytes });
    }

    /// Orders the program to receive what has arrived, if it has nothing else to do.
    pub fn order_to_receive(&mut self) {
        if !self.guest().is_idle() {
            return;
        }
        self.before += 1;
        self.behind = self.before;
        for address in neighbours(self.guest().buffers + RECEIVED) {
            self.store(address, 8, self.behind);
        }
        self.guest().give(Order::Receive);
    }

    /// The program goes on, for this many accesses to the interface at most.
    pub fn run(&mut self, accesses: u32) {
        let mut guest = self.guest.take().expect("it is not running");
        if guest.order() == Some(Order::Receive) {
            // The program may write beside what arrives while it does.
            self.before += 1;
            self.store(guest.buffers + RECEIVED - 8, 8, self.before);
        }
        let over = guest.run(self, accesses);
        let buffer = guest.buffers + RECEIVED;
        self.guest = Some(guest);
        match over {
            Some((Order::Send { .. }, done)) => {
                let message = self.sending.take().expect("it was given");
                self.sent.extend(done.map(|_| message));
            }
            Some((Order::Receive, Some(header))) => self.take_received(buffer, Header(header)),
            _ => {}
        }
    }

    /// The message that the program has received into its buffer.
    fn take_received(&mut self, buffer: u64, header: Header) {
        assert_eq!(header.peer(), self.rank(1 - self.number), "the header shows the source");
        let length = header.payload_bytes() as u64;
        let words = (0..length.div_ceil(8)).flat_map(|place| self.load(buffer + 8 * place, 8).to_le_bytes());
        let mut payload: Vec<u8> = words.collect();
        payload.truncate(length as usize);
        let before = self.load(buffer - 8, 8);
        assert_eq!(before, self.before, "what is before the payload stays");
        let end = buffer + length.next_multiple_of(8);
        let behind: Vec<u64> = neighbours(buffer).filter(|&address| address >= end).collect();
        for address in behind {
            let value = self.load(address, 8);
            assert_eq!(value, self.behind, "what is behind the payload stays");
        }
        self.received.push(Message { handler: (header.0 >> 24) as u8, payload });
    }

    /// The processor's program.
    fn guest(&mut self) -> &mut Guest {
        self.guest.as_mut().expect("it is not running")
    }

    /// A load of the processor; none while a home holds it.
    pub(super) fn processor_load(&mut self, address: u64, size: usize) -> Option<u64> {
        if self.offset_in(self.addresses.register_page(), address).is_some() {
            return Some(self.register_load(address, size));
        }
        if let Some(offset) = self.offset_in(self.addresses.information_page(), address) {
            return Some(self.information[offset as usize / 8]);
        }
        if let Some(offset) = self.offset_in(self.addresses.block_buffers(), address) {
            let start = (offset - RECEIVE_BUFFER) as usize;
            let mut bytes = [0; 8];
            bytes[..size].copy_from_slice(&self.block_buffers[1][start..start + size]);
            return Some(u64::from_le_bytes(bytes));
        }
        self.load_unless_held(address, size)
    }

    /// A store of the processor.
    pub(super) fn processor_store(&mut self, address: u64, size: usize, value: u64) {
        if self.offset_in(self.addresses.register_page(), address).is_some() {
            self.assert_declared(0..2, Kind::UncachedStore);
            let store = Transaction::uncached(PROCESSOR, Kind::UncachedStore, address, size as u8, value);
            self.access(&store);
        } else if let Some(offset) = self.offset_in(self.addresses.block_buffers(), address) {
            self.block_buffer_store(offset, &value.to_le_bytes()[..size]);
        } else {
            self.store(address, size, value);
        }
    }

    fn offset_in(&self, page: u64, address: u64) -> Option<u64> {
        address.checked_sub(page).filter(|&offset| offset < 4096)
    }

    /// An access to a register or a block of its page.
    fn access(&mut self, transaction: &Transaction) -> Response {
        let (port, mut response) = (self.own_sides().start, Response::default());
        self.with_interface(|device, context| device.access(port, context, transaction, &mut response))
            .unwrap();
        response
    }

    fn register_load(&mut self, address: u64, size: usize) -> u64 {
        self.assert_declared(0..2, Kind::UncachedLoad);
        let load = |address| Transaction::uncached(PROCESSOR, Kind::UncachedLoad, address, size as u8, 0);
        let page = self.addresses.register_page();
        let seen = (address == page + RECEIVE).then(|| self.access(&load(page + RECEIVE_WINDOW)).value);
        let value = self.access(&load(address)).value;
        assert_eq!(seen.unwrap_or(value), value, "the window shows what is popped next");
        value
    }

    fn block_buffer_store(&mut self, offset: u64, bytes: &[u8]) {
        if offset < RECEIVE_BUFFER {
            let start = offset as usize;
            self.block_buffers[0][start..start + bytes.len()].copy_from_slice(bytes);
            return;
        }
        let address = u64::from_le_bytes(bytes.try_into().expect("a doubleword"));
        match offset {
            FLUSH => {
                let block = BlockData::from_bytes(&self.block_buffers[0]);
                self.assert_declared(0..1, Kind::BlockStore);
                self.access(&Transaction::carrying(PROCESSOR, Kind::BlockStore, address, block));
            }
            LOAD => {
                self.assert_declared(1..2, Kind::BlockLoad);
                let size = self.block_buffers[1].len();
                let loaded = self.access(&Transaction::block_load(PROCESSOR, address, size));
                self.block_buffers[1].copy_from_slice(&loaded.data.expect("a block"));
            }
            _ => panic!("a store to {offset:#x} of the block buffers"),
        }
    }
}
