//! A coherent link of the kind that joins two sockets: the device is a peer that caches blocks of the host, is the home
//! of its own, and may hold an answer back.
//!
//! ```text
//!   directory ── port ══ requests, forwards, responses, accesses to registers ══► device ── caches, engines
//!   (requester,       ◄══ requests, forwards, responses, answers to loads    ══     └──── memory
//!    home)
//! ```
//!
//! Enzian puts an FPGA in the place of a second socket: it speaks the protocol between two ThunderX-1 (ECI, the Enzian
//! Coherent Interface), with blocks of 128 bytes. Its programmed I/O and Lauberhorn's hold loads of blocks
//! whose home is the FPGA (Ruzhanskaia et al., "Rethinking Programmed I/O for Fast Devices, Cheap Cores, and
//! Coherent Interconnects", 2024). The two ends are those of [`cxl`](super::cxl), in another dialect:
//!
//! - **Names and sizes.** A message has a word of 8 bytes, and the words of its data behind it: a block of 128 bytes takes
//!   17. Of eight words on the wires seven carry messages. [`names`] has the table.
//! - **Bytes are in the message that they belong to.** A write (RSTT) and a write-back (VICD) bring them along, an answer to a
//!   forward (VICDHI, HAKD) also, and a grant is one message (PSHA, PEMD) where CXL has two. So a write-back is over for
//!   the device when it leaves, and nothing is pulled. A forward that meets a write-back on its way up finds no
//!   copy in the device; the port answers it with the block that it has by then.
//! - **Held answers.** A device may hold a request of the host for one of its blocks, for as long as it likes
//!   ([`resume_home`](super::InterconnectModel::resume_home)). The request keeps its buffer of the device's end. The
//!   directory holds the block meanwhile, and works on all others.
//! - **Channels and credits.** Requests, forwards and responses have a virtual channel each. A message waits for a
//!   buffer of its channel at the other end, and those of other channels pass it. Responses are always taken, so nothing
//!   waits for ever. Stores to registers have buffers of their own.
//!
//! **Order.** On ECI's wires messages of different channels come in any order, and the states of the
//! two ends take that up: a home may hear of an invalidation that it was answered by a peer whose grant is still on its way. Here
//! a forward or a request does not pass a response for the same block that waits before it (GO before snoop, as on CXL), and
//! wires keep the order in which messages leave. So what the ends do is CXL's, which is checked; responses
//! pass requests, which is checked too. The effect: where responses run out of buffers, a forward of the same
//! block waits with them. With as many buffers as requests they never do.
//!
//! **Left out**: the two links of ECI, between which blocks are shared out; odd and even channels; retries of the link layer; the
//! synchronisation of barriers (GSYNC): a fence of the host is over when its accesses are.
//!
//! | file | what it holds |
//! | --- | --- |
//! | `names` | messages by name, in the host's and the device's direction |
//! | `part` | the keys of a machine's file |

#[path = "coherent_link/names.rs"]
pub mod names;
#[path = "coherent_link/part.rs"]
mod part;

use narthex_kernel::Duration;

use super::Interconnect;
use super::cxl::Link;
use super::cxl::dialect::{Dialect, Limits, LinkStatistics, Taken};
use super::cxl::messages::{Message, Opcode, Way};
use crate::kind::Kind;
use names::Name;
pub use part::Keys;

/// Bytes of a word.
const WORD_BYTES: u32 = 8;

narthex_kernel::statistics! {
    /// What crossed a link.
    pub struct Statistics {
        messages: Tally<Name>, "messages", "messages", "messages by name";
        words: Tally<Way>, "words", "words", "words of 8 bytes that they took, by direction: down is to the device";
        payload: Tally<Way>, "payload", "bytes", "data in them, by direction";
        overhead: Tally<Way>, "overhead", "bytes", "bytes on the wires besides data: headers and checksums";
        busy: Tally<Way>, "busy", "ps", "time for which they had the wires, by direction";
        wait: Tally<Way>, "wait", "ps", "time for which they waited for buffers and for the wires, summed over messages";
    }
}

impl LinkStatistics for Statistics {
    type Name = Name;

    fn carry(&mut self, way: Way, name: Name, Taken { units, payload, overhead, time }: Taken) {
        self.messages.increment(name);
        self.words.add(way, units.into());
        self.payload.add(way, payload);
        self.overhead.add(way, overhead);
        self.busy.add(way, time.as_ps());
    }

    fn wait(&mut self, way: Way, time: Duration) {
        self.wait.add(way, time.as_ps());
    }

    /// None is kept: what a write or a write-back brings goes home at once.
    fn keep(&mut self) {}
}

/// A coherent link with the devices behind it.
pub type CoherentLink = Link<Words>;

/// What an inter-socket protocol calls messages, and how many words they have.
#[derive(Clone, Copy, Debug)]
pub struct Words;

impl Dialect for Words {
    const KIND: &'static str = "coherent-link";
    const PULLS: bool = false;
    type Name = Name;
    type Statistics = Statistics;
    type Keys = Keys;

    fn limits(keys: &Keys) -> Limits {
        keys.limits()
    }

    fn name(message: &Message) -> Name {
        Name::of(message)
    }

    fn name_of_request(opcode: Opcode, kind: Kind) -> Name {
        Name::of_request(opcode, kind)
    }

    fn text(name: Name) -> &'static str {
        name.as_str()
    }

    fn units(message: &Message, block_bytes: u32) -> u32 {
        1 + message.data_bytes(block_bytes).div_ceil(WORD_BYTES)
    }

    fn link(interconnect: &mut Interconnect) -> Option<&mut CoherentLink> {
        match interconnect {
            Interconnect::CoherentLink(link) => Some(link),
            _ => None,
        }
    }
}
