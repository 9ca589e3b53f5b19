//! What the bus unit captures for the firmware, and what the firmware permits.

/// What was captured: bits 56 to 63 of an entry.
pub mod captured {
    /// A store to a pointer window or to serviced space: posted, its data in bits 0 to 31.
    pub const STORE: u64 = 1;
    /// A load of serviced space, which waits for an approval.
    pub const LOAD: u64 = 2;
    /// A store to serviced space that waits for an approval.
    pub const WAITING_STORE: u64 = 3;
    /// Of the offset of such a store: it was approved with a destination, and is over.
    pub const CARRIED: u64 = 1 << 23;
    /// Beside CARRIED: it had less than a doubleword, or its destination is no SRAM, and its bytes
    /// went nowhere.
    pub const CARRIED_NOWHERE: u64 = 1 << 22;
    /// A block transaction of the snooped space that reads.
    pub const SNOOPED_READ: u64 = 4;
    /// One that would write.
    pub const SNOOPED_WRITE: u64 = 5;
}

/// Of the approval of a store to serviced space: its bytes go to the SRAM doubleword in the lower half;
/// without it they go nowhere.
pub const APPROVE_TO_SRAM: u64 = 1 << 63;

/// Permissions of a line of snooped space.
pub mod permission {
    /// All accesses are captured.
    pub const NONE: u64 = 0;
    /// Accesses that would write are captured.
    pub const READ: u64 = 1;
    /// No access is captured.
    pub const WRITE: u64 = 2;
}
