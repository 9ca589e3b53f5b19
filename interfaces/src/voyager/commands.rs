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

mod decoding;

use std::collections::VecDeque;

use narthex_kernel::Time;
use serde::{Deserialize, Serialize};

use super::registers::NOTHING;
pub use decoding::{Acknowledge, BlockTransmit, Command, HostAddress, Operation};

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
    use crate::voyager::registers::{
        COMMAND_NOTIFY, COMMAND_ORDERED, COMMAND_SHORT, fault, operation as number,
    };

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
