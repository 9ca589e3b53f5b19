//! Whom a process awaits in the messaging library's virtual channels.
//!
//! The library keeps the ends of channels in two tables (guest/messaging/channels.c). A function
//! that waits needs its channel behind the wait as well, so a pointer to it, or into it, is in
//! its frame, in a frame below, or in a register that a called function has to keep. Those words
//! may point to other channels too, which its callers use: only if all of them lead to one
//! channel of the function's direction that lacks something is it known for which one it waits.

use narthex_fabrics::Rank;

use super::Node;
use super::stuck::Awaited;

/// The library's functions that wait, and their tables of ends.
const RECEIVE: &str = "narthex_channel_receive";
const SEND: &str = "narthex_channel_send";
const INCOMING: &str = "incoming";
const OUTGOING: &str = "outgoing";
/// Ends for each node in a table: NARTHEX_CHANNELS.
const CHANNELS: u64 = 256;
/// `struct narthex_channel`: its bytes, and where its words of two fields are.
const END_BYTES: u64 = 80;
const PEER_AND_NUMBER: u64 = 0;
const TURN_AND_CREDITS: u64 = 16;
/// Words of a stack that are looked at, at most.
const MOST_WORDS: u64 = 4096;
/// Registers that a called function keeps: s0 to s11.
const KEPT: [usize; 12] = [8, 9, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27];

impl Node {
    /// Whose transfer, or whose release, a process awaits on which channel; none outside of
    /// the library's functions, or if that cannot be told.
    pub(super) fn awaited_in_channel(&mut self, process: usize) -> Option<Awaited> {
        let index = self.processes[process].processors.start;
        let (function, behind) = self.frame_of(index, &[RECEIVE, SEND])?;
        let table = if function == RECEIVE { INCOMING } else { OUTGOING };
        let program = self.processes[process].program.clone();
        let [table, _] = self.read_words(index, program.address_of(table)?)?;
        let (job, _) = self.job_of(process);
        let mut found: Vec<(u16, u8)> = Vec::new();
        for word in self.words_below(index, behind) {
            let Some((peer, number, credits)) = self.end_at(index, table, u64::from(job.ranks()), word)
            else {
                continue;
            };
            if (function == RECEIVE || credits == 0) && !found.contains(&(peer, number)) {
                found.push((peer, number));
            }
        }
        let [(peer, channel)] = found[..] else { return None };
        let from = job.process(Rank(peer))?;
        Some(match function {
            RECEIVE => Awaited::Transfer { from, channel },
            _ => Awaited::Release { from, channel },
        })
    }

    /// The innermost of these functions that a processor is in, and the end of its frame.
    fn frame_of(&mut self, index: usize, names: &[&'static str]) -> Option<(&'static str, u64)> {
        let program = self.processes[self.processors[index].process].program.clone();
        let named = |address: u64| {
            let (name, _) = program.symbol(address)?;
            names.iter().copied().find(|&known| known == name)
        };
        let processor = &self.processors[index].processor;
        let (pc, return_address) = (processor.pc(), processor.x(1));
        let (mut frame, stack) = (processor.x(8), processor.x(2));
        if let Some(function) = named(pc).or_else(|| named(return_address.wrapping_sub(1))) {
            return Some((function, frame));
        }
        while frame > stack && frame % 8 == 0 {
            let [above, return_address] = self.read_words(index, frame.wrapping_sub(16))?;
            if let Some(function) = named(return_address.wrapping_sub(1)) {
                return Some((function, above));
            }
            if above <= frame {
                break;
            }
            frame = above;
        }
        None
    }

    /// The registers that calls keep, and the stack up to an address.
    fn words_below(&mut self, index: usize, end: u64) -> Vec<u64> {
        let processor = &self.processors[index].processor;
        let mut words: Vec<u64> = KEPT.iter().map(|&number| processor.x(number)).collect();
        let start = processor.x(2) & !15;
        let end = end.min(start + 8 * MOST_WORDS);
        for address in (start..end).step_by(16) {
            words.extend(self.read_words(index, address).into_iter().flatten());
        }
        words
    }

    /// The end of a channel into which a word points: its peer, its number, its credits.
    fn end_at(&mut self, index: usize, table: u64, ranks: u64, word: u64) -> Option<(u16, u8, u32)> {
        let first = word & !15;
        for end in (0..END_BYTES).step_by(16).filter_map(|before| first.checked_sub(before)) {
            let Some([fields, _]) = self.read_words(index, end + PEER_AND_NUMBER) else { continue };
            let (peer, number) = (fields & 0xffff_ffff, fields >> 32);
            if peer >= ranks || number >= CHANNELS {
                continue;
            }
            let place = table + 8 * (CHANNELS * peer + number);
            if self.read_words(index, place).is_some_and(|[known, _]| known == end) {
                let [fields, _] = self.read_words(index, end + TURN_AND_CREDITS)?;
                return Some((peer as u16, number as u8, (fields >> 32) as u32));
            }
        }
        None
    }
}
