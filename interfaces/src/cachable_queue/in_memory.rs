//! Queues whose home is main memory, each as long as the machine's file says. A
//! longer receive queue holds more messages than the processor can take; a longer
//! send queue is only colder in its cache.

use super::QueueShape;
use crate::models::{Problem, Setup};

/// The send queue, of `blocks` blocks.
pub fn send_queue(setup: &Setup<'_>, blocks: u64) -> Result<QueueShape, Problem> {
    shape(setup, setup.addresses.send_queue(), blocks, "send_queue_blocks")
}

/// The receive queue, of `blocks` blocks.
pub fn receive_queue(setup: &Setup<'_>, blocks: u64) -> Result<QueueShape, Problem> {
    shape(setup, setup.addresses.receive_queue(), blocks, "receive_queue_blocks")
}

fn shape(setup: &Setup<'_>, address: u64, blocks: u64, key: &str) -> Result<QueueShape, Problem> {
    QueueShape::new(address, blocks, setup.packet_bytes, setup.block_bytes)
        .map_err(|problem| Problem { key: key.into(), problem })
}
