//! The JSON Schema of a machine's file, as editors use it.

use serde_json::{Value, json};

use super::{Schema, Shape};
use crate::config::BASE;

impl Schema {
    /// The schema for editors: each leaf is a plain value or states its source
    /// beside it, `base` is allowed, and nothing is required, since a file may
    /// state only its difference from its base.
    pub(in crate::config) fn for_editors(&self) -> Value {
        let mut root = self.root.clone();
        self.relax(&mut root);
        if let Some(Value::Object(properties)) = root.get_mut("properties") {
            let meaning = "The machine that this file differs from: a preset's name or a path";
            properties.insert(BASE.into(), json!({ "type": "string", "description": meaning }));
        }
        root
    }

    fn relax(&self, schema: &mut Value) {
        let Value::Object(object) = schema else {
            return;
        };
        object.remove("required");
        if let Some(Value::Object(properties)) = object.get_mut("properties") {
            for property in properties.values_mut() {
                match self.shape(property) {
                    Shape::Leaf => *property = with_source(property.take()),
                    _ => self.relax(property),
                }
            }
        }
        // A table that states only some keys may be any of several kinds.
        if let Some(variants) = object.remove("oneOf") {
            object.insert("anyOf".into(), variants);
        }
        if let Some(Value::Array(branches)) = object.get_mut("anyOf") {
            branches.iter_mut().for_each(|branch| self.relax(branch));
        }
        if let Some(Value::Object(definitions)) = object.get_mut("$defs") {
            definitions.values_mut().for_each(|definition| self.relax(definition));
        }
        if let Some(items @ Value::Object(_)) = object.get_mut("additionalProperties") {
            self.relax(items);
        }
    }
}

/// A schema that also accepts the value together with its source.
fn with_source(mut plain: Value) -> Value {
    let meaning = plain.as_object_mut().and_then(|plain| plain.remove("description"));
    let table = |word: &str| {
        let mut table = json!({
            "type": "object",
            "properties": { "value": plain, word: { "type": "string" } },
            "required": ["value", word],
            "additionalProperties": false,
        });
        if word == "assumed" {
            table["properties"]["alternatives"] = json!({ "type": "array", "items": plain });
        }
        table
    };
    let mut schema = json!({ "anyOf": [plain, table("stated"), table("assumed")] });
    if let Some(meaning) = meaning {
        schema["description"] = meaning;
    }
    schema
}
