//! Between TOML text and the tree.
//!
//! A leaf is a plain value, or a table that states where the value is from:
//!
//! ```toml
//! clock = "250MHz"
//! access_time = { value = "120ns", stated = "Table 3" }
//! address_cycles = { value = 1, assumed = "one cycle on a bus that is not multiplexed" }
//! order = { value = "fixed", assumed = "the simplest arbiter", alternatives = ["turns"] }
//! ```

use std::ops::Range;
use std::sync::Arc;

use serde_json::{Number, Value};
use toml_edit::{Array, Document, DocumentMut, InlineTable, Item, Key, TableLike};

use super::problem::{Position, Problem, Text};
use super::tree::{Entry, Leaf, Source, Table, TreeNode};
use narthex_kernel::did_you_mean;

const VALUE: &str = "value";
const STATED: &str = "stated";
const ASSUMED: &str = "assumed";
const ALTERNATIVES: &str = "alternatives";

/// Reads a text into a tree. What can be read is returned even when some of it
/// is wrong, so that later checks can report the rest of the mistakes as well.
pub(super) fn read(text: &Arc<Text>) -> (Table, Vec<Problem>) {
    let mut reader = Reader { text, problems: Vec::new() };
    let table = match Document::parse(text.text.as_str()) {
        Ok(document) => reader.table(document.as_table(), reader.place(None), ""),
        Err(error) => {
            let place = reader.place(error.span());
            reader.problems.push(Problem::new(
                Some(place.clone()),
                "",
                error.message().trim_end().replace('\n', "; "),
            ));
            Table::empty(place)
        }
    };
    (table, reader.problems)
}

/// Reads `key=value` of a command line into a tree that holds only that.
pub(super) fn read_setting(setting: &str) -> Result<Table, Problem> {
    let name = format!("--set {setting}");
    let text = Arc::new(Text { name, text: String::new() });
    let place = Position::new(&text, None);
    let problem = |key, message: &str| Problem::new(Some(place.clone()), key, message);
    let Some((path, typed)) = setting.split_once('=') else {
        let message = "has no value; write key=value, for example bus.clock=125MHz";
        return Err(problem("", message));
    };
    let no_key = || problem(path, "is not a key; write table.key=value");
    let keys = Key::parse(path.trim()).map_err(|_| no_key())?;
    let node = typed_node(&text, &place, path, typed.trim())?;
    let around = |node, key: &Key| {
        let (key, place) = (key.get().to_owned(), place.clone());
        let entries = vec![Entry { key, place: place.clone(), node }];
        TreeNode::Table(Table { place, entries })
    };
    match keys.iter().rev().fold(node, around) {
        TreeNode::Table(table) if !keys.is_empty() => Ok(table),
        _ => Err(no_key()),
    }
}

/// What was typed as the value: TOML, where it is that, otherwise a text.
fn typed_node(text: &Arc<Text>, place: &Position, path: &str, typed: &str) -> Result<TreeNode, Problem> {
    let as_text = Leaf { typed: Some(typed.into()), ..Leaf::new(place.clone(), typed.into(), Source::User) };
    let Ok(value) = typed.parse::<toml_edit::Value>() else {
        return Ok(TreeNode::Leaf(as_text));
    };
    let is_table = value.is_inline_table();
    let mut reader = Reader { text, problems: Vec::new() };
    match (reader.node(&Item::Value(value), place.clone(), path), reader.problems.pop()) {
        (_, Some(problem)) if is_table => Err(problem),
        (Some(TreeNode::Leaf(leaf)), None) => Ok(TreeNode::Leaf(Leaf { typed: as_text.typed, ..leaf })),
        (Some(table @ TreeNode::Table(_)), None) => Ok(table),
        _ => Ok(TreeNode::Leaf(as_text)),
    }
}

/// Writes a tree as a document that reads back as the same tree.
pub(super) fn write(table: &Table) -> String {
    let mut document = DocumentMut::new();
    *document.as_table_mut() = written_table(table);
    document.to_string()
}

struct Reader<'a> {
    text: &'a Arc<Text>,
    problems: Vec<Problem>,
}

