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

use std::str::FromStr;

use narthex_kernel::{Bytes, Duration, Frequency};
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value, json};

use super::problem::{Place, Problem, did_you_mean};
use super::tree::{Entry, Leaf, Node, Table};

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

/// How each quantity of the kernel reads its text, by the name of its schema.
fn quantity_reader(name: &str) -> Option<fn(&str) -> Result<(), String>> {
    fn read<T: FromStr<Err: ToString>>(text: &str) -> Result<(), String> {
        text.parse::<T>().map(drop).map_err(|error| error.to_string())
    }
    if name == Duration::schema_name() {
        Some(read::<Duration>)
    } else if name == Frequency::schema_name() {
        Some(read::<Frequency>)
    } else if name == Bytes::schema_name() {
        Some(read::<Bytes>)
    } else {
        None
    }
}

impl Schema {
    /// The schema of `T`.
    pub fn of<T: JsonSchema>() -> Self {
        let schema = SchemaGenerator::default().into_root_schema_for::<T>();
        Schema { root: schema.to_value() }
    }

    /// All that is wrong with `table`. Values from the command line take the
    /// type that the schema asks for.
    pub fn check(&self, table: &mut Table) -> Vec<Problem> {
        let mut problems = Vec::new();
        self.check_table(&self.root, table, "", &mut problems);
        problems
    }

    /// The parameters of `table`, in the order in which the structures declare them.
    pub fn parameters<'a>(&'a self, table: &'a Table) -> Vec<Parameter<'a>> {
        let mut parameters = Vec::new();
        self.collect(&self.root, table, "", &mut parameters);
        parameters
    }

    /// The schema for editors: each leaf is a plain value or states its source
    /// beside it, `base` is allowed, and nothing is required, since a file may
    /// state only its difference from its base.
    pub fn for_editors(&self) -> Value {
        let mut root = self.root.clone();
        self.relax(&mut root);
        if let Some(Value::Object(properties)) = root.get_mut("properties") {
            let meaning = "The machine that this file differs from: a preset's name or a path";
            properties.insert(super::BASE.into(), json!({ "type": "string", "description": meaning }));
        }
        root
    }

    /// `schema` behind its references.
    fn resolve<'a>(&'a self, mut schema: &'a Value) -> &'a Value {
        // Definitions may refer to definitions, but not in circles.
        for _ in 0..16 {
            let Some(name) = reference(schema) else { break };
            let Some(definition) = self.root.get("$defs").and_then(|all| all.get(name)) else { break };
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
            Shape::Table(schema) => self.check_keys(schema, table, path, problems),
            Shape::Variants { tag, tables } => match choose(tag, &tables, table, path) {
                Ok(schema) => self.check_keys(schema, table, path, problems),
                Err(problem) => problems.push(problem),
            },
            Shape::Leaf => {
                let expected = self.expectation(schema);
                problems.push(Problem::new(Some(table.place.clone()), path, format!("is a table; expected {expected}")));
            }
        }
    }

