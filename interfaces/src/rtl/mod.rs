//! Interfaces whose hardware is simulated as it is: RTL in a model's place.
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`simulation`] | an instance of a design: ports by name, cycles, state, waves |

mod capi;
pub mod simulation;
