//! The local command queues: how firmware (Section 4.2), the kernel agent, and programs (Section
//! 3; see [`super::program_commands`]) tell the units what to do.
//!
//! A command is one to three doublewords. The first one has its number in bits 0 to 7,
//! whether it notifies (8) and is ordered (9), a tag (16 to 23), and operands from bit 24 on;
//! the list of operands is that of the headers' comments. The commands of a queue begin in
//! order, those of different queues beside each other. An ordered command begins when all
//! before it in its queue are complete; another one as soon as its unit is free. A completion
//! is the tag, the queue (bit 8), and in its upper half what was wrong, 0 if nothing; that of a
//! program's command is a message to the receive queue that the tag names.
//!
//! Programs' queues, and the kernel agent's, have the units in turn: none waits for ever behind
//! another one's commands.

use std::collections::VecDeque;

use narthex_kernel::Time;
use serde::{Deserialize, Serialize};

use super::layout::Direction;
use super::registers::{
    COMMAND_CHAINED, COMMAND_LAST, COMMAND_NOTIFY, COMMAND_ORDERED, COMMAND_SHORT, COMMAND_TOLD, NOTHING,
    operation as number,
};

/// Bytes of a line of host memory, and of what short forms move.
const LINE_BYTES: u64 = 32;

/// The queue of the kernel agent, behind those of the firmware.
pub const SYSTEM: usize = 2;

/// The queue of the node's first process; those of the others follow.
const FIRST_PROGRAM: usize = SYSTEM + 1;

/// The queue of a process.
pub fn queue_of(process: u8) -> usize {
    FIRST_PROGRAM + usize::from(process)
}

/// The process whose queue this is; none if it is the firmware's or the kernel agent's.
pub fn process_of(queue: usize) -> Option<u8> {
    queue.checked_sub(FIRST_PROGRAM).map(|process| process as u8)
}

/// An address of host memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct HostAddress {
    /// Of the process's memory, or of the node's.
    pub address: u64,
    /// Whose memory it is; none if it is the node's address.
    pub process: Option<u8>,
}

/// Who is told that a channel has counted all its packets.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub struct Acknowledge {
    /// The logical receive queue; none: the firmware.
    pub queue: Option<u8>,
    /// What it is told.
    pub value: u32,
}

/// What a command does; what its operands mean is in the list of the headers' comments.
#[allow(missing_docs, reason = "the operands are those of the commands")]
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Operation {
    /// Host memory to SRAM.
    BusRead { host: HostAddress, sram: u64, bytes: u64 },
    /// SRAM to host memory.
    BusWrite { host: HostAddress, sram: u64, bytes: u64 },
    /// Lines out of all caches.
    BusFlush { host: HostAddress, bytes: u64 },
    /// A word of SRAM.
    SramWrite { sram: u64, bytes: u64, value: u64 },
    /// SRAM to SRAM.
    Copy { from: u64, to: u64, bytes: u64 },
    /// A slot to the network.
    Transmit { sram: u64, node: u16, queue: u8, process: u8 },
    /// Host memory to SRAM, by the block bus operation unit.
    BlockRead { host: HostAddress, sram: u64, bytes: u64 },
    /// SRAM to remote memory, by the block transmit unit.
    BlockTransmit(BlockTransmit),
    /// A channel counter.
    CounterSet { channel: u8, count: u32, acknowledge: Acknowledge },
    /// Lines to the network, as a packet of a block transfer.
    Packet { sram: u64, node: u16, process: u8, sender: u8 },
    /// A message to a receive queue of this node.
    Tell(Acknowledge),
    /// Packets that a channel counts.
    Count { channel: u8, packets: u32 },
    /// A word of a physical queue's state.
    QueueSet { direction: Direction, physical: usize, offset: u64, value: u64 },
    /// A physical queue is taken away.
    QueueOut { direction: Direction, physical: usize },
    /// A physical queue is given.
    MapSet { direction: Direction, physical: usize, logical: u8 },
    /// The permission of lines of snooped space.
    Permission { permission: u64, lines: u64, host: u64 },
    /// A captured access is approved.
    Approve { offset: u64, value: u64 },
    /// Nothing.
    Complete,
    /// It makes no sense.
    Wrong,
}