    fn check_keys(&self, schema: &Value, table: &mut Table, path: &str, problems: &mut Vec<Problem>) {
        for entry in &mut table.entries {
            let key = join(path, &entry.key);
            match property(schema, &entry.key) {
                Property::Known(schema) => self.check_entry(schema, entry, &key, problems),
                Property::Free => {}
                Property::Unknown => problems.push(unknown_key(schema, entry, path)),
            }
        }
        for key in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            if table.get(key).is_none() {
                let expected = self.expectation(&schema["properties"][key]);
                let message = format!("is missing; expected {expected}");
                problems.push(Problem::new(Some(table.place.clone()), &join(path, key), message));
            }
        }
    }

    fn check_entry(&self, schema: &Value, entry: &mut Entry, key: &str, problems: &mut Vec<Problem>) {
        let leaf = match &mut entry.node {
            Node::Table(table) => return self.check_table(schema, table, key, problems),
            Node::Leaf(leaf) => leaf,
        };
        let message = match self.shape(schema) {
            Shape::Leaf => match self.settle(schema, leaf) {
                Ok(()) => return,
                Err(message) => message,
            },
            _ => format!("{} is not allowed; expected {}", leaf.value, self.expectation(schema)),
        };
        problems.push(Problem::new(Some(entry.place.clone()), key, message));
    }

    /// Whether the leaf's value is allowed; what was typed on the command line
    /// counts as text where only that is.
    fn settle(&self, schema: &Value, leaf: &mut Leaf) -> Result<(), String> {
        let outcome = self.accepts(schema, &leaf.value);
        let (Err(_), Some(typed)) = (&outcome, &leaf.typed) else { return outcome };
        let text = Value::String(typed.clone());
        if self.accepts(schema, &text).is_err() {
            return outcome;
        }
        leaf.value = text;
        Ok(())
    }

    fn accepts(&self, schema: &Value, value: &Value) -> Result<(), String> {
        let quantity = reference(schema).and_then(quantity_reader);
        if let (Some(read), Value::String(text)) = (quantity, value) {
            return read(text);
        }
        if let (Some(read), Value::Number(number)) = (quantity, value) {
            return read(&number.to_string());
        }
        let resolved = self.resolve(schema);
        let branches = branches(resolved);
        let allowed = if branches.is_empty() {
            fits(resolved, value)
        } else {
            branches.iter().any(|branch| self.accepts(branch, value).is_ok())
        };
        if allowed {
            return Ok(());
        }
        let words = self.words(resolved);
        let hint = did_you_mean(value.as_str().unwrap_or_default(), words.iter().map(String::as_str));
        Err(format!("{value} is not allowed; expected {}{hint}", self.expectation(schema)))
    }

    /// The words that a leaf may be.
    fn words(&self, schema: &Value) -> Vec<String> {
        let schema = self.resolve(schema);
        let own = schema["enum"].as_array().into_iter().flatten().chain(schema.get("const"));
        let own = own.filter_map(Value::as_str).map(str::to_owned);
        own.chain(branches(schema).iter().flat_map(|branch| self.words(branch))).collect()
    }

    /// What a schema allows, for people.
    fn expectation(&self, schema: &Value) -> String {
        let quantity = reference(schema).and_then(quantity_reader).is_some();
        let resolved = self.resolve(schema);
        if quantity {
            return resolved["description"].as_str().unwrap_or("a quantity").to_owned();
        }
        match self.shape(schema) {
            Shape::Table(schema) => format!("a table with {}", keys(schema)),
            Shape::Variants { tag, tables } => {
                format!("a table whose {tag} is {}", one_of(tables.iter().map(|(name, _)| name.to_string())))
            }
            Shape::Leaf => self.leaf_expectation(resolved),
        }
    }

    fn leaf_expectation(&self, schema: &Value) -> String {
        let words = self.words(schema);
        let other = branches(schema).iter().filter(|branch| self.words(branch).is_empty());
        let other = other.filter(|branch| branch["type"] != "null").map(|branch| self.expectation(branch));
        let quoted = words.iter().map(|word| format!("{word:?}"));
        let choices: Vec<String> = other.chain(quoted).collect();
        if choices.is_empty() { scalar_expectation(schema) } else { one_of(choices) }
    }

    fn collect<'a>(&'a self, schema: &'a Value, table: &'a Table, path: &str, found: &mut Vec<Parameter<'a>>) {
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
            let Property::Known(schema) = property(table_schema, &entry.key) else { continue };
            match &entry.node {
                Node::Table(table) => self.collect(schema, table, &key, found),
                Node::Leaf(leaf) => {
                    // The constant that selects a variant means what the variant means.
                    let meaning = if schema.get("const").is_some() { self.meaning(table_schema) } else { self.meaning(schema) };
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

    fn relax(&self, schema: &mut Value) {
        let Value::Object(object) = schema else { return };
        object.remove("required");
        if let Some(Value::Object(properties)) = object.get_mut("properties") {
            for property in properties.values_mut() {
                match self.shape(property) {
                    Shape::Leaf => *property = with_source(property.take()),
                    _ => self.relax(property),
                }
            }
        }
        for key in ["oneOf", "anyOf"] {
            if let Some(Value::Array(branches)) = object.get_mut(key) {
                branches.iter_mut().for_each(|branch| self.relax(branch));
            }
        }
        if let Some(Value::Object(definitions)) = object.get_mut("$defs") {
            definitions.values_mut().for_each(|definition| self.relax(definition));
        }
        if let Some(items @ Value::Object(_)) = object.get_mut("additionalProperties") {
            self.relax(items);
        }
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
fn choose<'a>(tag: &str, tables: &[(&str, &'a Value)], table: &Table, path: &str) -> Result<&'a Value, Problem> {
    let names = || tables.iter().map(|(name, _)| *name);
    let (place, key) = (|place: &Place| Some(place.clone()), join(path, tag));
    let expected = one_of(names().map(|name| format!("{name:?}")));
    let Some(entry) = table.get(tag) else {
        return Err(Problem::new(place(&table.place), &key, format!("is missing; expected {expected}")));
    };
    let value = table.value(tag).cloned().unwrap_or_default();
    let chosen = tables.iter().find(|(name, _)| value == *name);
    chosen.map(|(_, schema)| *schema).ok_or_else(|| {
        let hint = did_you_mean(value.as_str().unwrap_or_default(), names());
        Problem::new(place(&entry.place), &key, format!("{value} is not allowed; expected {expected}{hint}"))
    })
}

