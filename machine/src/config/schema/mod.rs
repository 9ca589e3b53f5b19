//! Checks a tree against the JSON Schema of the typed structures, before serde
//! sees it.
//!
//! serde stops at the first mistake and, inside a variant, no longer knows
//! where it is. The schema is derived from the same structures, so a walk over
//! tree and schema side by side finds *every* unknown key, missing key, wrong
//! type, wrong unit and value out of its range, and names the place of each.
//! The same walk gives each parameter its meaning: the field's doc comment.
//!
//! Only what schemars makes of our structures is understood: objects, their
//! variants (`oneOf`, told apart by a constant such as `kind`), options, maps
//! and scalar leaves.

mod editors;
mod elsewhere;
mod values;

use narthex_kernel::did_you_mean;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value};

use super::problem::{Position, Problem};
use super::tree::{Entry, Leaf, Table, TreeNode};

/// A document's schema with its definitions.
pub(super) struct Schema {
    root: Value,
}

/// What a schema asks for.
enum Shape<'a> {
    /// A table with these keys.
    Table(&'a Value),
    /// One of several tables, told apart by the constant value of `tag`.
    Variants { tag: &'a str, tables: Vec<(&'a str, &'a Value)> },
    /// A single value (or a list of them).
    Leaf,
}

/// A parameter as the walk meets it.
pub(super) struct Parameter<'a> {
    pub key: String,
    pub leaf: &'a Leaf,
    /// The field's doc comment, in one line.
    pub meaning: String,
    /// The unit that the schema states for a bare number.
    pub unit: Option<String>,
}

impl Schema {
    /// The schema of `T`.
    pub fn of<T: JsonSchema>() -> Self {
        let mut root = SchemaGenerator::default().into_root_schema_for::<T>().to_value();
        values::limit_numbers(&mut root);
        Schema { root }
    }

    /// All that is wrong with `table`. Values from the command line take the
    /// type that the schema asks for.
    pub fn check(&self, table: &mut Table) -> Vec<Problem> {
        let mut problems = Vec::new();
        self.check_table(&self.root, table, "", &mut problems);
        problems
    }

    /// What is wrong with a setting, whatever others say: a plain value where a table is, or a
    /// table where a plain value is. Another setting could take its place, and be blamed.
    pub fn misshaped(&self, setting: &Table) -> Option<Problem> {
        let (mut schema, mut table, mut path) = (&self.root, setting, String::new());
        while let Some(entry) = table.entries.first() {
            let found = match self.shape(schema) {
                Shape::Table(keys) => property(keys, &entry.key),
                Shape::Variants { .. } => return None,
                Shape::Leaf => return Some(self.no_table(schema, table, &path)),
            };
            let Property::Known(below) = found else { return None };
            (schema, path) = (below, join(&path, &entry.key));
            match &entry.node {
                TreeNode::Table(inner) => table = inner,
                TreeNode::Leaf(leaf) => {
                    let is_table = !matches!(self.shape(schema), Shape::Leaf);
                    return is_table.then(|| self.no_plain_value(schema, leaf, &path));
                }
            }
        }
        None
    }

    /// The parameters of `table`, in the order in which the structures declare them.
    pub fn parameters<'a>(&'a self, table: &'a Table) -> Vec<Parameter<'a>> {
        let mut parameters = Vec::new();
        self.collect(&self.root, table, "", &mut parameters);
        parameters
    }

    /// `schema` behind its references.
    fn resolve<'a>(&'a self, mut schema: &'a Value) -> &'a Value {
        // Definitions may refer to definitions, but not in circles.
        for _ in 0..16 {
            let Some(name) = reference(schema) else { break };
            let Some(definition) = self.root.get("$defs").and_then(|all| all.get(name)) else {
                break;
            };
            schema = definition;
        }
        schema
    }

    fn shape<'a>(&'a self, schema: &'a Value) -> Shape<'a> {
        let schema = self.resolve(schema);
        if schema.get("properties").is_some() || schema["type"] == "object" {
            return Shape::Table(schema);
        }
        let branches: Vec<&Value> = branches(schema)
            .iter()
            .map(|branch| self.resolve(branch))
            .filter(|branch| branch["type"] != "null")
            .collect();
        if let [only] = branches[..] {
            return self.shape(only);
        }
        let tagged = branches.iter().map(|branch| tag_of(branch));
        match tagged.collect::<Option<Vec<_>>>() {
            Some(tags) if !tags.is_empty() => Shape::Variants {
                tag: tags[0].0,
                tables: tags.iter().map(|tag| tag.1).zip(branches).collect(),
            },
            _ => Shape::Leaf,
        }
    }