/// The operands of BLOCK_TRANSMIT.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct BlockTransmit {
    /// Where the bytes are.
    pub sram: u64,
    /// How many.
    pub bytes: u64,
    /// Where they go: the node, its process, and that one's address.
    pub node: u16,
    /// See `node`.
    pub process: u8,
    /// See `node`.
    pub address: u64,
    /// The channel that counts them there; 255 for none.
    pub channel: u8,
    /// It follows the last BLOCK_READ of its queue line by line.
    pub is_chained: bool,
    /// It is the last one of its transfer.
    pub is_last: bool,
    /// Who is told when all packets have left, beside the completion queue.
    pub acknowledge: Option<Acknowledge>,
    /// The receive queue that is told if its receiver refuses the transfer of which this is a
    /// part.
    pub told: Option<u8>,
}

/// A command.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Command {
    /// What it does.
    pub operation: Operation,
    /// The tag of its completion, if it notifies.
    pub notify: Option<u8>,
    /// It waits for those before it.
    pub is_ordered: bool,
}

impl Command {
    /// A command of the kernel agent.
    pub fn of_system(operation: Operation) -> Self {
        Command { operation, notify: None, is_ordered: false }
    }

    /// Doublewords of a command that begins with this one.
    fn words(first: u64) -> usize {
        match first & 0xff {
            number::BUS_READ
            | number::BUS_WRITE
            | number::BUS_FLUSH
            | number::PERMISSION
            | number::COPY
            | number::TRANSMIT
                if first & COMMAND_SHORT != 0 =>
            {
                1
            }
            number::BLOCK_TRANSMIT | number::APPROVE => 3,
            number::BUS_READ..=number::BUS_FLUSH
                if !matches!(first & 0xff, number::QUEUE_OUT | number::MAP_SET | number::NOTIFY) =>
            {
                2
            }
            _ => 1,
        }
    }

    /// The operation of a command in its short form; none if it has none.
    fn short(first: u64) -> Option<Operation> {
        let lines = (first >> 11 & 7) + 1;
        let (sram, bytes) = ((first >> 17 & 0x7fff) * LINE_BYTES, lines * LINE_BYTES);
        let host_line = first >> 32 | (first >> 11 & 0x3f) << 32;
        let host = HostAddress { address: host_line * LINE_BYTES, process: None };
        match first & 0xff {
            number::BUS_READ => Some(Operation::BusRead { host, sram, bytes: LINE_BYTES }),
            number::BUS_WRITE => Some(Operation::BusWrite { host, sram, bytes: LINE_BYTES }),
            number::BUS_FLUSH => Some(Operation::BusFlush { host, bytes: LINE_BYTES }),
            number::PERMISSION => {
                Some(Operation::Permission { permission: first >> 17 & 3, lines: 1, host: host.address })
            }
            number::COPY => {
                Some(Operation::Copy { from: sram, to: (first >> 32 & 0x7fff) * LINE_BYTES, bytes })
            }
            number::TRANSMIT => Some(Operation::Transmit {
                sram,
                node: (first >> 32) as u16,
                queue: (first >> 48) as u8,
                process: (first >> 57) as u8 & 7,
            }),
            _ => None,
        }
    }

    fn of(words: [u64; 3]) -> Self {
        let [first, ..] = words;
        let is_short = first & COMMAND_SHORT != 0;
        let short = is_short.then(|| Self::short(first)).flatten();
        let operation = short
            .or_else(|| Self::moving(words))
            .or_else(|| Self::block(words))
            .or_else(|| Self::state(words));
        let tag = if short.is_some() { 0 } else { (first >> 16) as u8 };
        Command {
            operation: operation.unwrap_or(Operation::Wrong),
            notify: (first & COMMAND_NOTIFY != 0).then_some(tag),
            is_ordered: first & COMMAND_ORDERED != 0,
        }
    }

