//! What to write instead of an unknown key: the table that it belongs to, or the keys
//! that it is made of.

use serde_json::{Map, Value};

use super::{Schema, Shape, join};

/// More tables than this are no help.
const MOST_TABLES: usize = 4;

/// What people look for in a table, and the keys whose product it is.
const PRODUCTS: [(&str, [&str; 2]); 1] = [("bandwidth", ["width", "clock"])];

/// "; bandwidth is width times clock", where the table of this schema has both.
pub(super) fn product(schema: &Value, key: &str) -> Option<String> {
    let (name, [one, other]) = PRODUCTS.into_iter().find(|(name, _)| key.eq_ignore_ascii_case(name))?;
    let has = |key: &str| schema["properties"].get(key).is_some();
    (has(one) && has(other)).then(|| format!("; {name} is {one} times {other}"))
}

impl Schema {
    /// "; `latency` is a key of [network]", where there are such tables and not many.
    pub(super) fn elsewhere(&self, key: &str) -> String {
        let mut tables = Vec::new();
        self.find(&self.root, "", key, &mut tables);
        if tables.is_empty() || tables.len() > MOST_TABLES {
            return String::new();
        }
        let tables: Vec<String> = tables.iter().map(|table| format!("[{table}]")).collect();
        format!("; `{key}` is a key of {}", tables.join(" and "))
    }

    fn find(&self, schema: &Value, path: &str, key: &str, found: &mut Vec<String>) {
        let tables = match self.shape(schema) {
            Shape::Table(table) => vec![table],
            Shape::Variants { tables, .. } => tables.into_iter().map(|(_, table)| table).collect(),
            Shape::Leaf => return,
        };
        let properties = tables.into_iter().filter_map(|table| table["properties"].as_object());
        for (name, property) in properties.flat_map(Map::iter) {
            if name == key && !path.is_empty() && !found.iter().any(|table| table == path) {
                found.push(path.to_owned());
            }
            self.find(property, &join(path, name), key, found);
        }
    }
}
