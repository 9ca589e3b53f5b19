//! What is wrong with a machine's file, where, and what would be right.
//!
//! Every problem names its place (file, line, column, or the `--set` it came
//! from), the key, the value and what is allowed instead. All problems of a
//! file are reported together.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// A text that a part of a machine came from: a file, a preset or a `--set`.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Text {
    /// What people know it by: a path, a preset's name, a command line option.
    pub name: String,
    /// The whole text; empty where lines and columns would say nothing.
    pub text: String,
}

/// A place in a [`Text`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Position {
    text: Arc<Text>,
    span: Range<usize>,
}

/// Longer lines are not shown below a problem.
const LONGEST_SHOWN_LINE: usize = 160;

impl Position {
    /// The place that `span` covers; the beginning of the text without one.
    pub fn new(text: &Arc<Text>, span: Option<Range<usize>>) -> Self {
        Position { text: Arc::clone(text), span: span.unwrap_or(0..0) }
    }

    /// Whether it is an option of the command line, which has no lines.
    pub fn is_option(&self) -> bool {
        self.text.text.is_empty()
    }

    /// The line with the place underlined; none where that would show nothing.
    ///
    /// ```text
    ///   4 | clok = "125MHz"
    ///     | ^^^^
    /// ```
    fn underlined(&self) -> Option<String> {
        let (number, column) = self.line_and_column();
        let line = self.text.text.lines().nth(number - 1)?;
        let length = line.chars().count();
        if line.trim().is_empty() || length > LONGEST_SHOWN_LINE || line.contains(unprintable) {
            return None;
        }
        let covered = self.text.text.get(self.span.clone()).unwrap_or_default();
        let first_line = covered.lines().next().unwrap_or_default().chars().count();
        let marks = "^".repeat(first_line.clamp(1, (length + 1).saturating_sub(column).max(1)));
        let (number, line) = (number.to_string(), line.replace('\t', " "));
        let margin = " ".repeat(number.len());
        Some(format!("  {number} | {line}\n  {margin} | {}{marks}", " ".repeat(column - 1)))
    }

    /// Line and column, counted from one; columns are characters.
    fn line_and_column(&self) -> (usize, usize) {
        let text = self.text.text.as_str();
        let before = text.get(..self.span.start).unwrap_or(text);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        (line, column)
    }
}

/// Whether a terminal would not show it as one character.
fn unprintable(character: char) -> bool {
    character.is_control() && character != '\t'
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_option() {
            return write!(f, "{}", self.text.name);
        }
        let (line, column) = self.line_and_column();
        write!(f, "{}:{line}:{column}", self.text.name)
    }
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    place: Option<Position>,
    key: String,
    message: String,
}

impl Problem {
    /// A problem with `key`, a dotted path (empty for the whole document).
    pub(super) fn new(place: Option<Position>, key: &str, message: impl Into<String>) -> Self {
        Problem { place, key: key.to_owned(), message: message.into() }
    }

    /// The dotted key that the problem is about; empty for the whole document.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// What is wrong, and what is allowed.
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(place) = &self.place {
            write!(f, "{place}: ")?;
        }
        if !self.key.is_empty() {
            write!(f, "{}: ", self.key)?;
        }
        f.write_str(&self.message)
    }
}

/// Why a machine cannot be built: one problem or several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    problems: Vec<Problem>,
}

impl ConfigError {
    /// All that is wrong, in the order of the file.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// `value` when nothing is wrong.
    pub(super) fn unless<T>(mut problems: Vec<Problem>, value: T) -> Result<T, ConfigError> {
        problems.sort_by_key(|problem| problem.place.as_ref().map_or(0, |place| place.span.start));
        if problems.is_empty() { Ok(value) } else { Err(ConfigError { problems }) }
    }
}

impl From<Problem> for ConfigError {
    fn from(problem: Problem) -> Self {
        ConfigError { problems: vec![problem] }
    }
}

/// More problems than this are counted, not printed.
const MOST_PRINTED: usize = 20;

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.problems.iter().take(MOST_PRINTED).enumerate() {
            let separator = if index == 0 { "" } else { "\n" };
            write!(f, "{separator}{problem}")?;
            if let Some(line) = problem.place.as_ref().and_then(Position::underlined) {
                write!(f, "\n{line}")?;
            }
        }
        match self.problems.len().checked_sub(MOST_PRINTED) {
            Some(more @ 1..) => write!(f, "\n... and {more} more"),
            _ => Ok(()),
        }
    }
}

impl std::error::Error for ConfigError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_counts_lines_and_columns_from_one() {
        let text = Arc::new(Text { name: "m.toml".into(), text: "a = 1\nß = é\n".into() });
        assert_eq!(Position::new(&text, Some(0..1)).to_string(), "m.toml:1:1");
        assert_eq!(Position::new(&text, Some(11..13)).to_string(), "m.toml:2:5");
        assert_eq!(Position::new(&text, Some(999..1000)).to_string(), "m.toml:3:1");
    }

    #[test]
    fn the_line_is_shown_with_the_place_underlined() {
        let text =
            Arc::new(Text { name: "m.toml".into(), text: "a = 1\n\tß = \"éé\" # x\n\n\u{7}".into() });
        let shown = |span| Position::new(&text, Some(span)).underlined();
        assert_eq!(shown(0..1).unwrap(), "  1 | a = 1\n    | ^");
        assert_eq!(shown(12..18).unwrap(), "  2 |  ß = \"éé\" # x\n    |      ^^^^");
        assert_eq!(shown(4..18).unwrap(), "  1 | a = 1\n    |     ^");
        assert_eq!((shown(23..23), shown(24..25), shown(99..100)), (None, None, None));
        let long = Arc::new(Text { name: "m".into(), text: "x".repeat(200) });
        assert_eq!(Position::new(&long, Some(0..1)).underlined(), None);
    }

    #[test]
    fn a_flood_of_problems_is_cut_and_counted() {
        let problems = vec![Problem::new(None, "a", "is wrong"); 23];
        let error = ConfigError::unless(problems, ()).unwrap_err().to_string();
        assert_eq!(error.lines().count(), 21);
        assert!(error.ends_with("... and 3 more"));
    }
}
