//! A tile as hardware: the RTL of `hardware/cache`, simulated, in the place of the model.
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`packets`] | packets as flits |
//! | [`arrays`] | states, tags and words, which are ports of the RTL |
//! | [`ports`] | its ports and sizes |
//! | [`tile`] | an instance with its arrays: requests, packets and answers in clock cycles |
//! | [`parameters`] | what it was built with |
//! | [`device`] | a chip whose tiles are hardware, under programs |

pub mod arrays;
pub mod device;
pub mod packets;
pub mod parameters;
pub mod ports;
pub mod tile;

pub use device::RtlSarc;
pub use parameters::Parameters;
pub use ports::Sizes;
pub use tile::{Said, Tile};
