//! A tile as hardware: the RTL of `hardware/cache`, simulated, in the place of the model.
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`packets`] | packets as flits |
//! | [`arrays`] | states, tags and words, which are ports of the RTL |
//! | [`tile`] | an instance with its arrays: requests, packets and answers in clock cycles |

pub mod arrays;
pub mod packets;
pub mod tile;

pub use tile::{Said, Tile};
