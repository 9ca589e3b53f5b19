//! A machine's file as a tree of tables and leaves, each knowing its place and
//! each leaf its source.
//!
//! ```text
//!   text ──read──► tree ──merge──► tree ──check (schema)──► JSON ──serde──► typed
//!                 (file)      (base + file + --set)            rules ──► MachineConfig
//! ```
//!
//! The tree is what is merged, checked against the schema, shown and written
//! back; the typed structures are made from its plain values and know nothing
//! of places and sources.

use serde::Serialize;
use serde_json::{Map, Value};

use super::problem::Position;
use super::schema::join;

/// Where a parameter's value comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    /// A publication states it, at this place.
    Stated(String),
    /// Nothing states it; this is the reason for the value.
    Assumed(String),
    /// The user's file or command line says so.
    User,
}

/// A table or a leaf.
#[derive(Clone, Debug)]
pub(super) enum TreeNode {
    Table(Table),
    Leaf(Leaf),
}

/// A table: entries in the order of the file.
#[derive(Clone, Debug)]
pub(super) struct Table {
    pub place: Position,
    pub entries: Vec<Entry>,
}

/// A key with what it stands for.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub key: String,
    pub place: Position,
    pub node: TreeNode,
}

/// A parameter's value with its source.
#[derive(Clone, Debug)]
pub(super) struct Leaf {
    /// Where the value itself stands, behind its key.
    pub place: Position,
    pub value: Value,
    pub source: Source,
    /// Other values that the same machine might have, for an assumed one whose
    /// half and double say less, or nothing.
    pub alternatives: Option<Vec<Value>>,
    /// What was typed on the command line, where the value came from there: it
    /// is taken as text when the parameter turns out to be one.
    pub typed: Option<String>,
    /// Whether a file or a command line states it as its difference from a base.
    pub chosen: bool,
}

impl Leaf {
    /// A value as a document has it.
    pub fn new(place: Position, value: Value, source: Source) -> Self {
        Leaf { place, value, source, alternatives: None, typed: None, chosen: false }
    }
}

/// The key that selects the variant of a table, such as the network's.
pub(super) const KIND: &str = "kind";

impl Table {
    /// A table without entries.
    pub fn empty(place: Position) -> Self {
        Table { place, entries: Vec::new() }
    }

    /// The entry of `key` in this table.
    pub fn get(&self, key: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.key == key)
    }

    /// The table `key` of this table.
    pub fn table_mut(&mut self, key: &str) -> Option<&mut Table> {
        let entry = self.entries.iter_mut().find(|entry| entry.key == key)?;
        match &mut entry.node {
            TreeNode::Table(table) => Some(table),
            TreeNode::Leaf(_) => None,
        }
    }

    /// The place of the dotted path `key`'s value, or of the nearest table around it.
    pub fn place_of(&self, key: &str) -> Position {
        for entry in &self.entries {
            let Some(rest) = key.strip_prefix(&join("", &entry.key)) else {
                continue;
            };
            match (&entry.node, rest.strip_prefix('.')) {
                (TreeNode::Table(table), Some(rest)) => return table.place_of(rest),
                (TreeNode::Table(table), None) if rest.is_empty() => return table.place.clone(),
                (TreeNode::Leaf(leaf), None) if rest.is_empty() => return leaf.place.clone(),
                _ => {}
            }
        }
        self.place.clone()
    }

    /// Lays `over` over this table. Tables are merged key by key, except that
    /// another `kind` makes another table: the keys of the old kind mean
    /// nothing to it.
    pub fn merge(&mut self, over: Table) {
        for entry in over.entries {
            let Some(mine) = self.entries.iter_mut().find(|mine| mine.key == entry.key) else {
                self.entries.push(entry);
                continue;
            };
            match (&mut mine.node, entry.node) {
                (TreeNode::Table(mine), TreeNode::Table(over)) if !mine.changes_kind(&over) => {
                    mine.merge(over)
                }
                (mine_node, node) => {
                    *mine_node = node;
                    mine.place = entry.place;
                }
            }
        }
    }

    /// Lays `over` over this table as a difference from it.
    pub fn choose(&mut self, mut over: Table) {
        over.mark(true);
        self.merge(over);
    }

    /// Marks every leaf as a difference, or as none.
    pub fn mark(&mut self, chosen: bool) {
        for entry in &mut self.entries {
            match &mut entry.node {
                TreeNode::Table(table) => table.mark(chosen),
                TreeNode::Leaf(leaf) => leaf.chosen = chosen,
            }
        }
    }

    /// Whether `over` makes this table another kind of thing.
    fn changes_kind(&self, over: &Table) -> bool {
        match (self.value(KIND), over.value(KIND)) {
            (Some(mine), Some(other)) => mine != other,
            _ => false,
        }
    }

    /// The value of the leaf `key` of this table.
    pub fn value(&self, key: &str) -> Option<&Value> {
        self.leaf(key).map(|leaf| &leaf.value)
    }

    /// The leaf `key` of this table.
    pub fn leaf(&self, key: &str) -> Option<&Leaf> {
        match &self.get(key)?.node {
            TreeNode::Leaf(leaf) => Some(leaf),
            TreeNode::Table(_) => None,
        }
    }

    /// The plain values, for the typed structures.
    pub fn values(&self) -> Value {
        self.to_json(&|leaf| leaf.value.clone())
    }

    /// The values in the form of the file: `{"value": .., "stated": ..}`. What
    /// else they might be is no part of the machine.
    pub fn values_with_sources(&self) -> Value {
        self.to_json(&|leaf| {
            let (word, reason) = match &leaf.source {
                Source::Stated(place) => ("stated", place),
                Source::Assumed(reason) => ("assumed", reason),
                Source::User => return leaf.value.clone(),
            };
            serde_json::json!({ "value": leaf.value, word: reason })
        })
    }

    fn to_json(&self, of_leaf: &dyn Fn(&Leaf) -> Value) -> Value {
        let entries = self.entries.iter().map(|entry| {
            let value = match &entry.node {
                TreeNode::Table(table) => table.to_json(of_leaf),
                TreeNode::Leaf(leaf) => of_leaf(leaf),
            };
            (entry.key.clone(), value)
        });
        Value::Object(entries.collect::<Map<_, _>>())
    }
}
