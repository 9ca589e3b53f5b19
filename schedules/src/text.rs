//! GOAL's text, a statement a line:
//!
//! ```text
//! num_ranks 2
//! rank 0 {
//!     // comments as in C, and behind a #
//!     l1: calc 100 cpu 0
//!     l2: send 16b to 1 tag 7 nic 0
//!     l2 requires l1
//! }
//! rank 1 { ... l1: recv 16b from 0 tag 7 ... }
//! ```
//!
//! A label stands before what refers to it or behind; an operation needs none. Ranks stand in
//! order. Only one rank is in memory as text, whatever the file's size.

use std::io::{BufRead, Write};

use rustc_hash::FxHashMap;

use crate::schedule::{ANY, Dependency, Kind, MOST_RANKS, Operation, RankBuilder, Schedule};
use crate::{Problem, allowed};

const STATEMENTS: [&str; 6] = ["send", "recv", "calc", "requires", "irequires", "}"];

/// Reads a text.
///
/// # Errors
/// If it is not GOAL's: the line is named.
pub fn read(input: impl BufRead) -> Result<Schedule, Problem> {
    let mut reader = Reader::default();
    let mut number = 0;
    for line in input.split(b'\n') {
        number += 1;
        let line = line.map_err(|error| Problem::new(error.to_string()).within(format!("line {number}")))?;
        let text = std::str::from_utf8(&line)
            .map_err(|_| Problem::new(format!("line {number} is not UTF-8; a GOAL text is")))?;
        reader.line(text, number).map_err(|problem| problem.within(format!("line {number}")))?;
    }
    reader.end().map_err(|problem| problem.within(format!("line {number}")))
}

#[derive(Default)]
struct Reader {
    schedule: Schedule,
    ranks: Option<u32>,
    in_comment: bool,
    is_within: bool,
    rank: RankBuilder,
    names: FxHashMap<Box<str>, u32>,
    labels: Vec<Box<str>>,
    has_own_labels: bool,
    /// Of labels that may come later, with their lines.
    references: Vec<(Box<str>, Box<str>, bool, usize)>,
    plain: String,
}

impl Reader {
    fn line(&mut self, text: &str, number: usize) -> Result<(), Problem> {
        let mut plain = std::mem::take(&mut self.plain);
        plain.clear();
        self.without_comments(text, &mut plain);
        let result = self.statements(&plain, number);
        self.plain = plain;
        result
    }

    fn without_comments(&mut self, mut text: &str, plain: &mut String) {
        loop {
            if self.in_comment {
                let Some(end) = text.find("*/") else { return };
                text = &text[end + 2..];
                self.in_comment = false;
            }
            let begin = text.find("/*");
            let rest = [text.find("//"), text.find('#')].into_iter().flatten().min();
            match (begin, rest) {
                (Some(begin), rest) if rest.is_none_or(|rest| begin < rest) => {
                    plain.push_str(&text[..begin]);
                    plain.push(' ');
                    text = &text[begin + 2..];
                    self.in_comment = true;
                }
                (_, rest) => return plain.push_str(&text[..rest.unwrap_or(text.len())]),
            }
        }
    }

    /// A brace ends a statement as a line's end does.
    fn statements(&mut self, line: &str, number: usize) -> Result<(), Problem> {
        for part in line.split_inclusive(['{', '}']) {
            let (part, brace) = match part.as_bytes().last() {
                Some(b'{') => (&part[..part.len() - 1], Some('{')),
                Some(b'}') => (&part[..part.len() - 1], Some('}')),
                _ => (part, None),
            };
            let words: Vec<&str> = part.split_whitespace().collect();
            match (self.is_within, brace) {
                (false, Some('{')) => self.begin_rank(&words)?,
                (true, Some('{')) => return Err(Problem::new("a { within a rank; its } is missing")),
                (false, Some(_)) => return Err(Problem::new("a } without a rank")),
                (false, None) => self.outside(&words)?,
                (true, _) if words.is_empty() => {}
                (true, _) => self.statement(&words, number)?,
            }
            if self.is_within && brace == Some('}') {
                self.end_rank()?;
            }
        }
        Ok(())
    }