impl Reader<'_> {
    fn place(&self, span: Option<Range<usize>>) -> Position {
        Position::new(self.text, span)
    }

    fn table(&mut self, table: &dyn TableLike, place: Position, path: &str) -> Table {
        let mut entries = Vec::new();
        for (key, item) in table.iter() {
            let span = table.key(key).and_then(Key::span).or_else(|| item.span());
            let place = span.map_or_else(|| place.clone(), |span| self.place(Some(span)));
            let path = super::schema::join(path, key);
            if let Some(node) = self.node(item, place.clone(), &path) {
                entries.push(Entry { key: key.to_owned(), place, node });
            }
        }
        Table { place, entries }
    }

    fn node(&mut self, item: &Item, place: Position, path: &str) -> Option<TreeNode> {
        match item.as_table_like() {
            Some(table) if [VALUE, STATED, ASSUMED].iter().any(|word| table.contains_key(word)) => {
                self.leaf_with_source(table, place, path).map(TreeNode::Leaf)
            }
            Some(table) => Some(TreeNode::Table(self.table(table, place, path))),
            None => {
                let place = self.place_of_value(item, &place);
                let value = self.plain(item, &place, path)?;
                Some(TreeNode::Leaf(Leaf::new(place, value, Source::User)))
            }
        }
    }

    fn leaf_with_source(&mut self, table: &dyn TableLike, place: Position, path: &str) -> Option<Leaf> {
        let problem = |message: String| Problem::new(Some(place.clone()), path, message);
        let form = "{ value = .., stated = \"where\" } or { value = .., assumed = \"why\" }";
        let known = [VALUE, STATED, ASSUMED, ALTERNATIVES];
        if let Some((key, _)) = table.iter().find(|(key, _)| !known.contains(key)) {
            let hint = did_you_mean(key, known);
            self.problems.push(problem(format!("unknown key `{key}` beside the value{hint}; write {form}")));
        }
        let Some(item) = table.get(VALUE) else {
            self.problems.push(problem(format!("states a source but no value; write {form}")));
            return None;
        };
        let value_place = self.place_of_value(item, &place);
        let value = self.plain(item, &value_place, path)?;
        let source = match (table.get(STATED), table.get(ASSUMED)) {
            (Some(Item::Value(toml_edit::Value::String(text))), None) => Source::Stated(text.value().clone()),
            (None, Some(Item::Value(toml_edit::Value::String(text)))) => {
                Source::Assumed(text.value().clone())
            }
            (Some(_), Some(_)) => {
                self.problems.push(problem(format!("is both stated and assumed; write {form}")));
                Source::User
            }
            (None, None) => {
                self.problems.push(problem(format!(
                    "is neither stated nor assumed; write {form}, or the plain value"
                )));
                Source::User
            }
            _ => {
                self.problems.push(problem(format!("has a source that is not a text; write {form}")));
                Source::User
            }
        };
        if matches!(&source, Source::Stated(text) | Source::Assumed(text) if text.trim().is_empty()) {
            self.problems.push(problem(format!("has an empty source; write {form}")));
        }
        let alternatives = match table.get(ALTERNATIVES) {
            None => None,
            Some(item) => match (&source, self.plain(item, &place, path)?) {
                (Source::Assumed(_), Value::Array(values)) => Some(values),
                (Source::Assumed(_), _) => {
                    self.problems.push(problem("has `alternatives` that are not a list".into()));
                    None
                }
                _ => {
                    self.problems.push(problem("has `alternatives`, but only an assumed value may".into()));
                    None
                }
            },
        };
        Some(Leaf { alternatives, ..Leaf::new(value_place, value, source) })
    }

    /// Where a value stands; what is `around` it if the parser does not know.
    fn place_of_value(&self, item: &Item, around: &Position) -> Position {
        item.span().map_or_else(|| around.clone(), |span| self.place(Some(span)))
    }

    /// A value without tables above it; `None`, with a problem, for what
    /// machine files do not have.
    fn plain(&mut self, item: &Item, place: &Position, path: &str) -> Option<Value> {
        let value = item.as_value().and_then(to_json);
        if value.is_none() {
            let what = item.to_string();
            let message = format!(
                "{} is not allowed; expected a number, a text, true, false or a list of them",
                what.trim()
            );
            self.problems.push(Problem::new(Some(place.clone()), path, message));
        }
        value
    }
}

/// The value as JSON; none for dates, infinities and tables in lists.
fn to_json(value: &toml_edit::Value) -> Option<Value> {
    use toml_edit::Value as Toml;
    Some(match value {
        Toml::String(text) => text.value().as_str().into(),
        Toml::Integer(number) => (*number.value()).into(),
        Toml::Float(number) => Value::Number(Number::from_f64(*number.value())?),
        Toml::Boolean(truth) => (*truth.value()).into(),
        Toml::Array(values) => Value::Array(values.iter().map(to_json).collect::<Option<_>>()?),
        Toml::Datetime(_) | Toml::InlineTable(_) => return None,
    })
}

fn written_table(table: &Table) -> toml_edit::Table {
    let mut written = toml_edit::Table::new();
    for entry in &table.entries {
        let item = match &entry.node {
            TreeNode::Table(table) => Item::Table(written_table(table)),
            TreeNode::Leaf(leaf) => Item::Value(written_leaf(leaf)),
        };
        written.insert(&entry.key, item);
    }
    written
}

fn written_leaf(leaf: &Leaf) -> toml_edit::Value {
    let value = from_json(&leaf.value);
    let (word, reason) = match &leaf.source {
        Source::Stated(place) => (STATED, place),
        Source::Assumed(reason) => (ASSUMED, reason),
        Source::User => return value,
    };
    let mut written = InlineTable::from_iter([(VALUE, value), (word, reason.into())]);
    if let Some(alternatives) = &leaf.alternatives {
        written.insert(ALTERNATIVES, from_json(&Value::Array(alternatives.clone())));
    }
    written.into()
}

/// The inverse of [`to_json`].
fn from_json(value: &Value) -> toml_edit::Value {
    match value {
        Value::String(text) => text.into(),
        Value::Bool(truth) => (*truth).into(),
        Value::Number(number) => match number.as_i64() {
            Some(integer) => integer.into(),
            None => number.as_f64().unwrap_or_default().into(),
        },
        Value::Array(values) => values.iter().map(from_json).collect::<Array>().into(),
        Value::Null | Value::Object(_) => {
            unreachable!("a leaf is a scalar or a list: `to_json` made it")
        }
    }
}
