//! The RTL of a tile, as the comparison drives it.

use narthex_fabrics::{Job, Placement};

use super::comparison::{Hardware, Outcome};
use super::stimuli::{Access, InWords, Owned, Stimulus};
use super::{OTHER_PROCESS, Shape};
use crate::models::sarc::MODEL;
use crate::sarc::events::Reader;
use crate::sarc::lines::{LineState, Owner};
use crate::sarc::messages::{Body, Message};
use crate::sarc::regions::RegionTable;
use crate::sarc::registers::{Role, SPACE};
use crate::sarc::rtl::packets;
use crate::sarc::rtl::tile::{Request, Said, Tile};

/// Cycles after which hardware that is not quiet never will be: many times the longest copy.
const MOST_CYCLES: u64 = 20_000;

/// A tile of RTL.
#[derive(Debug)]
pub struct Rtl {
    tile: Tile,
    shape: Shape,
    regions: RegionTable,
    said: Vec<Said>,
}

impl Rtl {
    /// Of a tile that was built for such a shape.
    pub fn new(tile: Tile, shape: Shape) -> Self {
        let config = serde_json::from_value((MODEL.sample)()).expect("the model's sample is sound");
        Rtl { tile, shape, regions: RegionTable::at_start(&config), said: Vec::new() }
    }

    /// The tile.
    pub fn tile_mut(&mut self) -> (&mut Tile, &RegionTable) {
        (&mut self.tile, &self.regions)
    }

    fn offer(&mut self, stimulus: &Stimulus) {
        match stimulus {
            &Stimulus::Access(Access { is_load, address, size, value }) => self.tile.request(Request {
                address,
                is_store: !is_load,
                bytes: size,
                value,
                process: self.shape.tile as u8,
            }),
            Stimulus::Arrives(Message { body: Body::Stored, .. }) => self.tile.arrive(),
            Stimulus::Arrives(message) => {
                let flits = packets::encode(message).expect("the chip's network has such packets alone");
                self.tile.bring(message.body.lane(), &flits);
            }
            &Stimulus::Give { first, lines, owned } => {
                let number = if owned == Owned::ByAnother { OTHER_PROCESS } else { self.shape.tile as u8 };
                let job = Job::whole(Placement { nodes: 1, processes: self.shape.tiles as u8 });
                let shared_with = (owned == Owned::ByAll).then_some(job);
                let owner = Owner { process: narthex_fabrics::Rank(number.into()), number, shared_with };
                let state = LineState { role: Role::Scratchpad, owner: Some(owner), ..LineState::default() };
                (first..first + lines).for_each(|line| self.tile.arrays.set_line(line, &[0; 64], &state));
            }
            &Stimulus::TakeBack { first, lines } => {
                (first..first + lines)
                    .for_each(|line| self.tile.arrays.set_line(line, &[], &LineState::default()));
            }
        }
    }

    fn take(&mut self, outcome: &mut Outcome) {
        for said in self.said.drain(..) {
            match said {
                Said::Answer(answer) => outcome.answers.push(answer.result.ok()),
                Said::Fault(..) => outcome.faults += 1,
                Said::Packet(lane, target, flits) => {
                    let message = match flits.message() {
                        Ok(message) => message,
                        Err(problem) => {
                            outcome.hangs = Some(problem);
                            continue;
                        }
                    };
                    let expected = target_of(&message);
                    if lane != message.body.lane() || u16::from(target) != expected {
                        let words = InWords(&message);
                        outcome.hangs = Some(format!("leaves in lane {lane} for {target}: {words}"));
                    }
                    outcome.packets[usize::from(lane).min(2)].push(message);
                }
                Said::Taken(_) | Said::Begins(..) | Said::Landed(_) | Said::Loses(_) => {}
            }
        }
    }
}

/// The number of the tile to which a packet goes.
fn target_of(message: &Message) -> u16 {
    use crate::sarc::registers::{CHIP_BYTES, WINDOW_BYTES};
    let address = match message.body {
        Body::Write { to, .. } | Body::Acknowledgement { to, .. } => to,
        Body::Read { from, .. } => from,
        Body::Answer { to: (_, tile), .. } => return tile,
        Body::Stored | Body::Returned { .. } => return message.origin.tile,
    };
    (address % CHIP_BYTES / WINDOW_BYTES) as u16
}

impl Hardware for Rtl {
    fn reset(&mut self) {
        self.tile.reset();
    }

    fn happen(&mut self, stimuli: &[Stimulus]) -> Outcome {
        stimuli.iter().for_each(|stimulus| self.offer(stimulus));
        let mut outcome = Outcome::default();
        let begin = self.tile.cycles;
        loop {
            self.tile.cycle(&self.regions, &mut self.said);
            self.take(&mut outcome);
            if self.tile.is_quiet() {
                break;
            }
            if self.tile.cycles - begin > MOST_CYCLES {
                outcome.hangs.get_or_insert("it is never quiet".into());
                break;
            }
        }
        if self.tile.has_flits() {
            outcome.hangs.get_or_insert("flits wait in a lane, and it is quiet".into());
        }
        let accesses = (0..stimuli.len()).filter(|&own| stimuli[own].is_access());
        let taken = accesses.clone().count() - self.tile.waiting_requests().min(accesses.clone().count());
        outcome.lost = accesses.skip(taken).collect();
        outcome.cycles = self.tile.cycles - begin;
        outcome
    }

    fn line(&self, line: usize) -> ([u64; 2], &[u8]) {
        let state = self.tile.arrays.state_words(line);
        let bytes = if state[0] == 0 { &[] } else { self.tile.arrays.bytes(line) };
        (state, bytes)
    }

    /// A processor's has the model's code; of memory's the addresses are kept (`hardware/cache/queues.py`).
    fn request(&self, word: u64) -> u64 {
        const PLACE: u64 = 0x7fff_ffff;
        let address = |place: u64| SPACE.start & !(8 * PLACE + 7) | place << 3;
        if word >> 63 == 1 {
            return word;
        }
        let acknowledge = if word >> 62 & 1 == 1 { address(word & PLACE) } else { 0 };
        Reader::Memory(address(word >> 31 & PLACE), acknowledge).packed().unwrap_or(0)
    }

    fn set_line(&mut self, line: usize, bytes: &[u8], state: LineState) {
        self.tile.arrays.set_line(line, bytes, &state);
    }
}
