//! A processor's accesses to the registers and blocks of its process's halves: each half answers for its own.

use narthex_memory::BlockData;

use super::Interface;
use crate::half::{Context, InterfaceHalf, RegisterFault};

impl Interface {
    /// Both halves of the process that this port, the one of a half, belongs to.
    fn halves_beside(&mut self, port: usize) -> &mut [Box<dyn InterfaceHalf>] {
        let first = port - port % 2;
        &mut self.halves[first..first + 2]
    }

    /// Whether a half of the process takes stores of so many bytes to a register.
    pub(crate) fn takes(&self, port: usize, offset: u64, bytes: u16) -> bool {
        let first = port - port % 2;
        self.halves[first..first + 2].iter().any(|half| half.takes(offset, bytes))
    }

    /// The processor loads from a register, which belongs to a port: the answers of its process's
    /// halves joined by OR.
    pub(crate) fn load(
        &mut self,
        port: usize,
        context: &mut Context<'_>,
        offset: u64,
    ) -> Result<u64, RegisterFault> {
        let mut joined = None;
        for half in self.halves_beside(port) {
            if let Some(answer) = half.load(context, offset) {
                joined = Some(joined.unwrap_or(0) | answer?);
            }
        }
        joined
            .ok_or_else(|| RegisterFault(format!("there is no register to load from at offset {offset:#x}")))
    }

    /// The processor loads a block into a block buffer.
    pub(crate) fn load_block(
        &mut self,
        port: usize,
        context: &mut Context<'_>,
        offset: u64,
    ) -> Result<BlockData, RegisterFault> {
        let answer = self.halves_beside(port).iter_mut().find_map(|half| half.load_block(context, offset));
        answer.unwrap_or_else(|| {
            Err(RegisterFault(format!("there is no block to load from at offset {offset:#x}")))
        })
    }

    /// The processor stores a block buffer to a block.
    pub(crate) fn store_block(
        &mut self,
        port: usize,
        context: &mut Context<'_>,
        offset: u64,
        block: &BlockData,
    ) -> Result<(), RegisterFault> {
        let answer =
            self.halves_beside(port).iter_mut().find_map(|half| half.store_block(context, offset, block));
        answer.unwrap_or_else(|| {
            Err(RegisterFault(format!("there is no block to store to at offset {offset:#x}")))
        })
    }

    /// The processor stores to a register.
    pub(crate) fn store(
        &mut self,
        port: usize,
        context: &mut Context<'_>,
        (offset, value): (u64, u64),
    ) -> Result<(), RegisterFault> {
        let mut taken = false;
        for half in self.halves_beside(port) {
            if let Some(answer) = half.store(context, offset, value) {
                answer?;
                taken = true;
            }
        }
        match taken {
            true => Ok(()),
            false => Err(RegisterFault(format!("there is no register to store to at offset {offset:#x}"))),
        }
    }
}
