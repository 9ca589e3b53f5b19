//! The document of a profile: what results have as their entry `profile`.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use narthex_cores::linux::SourceMap;
use narthex_kernel::Category;
use narthex_machine::activity::{Activity, Occupation};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::recorder::Recorded;
use crate::calls::CodeMap;

/// What code is called that the program's file does not name.
const UNKNOWN: &str = "[unknown]";

/// Behind the names of functions of firmware, which may have those of the program's.
const FIRMWARE: &str = " [firmware]";

/// Where a program's time went.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Document {
    /// The region that was profiled; none: the whole run.
    pub region: Option<String>,
    /// The names of functions.
    pub functions: Vec<String>,
    /// The paths of source files.
    pub files: Vec<String>,
    /// Function, file (none: unknown) and line (0: unknown) of each frame; the function and the
    /// file are places in the lists above. The line of a function that has called another one is
    /// that of the call.
    pub frames: Vec<(usize, Option<usize>, u32)>,
    /// Each stack: the one of which its last function was called, if any, and its last frame.
    pub stacks: Vec<(Option<usize>, usize)>,
    /// The time in picoseconds: node, processor, stack (none: in no function), activity,
    /// occupation and time. Each combination is there once.
    pub rows: Vec<(usize, usize, Option<usize>, String, String, u64)>,
}

/// Puts profiles of processors together.
pub struct Builder {
    document: Document,
    functions: HashMap<String, usize>,
    files: HashMap<String, usize>,
    frames: HashMap<(usize, Option<usize>, u32), usize>,
    stacks: HashMap<(Option<usize>, usize), usize>,
    /// By program.
    expanded: Vec<(Arc<CodeMap>, FramesOfRows)>,
    /// What stands behind the names of functions.
    suffix: &'static str,
}

/// The frames of each row of a program's code, outermost first.
type FramesOfRows = HashMap<u32, Vec<usize>>;

/// The number of a thing in a list, which it joins if it is new.
fn number_of<T: Clone + Eq + std::hash::Hash>(
    known: &mut HashMap<T, usize>,
    list: &mut Vec<T>,
    thing: &T,
) -> usize {
    if let Some(&number) = known.get(thing) {
        return number;
    }
    list.push(thing.clone());
    known.insert(thing.clone(), list.len() - 1);
    list.len() - 1
}

impl Builder {
    /// Nothing yet.
    pub fn new(region: Option<String>) -> Self {
        Builder {
            document: Document { region, ..Document::default() },
            functions: HashMap::new(),
            files: HashMap::new(),
            frames: HashMap::new(),
            stacks: HashMap::new(),
            expanded: Vec::new(),
            suffix: "",
        }
    }

    /// Adds a processor, which runs the program or else firmware.
    pub fn add(&mut self, (node, processor): (usize, usize), is_firmware: bool, recorded: &Recorded) {
        self.suffix = if is_firmware { FIRMWARE } else { "" };
        let (code, mut expanded) = self.expanded_of(recorded.code());
        let source = SourceMap::new(code.program());
        let mut frames_of = |builder: &mut Self, row: u32| -> Vec<usize> {
            expanded.entry(row).or_insert_with(|| builder.expand(&code, &source, row)).clone()
        };
        // The stack of each path's callers: parents come before their children.
        let mut callers: Vec<Option<usize>> = vec![None];
        for (index, path) in recorded.paths.iter().enumerate().skip(1) {
            let above = callers[path.parent as usize];
            let is_called = path.parent != 0;
            let call = if is_called { frames_of(self, path.call) } else { Vec::new() };
            let stack = call.iter().fold(above, |stack, &frame| Some(self.stack(stack, frame)));
            debug_assert_eq!(callers.len(), index);
            callers.push(stack);
        }
        let mut times: BTreeMap<(Option<usize>, usize), u64> = BTreeMap::new();
        for (place, spent) in recorded.places.iter().zip(&recorded.times) {
            if spent.is_empty() {
                continue;
            }
            let own = if place.path == 0 { Vec::new() } else { frames_of(self, place.row) };
            let caller = callers[place.path as usize];
            let stack = own.iter().fold(caller, |stack, &frame| Some(self.stack(stack, frame)));
            for (category, time_ps) in spent {
                *times.entry((stack, *category)).or_default() += time_ps;
            }
        }
        self.document.rows.extend(times.into_iter().map(|((stack, category), time_ps)| {
            let (activity, occupation) = (
                Activity::of_index(category / Occupation::COUNT),
                Occupation::ALL[category % Occupation::COUNT],
            );
            let names = (activity.as_str().to_owned(), occupation.as_str().to_owned());
            (node, processor, stack, names.0, names.1, time_ps)
        }));
        self.expanded.push((code, expanded));
    }

    /// Takes out what is known of a program.
    fn expanded_of(&mut self, code: &Arc<CodeMap>) -> (Arc<CodeMap>, HashMap<u32, Vec<usize>>) {
        match self.expanded.iter().position(|(known, _)| Arc::ptr_eq(known, code)) {
            Some(place) => self.expanded.swap_remove(place),
            None => (code.clone(), HashMap::new()),
        }
    }

    /// The frames of a row of code, outermost first.
    fn expand(&mut self, code: &CodeMap, source: &SourceMap<'_>, row: u32) -> Vec<usize> {
        if row == CodeMap::NOWHERE {
            return vec![self.frame(UNKNOWN, None, 0)];
        }
        let mut frames = source.frames(code.row(row).address);
        frames.reverse();
        let frame = |frame: narthex_cores::linux::SourceFrame| {
            let name = frame.function.as_deref().unwrap_or(UNKNOWN);
            let line = frame.line.as_ref();
            let file = line.map(|line| line.file.as_str());
            self.frame(name, file, line.and_then(|line| line.line).unwrap_or(0))
        };
        frames.into_iter().map(frame).collect()
    }

    fn frame(&mut self, function: &str, file: Option<&str>, line: u32) -> usize {
        let Document { functions, files, frames, .. } = &mut self.document;
        let function = number_of(&mut self.functions, functions, &format!("{function}{}", self.suffix));
        let file = file.map(|file| number_of(&mut self.files, files, &file.to_owned()));
        number_of(&mut self.frames, frames, &(function, file, line))
    }

    fn stack(&mut self, above: Option<usize>, frame: usize) -> usize {
        number_of(&mut self.stacks, &mut self.document.stacks, &(above, frame))
    }

    /// The document.
    pub fn build(self) -> Value {
        serde_json::to_value(self.document).expect("it is plain data")
    }
}
