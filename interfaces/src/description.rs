//! What halves of interfaces and devices say of themselves: to the composer before
//! the run, to observers while it lasts, to model checkers.
//!
//! The verbs of the hardware ([`InterfaceHalf`], [`Device`](crate::Device)) say what a model
//! does. Here is only what others read of it: a run comes to the same whether they
//! do or not. Two methods change the model, and both are for those who compute with
//! it: `statistics_mut` adds what wait loops would have counted, and `leave_out`
//! takes a rule away to show that it is needed.
//!
//! | asked by | a half | a device |
//! | --- | --- | --- |
//! | the node | | [`asserted_lines`](DeviceDescription::asserted_lines) |
//! | the composer and the guest's library | [`layout`](HalfDescription::layout) | [`ports`](DeviceDescription::ports), [`receiver`](DeviceDescription::receiver), [`sender`](DeviceDescription::sender), [`layouts`](DeviceDescription::layouts) |
//! | results | [`statistics`](HalfDescription::statistics) | [`statistics`](DeviceDescription::statistics) |
//! | the hang explainer | [`queue`](HalfDescription::queue) | [`queue`](DeviceDescription::queue), [`name_of`](DeviceDescription::name_of) |
//! | timelines | [`engine`](HalfDescription::engine) | [`engine`](DeviceDescription::engine), [`part`](DeviceDescription::part) |
//! | system calls and debuggers | [`peek`](HalfDescription::peek) | [`peek`](DeviceDescription::peek) |
//! | model checkers | [`protocol_rules`](HalfDescription::protocol_rules), [`HalfState`] | [`hash_state`](DeviceDescription::hash_state) |

use std::hash::Hash;
use std::ops::Range;

use narthex_kernel::Time;
use narthex_kernel::digest::Digest;
use narthex_kernel::statistics::StatisticSet;
use narthex_memory::Kind;
use narthex_memory::bus::DirtyOwner;

use crate::address_names::{AddressName, Region};
use crate::half::InterfaceHalf;
use crate::programming::Fact;
use crate::queue::QueueState;

/// What a half tells the node's composer and the guest's messaging library
/// about itself. Both halves' answers are joined.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Layout {
    /// Cachable addresses that the processor may use. The half snoops
    /// transactions on these blocks, and on no others, unless it `snoops_all`.
    pub cachable: Vec<Range<u64>>,
    /// Those among them whose home is this half rather than main memory.
    pub home: Vec<Range<u64>>,
    /// Those among them that the interface writes and the processor reads; the processor writes all others.
    pub written_by_interface: Vec<Range<u64>>,
    /// It may hold requests for blocks whose home it is, and answer them later: it is on a directory.
    pub holds: bool,
    /// It may hold any block of the program for a while, and so snoops transactions
    /// on all of them; it needs only those on blocks that it holds.
    pub snoops_all: bool,
    /// Pages of registers and windows that the process accesses uncached, beside its
    /// register page.
    pub windows: Vec<Range<u64>>,
    /// Those among the windows whose stores a processor waits for, whatever its store buffer
    /// posts.
    pub waiting_windows: Vec<Range<u64>>,
    /// 64-bit words to be in memory before the program starts.
    pub initial_words: Vec<(u64, u64)>,
    /// Entries of this half's queue, or blocks of its cachable registers; 0 where
    /// there are none.
    pub entries: u64,
    /// Parts of its memory that explanations call by a name; for process 0's half,
    /// those of all processes.
    pub regions: Vec<Region>,
    /// What the information page tells the driver, of the facts that the model
    /// declares.
    pub facts: Vec<(Fact, u64)>,
    /// Facts of every interface that are others here, by their names.
    pub overrides: Vec<(&'static str, u64)>,
    /// Kinds of the transactions that this half issues, or that a processor issues
    /// to reach its registers. No other kinds cross a bus because of it, so a
    /// machine's parameters of the others have no effect; every kind for a half
    /// that does not say.
    pub transactions: Vec<Kind>,
    /// Interrupt lines from it to the processor that runs its process's program.
    pub lines: u32,
    /// Payload of a full packet, where it cuts messages into packets that the receiving hardware puts together.
    pub part_bytes: Option<u64>,
}

