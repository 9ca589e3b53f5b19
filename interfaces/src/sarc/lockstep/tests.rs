//! The comparison itself, with a second model in the hardware's place.

use super::comparison::{Counts, Difference, Hardware, Outcome};
use super::hardware::Rtl;
use super::random::{self, Mix};
use super::reference::Reference;
use super::{Shape, Stimulus, timing};
use crate::sarc::lines::LineState;
use crate::sarc::rtl::Tile;
use crate::sarc::rules::Rule;

/// The model in the hardware's place: packets come before accesses, all that comes before jobs.
struct Twin {
    model: Reference,
    without: Option<Rule>,
}

impl Twin {
    fn without(without: Option<Rule>) -> Self {
        Twin { model: Reference::without(&Shape::SMALL, without), without }
    }
}

impl Hardware for Twin {
    fn reset(&mut self) {
        *self = Twin::without(self.without);
    }

    fn happen(&mut self, stimuli: &[Stimulus]) -> Outcome {
        self.model.begin();
        let (mut lost, mut accesses) = (Vec::new(), Vec::new());
        for (number, stimulus) in stimuli.iter().enumerate() {
            if stimulus.is_access() { accesses.push(number) } else { self.model.happen(stimulus) }
        }
        for number in accesses {
            if self.model.waits() { lost.push(number) } else { self.model.happen(&stimuli[number]) }
        }
        self.model.rest();
        let refused = self.model.answers.iter().filter(|answer| answer.is_none()).count();
        Outcome {
            answers: self.model.answers.clone(),
            packets: self.model.left.clone(),
            faults: self.model.refusals - refused,
            lost,
            hangs: None,
            cycles: 1,
        }
    }

    fn line(&self, line: usize) -> ([u64; 2], &[u8]) {
        self.model.line(line)
    }

    fn set_line(&mut self, line: usize, bytes: &[u8], state: LineState) {
        if state.owner.is_some() {
            self.model.set_line(line, bytes, state);
        }
    }
}

/// The RTL, where the environment names its shared object (NARTHEX_SARC_RTL).
fn rtl() -> Option<Rtl> {
    let Some(library) = std::env::var_os("NARTHEX_SARC_RTL") else {
        println!("skipped: NARTHEX_SARC_RTL names no compiled RTL (narthex hardware lockstep compiles it)");
        return None;
    };
    let shape = Shape::SMALL;
    let tile = Tile::load(library.as_ref(), shape.sizes(), shape.tile);
    Some(Rtl::new(tile.unwrap_or_else(|problem| panic!("{problem}")), shape))
}

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().expect("a number"))
}

#[test]
fn the_rtl_does_what_the_model_does() {
    let Some(mut rtl) = rtl() else { return };
    let events = number("NARTHEX_LOCKSTEP_EVENTS", 5_000);
    let seed = number("NARTHEX_LOCKSTEP_SEED", 1);
    let all = [1, 4];
    let at_once = number("NARTHEX_LOCKSTEP_AT_ONCE", 0);
    for at_once in all.into_iter().filter(|&own| at_once == 0 || at_once == own) {
        println!("{:?}", timing::measure(&mut rtl, Shape::SMALL.tile));
        let mix = Mix { unaligned: true, at_once, faults: number("NARTHEX_LOCKSTEP_FAULTS", 10) };
        let begin = std::time::Instant::now();
        let found = random::compare(Shape::SMALL, &mut rtl, (mix, seed, events), &mut |_| true);
        println!("{at_once} at once: {found:?} in {:?}", begin.elapsed());
        if let Err(difference) = found {
            panic!("{difference}");
        }
    }
}

fn compare(without: Option<Rule>, at_once: u64, events: u64) -> Result<Counts, Difference> {
    let mix = Mix { unaligned: true, at_once, faults: 20 };
    random::compare(Shape::SMALL, &mut Twin::without(without), (mix, 1, events), &mut |_| true)
}

#[test]
fn a_model_is_as_itself_and_random_traffic_does_all_that_it_can_do() {
    for at_once in [1, 6] {
        let counts = compare(None, at_once, 20_000).unwrap_or_else(|difference| panic!("{difference}"));
        assert!(counts.events >= 20_000 && counts.packets > 8_000 && counts.answers > 3_000, "{counts:?}");
        assert_eq!(counts.refused > 50, at_once == 1, "{counts:?}");
    }
}

#[test]
fn a_rule_that_the_hardware_does_not_keep_is_found_and_shrunk_to_a_few_stimuli() {
    for (rule, most) in [
        (Rule::LaunchingWhenComplete, 30),
        (Rule::Resetting, 30),
        (Rule::NotifyingAll, 30),
        (Rule::ClearingTheTag, 30),
        (Rule::CountingTwiceRound, 30),
        (Rule::Matching, 30),
        (Rule::AcknowledgingSizes, 30),
    ] {
        let found = compare(Some(rule), 1, 20_000).expect_err(&format!("{rule:?} is found"));
        assert!(found.batches.len() <= most, "{rule:?}: {} stimuli\n{found}", found.batches.len());
    }
}