    /// An operation that moves bytes of a few lines.
    fn moving([first, second, _]: [u64; 3]) -> Option<Operation> {
        let sram = field(first, 32, 20);
        let lines = field(first, 24, 8) * LINE_BYTES;
        let host = HostAddress {
            address: second & 0xffff_ffff_ffe0,
            process: (second >> 48).checked_sub(1).map(|process| process as u8),
        };
        Some(match first & 0xff {
            number::BUS_READ => Operation::BusRead { host, sram, bytes: lines },
            number::BUS_WRITE => {
                let last = field(first, 52, 5);
                let bytes = if last == 0 { lines } else { (lines + last).saturating_sub(LINE_BYTES) };
                Operation::BusWrite { host, sram, bytes }
            }
            number::BUS_FLUSH => Operation::BusFlush { host, bytes: lines },
            number::SRAM_WRITE => Operation::SramWrite { sram, bytes: field(first, 24, 8), value: second },
            number::COPY => {
                Operation::Copy { from: sram, to: second & 0xf_ffff, bytes: field(first, 24, 8) * 8 }
            }
            number::TRANSMIT => Operation::Transmit {
                sram,
                node: second as u16,
                queue: (second >> 16) as u8,
                process: (second >> 32) as u8,
            },
            _ => return None,
        })
    }

    /// An operation of block transfers.
    fn block([first, second, third]: [u64; 3]) -> Option<Operation> {
        let sram = field(first, 32, 20);
        let (address, bytes) = (second & 0xffff_ffff_ffff, second >> 48);
        Some(match first & 0xff {
            number::BLOCK_READ => {
                let host = HostAddress { address, process: Some(field(first, 24, 8) as u8) };
                Operation::BlockRead { host, sram, bytes }
            }
            number::BLOCK_TRANSMIT => Operation::BlockTransmit(BlockTransmit {
                sram,
                bytes,
                node: third as u16,
                process: (third >> 16) as u8,
                address,
                channel: field(first, 52, 8) as u8,
                is_chained: first & COMMAND_CHAINED != 0,
                is_last: first & COMMAND_LAST != 0,
                acknowledge: None,
                told: (first & COMMAND_TOLD != 0).then_some(field(first, 24, 8) as u8),
            }),
            number::PACKET => Operation::Packet {
                sram: field(first, 17, 15) * LINE_BYTES,
                node: (first >> 32) as u16,
                process: field(first, 48, 3) as u8,
                sender: field(first, 57, 3) as u8,
            },
            number::COUNTER_SET => Operation::CounterSet {
                channel: field(first, 24, 8) as u8,
                count: (first >> 32) as u32,
                acknowledge: Acknowledge {
                    queue: (second & 1 != 0).then_some((second >> 8) as u8),
                    value: (second >> 32) as u32,
                },
            },
            number::COUNT => {
                let (channel, packets) = (field(first, 32, 8) as u8, field(first, 40, 16) as u32);
                Operation::Count { channel, packets }
            }
            number::TELL => {
                let queue = Some(field(first, 32, 8) as u8);
                Operation::Tell(Acknowledge { queue, value: (first >> 40) as u32 })
            }
            _ => return None,
        })
    }

    /// An operation on the state of queues and of captured accesses.
    fn state([first, second, third]: [u64; 3]) -> Option<Operation> {
        let direction = Direction::of(field(first, 24, 1) != 0);
        let physical = field(first, 25, 7) as usize;
        Some(match first & 0xff {
            number::QUEUE_SET => {
                Operation::QueueSet { direction, physical, offset: field(first, 32, 8), value: second }
            }
            number::QUEUE_OUT => Operation::QueueOut { direction, physical },
            number::MAP_SET => Operation::MapSet { direction, physical, logical: field(first, 32, 8) as u8 },
            number::PERMISSION => {
                Operation::Permission { permission: field(first, 24, 2), lines: first >> 32, host: second }
            }
            number::APPROVE => Operation::Approve { offset: second, value: third },
            number::NOTIFY => Operation::Complete,
            _ => return None,
        })
    }
}

/// Bits of a doubleword, from `shift` on.
fn field(word: u64, shift: u32, bits: u32) -> u64 {
    word >> shift & ((1 << bits) - 1)
}

/// Whose command a unit is at.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Issuer {
    /// Its queue.
    pub queue: usize,
    /// The tag of its completion, if it notifies: of a program's command, its receive queue.
    pub notify: Option<u8>,
}

/// The completion of a program's command, for its program.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Completed {
    /// Whose command it was.
    pub process: u8,
    /// Which of the process's receive queues is told.
    pub queue: u8,
    /// What it, or a command before it, has done wrong; 0 for nothing.
    pub fault: u64,
}

