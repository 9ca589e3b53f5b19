//! What happens to the tiles of the scenarios along paths of the exploration that are drawn at
//! random, for the lock-step of their RTL with the model.

use narthex_interfaces::sarc::lockstep::{Owned, Stimulus};
use narthex_kernel::random::Stream;

use super::program::Running;
use super::scenarios;
use super::world::{DeviceContext, LINES};
use crate::explore::System;

/// Most events of a path: loads of programs that wait repeat without end.
const MOST_EVENTS: usize = 400;

/// The stimuli of one tile along one path.
#[derive(Clone, Debug)]
pub struct Trace {
    /// The scenario.
    pub name: &'static str,
    /// The tile.
    pub tile: u16,
    /// What happens to it, one after the other.
    pub stimuli: Vec<Stimulus>,
}

/// So many paths of each scenario, tile by tile.
pub fn draw(seed: u64, paths: u64) -> Vec<Trace> {
    let mut random = Stream::new(seed, "paths of scenarios");
    let mut traces = Vec::new();
    for _ in 0..paths {
        for scenario in scenarios::all() {
            let (name, tiles) = (scenario.name, scenario.programs.len());
            let mut running =
                Running { scenario, without: None, around: DeviceContext::new(), records: true };
            let mut world = running.start().expect("a scenario begins as the hardware allows");
            for _ in 0..MOST_EVENTS {
                let events = running.events(&world);
                if events.is_empty() {
                    break;
                }
                let event = events[random.below(events.len() as u64) as usize];
                world = running.next(&world, event, None).expect("the model keeps to its rules");
            }
            for tile in 0..tiles {
                let own = world.happened.iter().flatten().filter(|(at, _)| usize::from(*at) == tile);
                let given = Stimulus::Give { first: 0, lines: LINES, owned: Owned::ByAll };
                let stimuli = std::iter::once(given).chain(own.map(|&(_, stimulus)| stimulus)).collect();
                traces.push(Trace { name, tile: tile as u16, stimuli });
            }
        }
    }
    traces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_have_accesses_and_packets_of_each_scenario_and_are_the_same_again() {
        let traces = draw(1, 2);
        let length =
            |name| traces.iter().filter(|own| own.name == name).map(|own| own.stimuli.len()).sum::<usize>();
        for scenario in scenarios::all() {
            assert!(length(scenario.name) > 20, "{}: {}", scenario.name, length(scenario.name));
        }
        let arrives = |stimulus: &&Stimulus| matches!(stimulus, Stimulus::Arrives(_));
        let of = |traces: &[Trace]| traces.iter().flat_map(|own| own.stimuli.clone()).collect::<Vec<_>>();
        assert!(of(&traces).iter().filter(arrives).count() > 50);
        assert_eq!(of(&traces), of(&draw(1, 2)));
    }
}
