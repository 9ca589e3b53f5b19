//! What programs write, on its way to the observer and to the result.

use narthex_cores::linux::OutputStream;
use narthex_kernel::Time;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Progress;
use crate::node::Node;

/// What the nodes' programs wrote, each node's in its order.
#[derive(Default, Serialize, Deserialize)]
pub struct Written {
    lines: Vec<Line>,
}

#[derive(Serialize, Deserialize)]
struct Line {
    at: Time,
    node: usize,
    process: usize,
    stream: String,
    text: String,
}

impl Written {
    /// As results have it: by time, then by node. The order in which it was seen
    /// depends on where windows end.
    pub fn to_json(&self) -> Value {
        let mut lines: Vec<&Line> = self.lines.iter().collect();
        lines.sort_by_key(|line| (line.at, line.node));
        let json = |line: &Line| {
            let Line { at: _, node, process, stream, text } = line;
            json!({ "node": node, "process": process, "stream": stream, "text": text })
        };
        lines.into_iter().map(json).collect()
    }

    /// Takes out what the nodes have written since the last time, and shows it.
    pub fn collect<'a>(
        &mut self,
        nodes: impl Iterator<Item = &'a mut Node>,
        observer: &mut dyn FnMut(Progress<'_>) -> bool,
    ) {
        for (node, partition) in nodes.enumerate() {
            while let Some(output) = partition.output.pop_front() {
                let bytes = &output.bytes;
                let stream = match output.stream {
                    OutputStream::Output => "stdout",
                    OutputStream::Error => "stderr",
                };
                let text = String::from_utf8_lossy(bytes).into_owned();
                let process = output.process;
                self.lines.push(Line { at: output.at, node, process, stream: stream.to_owned(), text });
                observer(Progress::Output { node, process, stream: output.stream, bytes });
            }
        }
    }
}