impl Default for Layout {
    fn default() -> Self {
        Layout {
            cachable: Vec::new(),
            home: Vec::new(),
            written_by_interface: Vec::new(),
            holds: false,
            snoops_all: false,
            windows: Vec::new(),
            waiting_windows: Vec::new(),
            initial_words: Vec::new(),
            entries: 0,
            regions: Vec::new(),
            facts: Vec::new(),
            overrides: Vec::new(),
            transactions: Kind::ALL.to_vec(),
            lines: 0,
            part_bytes: None,
        }
    }
}

/// What a half's engine is at, for timelines.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Engine {
    /// What it does, in a few words; none if it has nothing to do.
    pub doing: Option<&'static str>,
    /// Messages in its queue, FIFO or registers, as far as it knows.
    pub messages: u64,
}

/// What one half of a network interface says of itself.
pub trait HalfDescription: HalfState {
    /// What the composer and the guest need to know.
    fn layout(&self) -> Layout;

    /// Counts so far, by name.
    fn statistics(&self) -> &dyn StatisticSet;

    /// The same, to add what was computed instead of simulated.
    fn statistics_mut(&mut self) -> &mut dyn StatisticSet;

    /// What it holds, for the explanation of a run without progress.
    fn queue(&self) -> QueueState;

    /// What its engine is at, for a timeline; none if that does not show it. It
    /// changes when a verb is called and at no other time.
    fn engine(&self, _now: Time) -> Option<Engine> {
        None
    }

    /// Which of its interrupt lines it asserts now, by bit. They change when a verb is called and at no
    /// other time.
    fn asserted_lines(&self) -> u64 {
        0
    }

    /// The block that begins at `address`, if this half holds newer bytes than
    /// main memory or is its home. Functional, for system calls and debuggers.
    fn peek(&self, _address: u64) -> Option<&[u8]> {
        None
    }

    /// The names of the rules that it follows and that can be left out.
    fn protocol_rules(&self) -> Vec<&'static str> {
        Vec::new()
    }

    /// Leaves the rule with this name out from now on, for a model checker to show
    /// that it is needed; false if this half has no such rule.
    fn leave_out(&mut self, _rule: &str) -> bool {
        false
    }
}

/// What every half gets by deriving `Clone` and `Hash`: a model checker copies
/// states and tells them apart.
pub trait HalfState {
    /// A half in the same state.
    fn duplicate(&self) -> Box<dyn InterfaceHalf>;

    /// Feeds the state, without what was counted, to `digest`.
    fn hash_state(&self, digest: &mut Digest);
}

impl<T: InterfaceHalf + Clone + Hash + 'static> HalfState for T {
    fn duplicate(&self) -> Box<dyn InterfaceHalf> {
        Box::new(self.clone())
    }

    fn hash_state(&self, digest: &mut Digest) {
        self.hash(digest);
    }
}

/// The largest packet of a device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LargestPacket {
    /// All the bytes that the network carries for it, its header included.
    pub bytes: u64,
    /// The key of the machine's file that says so, or what fixes it.
    pub because_of: &'static str,
}

/// A device's place on an interconnect, as the composer needs to know it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct DevicePort {
    /// Which of the node's processes uses it.
    pub process: u8,
    /// What reports call it: "the send half of process 0's interface".
    pub name: String,
    /// Addresses of registers behind it, which processors access uncached.
    pub registers: Vec<Range<u64>>,
    /// Pages among them whose stores a processor may combine: none of its registers there
    /// means something by each store. Whole blocks of combined bytes come as block stores.
    pub combinable: Vec<Range<u64>>,
    /// Addresses of blocks whose home it is.
    pub homes: Vec<Range<u64>>,
    /// The blocks whose transactions it snoops lie in here.
    pub concern: Range<u64>,
    /// Whether it takes part in coherence: it snoops, is a home, or moves blocks.
    pub is_coherent: bool,
    /// What owners of dirty blocks do on its interconnect with this device; none if that
    /// is the machine's to say.
    pub dirty_owner: Option<DirtyOwner>,
    /// No cache sees the block transactions of DMA engines on its interconnect with this
    /// device.
    pub hides_engines: bool,
    /// Interrupt lines from it to the processors on its interconnect that run firmware.
    pub lines: u32,
    /// Interrupt lines from it to the processor that runs its process's program.
    pub lines_to_program: u32,
    /// Whether it may refuse transactions by itself, whatever owners do on its bus.
    pub refuses: bool,
    /// Whether it may hold accesses to its registers, or requests for blocks whose home it is, and answer
    /// them later.
    pub holds: bool,
    /// It is the port of an engine, which moves blocks between its ports and checks itself
    /// what it reaches: what happens at one port may let another one want its interconnect,
    /// and the pages of a process do not limit it.
    pub is_engine: bool,
    /// The addresses, in each process's own space, at which processors reach it on a directory
    /// without the network on chip. The ports of a device that has such have the numbers of
    /// the processors in whose tiles they are.
    pub of_tile: Option<Range<u64>>,
}

