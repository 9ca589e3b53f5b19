//! What programs write, on its way to the observer, as it is written, and to the
//! result, which joins the pieces of a line.

use std::collections::BTreeMap;

use narthex_cores::linux::OutputStream;
use narthex_kernel::Time;
use serde::{Deserialize, Serialize};

use super::document::OutputEntry;
use super::progress::Progress;
use crate::node::{Node, Output};

/// What the nodes' programs wrote, in whole lines, each node's in its order.
#[derive(Default, Serialize, Deserialize, Clone)]
pub struct Written {
    all: Vec<Lines>,
    /// Places of those whose last line has not ended, by whose they are.
    unended: BTreeMap<(usize, usize, OutputStream), usize>,
}

/// What was written at once, up to the end of its last line.
#[derive(Clone, Serialize, Deserialize)]
struct Lines {
    /// When it begins.
    at: Time,
    node: usize,
    process: usize,
    stream: OutputStream,
    /// It need not be text.
    bytes: Vec<u8>,
}

impl Written {
    /// The same, in an order that does not depend on where windows ended.
    pub fn in_order(&self) -> Written {
        let mut all: Vec<(usize, Lines)> = self.all.iter().cloned().enumerate().collect();
        all.sort_by_key(|(_, lines)| (lines.at, lines.node));
        let place_of = |before: usize| all.iter().position(|(place, _)| *place == before);
        let unended = self.unended.iter().filter_map(|(&whose, &place)| Some((whose, place_of(place)?)));
        Written { unended: unended.collect(), all: all.into_iter().map(|(_, lines)| lines).collect() }
    }

    /// As results have it: by time, then by node. The order in which it was seen
    /// depends on where windows end.
    pub fn entries(&self) -> Vec<OutputEntry<'_>> {
        let mut all: Vec<&Lines> = self.all.iter().collect();
        all.sort_by_key(|lines| (lines.at, lines.node));
        let entries = all.into_iter().map(|&Lines { at: _, node, process, stream, ref bytes }| OutputEntry {
            node,
            process,
            stream: stream.as_str(),
            text: String::from_utf8_lossy(bytes),
        });
        entries.collect()
    }

    /// Takes out what the nodes have written since the last time, and shows it.
    pub fn collect<'a>(
        &mut self,
        nodes: impl Iterator<Item = &'a mut Node>,
        observer: &mut dyn FnMut(Progress<'_>) -> bool,
    ) {
        for (node, partition) in nodes.enumerate() {
            while let Some(Output { at, process, stream, bytes }) = partition.output.pop_front() {
                observer(Progress::Output { node, process, stream, bytes: &bytes });
                self.add(Lines { at, node, process, stream, bytes });
            }
        }
    }

    /// Adds what was written at once, to a line that has not ended if there is one.
    fn add(&mut self, written: Lines) {
        let whose = (written.node, written.process, written.stream);
        let unended = self.unended.remove(&whose).filter(|&place| place < self.all.len());
        let place = unended.unwrap_or(self.all.len());
        if !written.bytes.ends_with(b"\n") {
            self.unended.insert(whose, place);
        }
        match self.all.get_mut(place) {
            Some(lines) => lines.bytes.extend(written.bytes),
            None => self.all.push(written),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pieces_of_a_line_are_joined_at_the_time_of_the_first() {
        let mut written = Written::default();
        for (at, node, text) in
            [(1, 0, "a"), (2, 1, "node 1\n"), (3, 0, "b"), (4, 0, "c\n"), (5, 0, "d\ne\n"), (6, 0, "f")]
        {
            let (at, bytes) = (Time::from_ps(at), text.into());
            written.add(Lines { at, node, process: 0, stream: OutputStream::Output, bytes });
        }
        let texts: Vec<_> = written.entries().into_iter().map(|lines| lines.text).collect();
        assert_eq!(texts, ["abc\n", "node 1\n", "d\ne\n", "f"]);
    }
}