    fn check_table(&self, schema: &Value, table: &mut Table, path: &str, problems: &mut Vec<Problem>) {
        match self.shape(schema) {
            Shape::Table(schema) => self.check_keys(schema, &[], table, path, problems),
            Shape::Variants { tag, tables } => match choose(tag, &tables, table, path) {
                Ok(schema) => self.check_keys(schema, &tables, table, path, problems),
                Err(problem) => problems.push(problem),
            },
            Shape::Leaf => problems.push(self.no_table(schema, table, path)),
        }
    }

    fn no_table(&self, schema: &Value, table: &Table, path: &str) -> Problem {
        let expected = self.expectation(schema);
        Problem::new(Some(table.place.clone()), path, format!("is a table; expected {expected}"))
    }

    fn no_plain_value(&self, schema: &Value, leaf: &Leaf, path: &str) -> Problem {
        let hint = if path == "machine" { "; the option --machine chooses a machine" } else { "" };
        let expected = self.expectation(schema);
        let message = format!("{} is not allowed; expected {expected}{hint}", leaf.value);
        Problem::new(Some(leaf.place.clone()), path, message)
    }

    /// Checks the keys of a table that is one of these `variants`, if there are several.
    fn check_keys(
        &self,
        schema: &Value,
        variants: &[(&str, &Value)],
        table: &mut Table,
        path: &str,
        problems: &mut Vec<Problem>,
    ) {
        let before = problems.len();
        for entry in &mut table.entries {
            let key = join(path, &entry.key);
            match property(schema, &entry.key) {
                Property::Known(schema) => self.check_entry(schema, entry, &key, problems),
                Property::Free => {}
                Property::Unknown => problems.push(self.unknown_key(schema, variants, entry, path)),
            }
        }
        // What a wrong option begins is not begun: other keys of it are not missing.
        if table.place.is_option() && problems.len() > before {
            return;
        }
        let required = || schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
        if !path.is_empty() && required().count() > 1 && required().all(|key| table.get(key).is_none()) {
            let message = format!(
                "is no part of this machine: nothing but the keys given here; it has {}",
                keys(schema)
            );
            return problems.push(Problem::new(Some(table.place.clone()), path, message));
        }
        for key in required() {
            if table.get(key).is_none() {
                let expected = self.expectation(&schema["properties"][key]);
                let message = format!("is missing; expected {expected}");
                problems.push(Problem::new(Some(table.place.clone()), &join(path, key), message));
            }
        }
    }

    fn check_entry(&self, schema: &Value, entry: &mut Entry, key: &str, problems: &mut Vec<Problem>) {
        let leaf = match &mut entry.node {
            TreeNode::Table(table) => return self.check_table(schema, table, key, problems),
            TreeNode::Leaf(leaf) => leaf,
        };
        let Shape::Leaf = self.shape(schema) else {
            return problems.push(self.no_plain_value(schema, leaf, key));
        };
        let place = leaf.place.clone();
        if let Err(message) = self.settle(schema, leaf) {
            problems.push(Problem::new(Some(place), key, message));
        }
    }

    fn unknown_key(&self, schema: &Value, variants: &[(&str, &Value)], entry: &Entry, path: &str) -> Problem {
        let known = schema["properties"].as_object();
        let has_it = |variant: &&(&str, &Value)| variant.1["properties"].get(&entry.key).is_some();
        let kinds: Vec<String> =
            variants.iter().filter(has_it).map(|(kind, _)| format!("{kind:?}")).collect();
        let hint = match kinds.is_empty() {
            false => format!("; `{}` belongs to kind = {}", entry.key, kinds.join(" or ")),
            true => elsewhere::product(schema, &entry.key).unwrap_or_else(|| {
                let similar =
                    did_you_mean(&entry.key, known.into_iter().flat_map(Map::keys).map(String::as_str));
                if similar.is_empty() { self.elsewhere(&entry.key) } else { similar }
            }),
        };
        let value = match &entry.node {
            TreeNode::Leaf(leaf) => format!(" (= {})", leaf.value),
            TreeNode::Table(_) => String::new(),
        };
        let around = if path.is_empty() { "a machine".to_owned() } else { format!("[{path}]") };
        let message = format!("unknown key{value}; {around} has {}{hint}", keys(schema));
        Problem::new(Some(entry.place.clone()), &join(path, &entry.key), message)
    }

