//! Leaves: whether a value is what its schema allows, and how to say what is.

use std::str::FromStr;

use narthex_kernel::{Bytes, Duration, Frequency};
use schemars::JsonSchema;
use serde_json::Value;

use super::{Schema, Shape, branches, keys, one_of, reference};
use crate::config::tree::Leaf;
use narthex_kernel::did_you_mean;

/// Counts of a machine (cycles, entries, packets) may be so large where nothing
/// else is said: products and sums of them with times stay far from overflow.
const MOST: u32 = 1_000_000;
/// No time of a machine may be longer, for the same reason.
const LONGEST: Duration = Duration::from_ns(1_000_000_000_000);
/// No clock of a machine may be slower.
const SLOWEST_HZ: u64 = 1_000;

/// States the largest value of every count that has none.
pub(super) fn limit_numbers(schema: &mut Value) {
    match schema {
        Value::Object(table) => {
            if table.get("format").is_some_and(|format| format == "uint32") && !table.contains_key("enum") {
                table.entry("maximum").or_insert(MOST.into());
            }
            table.values_mut().for_each(limit_numbers);
        }
        Value::Array(items) => items.iter_mut().for_each(limit_numbers),
        _ => {}
    }
}

/// Tries to read a text, and says what is wrong with it.
type Reader = fn(&str) -> Result<(), String>;

/// How each quantity of the kernel reads its text, by the name of its schema.
fn quantity_reader(name: &str) -> Option<Reader> {
    fn read<T: FromStr<Err: ToString>>(text: &str) -> Result<T, String> {
        text.parse::<T>().map_err(|error| error.to_string())
    }
    fn unless(is_wrong: bool, message: String) -> Result<(), String> {
        if is_wrong { Err(message) } else { Ok(()) }
    }
    fn time(text: &str) -> Result<(), String> {
        unless(
            read::<Duration>(text)? > LONGEST,
            format!("{text} is too long; at most {LONGEST} is possible"),
        )
    }
    fn clock(text: &str) -> Result<(), String> {
        let is_slow = read::<Frequency>(text)?.as_hz() < SLOWEST_HZ;
        unless(is_slow, format!("{text} is too slow; at least 1kHz is needed"))
    }
    if name == Duration::schema_name() {
        Some(time)
    } else if name == Frequency::schema_name() {
        Some(clock)
    } else if name == Bytes::schema_name() {
        Some(|text| read::<Bytes>(text).map(drop))
    } else {
        None
    }
}

impl Schema {
    /// Whether the leaf's value is allowed; what was typed on the command line
    /// counts as text where only that is.
    pub(super) fn settle(&self, schema: &Value, leaf: &mut Leaf) -> Result<(), String> {
        let outcome = self.accepts(schema, &leaf.value);
        let (Err(_), Some(typed)) = (&outcome, &leaf.typed) else {
            return outcome;
        };
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
            return match (value, resolved.get("items")) {
                (Value::Array(items), Some(schema)) => {
                    items.iter().try_for_each(|item| self.accepts(schema, item))
                }
                _ => Ok(()),
            };
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
    pub(super) fn expectation(&self, schema: &Value) -> String {
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
    let Some(number) = value.as_f64() else {
        return true;
    };
    let least = schema["minimum"].as_f64().unwrap_or(f64::NEG_INFINITY);
    let most = schema["maximum"].as_f64().unwrap_or(f64::INFINITY);
    (least..=most).contains(&number)
}

fn scalar_expectation(schema: &Value) -> String {
    if let Some([first @ .., last]) = schema["enum"].as_array().map(Vec::as_slice) {
        let first: Vec<String> = first.iter().map(Value::to_string).collect();
        return format!("{} or {last}", first.join(", "));
    }
    let name = match &schema["type"] {
        Value::String(name) => name.as_str(),
        Value::Array(names) => {
            names.iter().filter_map(Value::as_str).find(|name| *name != "null").unwrap_or("value")
        }
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
