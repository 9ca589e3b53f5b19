//! Network interfaces: the trait, their names, and the models.
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`name`] | names such as CNI32Qm, which the models read |
//! | [`taxonomy`] | the notation of both studies, for the models whose names are in it |
//! | [`attachment`] | where in a node an interface is, and the choice of both |
//! | [`device`] | the trait of a device: ports on interconnects |
//! | [`device_call`] | what a program asks of a device through the operating system |
//! | [`dma_engine`] | a device that copies bytes between memories |
//! | [`half`] | the trait of half an interface, and the contract above it |
//! | [`description`] | what halves and devices say of themselves to composer, observers and checkers |
//! | [`host_memory`] | how interfaces read and write parts of the host's blocks |
//! | [`models`] | the models, one a file |
//! | [`fifo`] | the FIFOs that uncached models share |
//! | [`thread_choice`] | the choice of a core's next thread by its interface |
//! | [`cachable_queue`] | the engines that coherent models share |
//! | [`cachable_register`] | the halves of interfaces with cachable device registers |
//! | [`pio_coherent`] | the halves of an interface that holds loads of its lines |
//! | [`rtl`] | interfaces whose hardware is simulated as it is |
//! | [`rules`] | which pairs of halves make sense |
//! | [`via`] | the device of Eager Data Transfer and of the schemes that it is compared with |
//! | [`voyager`] | the device of StarT-Voyager |
//! | [`pcie_bench`] | pcie-bench's card, which measures a host |
//! | [`on_chip`] | what a device with a port in each tile asks of its node |
//! | [`sarc`] | the device of SARC's cache-integrated interfaces |
//! | [`interface`] | a whole interface, found by name and composed of halves |
//! | [`share`] | which processes it serves, where a node has several |
//! | [`without_effect`] | parameters that an interface does not use |
//! | [`programming`] | what a program sees of a model: driver, registers, facts |
//! | [`information`] | the information page, on which a program finds the facts |
//! | [`registers`] | where an interface lies in the guest's addresses |
//! | [`declarations`] | what all models declare of that, each thing once |
//! | [`headers`] | the guest's C headers |
//! | [`queue`] | what half an interface holds |
//! | [`address_names`] | addresses in words |

pub mod address_names;
pub mod attachment;
pub mod cachable_queue;
pub mod cachable_register;
pub mod coherent_ring;
pub mod declarations;
pub mod description;
pub mod device;
pub mod device_call;
pub mod dma_engine;
pub mod fifo;
pub mod forwarder;
pub mod half;
pub mod headers;
pub mod host_memory;
pub mod information;
pub mod interface;
pub mod models;
pub mod moderation;
pub mod name;
pub mod on_chip;
pub mod pcie_bench;
pub mod pio_coherent;
pub mod programming;
pub mod queue;
pub mod registers;
pub mod relaxed_ordering;
pub mod ring;
pub mod rtl;
pub mod rules;
pub mod sarc;
pub mod share;
pub mod taxonomy;
pub mod thread_choice;
pub mod vectors;
pub mod verbs;
pub mod via;
pub mod virtio;
pub mod voyager;
pub mod without_effect;

pub use attachment::{Attached, Attachment, Hearing};
pub use description::{DeviceDescription, DevicePort, HalfDescription, HalfState, LargestPacket, Layout};
pub use device::Device;
pub use half::{Context, InterfaceHalf, RegisterFault};
pub use interface::{Interface, InterfaceError};
pub use name::{HalfName, Name};
pub use queue::{LazyHead, QueueState};
pub use share::Share;