    fn collect<'a>(
        &'a self,
        schema: &'a Value,
        table: &'a Table,
        path: &str,
        found: &mut Vec<Parameter<'a>>,
    ) {
        let table_schema = match self.shape(schema) {
            Shape::Table(schema) => schema,
            Shape::Variants { tag, tables } => match choose(tag, &tables, table, path) {
                Ok(schema) => schema,
                Err(_) => return,
            },
            Shape::Leaf => return,
        };
        for entry in in_declared_order(table_schema, table) {
            let key = join(path, &entry.key);
            let Property::Known(schema) = property(table_schema, &entry.key) else {
                continue;
            };
            match &entry.node {
                TreeNode::Table(table) => self.collect(schema, table, &key, found),
                TreeNode::Leaf(leaf) => {
                    // The constant that selects a variant means what the variant means.
                    let meaning = if schema.get("const").is_some() {
                        self.meaning(table_schema)
                    } else {
                        self.meaning(schema)
                    };
                    let unit = schema["unit"].as_str().map(str::to_owned);
                    found.push(Parameter { key, leaf, meaning, unit });
                }
            }
        }
    }

    /// A field's doc comment; that of its type where it has none.
    fn meaning(&self, schema: &Value) -> String {
        let own = schema["description"].as_str();
        let text = own.or_else(|| self.resolve(schema)["description"].as_str());
        text.unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ")
    }
}

/// A key of a table, as its schema sees it.
enum Property<'a> {
    /// Declared, with this schema.
    Known(&'a Value),
    /// Not declared, and not checked.
    Free,
    /// Not allowed.
    Unknown,
}

fn property<'a>(schema: &'a Value, key: &str) -> Property<'a> {
    match (schema["properties"].get(key), schema.get("additionalProperties")) {
        (Some(schema), _) | (None, Some(schema @ Value::Object(_))) => Property::Known(schema),
        (None, Some(Value::Bool(false))) => Property::Unknown,
        _ => Property::Free,
    }
}

/// The variant of `tables` that `table` names.
fn choose<'a>(
    tag: &str,
    tables: &[(&str, &'a Value)],
    table: &Table,
    path: &str,
) -> Result<&'a Value, Problem> {
    let names = || tables.iter().map(|(name, _)| *name);
    let (place, key) = (|place: &Position| Some(place.clone()), join(path, tag));
    let expected = one_of(names().map(|name| format!("{name:?}")));
    let Some(entry) = table.get(tag) else {
        return Err(Problem::new(place(&table.place), &key, format!("is missing; expected {expected}")));
    };
    let (value, at) = match table.leaf(tag) {
        Some(leaf) => (leaf.value.clone(), &leaf.place),
        None => (Value::Null, &entry.place),
    };
    let chosen = tables.iter().find(|(name, _)| value == *name);
    chosen.map(|(_, schema)| *schema).ok_or_else(|| {
        let hint = did_you_mean(value.as_str().unwrap_or_default(), names());
        Problem::new(place(at), &key, format!("{value} is not allowed; expected {expected}{hint}"))
    })
}

/// The entries of a table in the order of the schema; others follow.
fn in_declared_order<'a>(schema: &Value, table: &'a Table) -> Vec<&'a Entry> {
    let known = schema["properties"].as_object();
    let rank = |key: &str| known.and_then(|known| known.keys().position(|name| name == key));
    let mut entries: Vec<&Entry> = table.entries.iter().collect();
    entries.sort_by_key(|entry| rank(&entry.key).unwrap_or(usize::MAX));
    entries
}

/// The name behind `"$ref": "#/$defs/NAME"`.
fn reference(schema: &Value) -> Option<&str> {
    schema.get("$ref")?.as_str()?.strip_prefix("#/$defs/")
}

fn branches(schema: &Value) -> &[Value] {
    let branches = schema.get("oneOf").or_else(|| schema.get("anyOf"));
    branches.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// The (key, value) of the constant that tells this variant from its siblings.
fn tag_of(branch: &Value) -> Option<(&str, &str)> {
    let properties = branch.get("properties")?.as_object()?;
    properties.iter().find_map(|(key, schema)| Some((key.as_str(), schema.get("const")?.as_str()?)))
}

/// The keys that a table may have, for people.
fn keys(schema: &Value) -> String {
    let names: Vec<&str> =
        schema["properties"].as_object().into_iter().flat_map(Map::keys).map(String::as_str).collect();
    if names.is_empty() { "no keys".into() } else { names.join(", ") }
}

fn one_of(choices: impl IntoIterator<Item = String>) -> String {
    let choices: Vec<String> = choices.into_iter().collect();
    match &choices[..] {
        [first @ .., one, last] if !first.is_empty() => format!("{}, {one} or {last}", first.join(", ")),
        _ => choices.join(" or "),
    }
}

/// `path.key`, quoted where the key is not a bare one.
pub(super) fn join(path: &str, key: &str) -> String {
    let bare = !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    let key = if bare { key.to_owned() } else { format!("{key:?}") };
    if path.is_empty() { key } else { format!("{path}.{key}") }
}
