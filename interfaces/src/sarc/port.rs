//! The second level's port, for which packets and the processor compete (Section 3: "a phased,
//! pipelined L2 cache (1 access per cycle)").
//!
//! A packet has the port for its bytes, `width` of them in a cycle, without a gap:
//!
//! | who | waits for the port |
//! | --- | --- |
//! | a packet that comes | no: the network is not held up |
//! | a packet that leaves | yes, and the engine with it; its header is made meanwhile |
//! | the processor | yes: to scratchpad here, with its caches' misses in the processor, which is told |
//!
//! Of the processor's accesses each has the port for a cycle, too short to be worth a packet's wait.

use narthex_kernel::{Duration, Time};

use super::device::Sarc;
use super::messages::Body;
use crate::half::Context;
use crate::on_chip::End;

impl Sarc {
    /// A packet moves its bytes between the network and the second level of its end, if that is a
    /// tile, when `after` is over: for how long it waits for the port then.
    pub(super) fn take_port(
        &mut self,
        context: &mut Context<'_>,
        (at, after): (End, Duration),
        body: &Body,
    ) -> Duration {
        let (End::Tile(tile), Some(bytes)) = (at, body.second_level_bytes()) else { return Duration::ZERO };
        let config = &self.build.config;
        let cycles = u64::from(bytes).div_ceil(config.width.as_u64()) as u32;
        let time = config.cycles(cycles);
        let own = &mut self.state.tiles[usize::from(tile)].port_busy_until;
        let asked = context.now + after;
        let begin = asked.max(*own);
        *own = begin + time;
        context.on_chip.busy_ports.push((tile, *own - context.now));
        begin - asked
    }

    /// An access of the processor waits for the packet that has the port.
    pub(super) fn wait_for_port(&mut self, context: &Context<'_>, tile: u16) {
        let until: Time = self.state.tiles[usize::from(tile)].port_busy_until;
        if until > context.now {
            self.statistics.port_waits.increment();
            self.state.answer_time += until - context.now;
        }
    }
}
