//! Between what a message goes: two processes, with what serves them on their nodes.

use narthex_fabrics::Rank;
use narthex_machine::node::{Agent, Node};

/// One end: a process of the run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct End {
    /// Its node's number.
    pub node: usize,
    /// What packets call it.
    pub rank: Rank,
    /// Its place among the node's processes.
    pub process: usize,
    /// Its first processor.
    pub processor: usize,
    /// The ports of the interface that send for it.
    pub sends: Vec<usize>,
    /// Those that receive for it.
    pub receives: Vec<usize>,
}

impl End {
    /// The process with this rank.
    fn of_rank(nodes: &[Node], rank: usize) -> Self {
        let each = nodes[0].programs();
        let (node, process) = (rank / each, rank % each);
        let at = &nodes[node];
        let ports = |receives| at.interface_ports(process, receives).collect();
        End {
            node,
            rank: Rank(rank as u16),
            process,
            processor: at.processes[process].processors.start,
            sends: ports(false),
            receives: ports(true),
        }
    }

    /// A tile of a chip, whose part of the interface has the tile's number.
    fn of_tile(chip: &Node, tile: usize) -> Self {
        let owns = |process: usize| chip.processes[process].processors.contains(&tile);
        let process = (0..chip.programs()).find(|&process| owns(process)).unwrap_or(0);
        let ports = vec![tile];
        End {
            node: 0,
            rank: Rank(tile as u16),
            process,
            processor: tile,
            sends: ports.clone(),
            receives: ports,
        }
    }

    /// The processor as transactions name it.
    pub fn agent(&self) -> Agent {
        Agent::Processor(self.processor)
    }
}

/// The end that sends, and the one that receives.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ends {
    /// Both.
    pub each: [End; 2],
    /// They are tiles of one chip.
    pub are_tiles: bool,
}

/// The numbers of the processes, or tiles, between which it goes; where none is given, it begins
/// at the first one, and ends at the first one of the next node, or at the next tile.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Chosen {
    /// The one that sends.
    pub from: Option<usize>,
    /// The one that receives.
    pub to: Option<usize>,
}

impl Chosen {
    /// Both; `next` is the first of another node, or the next tile.
    pub fn numbers(self, next: usize) -> [usize; 2] {
        let to = self.to.unwrap_or(if self.from.unwrap_or(0) == next { 0 } else { next });
        [self.from.unwrap_or(if to == 0 { next } else { 0 }), to]
    }
}

impl Ends {
    /// Those of a run that is about to start. The numbers are of tiles where a transfer or a lock
    /// goes from `tile` to tile, and ranks otherwise.
    ///
    /// # Errors
    /// Why there are none, in words.
    pub fn of(nodes: &[Node], chosen: Chosen, of_tiles: bool) -> Result<Self, String> {
        let are_tiles = nodes.len() == 1 && nodes[0].tiles() > 0;
        let each = nodes[0].programs();
        let (what, all) = match (are_tiles, of_tiles) {
            (true, true) => ("tiles", nodes[0].tiles()),
            _ => ("ranks", nodes.len() * each),
        };
        let numbers = chosen.numbers(if are_tiles { 1 } else { each });
        if let Some(number) = numbers.into_iter().find(|&number| number >= all) {
            return Err(format!("there is no {} {number}: the run has {all} {what}", &what[..4]));
        }
        if numbers[0] == numbers[1] {
            return Err(format!("it goes from {} {} to itself", &what[..4], numbers[0]));
        }
        let tile_of = |number: usize| match of_tiles {
            true => number,
            false => nodes[0].processes[number].processors.start,
        };
        let each = match are_tiles {
            true => numbers.map(|number| End::of_tile(&nodes[0], tile_of(number))),
            false => numbers.map(|rank| End::of_rank(nodes, rank)),
        };
        if !are_tiles && each[0].node == each[1].node {
            return Err(format!(
                "ranks {} and {} are both on node {}: between them nothing crosses the network",
                numbers[0], numbers[1], each[0].node
            ));
        }
        Ok(Ends { each, are_tiles })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_life_goes_from_the_first_process_to_the_first_one_of_the_next_node() {
        let chosen = |from, to| Chosen { from, to }.numbers(4);
        assert_eq!(chosen(None, None), [0, 4]);
        assert_eq!(chosen(Some(4), None), [4, 0]);
        assert_eq!(chosen(None, Some(0)), [4, 0]);
        assert_eq!(chosen(Some(1), Some(6)), [1, 6]);
    }
}
