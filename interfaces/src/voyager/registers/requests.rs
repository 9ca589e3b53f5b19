//! Requests of the kernel agent.

/// The kernel agent's requests: a request's argument is the address of a structure of
/// [`WORDS`](request::WORDS) doublewords: first what the program gives, then what it gets.
///
/// What the firmware has to do goes to it as a command of
/// [`COMMAND_WORDS`](request::COMMAND_WORDS) doublewords, of which the first is request |
/// process << 32:
///
/// | request | doublewords 1 to 7 |
/// | --- | --- |
/// | OPEN | direction, logical queue << 8, kind << 16, slots << 32; buffer (SRAM address of a hybrid queue's, else node address); of a cachable queue: process's part of snooped space, node address |
/// | CLOSE | direction, logical queue << 8 |
/// | DMA | method; node, process << 16; the node's address of the local bytes; remote address; bytes; channel at the destination (all ones: none); logical queue for the acknowledgement (all ones: none) |
pub mod request {
    /// Doublewords of a request's structure.
    pub const WORDS: usize = 8;
    /// Doublewords of a command to the firmware.
    pub const COMMAND_WORDS: usize = 8;
    /// Opens a queue.
    pub const OPEN: u64 = 1;
    /// Closes it.
    pub const CLOSE: u64 = 2;
    /// Registers memory for block transfers.
    pub const DMA_REGISTER: u64 = 3;
    /// Takes that back.
    pub const DMA_DEREGISTER: u64 = 4;
    /// Transfers a block.
    pub const DMA: u64 = 5;
    /// Sets a channel counter.
    pub const CHANNEL_SET: u64 = 6;
    /// The limits.
    pub const QUERY: u64 = 7;
    /// Takes room in SRAM for blocks of the process's own commands.
    pub const STAGING: u64 = 8;
    /// Takes back a channel that was set, and of whose packets none will come.
    pub const CHANNEL_CLEAR: u64 = 9;
}

/// How a block is transferred.
pub mod method {
    /// By hardware at both ends.
    pub const HARDWARE: u64 = 0;
    /// By firmware at both ends.
    pub const FIRMWARE: u64 = 1;
    /// By firmware that sends, and hardware that receives.
    pub const FIRMWARE_SENDS: u64 = 2;
}