    fn outside(&mut self, words: &[&str]) -> Result<(), Problem> {
        match words {
            [] => Ok(()),
            ["num_ranks", count] if self.ranks.is_none() => {
                let count: u64 = whole("num_ranks", count)?;
                if !(1..MOST_RANKS).contains(&count) {
                    return Err(Problem::new(format!(
                        "num_ranks {count}: a schedule has from 1 to {} ranks",
                        MOST_RANKS - 1
                    )));
                }
                self.ranks = Some(count as u32);
                Ok(())
            }
            ["num_ranks", ..] => Err(Problem::new("expected one line 'num_ranks NUMBER'")),
            ["rank", ..] => Err(Problem::new("a rank begins with 'rank NUMBER {' on one line")),
            [word, ..] => Err(Problem::new(format!(
                "'{word}' outside of a rank; {}",
                allowed(word, &["num_ranks", "rank"])
            ))),
        }
    }

    fn begin_rank(&mut self, words: &[&str]) -> Result<(), Problem> {
        let ["rank", number] = words else {
            return Err(Problem::new(format!(
                "'{} {{': a rank begins with 'rank NUMBER {{'",
                words.join(" ")
            )));
        };
        let number: u64 = whole("rank", number)?;
        let ranks =
            self.ranks.ok_or_else(|| Problem::new("'num_ranks NUMBER' stands before the first rank"))?;
        let next = self.schedule.ranks();
        if number >= u64::from(ranks) {
            return Err(Problem::new(format!(
                "rank {number}: num_ranks is {ranks}, so ranks are 0 to {}",
                ranks - 1
            )));
        }
        if number != u64::from(next) {
            return Err(Problem::new(format!("rank {number}: expected rank {next}; ranks stand in order")));
        }
        self.is_within = true;
        Ok(())
    }

    fn statement(&mut self, words: &[&str], number: usize) -> Result<(), Problem> {
        if let [later, word @ ("requires" | "irequires"), earlier] = words {
            self.references.push(((*later).into(), (*earlier).into(), *word == "irequires", number));
            return Ok(());
        }
        let (label, words) = match words {
            [label, rest @ ..] if label.ends_with(':') => (&label[..label.len() - 1], rest),
            [label, ":", rest @ ..] => (*label, rest),
            _ => ("", words),
        };
        let (operation, peer) = self.operation(words)?;
        let index = self.rank.add(operation, peer);
        let usual = format!("l{}", index + 1);
        self.has_own_labels |= !label.is_empty() && label != usual;
        let name: Box<str> = if label.is_empty() { "".into() } else { label.into() };
        self.labels.push(if label.is_empty() { usual.into() } else { label.into() });
        if !name.is_empty() && self.names.insert(name, index).is_some() {
            return Err(Problem::new(format!("label '{label}' stands twice in this rank")));
        }
        Ok(())
    }

    fn operation(&self, words: &[&str]) -> Result<(Operation, u32), Problem> {
        let kinds = [Kind::Send, Kind::Receive, Kind::Calculate];
        let word = words.first().copied().unwrap_or("");
        let kind = kinds.into_iter().find(|kind| kind.word() == word).ok_or_else(|| {
            Problem::new(format!("'{word}' is no statement of a rank; {}", allowed(word, &STATEMENTS)))
        })?;
        let size = words.get(1).copied().unwrap_or("");
        let mut operation = Operation { kind, size: 0, tag: 0, cpu: 0, nic: 0 };
        let mut peer = None;
        operation.size = if kind == Kind::Calculate {
            whole("calc", size)?
        } else {
            let bytes = size.strip_suffix('b').ok_or_else(|| {
                Problem::new(format!("{word} '{size}': bytes are a whole number with a b: {word} 64b"))
            })?;
            whole(word, bytes)?
        };
        let (direction, keys): (&str, &[&str]) = match kind {
            Kind::Send => ("to", &["to", "tag", "cpu", "nic"]),
            Kind::Receive => ("from", &["from", "tag", "cpu", "nic"]),
            Kind::Calculate => ("", &["cpu", "nic"]),
        };
        for pair in words[2.min(words.len())..].chunks(2) {
            let key = pair[0];
            if !keys.contains(&key) {
                return Err(Problem::new(format!("'{key}' of a {word}; {}", allowed(key, keys))));
            }
            let value =
                pair.get(1).ok_or_else(|| Problem::new(format!("'{key}' needs a number behind it")))?;
            match key {
                "tag" => operation.tag = whole(key, value)?,
                "cpu" => operation.cpu = small(key, value)?,
                "nic" => operation.nic = small(key, value)?,
                _ => peer = Some(self.peer(kind, key, value)?),
            }
        }
        match peer {
            Some(peer) => Ok((operation, peer)),
            None if kind == Kind::Calculate => Ok((operation, 0)),
            None => Err(Problem::new(format!("a {word} needs '{direction} RANK'"))),
        }
    }

