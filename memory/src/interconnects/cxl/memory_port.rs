//! The host's end of CXL.mem: what requests of the host for blocks of a device wait for.
//!
//! ```text
//!   a home works on a request: asked ─► (MemRdData, Req MemRd, MemInv) ─► answered ─► the home goes on
//! ```
//!
//! The directory of a device's blocks stands at the host's port: it knows which caches of the host have them, as
//! the snoop filter of a real host does, and works on one transaction of a block at a time. The device knows
//! what the host may have as a whole, as the coherence engine of an HDM-DB device does: nothing, shared copies, or
//! the block alone. So the directory asks the device when that changes or bytes are missing, and holds the request
//! until the answer is here. The device's own requests (BISnp) wait at the directory like any others.
//!
//! **No request passes what was sent before it.** A MemRd behind the MemWr of its block finds the bytes in the
//! device's memory; a MemRd behind the BIRsp of its block finds the device knowing that the copies are gone. The
//! model checker finds what goes wrong where a request passes. A MemRd and a BISnp of one block may cross: the device
//! answers from what it has, and the directory works on the BISnp after that, so that it takes the
//! copy away that the answer has given.
//!
//! `D` stands for a block's bytes: the model checker runs the same code with how new they are.

use serde::{Deserialize, Serialize};

/// What a directory is told when it asks a home behind the link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Told<D> {
    /// A request has to go over the link.
    Nothing,
    /// It is under way.
    Later,
    /// The answer, with the bytes if they were asked for.
    Answer(Option<D>),
}

/// The blocks of devices for which the directory holds a request.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct MemoryPort<D> {
    /// With the answers that are here.
    asked: Vec<(u64, Option<Option<D>>)>,
}

impl<D> Default for MemoryPort<D> {
    fn default() -> Self {
        MemoryPort { asked: Vec::new() }
    }
}

impl<D> MemoryPort<D> {
    /// The directory asks for a block: it takes the answer if that is here.
    pub fn ask(&mut self, block: u64) -> Told<D> {
        let Some(place) = self.asked.iter().position(|(asked, _)| *asked == block) else {
            self.asked.push((block, None));
            return Told::Nothing;
        };
        match self.asked[place].1.take() {
            None => Told::Later,
            Some(answer) => {
                self.asked.remove(place);
                Told::Answer(answer)
            }
        }
    }

    /// The device has answered.
    pub fn answer(&mut self, block: u64, data: Option<D>) {
        let asked = self.asked.iter_mut().find(|(asked, _)| *asked == block);
        asked.expect("the device was asked").1 = Some(data);
    }

    /// How many blocks wait.
    pub fn count(&self) -> usize {
        self.asked.len()
    }

    /// The bytes that are kept here.
    pub fn data(&mut self) -> impl Iterator<Item = &mut D> {
        self.asked.iter_mut().filter_map(|(_, answer)| answer.as_mut()?.as_mut())
    }
}
