//! The driver's steps for cachable device registers. A message in parts is sent
//! and received in as many steps.

use narthex_fabrics::Header;
use narthex_interfaces::registers::*;

use super::{BLOCK_BYTES, Node, register, word};

impl Node {
    /// Begins to send a message, unless there is no room.
    pub(super) fn register_send(&mut self, header: u64, payload: &[u8]) -> bool {
        self.go_on_sending();
        if !self.sending.is_empty() || self.register_load(STATUS) & STATUS_CAN_SEND == 0 {
            return false;
        }
        self.sending = [&header.to_le_bytes(), payload].concat();
        self.go_on_sending();
        true
    }

    /// Sends further parts of a message as long as there is room.
    pub(super) fn go_on_sending(&mut self) {
        while !self.sending.is_empty() && self.register_load(STATUS) & STATUS_CAN_SEND != 0 {
            let count = self.sending.len().min(self.part_bytes(0));
            let part: Vec<u8> = self.sending.drain(..count).collect();
            for (place, chunk) in part.chunks(8).enumerate() {
                self.store(self.addresses.send_queue() + 8 * place as u64, word(chunk));
            }
            self.register_store(MESSAGE_READY, 1);
        }
    }

    /// Receives the next part; the message, if that was the last.
    pub(super) fn register_receive(&mut self) -> Option<(Header, Vec<u8>)> {
        if self.register_load(STATUS) & STATUS_HAS_RECEIVED == 0 {
            return None;
        }
        if self.receiving.is_empty() {
            let header = self.load(self.addresses.receive_queue());
            self.receiving.extend(header.to_le_bytes());
        }
        let header = Header(word(&self.receiving[..Header::BYTES]));
        let length = Header::BYTES + header.payload_bytes();
        let part = self.part_bytes(1);
        while self.receiving.len() < length {
            let offset = (self.receiving.len() % part) as u64;
            let bytes = self.load(self.addresses.receive_queue() + offset).to_le_bytes();
            self.receiving.extend(bytes);
            if self.receiving.len().is_multiple_of(part) {
                break;
            }
        }
        self.register_store(register("CLEAR"), 1);
        if self.receiving.len() < length {
            return None;
        }
        self.receiving.truncate(length);
        let message = std::mem::take(&mut self.receiving);
        Some((header, message[Header::BYTES..].to_vec()))
    }

    /// Bytes that the registers of a half show, if it has any.
    fn part_bytes(&self, side: usize) -> usize {
        assert_eq!(self.drivers[side], "cachable_register");
        (self.layouts[side].entries * BLOCK_BYTES) as usize
    }
}