/// A queue of commands.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
struct CommandQueue {
    words: VecDeque<u64>,
    /// The kernel agent's.
    commands: VecDeque<Command>,
    /// The oldest command, and from when on it may begin.
    head: Option<(Command, Time)>,
    /// Commands that units are at.
    under_way: u32,
    /// What one did wrong since the last completion, 0 for nothing.
    fault: u64,
    /// What the last one that failed did wrong.
    last_fault: u64,
}

/// The command queues, and the completion queue.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Commands {
    /// Two of the firmware, the kernel agent's, and one of each process.
    queues: Vec<CommandQueue>,
    /// Which of those behind the firmware's has the units first.
    first: usize,
    words_limit: usize,
    completions: VecDeque<u64>,
    completions_limit: usize,
    /// Completions that commands under way will push.
    reserved: usize,
    /// What programs have still to be told.
    completed: VecDeque<Completed>,
    /// What the last command of the firmware or the kernel agent that failed did wrong.
    pub fault: u64,
}

impl Commands {
    /// Empty queues for so many doublewords, and for so many completions, of a node of so many
    /// processes.
    pub fn new(words: u32, completions: u32, processes: u8) -> Self {
        Commands {
            queues: vec![CommandQueue::default(); queue_of(processes)],
            first: 0,
            words_limit: words as usize,
            completions: VecDeque::new(),
            completions_limit: completions as usize,
            reserved: 0,
            completed: VecDeque::new(),
            fault: 0,
        }
    }

    /// How many queues there are.
    pub fn count(&self) -> usize {
        self.queues.len()
    }

    /// Which of those behind the firmware's has the units first.
    pub fn first(&self) -> usize {
        self.first
    }

    /// Free doublewords of a queue.
    pub fn room(&self, queue: usize) -> usize {
        self.words_limit - self.queues[queue].words.len()
    }

    /// The next doubleword of a command.
    ///
    /// # Errors
    /// If the queue is full.
    pub fn push(&mut self, queue: usize, word: u64) -> Result<(), String> {
        if self.room(queue) == 0 {
            let words = self.words_limit;
            return Err(format!("a store to COMMAND_{queue}, whose {words} doublewords are all in use"));
        }
        self.queues[queue].words.push_back(word);
        Ok(())
    }

    /// The kernel agent has a command.
    pub fn push_system(&mut self, command: Command) {
        self.queues[SYSTEM].commands.push_back(command);
    }

    /// How many commands of the kernel agent wait.
    pub fn waiting_of_system(&self) -> usize {
        self.queues[SYSTEM].commands.len()
    }

    /// Takes the next command of a queue to its head, where it is decoded until `ready`;
    /// whether it did.
    pub fn decode(&mut self, queue: usize, ready: Time) -> bool {
        let own = &mut self.queues[queue];
        if own.head.is_some() {
            return false;
        }
        let command = own.commands.pop_front().or_else(|| {
            let count = own.words.front().map(|&first| Command::words(first))?;
            let is_whole = own.words.len() >= count;
            let mut words = own.words.drain(..if is_whole { count } else { 0 });
            is_whole.then(|| Command::of([(); 3].map(|()| words.next().unwrap_or(0))))
        });
        own.head = command.map(|command| (command, ready));
        own.head.is_some()
    }

    /// Whether nothing waits in a queue.
    pub fn is_idle(&self, queue: usize) -> bool {
        let own = &self.queues[queue];
        own.head.is_none() && own.commands.is_empty() && own.words.is_empty()
    }

    /// The head of a queue, if it may begin now but for its unit.
    pub fn ready(&self, queue: usize, now: Time) -> Option<(Operation, Issuer)> {
        let own = &self.queues[queue];
        let (Command { operation, notify, is_ordered }, ready) = own.head?;
        let is_program = process_of(queue).is_some();
        let has_room =
            is_program || notify.is_none() || self.completions.len() + self.reserved < self.completions_limit;
        let may = ready <= now && has_room && !(is_ordered && own.under_way > 0);
        may.then_some((operation, Issuer { queue, notify }))
    }

