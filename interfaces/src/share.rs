//! Which processes of a node an interface serves, where the node has several interfaces.
//!
//! The processes take the interfaces in turn, in order: of n interfaces, process p has the one with
//! the number p mod n. So each interface has as many processes as any other, or one fewer, and a rank
//! tells which interface a packet for it is to come to.

/// The processes that one of a node's interfaces serves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Share {
    /// The interface's number among those of the node.
    pub own: u8,
    /// How many interfaces there are.
    pub of: u8,
}

impl Share {
    /// That of the only interface of a node.
    pub const WHOLE: Share = Share { own: 0, of: 1 };

    /// The processes that it serves, of this many on the node.
    pub fn processes(self, all: u8) -> impl Iterator<Item = u8> {
        (self.own..all).step_by(self.of.into())
    }

    /// Whether it serves a process.
    pub fn serves(self, process: u8) -> bool {
        process % self.of == self.own
    }

    /// Whose half it is, of an interface with a pair of halves for each process.
    pub fn process_of(self, half: usize) -> u8 {
        self.own + self.of * (half / 2) as u8
    }

    /// The place of the send half of a process that it serves; the receive half follows.
    pub fn send_half(self, process: u8) -> usize {
        2 * usize::from(process / self.of)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_take_the_interfaces_in_turn() {
        let shares = [0, 1].map(|own| Share { own, of: 2 });
        assert_eq!(shares.map(|share| share.processes(5).collect::<Vec<_>>()), [vec![0, 2, 4], vec![1, 3]]);
        for share in shares {
            for (place, process) in share.processes(5).enumerate() {
                assert!(share.serves(process) && !share.serves(process + 1));
                assert_eq!(share.send_half(process), 2 * place);
                assert_eq!([0, 1].map(|half| share.process_of(2 * place + half)), [process; 2]);
            }
        }
    }
}
