//! What goes from a machine with an interconnect that a difference makes one of another kind: the tables
//! of its parameters, which would describe what the node lacks.

use narthex_memory::interconnects::Part;
use serde::Deserialize;

use super::tree::{Table, TreeNode};

/// Lays a difference over a machine. The tables of an interconnect's former kind stay where the
/// difference has them itself.
pub(super) fn choose(machine: &mut Table, over: Table) {
    let gone: Vec<String> =
        replaced_tables(machine, &over).into_iter().filter(|table| find(&over, table).is_none()).collect();
    for key in &gone {
        remove(machine, key);
    }
    machine.choose(over);
}

/// The tables of the interconnects whose kind a difference changes, by their keys.
fn replaced_tables(machine: &Table, over: &Table) -> Vec<String> {
    let Some(below) = find(machine, INTERCONNECTS) else { return Vec::new() };
    let replaced = |name: &str| {
        let part = Part::deserialize(find(below, name)?.values()).ok()?;
        let kind = find(find(over, INTERCONNECTS)?, name)?.value("kind")?;
        (kind != part.kind()).then(|| part.rules().tables(name))
    };
    below.entries.iter().filter_map(|entry| replaced(&entry.key)).flatten().collect()
}

const INTERCONNECTS: &str = "node.interconnects";

/// The table with a dotted key.
fn find<'a>(table: &'a Table, key: &str) -> Option<&'a Table> {
    key.split('.').try_fold(table, |table, key| match &table.get(key)?.node {
        TreeNode::Table(table) => Some(table),
        TreeNode::Leaf(_) => None,
    })
}

/// Takes the table with a dotted key away.
fn remove(table: &mut Table, key: &str) {
    match key.split_once('.') {
        None => table.entries.retain(|entry| entry.key != key),
        Some((first, rest)) => {
            let entry = table.entries.iter_mut().find(|entry| entry.key == first);
            if let Some(TreeNode::Table(below)) = entry.map(|entry| &mut entry.node) {
                remove(below, rest);
            }
        }
    }
}