    /// The head of a queue has begun.
    pub fn begin(&mut self, issuer: Issuer) {
        let own = &mut self.queues[issuer.queue];
        own.head = None;
        own.under_way += 1;
        if let Some(place) = issuer.queue.checked_sub(SYSTEM) {
            self.first = (place + 1) % (self.queues.len() - SYSTEM);
        }
        self.reserved += usize::from(issuer.notify.is_some() && issuer.queue < FIRST_PROGRAM);
    }

    /// A command is over.
    pub fn complete(&mut self, issuer: Issuer, failure: Option<u64>) {
        let own = &mut self.queues[issuer.queue];
        own.under_way -= 1;
        if let Some(failure) = failure {
            self.fail(issuer.queue, failure);
        }
        let Some(tag) = issuer.notify else { return };
        let fault = std::mem::take(&mut self.queues[issuer.queue].fault);
        if let Some(process) = process_of(issuer.queue) {
            self.completed.push_back(Completed { process, queue: tag, fault });
            return;
        }
        self.reserved -= 1;
        self.completions.push_back(u64::from(tag) | (issuer.queue as u64) << 8 | fault << 32);
    }

    /// Something was wrong with a command of a queue.
    pub fn fail(&mut self, queue: usize, fault: u64) {
        let own = &mut self.queues[queue];
        (own.fault, own.last_fault) = (fault, fault);
        if process_of(queue).is_none() {
            self.fault = fault;
        }
    }

    /// What the last command of a process that failed did wrong; 0 if none has since that was
    /// cleared.
    pub fn fault_of(&self, process: u8) -> u64 {
        self.queues[queue_of(process)].last_fault
    }

    /// None of a process's commands has failed.
    pub fn clear_fault(&mut self, process: u8) {
        let own = &mut self.queues[queue_of(process)];
        (own.fault, own.last_fault) = (0, 0);
    }

    /// The oldest completion of a program's command, which is gone then.
    pub fn take_completed(&mut self) -> Option<Completed> {
        self.completed.pop_front()
    }

    /// Whether the completion queue has an entry.
    pub fn has_completion(&self) -> bool {
        !self.completions.is_empty()
    }

    /// The oldest completion, which is gone then.
    pub fn take_completion(&mut self) -> u64 {
        self.completions.pop_front().unwrap_or(NOTHING)
    }

