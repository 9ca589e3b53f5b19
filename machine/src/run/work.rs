//! Whether a program does work of its own in a run without messages.
//!
//! A program may compute for as long as it likes. One that turns in a loop and
//! changes nothing does not compute: after a turn, its registers and all of its
//! node's memory are what they were. So a program is looked at again and again,
//! and once its registers are as they were at an earlier look, the memory is
//! compared from then on:
//!
//! ```text
//!   look    look    look    look    look    look
//!    A       B       C       A       B       A ──► registers A again, memory as before:
//!                            └── memory ─────┘     it turns in place
//! ```
//!
//! All looks are at instants that follow from the run alone, so the answer is the
//! same for any number of threads, and whether wait loops are computed or executed.

use std::collections::HashSet;
use std::ops::ControlFlow;

use narthex_kernel::Duration;
use narthex_kernel::partition::Partition;
use narthex_kernel::simulation::{Ending, Limits, Simulation};

use crate::node::Node;
use crate::partition::Part;

/// Time from one look to the next: some turns of a short loop, and a number with
/// many divisors, so that looks at a loop soon meet the same instruction.
const INTERVAL: Duration = Duration::from_ns(300);
/// Looks before a program is taken to work.
const LOOKS: usize = 1_000;

/// A program that may turn in place.
struct Suspect {
    node: usize,
    processor: usize,
    /// What its registers have been.
    seen: HashSet<u128>,
    /// Registers that were seen twice, and the memory then.
    anchor: Option<(u128, u128)>,
}

/// What a look has shown.
enum Shown {
    Nothing,
    Turns,
    Works,
}

impl Suspect {
    fn look(&mut self, node: &Node) -> Shown {
        let registers = node.registers_digest(self.processor);
        match self.anchor {
            None if !self.seen.insert(registers) => {
                self.anchor = Some((registers, node.memory_digest()));
                Shown::Nothing
            }
            Some((at, memory)) if at == registers => {
                if memory == node.memory_digest() {
                    Shown::Turns
                } else {
                    Shown::Works
                }
            }
            _ => Shown::Nothing,
        }
    }
}

/// Lets a run without progress go on for a short time, to see whether a program
/// works that is in no wait of the messaging library.
pub fn any_program_works(simulation: &mut Simulation<Part>) -> bool {
    let mut suspects = suspects(simulation);
    let progress = progress(simulation);
    for _ in 0..LOOKS {
        let until = simulation.now().saturating_add(INTERVAL);
        if suspects.is_empty() {
            return false;
        }
        let limits = Limits { until, ..Limits::default() };
        match simulation.run_alone(&limits, &mut |_, _| ControlFlow::Continue(())) {
            Ending::TimeLimit => {}
            Ending::NoProgress(_) => return false,
            _ => return true,
        }
        if self::progress(simulation) != progress || look(simulation, &mut suspects) {
            return true;
        }
    }
    true
}

fn suspects(simulation: &mut Simulation<Part>) -> Vec<Suspect> {
    let now = simulation.now();
    let mut suspects = Vec::new();
    for (number, node) in simulation.partitions_mut().filter_map(Part::node_mut).enumerate() {
        node.rest_at(now);
        node.note_polls();
        let of_node = node.at_own_work().into_iter();
        suspects.extend(of_node.map(|processor| Suspect {
            node: number,
            processor,
            seen: HashSet::new(),
            anchor: None,
        }));
    }
    suspects
}

/// Looks at all suspects; true if one of them works. Those that turn are none any more.
fn look(simulation: &mut Simulation<Part>, suspects: &mut Vec<Suspect>) -> bool {
    let now = simulation.now();
    let mut works = false;
    for (number, node) in simulation.partitions_mut().filter_map(Part::node_mut).enumerate() {
        if !suspects.iter().any(|suspect| suspect.node == number) {
            continue;
        }
        node.rest_at(now);
        suspects.retain_mut(|suspect| {
            let shown = if suspect.node == number { suspect.look(node) } else { Shown::Nothing };
            works |= matches!(shown, Shown::Works);
            !matches!(shown, Shown::Turns)
        });
    }
    works
}

fn progress(simulation: &mut Simulation<Part>) -> u64 {
    simulation.partitions().fold(0, |total, node| total.wrapping_add(node.progress()))
}