fn unknown_key(schema: &Value, entry: &Entry, path: &str) -> Problem {
    let known = schema["properties"].as_object();
    let hint = did_you_mean(&entry.key, known.into_iter().flat_map(Map::keys).map(String::as_str));
    let value = match &entry.node {
        Node::Leaf(leaf) => format!(" (= {})", leaf.value),
        Node::Table(_) => String::new(),
    };
    let around = if path.is_empty() { "a machine".to_owned() } else { format!("[{path}]") };
    let message = format!("unknown key{value}; {around} has {}{hint}", keys(schema));
    Problem::new(Some(entry.place.clone()), &join(path, &entry.key), message)
}

/// The entries of a table in the order of the schema; others follow.
fn in_declared_order<'a>(schema: &Value, table: &'a Table) -> Vec<&'a Entry> {
    let known = schema["properties"].as_object();
    let rank = |key: &str| known.and_then(|known| known.keys().position(|name| name == key));
    let mut entries: Vec<&Entry> = table.entries.iter().collect();
    entries.sort_by_key(|entry| rank(&entry.key).unwrap_or(usize::MAX));
    entries
}

/// A schema that also accepts the value together with its source.
fn with_source(mut plain: Value) -> Value {
    let meaning = plain.as_object_mut().and_then(|plain| plain.remove("description"));
    let table = |word: &str| {
        json!({
            "type": "object",
            "properties": { "value": plain, word: { "type": "string" } },
            "required": ["value", word],
            "additionalProperties": false,
        })
    };
    let mut schema = json!({ "anyOf": [plain, table("stated"), table("assumed")] });
    if let Some(meaning) = meaning {
        schema["description"] = meaning;
    }
    schema
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

/// Whether a scalar (or list) is of the schema's type and in its range.
fn fits(schema: &Value, value: &Value) -> bool {
    if let Some(constant) = schema.get("const") {
        return constant == value;
    }
    if let Some(words) = schema.get("enum").and_then(Value::as_array) {
        return words.contains(value);
    }
    let types = match &schema["type"] {
        Value::String(name) => vec![name.as_str()],
        Value::Array(names) => names.iter().filter_map(Value::as_str).collect(),
        _ => return true,
    };
    types.into_iter().any(|name| is_of_type(name, value)) && in_range(schema, value)
}

fn is_of_type(name: &str, value: &Value) -> bool {
    match name {
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        _ => false,
    }
}

fn in_range(schema: &Value, value: &Value) -> bool {
    let Some(number) = value.as_f64() else { return true };
    let least = schema["minimum"].as_f64().unwrap_or(f64::NEG_INFINITY);
    let most = schema["maximum"].as_f64().unwrap_or(f64::INFINITY);
    (least..=most).contains(&number)
}

fn scalar_expectation(schema: &Value) -> String {
    let name = match &schema["type"] {
        Value::String(name) => name.as_str(),
        Value::Array(names) => names.iter().filter_map(Value::as_str).find(|name| *name != "null").unwrap_or("value"),
        _ => return "a value".into(),
    };
    let noun = match name {
        "integer" => "a whole number",
        "number" => "a number",
        "string" => "a text",
        "boolean" => "true or false",
        "array" => "a list",
        _ => "a value",
    };
    match (&schema["minimum"], &schema["maximum"]) {
        (Value::Null, Value::Null) => noun.to_owned(),
        (Value::Null, most) => format!("{noun} up to {most}"),
        (least, Value::Null) => format!("{noun} from {least} up"),
        (least, most) => format!("{noun} from {least} to {most}"),
    }
}

/// The keys that a table may have, for people.
fn keys(schema: &Value) -> String {
    let names: Vec<&str> = schema["properties"].as_object().into_iter().flat_map(Map::keys).map(String::as_str).collect();
    if names.is_empty() { "no keys".into() } else { names.join(", ") }
}

fn one_of(choices: impl IntoIterator<Item = String>) -> String {
    choices.into_iter().collect::<Vec<_>>().join(" or ")
}

/// `path.key`, quoted where the key is not a bare one.
pub(super) fn join(path: &str, key: &str) -> String {
    let bare = !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    let key = if bare { key.to_owned() } else { format!("{key:?}") };
    if path.is_empty() { key } else { format!("{path}.{key}") }
}