    /// Commands that wait or are under way, in words.
    pub fn describe(&self) -> Option<String> {
        let busy = self
            .queues
            .iter()
            .enumerate()
            .filter(|(_, queue)| queue.head.is_some() || queue.under_way > 0 || !queue.words.is_empty());
        let told = busy.map(|(number, queue)| {
            let head = queue.head.map(|(command, _)| format!("{:?} first", command.operation));
            let name = match process_of(number) {
                Some(process) => format!("process {process}'s"),
                None if number == SYSTEM => "the kernel agent's".into(),
                None => format!("command queue {number}"),
            };
            format!("{name}: {} under way, {}", queue.under_way, head.unwrap_or_else(|| "none waits".into()))
        });
        let told: Vec<String> = told.collect();
        (!told.is_empty()).then(|| told.join("; "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::voyager::registers::fault;

    const NOW: Time = Time::ZERO;

    fn first(queue: &mut Commands) -> Option<Operation> {
        queue.decode(0, NOW);
        queue.ready(0, NOW).map(|(operation, _)| operation)
    }

    #[test]
    fn a_command_is_decoded_when_all_its_doublewords_are_there() {
        let mut commands = Commands::new(4, 2, 2);
        commands.push(0, number::BUS_READ | 3 << 24 | 0x8_0060 << 32).expect("room");
        assert_eq!(first(&mut commands), None);
        commands.push(0, 0x1234_5678 | 2 << 48).expect("room");
        let host = HostAddress { address: 0x1234_5660, process: Some(1) };
        assert_eq!(first(&mut commands), Some(Operation::BusRead { host, sram: 0x8_0060, bytes: 96 }));
    }

    #[test]
    fn a_write_may_end_within_a_line() {
        let mut commands = Commands::new(4, 2, 2);
        commands.push(0, number::BUS_WRITE | 3 << 24 | 0x60 << 32 | 12 << 52).expect("room");
        commands.push(0, 0x40).expect("room");
        let host = HostAddress { address: 0x40, process: None };
        assert_eq!(first(&mut commands), Some(Operation::BusWrite { host, sram: 0x60, bytes: 76 }));
    }

    #[test]
    fn the_short_form_of_a_command_is_one_doubleword() {
        let sram = 0x8_0060;
        let (node, host) = (0x1234, HostAddress { address: 0x7fe_7654_3200, process: None });
        for (operation, upper, expected) in [
            (number::BUS_READ, host.address / 32, Operation::BusRead { host, sram, bytes: 32 }),
            (number::BUS_WRITE, host.address / 32, Operation::BusWrite { host, sram, bytes: 32 }),
            (number::COPY, (2 << 32) | (0x60 / 32), Operation::Copy { from: sram, to: 0x60, bytes: 96 }),
            (number::TRANSMIT, node | 200 << 16 | 3 << 25, {
                Operation::Transmit { sram, node: 0x1234, queue: 200, process: 3 }
            }),
        ] {
            let mut commands = Commands::new(4, 2, 2);
            let high = (upper >> 32) << 11;
            let word = operation | COMMAND_SHORT | high | ((sram / 32) << 17) | (upper << 32);
            commands.push(0, word).expect("room");
            assert_eq!(first(&mut commands), Some(expected));
        }
    }

    #[test]
    fn an_ordered_command_waits_for_those_before_it_and_another_one_does_not() {
        for (bits, expected) in [(0, Some(Operation::Complete)), (COMMAND_ORDERED, None)] {
            let mut commands = Commands::new(4, 2, 2);
            commands.push(0, number::NOTIFY).expect("room");
            commands.push(0, number::NOTIFY | bits).expect("room");
            commands.decode(0, NOW);
            let (_, issuer) = commands.ready(0, NOW).expect("it may begin");
            commands.begin(issuer);
            assert_eq!(first(&mut commands), expected);
            commands.complete(issuer, None);
            assert_eq!(first(&mut commands), Some(Operation::Complete));
        }
    }

    #[test]
    fn a_completion_has_its_tag_its_queue_and_its_fault_and_keeps_its_place_free() {
        let mut commands = Commands::new(4, 1, 2);
        for tag in [7, 8] {
            commands.push(1, number::NOTIFY | COMMAND_NOTIFY | tag << 16).expect("room");
        }
        commands.decode(1, NOW);
        let (_, issuer) = commands.ready(1, NOW).expect("it may begin");
        commands.begin(issuer);
        commands.decode(1, NOW);
        assert_eq!(commands.ready(1, NOW), None, "there is one place for a completion");
        commands.complete(issuer, Some(fault::SRAM));
        assert_eq!(commands.ready(1, NOW), None);
        assert_eq!(commands.take_completion(), 7 | 1 << 8 | fault::SRAM << 32);
        assert!(commands.ready(1, NOW).is_some() && commands.take_completion() == NOTHING);
        assert_eq!(commands.fault, fault::SRAM);
    }

    #[test]
    fn a_completion_tells_once_what_a_command_before_it_did_wrong() {
        let mut commands = Commands::new(8, 4, 2);
        for notify in [0, COMMAND_NOTIFY, COMMAND_NOTIFY] {
            commands.push(1, number::NOTIFY | notify).expect("room");
        }
        for failure in [Some(fault::ADDRESS), None, None] {
            commands.decode(1, NOW);
            let (_, issuer) = commands.ready(1, NOW).expect("it may begin");
            commands.begin(issuer);
            commands.complete(issuer, failure);
        }
        assert_eq!([(); 2].map(|()| commands.take_completion()), [1 << 8 | fault::ADDRESS << 32, 1 << 8]);
    }

    #[test]
    fn a_full_queue_takes_no_more_and_says_so() {
        let mut commands = Commands::new(1, 1, 2);
        commands.push(0, number::BUS_READ).expect("room");
        assert!(commands.push(0, 0).unwrap_err().contains("COMMAND_0"));
        assert_eq!((commands.room(0), commands.room(1)), (0, 1));
    }

    #[test]
    fn a_number_that_no_command_has_is_wrong() {
        let mut commands = Commands::new(4, 1, 2);
        commands.push(0, 99).expect("room");
        assert_eq!(first(&mut commands), Some(Operation::Wrong));
    }
}
