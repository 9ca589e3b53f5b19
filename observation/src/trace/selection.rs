//! What of a run its timeline shows: which nodes, from when to when.

use std::path::PathBuf;

use narthex_kernel::{Duration, Time};
use narthex_machine::Failure;
use serde::{Deserialize, Serialize};

use super::output::Page;

/// The timeline of a run. It never changes what comes of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TraceRequest {
    /// The file: for a viewer of waveforms if it ends in `.vcd`, for Perfetto if
    /// not; compressed if `.gz` follows.
    pub file: PathBuf,
    /// The page that is to hold it, for a browser.
    #[serde(default)]
    pub page: Option<Page>,
    /// Whether it shows the functions that programs are in.
    #[serde(default)]
    pub functions: bool,
    /// The nodes ("0,3-5"); all if not given.
    #[serde(default)]
    pub nodes: Option<String>,
    /// The simulated time at which it begins ("10us"); the run's begin if not given.
    #[serde(default)]
    pub from: Option<String>,
    /// The simulated time at which it ends ("20us"); the run's end if not given.
    #[serde(default)]
    pub to: Option<String>,
}

impl TraceRequest {
    /// The whole of a run in a file.
    pub fn whole(file: PathBuf) -> Self {
        TraceRequest { file, page: None, functions: false, nodes: None, from: None, to: None }
    }
}

/// Nodes and a stretch of time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selection {
    /// By node, whether it is shown.
    nodes: Vec<bool>,
    /// The first instant.
    pub from: Time,
    /// The instant behind the last; never, if the run's end is.
    pub to: Time,
}

impl Selection {
    /// What the request asks for, of a machine with this many nodes.
    ///
    /// # Errors
    /// If it names what does not exist or is no number, range or time; with what is allowed.
    pub fn new(request: &TraceRequest, nodes: usize) -> Result<Self, Failure> {
        let instant = |text: &Option<String>, which: &str| {
            let parse = |text: &String| text.parse::<Duration>();
            let time = text.as_ref().map(parse).transpose();
            time.map_err(|error| Failure::usage(format!("the timeline's {which}: {error}")))
        };
        let begin = instant(&request.from, "begin (--trace-from)")?.unwrap_or_default();
        let end = instant(&request.to, "end (--trace-to)")?;
        if let Some(end) = end.filter(|&end| end <= begin) {
            return Err(Failure::usage(format!(
                "the timeline would end at {end} (--trace-to), and begin at {begin} (--trace-from); expected \
                 a later end"
            )));
        }
        let selected = request.nodes.as_ref().map(|text| selected(text, nodes)).transpose();
        Ok(Selection {
            nodes: selected.map_err(Failure::usage)?.unwrap_or_else(|| vec![true; nodes]),
            from: Time::ZERO + begin,
            to: end.map_or(Time::NEVER, |end| Time::ZERO + end),
        })
    }

    /// Whether a node is shown.
    pub fn has(&self, node: usize) -> bool {
        self.nodes.get(node).is_some_and(|&shown| shown)
    }

    /// The nodes that are shown.
    pub fn nodes(&self) -> impl Iterator<Item = usize> {
        (0..self.nodes.len()).filter(|&node| self.nodes[node])
    }
}

/// By node, whether a list such as "0,3-5" has it.
fn selected(text: &str, nodes: usize) -> Result<Vec<bool>, String> {
    let mut all = vec![false; nodes];
    for part in text.split(',').map(str::trim) {
        let problem = |what: &str| {
            let last = nodes - 1;
            format!(
                "the timeline's nodes (--trace-nodes) are {text:?}: {what}; expected numbers and ranges of \
                 nodes from 0 to {last}, such as {}",
                if last == 0 { "0" } else { "0 or 0-1" }
            )
        };
        let number = |text: &str| {
            text.trim().parse::<usize>().map_err(|_| problem(&format!("{text:?} is not a number")))
        };
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (number(first)?, number(last)?);
        if first > last {
            return Err(problem(&format!("{part:?} ends before it begins")));
        }
        if last >= nodes {
            return Err(problem(&format!("there is no node {last}")));
        }
        all[first..=last].fill(true);
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(nodes: Option<&str>, from: Option<&str>, to: Option<&str>) -> TraceRequest {
        let text = |text: Option<&str>| text.map(str::to_owned);
        TraceRequest { nodes: text(nodes), from: text(from), to: text(to), ..TraceRequest::whole("x".into()) }
    }

    fn refusal(nodes: Option<&str>, from: Option<&str>, to: Option<&str>) -> String {
        let failure = Selection::new(&request(nodes, from, to), 8).unwrap_err();
        assert_eq!(failure.exit_code, Failure::USAGE);
        failure.message
    }

    #[test]
    fn nodes_are_numbers_and_ranges_and_all_if_not_said() {
        let nodes = |text: Option<&str>| -> Vec<usize> {
            Selection::new(&request(text, None, None), 8).unwrap().nodes().collect()
        };
        assert_eq!(nodes(None), [0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(nodes(Some("0, 3-5,7,4")), [0, 3, 4, 5, 7]);
    }

    #[test]
    fn nodes_that_do_not_exist_are_refused_with_those_that_do() {
        for (text, problem) in [
            ("8", "there is no node 8"),
            ("3-99", "there is no node 99"),
            ("5-3", "\"5-3\" ends before it begins"),
            ("two", "\"two\" is not a number"),
            ("1,,2", "\"\" is not a number"),
            ("", "\"\" is not a number"),
            ("-1", "\"\" is not a number"),
        ] {
            let message = refusal(Some(text), None, None);
            assert!(message.contains(problem) && message.contains("from 0 to 7"), "{message}");
        }
    }

    #[test]
    fn times_have_a_unit_and_an_order() {
        let selection = Selection::new(&request(None, Some("10us"), Some("20.5us")), 1).unwrap();
        assert_eq!((selection.from, selection.to), (Time::from_ps(10_000_000), Time::from_ps(20_500_000)));
        assert!(refusal(None, Some("10"), None).contains("begin (--trace-from): \"10\" has no unit"));
        assert!(refusal(None, None, Some("soon")).contains("end (--trace-to)"));
        let message = refusal(None, Some("2us"), Some("2us"));
        assert!(message.contains("end at 2us (--trace-to), and begin at 2us"), "{message}");
        assert!(refusal(None, None, Some("0ns")).contains("expected a later end"));
    }
}
