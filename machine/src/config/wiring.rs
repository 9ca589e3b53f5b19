//! A wiring that a file lists: its nodes and links become a part of the machine, so that results,
//! checkpoints and jobs do not depend on the file.

mod lists;

use std::path::Path;

use serde_json::{Value, json};

use super::problem::Problem;
use super::tree::{Entry, Leaf, Table, TreeNode};
use crate::files;
use lists::Lists;

/// The tables that describe a topology.
const TOPOLOGIES: [&str; 2] = ["network", "network_on_chip"];

/// A wiring of thousands of switches is a list of some hundred thousand lines.
const LARGEST_FILE_BYTES: u64 = 16 << 20;

/// Reads the file of each topology that names one and does not list its nodes itself.
/// `folder` is what a path is relative to.
pub(super) fn include(document: &mut Table, folder: Option<&Path>) -> Result<(), Problem> {
    for table in TOPOLOGIES {
        let Some(topology) = document.table_mut(table).and_then(|table| table.table_mut("topology")) else {
            continue;
        };
        let Some(leaf) = topology.leaf("file").cloned().filter(|_| topology.get("nodes").is_none()) else {
            continue;
        };
        let problem = |message| {
            let key = format!("{table}.topology.file");
            Problem::new(Some(leaf.place.clone()), &key, message)
        };
        let Some(name) = leaf.value.as_str() else {
            return Err(problem(format!("{} is not a path of a file", leaf.value)));
        };
        let Lists { nodes, links, names } =
            read(&folder.unwrap_or(Path::new("")).join(name)).map_err(problem)?;
        for (key, value) in [("nodes", json!(nodes)), ("links", json!(links)), ("names", json!(names))] {
            topology.entries.retain(|entry| entry.key != key);
            topology.entries.push(entry(key, value, &leaf));
        }
    }
    Ok(())
}

/// A list that stands where the file is named.
fn entry(key: &str, value: Value, file: &Leaf) -> Entry {
    let leaf = Leaf::new(file.place.clone(), value, file.source.clone());
    Entry { key: key.to_owned(), place: file.place.clone(), node: TreeNode::Leaf(leaf) }
}

fn read(path: &Path) -> Result<Lists, String> {
    let shown = path.display();
    let bytes = files::read(path, LARGEST_FILE_BYTES)
        .map_err(|error| format!("cannot read the wiring {shown}: {error}"))?;
    let text = std::str::from_utf8(&bytes).map_err(|_| format!("{shown} is not UTF-8 text"))?;
    Lists::read(text).map_err(|problem| format!("{shown}: {problem}"))
}
