//! Network interfaces: the trait, the taxonomy of their names, and the models.
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`taxonomy`] | names such as CNI32Qm, parsed |
//! | [`attachment`] | where in a node an interface is, and the choice of both |
//! | [`device`] | the trait of a device: seats on interconnects |
//! | [`side`] | the trait of half an interface, and the contract above it |
//! | [`models`] | the models, one a file |
//! | [`fifo`] | the FIFOs that uncached models share |
//! | [`cachable_queue`] | the engines that coherent models share |
//! | [`cachable_register`] | the halves of interfaces with cachable device registers |
//! | [`rules`] | which halves and which pairs of them make sense |
//! | [`ingredient`] | rules that the model checker may leave out |
//! | [`interface`] | a whole interface, found by name and composed of halves |
//! | [`without_effect`] | parameters that an interface does not use |
//! | [`registers`] | addresses and registers; the guest's C header |
//! | [`queue`] | what half an interface holds |
//! | [`places`] | addresses in words |

pub mod attachment;
pub mod cachable_queue;
pub mod cachable_register;
pub mod device;
pub mod fifo;
pub mod ingredient;
pub mod interface;
pub mod models;
pub mod places;
pub mod queue;
pub mod registers;
pub mod rules;
pub mod side;
pub mod taxonomy;
pub mod without_effect;

pub use attachment::{Attached, Attachment};
pub use device::{Device, DeviceSeat};
pub use ingredient::Ingredient;
pub use interface::{Interface, InterfaceError};
pub use queue::QueueState;
pub use side::{Context, Layout, RegisterFault, Side, SideState};
pub use taxonomy::Name;
