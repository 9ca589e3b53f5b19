//! A profile as pprof reads it: `profile.proto` of the project pprof.
//!
//! Times are there twice: in picoseconds, exact, and in nanoseconds, rounded, which is what pprof
//! shows unless it is asked for the other (`-sample_index=picoseconds`). Node, processor,
//! activity and occupation are labels (`-tagfocus`, `-tagroot`).

use std::collections::HashMap;
use std::io::Write as _;

use flate2::{Compression, GzBuilder};
use prost::Message;

use super::Document;

#[derive(Clone, PartialEq, Message)]
struct Profile {
    #[prost(message, repeated, tag = "1")]
    sample_type: Vec<ValueType>,
    #[prost(message, repeated, tag = "2")]
    sample: Vec<Sample>,
    #[prost(message, repeated, tag = "4")]
    location: Vec<Location>,
    #[prost(message, repeated, tag = "5")]
    function: Vec<Function>,
    #[prost(string, repeated, tag = "6")]
    string_table: Vec<String>,
    #[prost(int64, tag = "10")]
    duration_nanos: i64,
    #[prost(int64, repeated, tag = "13")]
    comment: Vec<i64>,
    #[prost(int64, tag = "14")]
    default_sample_type: i64,
}

#[derive(Clone, PartialEq, Message)]
struct ValueType {
    #[prost(int64, tag = "1")]
    kind: i64,
    #[prost(int64, tag = "2")]
    unit: i64,
}

#[derive(Clone, PartialEq, Message)]
struct Sample {
    #[prost(uint64, repeated, tag = "1")]
    location_id: Vec<u64>,
    #[prost(int64, repeated, tag = "2")]
    value: Vec<i64>,
    #[prost(message, repeated, tag = "3")]
    label: Vec<Label>,
}

#[derive(Clone, PartialEq, Message)]
struct Label {
    #[prost(int64, tag = "1")]
    key: i64,
    #[prost(int64, tag = "2")]
    text: i64,
    #[prost(int64, tag = "3")]
    number: i64,
}

#[derive(Clone, PartialEq, Message)]
struct Location {
    #[prost(uint64, tag = "1")]
    id: u64,
    #[prost(message, repeated, tag = "4")]
    line: Vec<Line>,
}

#[derive(Clone, PartialEq, Message)]
struct Line {
    #[prost(uint64, tag = "1")]
    function_id: u64,
    #[prost(int64, tag = "2")]
    line: i64,
}

#[derive(Clone, PartialEq, Message)]
struct Function {
    #[prost(uint64, tag = "1")]
    id: u64,
    #[prost(int64, tag = "2")]
    name: i64,
    #[prost(int64, tag = "3")]
    system_name: i64,
    #[prost(int64, tag = "4")]
    filename: i64,
}

/// The strings of a profile, each once; the first is empty.
struct Strings {
    all: Vec<String>,
    places: HashMap<String, i64>,
}

impl Strings {
    fn place(&mut self, text: &str) -> i64 {
        if let Some(&place) = self.places.get(text) {
            return place;
        }
        let place = self.all.len() as i64;
        self.all.push(text.to_owned());
        self.places.insert(text.to_owned(), place);
        place
    }
}

/// A profile of a run of `simulated_ps` in pprof's format, compressed by gzip; `title` says of
/// what.
pub fn encode(document: &Document, title: &str, simulated_ps: u64) -> Vec<u8> {
    let profile = profile(document, title, simulated_ps);
    // Neither a time nor a name: the same profile is the same file.
    let mut writer = GzBuilder::new().mtime(0).write(Vec::new(), Compression::default());
    writer.write_all(&profile.encode_to_vec()).expect("memory takes all");
    writer.finish().expect("memory takes all")
}

fn profile(document: &Document, title: &str, simulated_ps: u64) -> Profile {
    let mut strings = Strings { all: Vec::new(), places: HashMap::new() };
    strings.place("");
    let kinds = [("picoseconds", "picoseconds"), ("time", "nanoseconds")];
    let sample_type =
        kinds.map(|(kind, unit)| ValueType { kind: strings.place(kind), unit: strings.place(unit) }).to_vec();
    // A function of pprof has one file, and an inlined one may have several.
    let mut functions: HashMap<(usize, Option<usize>), u64> = HashMap::new();
    let mut function = Vec::new();
    let mut location = Vec::new();
    for (id, &(name, file, line)) in (1..).zip(&document.frames) {
        let function_id = *functions.entry((name, file)).or_insert_with(|| {
            let name = strings.place(&document.functions[name]);
            let filename = file.map_or(0, |file| strings.place(&document.files[file]));
            function.push(Function { id: function.len() as u64 + 1, name, system_name: name, filename });
            function.len() as u64
        });
        location.push(Location { id, line: vec![Line { function_id, line: line.into() }] });
    }
    let sample = document.rows.iter().map(|(node, processor, stack, activity, occupation, time_ps)| {
        let mut number =
            |key: &str, number: usize| Label { key: strings.place(key), text: 0, number: number as i64 };
        let mut label = vec![number("node", *node), number("processor", *processor)];
        for (key, text) in [("activity", activity), ("occupation", occupation)] {
            label.push(Label { key: strings.place(key), text: strings.place(text), number: 0 });
        }
        let location_id = std::iter::successors(*stack, |&stack| document.stacks[stack].0)
            .map(|stack| document.stacks[stack].1 as u64 + 1)
            .collect();
        Sample { location_id, value: vec![*time_ps as i64, ((time_ps + 500) / 1_000) as i64], label }
    });
    let sample = sample.collect();
    Profile {
        sample_type,
        sample,
        location,
        function,
        duration_nanos: (simulated_ps / 1_000) as i64,
        comment: vec![strings.place(title)],
        default_sample_type: strings.place("time"),
        string_table: strings.all,
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use flate2::read::GzDecoder;

    use super::*;

    #[test]
    fn a_profile_is_read_back_with_its_stacks_innermost_first() {
        let document = Document {
            functions: ["main", "poll"].map(str::to_owned).to_vec(),
            files: vec!["main.c".into()],
            frames: vec![(0, Some(0), 12), (1, None, 0)],
            stacks: vec![(None, 0), (Some(0), 1)],
            rows: vec![
                (0, 0, Some(1), "poll".into(), "uncached access".into(), 2_700),
                (1, 0, None, "idle".into(), "execute".into(), 1_000),
            ],
            ..Document::default()
        };
        let file = encode(&document, "a run", 5_000_000);
        let mut bytes = Vec::new();
        GzDecoder::new(&file[..]).read_to_end(&mut bytes).unwrap();
        let profile = Profile::decode(&bytes[..]).unwrap();
        let text = |place: i64| profile.string_table[place as usize].as_str();
        let [poll, idle] = &profile.sample[..] else { panic!("two samples") };
        assert_eq!((&poll.location_id[..], &poll.value[..]), (&[2, 1][..], &[2_700, 3][..]));
        assert_eq!(
            poll.label.iter().map(|label| text(label.text)).collect::<Vec<_>>(),
            ["", "", "poll", "uncached access"]
        );
        assert_eq!((idle.location_id.len(), idle.label[0].number), (0, 1));
        assert_eq!((text(profile.function[0].name), text(profile.function[0].filename)), ("main", "main.c"));
        assert_eq!(profile.location[0].line[0].line, 12);
        assert_eq!((text(profile.default_sample_type), profile.duration_nanos), ("time", 5_000));
    }
}