    fn peer(&self, kind: Kind, key: &str, value: &str) -> Result<u32, Problem> {
        let peer: u32 = whole(key, value)?;
        let ranks = self.ranks.unwrap_or(0);
        if peer < ranks || (kind == Kind::Receive && peer == ANY) {
            return Ok(peer);
        }
        Err(Problem::new(format!("{key} {peer}: ranks are 0 to {}", ranks.saturating_sub(1))))
    }

    fn end_rank(&mut self) -> Result<(), Problem> {
        let rank = self.schedule.ranks();
        for (later, earlier, start, line) in std::mem::take(&mut self.references) {
            let find = |name: &str| {
                self.names.get(name).copied().ok_or_else(|| {
                    let known: Vec<&str> = self.names.keys().map(|name| &**name).collect();
                    let near =
                        known.iter().min_by_key(|each| (strsim::damerau_levenshtein(each, name), **each));
                    let hint = near.map(|near| format!("; did you mean {near}?")).unwrap_or_default();
                    Problem::new(format!("rank {rank} has no label '{name}' (line {line}){hint}"))
                })
            };
            let dependency = Dependency { later: find(&later)?, earlier: find(&earlier)?, start };
            self.rank.dependencies.push(dependency);
        }
        self.rank.dependencies.sort_unstable();
        self.rank.dependencies.dedup();
        let labels = std::mem::take(&mut self.labels);
        self.schedule.push_labelled(&self.rank, self.has_own_labels.then_some(labels))?;
        self.rank.clear();
        self.names.clear();
        (self.is_within, self.has_own_labels) = (false, false);
        Ok(())
    }

    fn end(self) -> Result<Schedule, Problem> {
        let ranks = self.ranks.ok_or_else(|| Problem::new("no 'num_ranks NUMBER': is it a GOAL text?"))?;
        if self.in_comment {
            return Err(Problem::new("the file ends within a comment"));
        }
        if self.is_within {
            return Err(Problem::new(format!("the file is cut: rank {} has no }}", self.schedule.ranks())));
        }
        if self.schedule.ranks() != ranks {
            let found = self.schedule.ranks();
            return Err(Problem::new(format!(
                "the file is cut: num_ranks is {ranks}, and it has {found} ranks"
            )));
        }
        Ok(self.schedule)
    }
}

fn whole<T: std::str::FromStr>(key: &str, text: &str) -> Result<T, Problem> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let value = if digits { text.parse().ok() } else { None };
    let most = u128::MAX >> (128 - 8 * size_of::<T>());
    value.ok_or_else(|| Problem::new(format!("{key} '{text}': expected a whole number from 0 to {most}")))
}

/// A processor or an interface: a file has their number in one byte.
fn small(key: &str, text: &str) -> Result<u8, Problem> {
    whole::<u8>(key, text).and_then(|value| match value {
        u8::MAX => Err(Problem::new(format!("{key} 255: expected a whole number from 0 to 254"))),
        _ => Ok(value),
    })
}

