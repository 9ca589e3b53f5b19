//! Local commands, by their numbers and flags, and why they fail.

/// Numbers of the commands; see [`crate::voyager::commands`] for their operands.
pub mod operation {
    /// Reads lines of host memory into SRAM.
    pub const BUS_READ: u64 = 1;
    /// Writes lines of host memory from SRAM.
    pub const BUS_WRITE: u64 = 2;
    /// Writes a word of SRAM.
    pub const SRAM_WRITE: u64 = 3;
    /// Copies between the SRAM banks.
    pub const COPY: u64 = 4;
    /// Sends a slot.
    pub const TRANSMIT: u64 = 5;
    /// The block bus operation unit reads host memory into SRAM.
    pub const BLOCK_READ: u64 = 6;
    /// The block transmit unit sends SRAM in packets with remote commands.
    pub const BLOCK_TRANSMIT: u64 = 7;
    /// Sets a channel counter.
    pub const COUNTER_SET: u64 = 8;
    /// Sets a word of a physical queue's state.
    pub const QUEUE_SET: u64 = 9;
    /// Takes a physical queue away from its logical one.
    pub const QUEUE_OUT: u64 = 10;
    /// Gives a logical queue a physical one.
    pub const MAP_SET: u64 = 11;
    /// Changes the permissions of lines of snooped space.
    pub const PERMISSION: u64 = 12;
    /// Approves a captured access.
    pub const APPROVE: u64 = 13;
    /// Does nothing but to complete.
    pub const NOTIFY: u64 = 14;
    /// Takes lines of host memory out of all caches; memory has their bytes then.
    pub const BUS_FLUSH: u64 = 15;
    /// A channel counts packets that firmware has received.
    pub const COUNT: u64 = 16;
    /// Sends a packet of a block transfer.
    pub const PACKET: u64 = 17;
    /// Tells a program that its block has left.
    pub const TELL: u64 = 18;
}

/// A command's completion is pushed to the completion queue.
pub const COMMAND_NOTIFY: u64 = 1 << 8;
/// A command waits until all commands before it in its queue are complete.
pub const COMMAND_ORDERED: u64 = 1 << 9;
/// A BLOCK_TRANSMIT follows the BLOCK_READ that was started last, line by line.
pub const COMMAND_CHAINED: u64 = 1 << 10;
/// BLOCK_TRANSMIT: a receive queue is told if the destination refuses a packet of its transfer.
pub const COMMAND_TOLD: u64 = 1 << 11;
/// BLOCK_TRANSMIT: it is the last one of its transfer.
pub const COMMAND_LAST: u64 = 1 << 12;
/// BUS_READ, BUS_WRITE, BUS_FLUSH, PERMISSION, COPY or TRANSMIT in one doubleword: the SRAM
/// address's line in bits 17 to 31 (PERMISSION: the permission), and above them the node
/// address's line (of one line; its highest six bits in bits 11 to 16), the line to copy to
/// (lines - 1 in bits 11 to 13), or what TRANSMIT has in its second doubleword (the process
/// from bit 57 on).
pub const COMMAND_SHORT: u64 = 1 << 10;

/// Why a command failed, as FAULT shows it and a completion in its upper half.
pub mod fault {
    /// No operation has the number, or an operand cannot be.
    pub const OPERAND: u64 = 1;
    /// An SRAM address beyond the banks.
    pub const SRAM: u64 = 2;
    /// A host address that is no memory, or that the process has not registered.
    pub const ADDRESS: u64 = 3;
    /// A node or queue that does not exist.
    pub const DESTINATION: u64 = 4;
}
