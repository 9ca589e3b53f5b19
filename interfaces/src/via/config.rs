//! The parameters of a via device.

use narthex_kernel::Duration;
use narthex_kernel::quantity::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::registers::{MOST_VIS, Scheme};
use crate::models::Problem;

/// How the blocks of a registered region become the interface's to watch (Section 4).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Initialisation {
    /// The interface reads every block; both have it shared then.
    BusRead,
    /// The interface invalidates every block, which the caches write home first.
    Invalidate,
}

/// What becomes of a registration for whose copy the interface has no memory or no tags
/// (Section 5).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WhenFull {
    /// It has no copy: its data go by DMA.
    FallBack,
    /// It waits until another registration has been taken back.
    Postpone,
}

/// The parameters of a via device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Time that an access to a doorbell or a register takes beyond the interconnect's own
    /// cycles.
    pub register_access_time: Duration,
    /// Time of an access to the interface's memory: by a window, or to supply a block.
    pub memory_access_time: Duration,
    /// Doorbells that wait for the firmware; a store to another one is tried again.
    #[schemars(range(min = 1, max = 65536))]
    pub doorbells: u32,
    /// Commands of the kernel agent that wait for the firmware.
    #[schemars(range(min = 1, max = 65536))]
    pub commands: u32,
    /// VIs of a node.
    #[schemars(range(min = 1, max = 256))]
    pub vis: u32,
    /// Regions of memory that a node may have registered at a time.
    #[schemars(range(min = 1, max = 65536))]
    pub regions: u32,
    /// Completion queues of a node.
    #[schemars(range(min = 1, max = 65536))]
    pub completion_queues: u32,
    /// Bytes of user data in a packet (MTU).
    pub mtu: Bytes,
    /// Slots of the interface's memory that can be free for received packets.
    #[schemars(range(min = 1, max = 65536))]
    pub receive_slots: u32,
    /// Messages of a VI for which the packet-to-address table has a place at a time.
    #[schemars(range(min = 1, max = 256))]
    pub places: u32,
    /// What the network-side DMA moves in a second, in either direction.
    pub network_bytes_per_second: Bytes,
    /// Registered regions that the interface can watch.
    #[schemars(range(min = 1, max = 65536))]
    pub tags: u32,
    /// Time from a write that the interface sees to its fetch of the block.
    pub reaction_time: Duration,
    /// How a region's blocks become the interface's to watch.
    pub initialisation: Initialisation,
    /// What becomes of a registration without room for its copy.
    pub when_full: WhenFull,
    /// Cycles of the interface's processor that a message takes on each side beside the
    /// instructions of the firmware: for what another message layer does and this one does not.
    #[schemars(range(max = 1_000_000))]
    pub message_layer_cycles: u32,
}

/// Ten milliseconds of a processor of 100 MHz: no message layer takes that.
const MOST_LAYER_CYCLES: u32 = 1_000_000;

/// Others with whose packets a process shares its window (`guest/messaging/driver_via.c`).
const MOST_PEERS_BY_WINDOW: u32 = 17;

/// The largest packet: its header counts bytes in sixteen bits.
const MOST_MTU: u64 = 65_528;

impl Config {
    /// Refuses what a via device cannot work with.
    ///
    /// # Errors
    /// The key of the parameter, and what is allowed.
    pub fn check(&self) -> Result<(), Problem> {
        let refuse = |key: &str, problem: String| Err(Problem { key: key.into(), problem });
        let counts = [
            ("doorbells", self.doorbells, 65_536),
            ("commands", self.commands, 65_536),
            ("vis", self.vis, MOST_VIS),
            ("regions", self.regions, 65_536),
            ("completion_queues", self.completion_queues, 65_536),
            ("receive_slots", self.receive_slots, 65_536),
            ("places", self.places, 256),
            ("tags", self.tags, 65_536),
        ];
        if self.message_layer_cycles > MOST_LAYER_CYCLES {
            let problem = format!("{} is not from 0 to {MOST_LAYER_CYCLES}", self.message_layer_cycles);
            return refuse("message_layer_cycles", problem);
        }
        for (key, value, most) in counts {
            if !(1..=most).contains(&value) {
                return refuse(key, format!("{value} is not from 1 to {most}"));
            }
        }
        let mtu = self.mtu.as_u64();
        if mtu == 0 || mtu > MOST_MTU || !mtu.is_multiple_of(4) {
            return refuse("mtu", format!("{} is not a multiple of 4B from 4B to {MOST_MTU}B", self.mtu));
        }
        if self.network_bytes_per_second.as_u64() == 0 {
            return refuse(
                "network_bytes_per_second",
                "0B would take for ever; expected such as 1600MB".into(),
            );
        }
        Ok(())
    }

    /// Why the messages of a node's processes cannot all go by its interface, with the key that
    /// would help; of each process, how many others it has.
    pub fn too_many_peers(&self, scheme: Scheme, peers: &[u32]) -> Option<String> {
        let most = peers.iter().copied().max()?;
        let by_window = matches!(scheme, Scheme::ProgrammedIo | Scheme::ProgrammedIoCombining);
        if by_window && most > MOST_PEERS_BY_WINDOW {
            return Some(format!(
                "machine.nodes: {} processes are too many for programmed I/O, whose window has room for the \
                 packets of {MOST_PEERS_BY_WINDOW} others; expected at most {} processes on all nodes",
                most + 1,
                MOST_PEERS_BY_WINDOW + 1
            ));
        }
        let (needed, vis) = (peers.iter().sum::<u32>(), self.vis);
        (needed > vis).then(|| {
            let expected = match needed <= MOST_VIS {
                true => format!("expected from {needed} to {MOST_VIS}, or fewer processes"),
                false => format!("the most is {MOST_VIS}; expected fewer processes"),
            };
            format!(
                "interfaces.via.vis: {vis} is too few: messages take a VI from each process to each other one, \
                 which are {needed} on a node; {expected}"
            )
        })
    }

    /// How long the network-side DMA takes for so many bytes.
    pub fn network_time(&self, bytes: u64) -> Duration {
        const PS_PER_SECOND: u128 = 1_000_000_000_000;
        let ps = u128::from(bytes) * PS_PER_SECOND;
        Duration::from_ps(ps.div_ceil(self.network_bytes_per_second.as_u64().into()) as u64)
    }
}
