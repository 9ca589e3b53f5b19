//! The drivers' steps for interfaces behind uncached registers.

use narthex_memory::{BlockData, Kind};

use super::*;

impl Node {
    pub(super) fn fifo_send(&mut self, header: u64, payload: &[u8]) -> bool {
        if !self.has_room() {
            return false;
        }
        self.register_store(SEND, header);
        for chunk in payload.chunks(8) {
            self.register_store(SEND, word(chunk));
        }
        true
    }

    pub(super) fn fifo_receive(&mut self) -> Option<(Header, Vec<u8>)> {
        let header = self.fifo_header()?;
        let payload = self.fifo_payload(header);
        Some((header, payload))
    }

    fn fifo_payload(&mut self, header: Header) -> Vec<u8> {
        let length = header.payload_bytes();
        let words: Vec<u64> = (0..length.div_ceil(8)).map(|_| self.register_load(RECEIVE)).collect();
        bytes(&words, length)
    }

    pub(super) fn block_buffer_send(&mut self, header: u64, payload: &[u8]) -> bool {
        if !self.has_room() {
            return false;
        }
        let packet = [&header.to_le_bytes(), payload].concat();
        for part in packet.chunks(BLOCK_BYTES as usize) {
            let mut block = BlockData::zeroed(BLOCK_BYTES as usize);
            block[..part.len()].copy_from_slice(part);
            self.assert_declared(0..1, Kind::BlockStore);
            self.with_interface(|interface, context| {
                interface.store_block(context, register("BLOCK"), &block)
            })
            .unwrap();
        }
        true
    }

    pub(super) fn block_buffer_receive(&mut self) -> Option<(Header, Vec<u8>)> {
        if self.register_load(STATUS) & STATUS_HAS_RECEIVED == 0 {
            return None;
        }
        let mut packet = self.block_load();
        let header = Header(word(&packet[..8]));
        while packet.len() < 8 + header.payload_bytes() {
            packet.extend(self.block_load());
        }
        Some((header, packet[8..8 + header.payload_bytes()].to_vec()))
    }

    fn block_load(&mut self) -> Vec<u8> {
        self.assert_declared(1..2, Kind::BlockLoad);
        let block =
            self.with_interface(|interface, context| interface.load_block(context, register("BLOCK")));
        block.unwrap().to_vec()
    }

    fn has_room(&mut self) -> bool {
        self.register_load(STATUS) & STATUS_CAN_SEND != 0
    }

    /// Looks at the header at the FIFO's head, then pops it.
    fn fifo_header(&mut self) -> Option<Header> {
        if self.register_load(STATUS) & STATUS_HAS_RECEIVED == 0 {
            return None;
        }
        let seen = self.register_load(RECEIVE_WINDOW);
        assert_eq!(self.register_load(RECEIVE), seen, "the window shows what is popped next");
        Some(Header(seen))
    }
}

/// Where the program's own messages are, not at the beginning of a block.
const SENT: u64 = 0x10_0018;
const RECEIVED: u64 = 0x20_0018;

/// What the driver of user-level DMA has under way.
#[derive(Default)]
pub(super) struct Dma {
    receiving: Option<Header>,
    /// What the processor has written beside the bytes that arrive.
    neighbours: u64,
}

impl Node {
    /// A payload above the limit is taken over at once, and moves later.
    pub(super) fn dma_send(&mut self, header: u64, payload: &[u8]) -> bool {
        if self.register_load(register("SEND_DMA")) == DMA_BUSY {
            return false;
        }
        if payload.len() as u64 <= self.fact(0, "dma_above") {
            return self.fifo_send(header, payload);
        }
        if !self.has_room() {
            return false;
        }
        for (place, chunk) in payload.chunks(8).enumerate() {
            self.store(SENT + 8 * place as u64, word(chunk));
        }
        self.register_store(SEND, header);
        self.register_store(register("SEND_DMA"), SENT);
        assert_eq!(self.register_load(register("SEND_DMA")), DMA_BUSY, "the load starts it");
        true
    }

    /// Starts a transfer, or looks whether the one under way is over.
    pub(super) fn dma_receive(&mut self) -> Option<(Header, Vec<u8>)> {
        let Some(header) = self.dma.receiving else { return self.begin_receiving() };
        let [before, behind] = neighbours(header);
        if self.register_load(register("RECEIVE_DMA")) == DMA_BUSY {
            self.dma.neighbours += 1;
            let value = self.dma.neighbours;
            for neighbour in [before, behind] {
                self.store(neighbour, value);
            }
            return None;
        }
        self.dma.receiving = None;
        let expected = self.dma.neighbours;
        assert_eq!(
            [before, behind].map(|address| self.load(address)),
            [expected; 2],
            "the rest of a block stays"
        );
        let count = header.payload_bytes().div_ceil(8) as u64;
        let words: Vec<u64> = (0..count).map(|place| self.load(RECEIVED + 8 * place)).collect();
        Some((header, bytes(&words, header.payload_bytes())))
    }

    fn begin_receiving(&mut self) -> Option<(Header, Vec<u8>)> {
        let header = self.fifo_header()?;
        if header.payload_bytes() as u64 <= self.fact(1, "dma_above") {
            let payload = self.fifo_payload(header);
            return Some((header, payload));
        }
        let value = self.dma.neighbours;
        for neighbour in neighbours(header) {
            self.store(neighbour, value);
        }
        self.register_store(register("RECEIVE_DMA"), RECEIVED);
        assert_eq!(self.register_load(register("RECEIVE_DMA")), DMA_BUSY, "the load starts it");
        self.dma.receiving = Some(header);
        None
    }
}

/// The doublewords before and behind those that a payload touches.
fn neighbours(header: Header) -> [u64; 2] {
    [RECEIVED - 8, RECEIVED + header.payload_bytes().next_multiple_of(8) as u64]
}
