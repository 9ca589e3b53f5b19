//! The drivers' steps for interfaces behind uncached registers.

use narthex_memory::BlockData;

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
        let words: Vec<u64> =
            (0..header.payload_bytes().div_ceil(8)).map(|_| self.register_load(RECEIVE)).collect();
        Some((header, bytes(&words, header.payload_bytes())))
    }

    pub(super) fn block_buffer_send(&mut self, header: u64, payload: &[u8]) -> bool {
        if !self.has_room() {
            return false;
        }
        let packet = [&header.to_le_bytes(), payload].concat();
        for part in packet.chunks(BLOCK_BYTES as usize) {
            let mut block = BlockData::zeroed(BLOCK_BYTES as usize);
            block[..part.len()].copy_from_slice(part);
            self.with_interface(|interface, context| interface.store_block(context, BLOCK, &block)).unwrap();
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
        let block = self.with_interface(|interface, context| interface.load_block(context, BLOCK));
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
