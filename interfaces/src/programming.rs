//! What a program sees of a model: its driver, its registers, the facts that the
//! driver has to know, and what else the model needs of its node.
//!
//! Models that are programmed alike share one [`Programming`], as the FIFOs do.
//! Nothing lists them: everything is found by way of the models ([`crate::declarations`]).

/// How a kind of interface is programmed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Programming {
    /// The driver in guest/messaging.
    pub driver: Driver,
    /// Its registers, in lists that ways of programming share.
    pub registers: &'static [&'static [Register]],
    /// Numbers that driver and interface agree on.
    pub constants: &'static [Constant],
    /// What the driver reads on the information page that other drivers do not.
    pub facts: &'static [Fact],
    /// What it takes.
    pub requirements: &'static [Requirement],
}

/// A driver of the messaging library: `guest/messaging/driver_NAME.c`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Driver {
    /// Its file's NAME.
    pub name: &'static str,
    /// The number by which the information page shows it.
    pub number: u64,
    /// What it drives.
    pub meaning: &'static str,
    /// Whether only programs for its interfaces have it (`narthex cc --interface`).
    pub is_apart: bool,
}

impl Driver {
    /// A driver whose number follows from its name.
    pub const fn new(name: &'static str, meaning: &'static str) -> Self {
        Driver { name, number: fnv_1a(name.as_bytes()), meaning, is_apart: false }
    }

    /// A driver that not every program has: what all link moves the data of all, and so their
    /// times.
    pub const fn apart(name: &'static str, meaning: &'static str) -> Self {
        Driver { is_apart: true, ..Driver::new(name, meaning) }
    }

    /// A driver with a number of its own, which compiled programs know.
    pub const fn numbered(number: u64, name: &'static str, meaning: &'static str) -> Self {
        Driver { name, number, meaning, is_apart: false }
    }

    /// The name of its number in C.
    pub fn constant(&self) -> String {
        format!("DRIVER_{}", self.name.to_uppercase())
    }
}

/// The 64-bit FNV-1a hash: the same for a name in every version.
const fn fnv_1a(bytes: &[u8]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325;
    let mut place = 0;
    while place < bytes.len() {
        hash = (hash ^ bytes[place] as u64).wrapping_mul(0x100_0000_01b3);
        place += 1;
    }
    hash
}

/// A register: its name, its offset in the page, and what it is for.
pub type Register = (&'static str, u64, &'static str);

/// A number: its name in C, its value, and what it means.
pub type Constant = (&'static str, u64, &'static str);

/// Something that the information page tells a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fact {
    /// The field's name in C.
    pub name: &'static str,
    /// What its value means.
    pub meaning: &'static str,
}

/// What a half takes beyond what every node has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Requirement {
    /// The processor has block buffers.
    BlockBuffers,
    /// A packet's header is one doubleword: the rest of it is the payload alone.
    PlainHeader,
    /// The pages of a process are in frames that follow each other: the program gives the
    /// interface its own addresses.
    ContiguousFrames,
    /// A DMA engine has registers on the interconnect of the interface's last port.
    DmaEngine,
    /// The node runs one process; says why.
    OneProcess(&'static str),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_drivers_number_is_none_of_the_small_ones() {
        assert!(Driver::new("eager", "").number > u64::from(u32::MAX));
        assert_ne!(Driver::new("eager", "").number, Driver::new("eager2", "").number);
    }
}