/// Writes a schedule as text: labels l1, l2, ... and no key that is zero.
///
/// # Errors
/// If the output cannot be written.
pub fn write(schedule: &Schedule, output: &mut impl Write) -> std::io::Result<()> {
    writeln!(output, "num_ranks {}", schedule.ranks())?;
    for rank in 0..schedule.ranks() {
        writeln!(output, "rank {rank} {{")?;
        let shape = schedule.shape(rank);
        for (index, (operation, peer)) in shape.operations().iter().zip(schedule.peers(rank)).enumerate() {
            let Operation { kind, size, tag, cpu, nic } = operation;
            write!(output, "l{}: {} {size}", index + 1, kind.word())?;
            match kind {
                Kind::Send => write!(output, "b to {peer}")?,
                Kind::Receive => write!(output, "b from {peer}")?,
                Kind::Calculate => {}
            }
            for (key, value) in [("tag", *tag), ("cpu", u32::from(*cpu)), ("nic", u32::from(*nic))] {
                if value != 0 {
                    write!(output, " {key} {value}")?;
                }
            }
            writeln!(output)?;
        }
        for Dependency { later, earlier, start } in shape.dependencies() {
            let word = if *start { "irequires" } else { "requires" };
            writeln!(output, "l{} {word} l{}", later + 1, earlier + 1)?;
        }
        writeln!(output, "}}")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(text: &str) -> String {
        read(text.as_bytes()).unwrap_err().message
    }

    fn in_rank(statement: &str) -> String {
        problem(&format!("num_ranks 1\nrank 0 {{\n{statement}\n}}\n"))
    }

    #[test]
    fn comments_labels_and_keys_are_read() {
        let text = "/* two\n lines */ num_ranks 2 // two\nrank 0 { # first\n  late requires l1\n\
                    l1: calc 100 cpu 1\n late: send 16b to 1 tag 7 cpu 1 nic 2 }\n\
                    rank 1 {\n recv 16b from 4294967295 tag 7\n}\n";
        let schedule = read(text.as_bytes()).unwrap();
        let send = Operation { kind: Kind::Send, size: 16, tag: 7, cpu: 1, nic: 2 };
        assert_eq!((*schedule.operation(0, 1), schedule.peer(0, 1)), (send, 1));
        assert_eq!((schedule.cpus(), schedule.nics(), schedule.peer(1, 0)), (2, 3, ANY));
        assert_eq!(schedule.shape(0).dependants(0), [1]);
        assert_eq!((schedule.label(0, 1), schedule.label(1, 0)), ("late".into(), "l1".into()));
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line_and_what_is_near() {
        let told = in_rank("l1: sned 4b to 0");
        assert!(told.starts_with("line 3: 'sned' is no statement of a rank"), "{told}");
        assert!(told.ends_with("did you mean send?"), "{told}");
        assert!(in_rank("l1: send 4b to 0 tga 3").contains("line 3: 'tga' of a send"));
        assert!(in_rank("l1: send 4 to 0").contains("with a b: send 64b"));
        assert!(in_rank("l1: send 4b to 1").contains("to 1: ranks are 0 to 0"));
        assert!(in_rank("l1: recv 4b").contains("a recv needs 'from RANK'"));
        assert!(in_rank("l1: calc 1\nl1: calc 2").contains("line 4: label 'l1' stands twice"));
        assert!(in_rank("step: calc 1\nstpe requires step").contains("'stpe' (line 4); did you mean step?"));
        assert!(in_rank("l1: calc 99999999999999999999").contains("from 0 to 18446744073709551615"));
        assert!(problem("num_ranks 4294967296\n").contains("from 1 to 4294967294 ranks"));
        assert!(problem("num_ranks 2\nrank 0 {\n}\n").contains("the file is cut: num_ranks is 2"));
        assert!(problem("num_ranks 2\nrank 0 {\nl1: calc 1\n").contains("rank 0 has no }"));
        assert!(problem("num_ranks 2\nrank 1 {\n").contains("expected rank 0"));
        assert!(problem("").contains("is it a GOAL text?"));
    }
}