/// What a device of a node says of itself.
pub trait DeviceDescription {
    /// Its ports, in the order of their numbers.
    fn ports(&self) -> Vec<DevicePort>;

    /// What timelines and explanations call the part of the device behind a port.
    fn part(&self, _port: usize) -> &'static str {
        "interface"
    }

    /// The ports that an access to the registers of one of them may concern.
    fn ports_beside(&self, port: usize) -> Range<usize> {
        port..port + 1
    }

    /// The name under which programs open the device, `via` for `/dev/via`; none if it
    /// answers no calls.
    fn calls_name(&self) -> Option<&'static str> {
        None
    }

    /// Which of a port's interrupt lines it asserts now, by bit: until what they tell
    /// of has been served. They change when a verb is called and at no other time.
    fn asserted_lines(&self, _port: usize) -> u64 {
        0
    }

    /// The port to which a packet for a process of the node is announced; none if
    /// the device is not on the network.
    fn receiver(&self, _process: u8) -> Option<usize> {
        None
    }

    /// The port to which room for a packet of a process is announced; none if the
    /// device is not on the network.
    fn sender(&self, _process: u8) -> Option<usize> {
        None
    }

    /// What composer and guest need to know about a process's part of it.
    fn layouts(&self, _process: u8) -> Vec<Layout> {
        Vec::new()
    }

    /// Why the messages of a node's processes cannot all go by it, if they cannot. For each
    /// process: how many others its job has.
    fn too_many_peers(&self, _peers: &[u32]) -> Option<String> {
        None
    }

    /// What an address of a device's memory and registers is called; none if it is
    /// not the device's. `block_bytes` is the size of a coherence block.
    fn name_of(&self, address: u64, block_bytes: u64) -> Option<AddressName>;

    /// How much it has got done, for a device whose packets may come again and again; none where
    /// each packet that arrives shows that a run gets somewhere.
    fn progress(&self) -> Option<u64> {
        None
    }

    /// The block that begins at `address`, if the device holds newer bytes than
    /// main memory or is its home. Functional, for system calls and debuggers.
    fn peek(&self, _address: u64) -> Option<&[u8]> {
        None
    }

    /// The operating system has written bytes within one block, past the interconnects: the
    /// device's copy of them, if it has one. Functional.
    fn poke(&mut self, _address: u64, _bytes: &[u8]) {}

    /// Whether it works only with a local memory beside its last port.
    fn needs_local_memory(&self) -> bool {
        false
    }

    /// The largest packet that it may send, if that does not follow from `messages.packet`.
    fn largest_packet(&self) -> Option<LargestPacket> {
        None
    }

    /// What a packet is called that is under way between its ports.
    fn packet_name(&self, _content: u32) -> &'static str {
        "packet"
    }

    /// Feeds the state of what is behind a port to `digest`, without what was counted.
    fn hash_state(&self, port: usize, digest: &mut Digest);

    /// Counts so far, by name.
    fn statistics(&self) -> Vec<&dyn StatisticSet>;

    /// The same, to add what was computed instead of simulated.
    fn statistics_mut(&mut self) -> Vec<&mut dyn StatisticSet>;

    /// What is behind a port, for the explanation of a run without progress.
    fn queue(&self, port: usize) -> QueueState;

    /// What the engine behind a port is at, for a timeline; none if that does not
    /// show it.
    fn engine(&self, _port: usize, _now: Time) -> Option<Engine> {
        None
    }
}
