//! The files of a process: those that the user gives it, those that it writes, and its
//! descriptors.
//!
//! A program sees one tree of folders, in which it starts at the root:
//!
//! ```text
//!   given by the user    files and folders, which stay as they are; every process has the same
//!   written              files and folders of its own, if the run keeps them; no other process
//!                        sees them
//! ```
//!
//! Nothing of the host is in it: contents are in memory, and belong to the state of the process,
//! so that a checkpoint has them. The machine writes them to the host when the run has ended.
//!
//! [`tree`] holds names and contents, [`descriptors`] what a program has open, [`path`] makes
//! one name of the ways to write it.

pub(super) mod descriptors;
pub(super) mod path;
pub(super) mod tree;

use descriptors::Descriptors;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use tree::Tree;

/// The most that a process writes into files: a mistake beyond, as the state is in memory.
pub const MOST_WRITTEN_BYTES: u64 = 1 << 30;

/// What the user gives to every process of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GivenFiles {
    /// What standard input holds; none: it is at its end.
    pub input: Option<Arc<[u8]>>,
    /// Files by their names in the tree ([`name_in_tree`]), without the first slash.
    pub files: BTreeMap<String, Arc<[u8]>>,
    /// Folders, besides those in which files are.
    pub folders: BTreeSet<String>,
    /// Whether the run keeps what programs write: if not, they can write no file.
    pub keeps_written: bool,
}

/// A file or folder that a process has written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Written<'a> {
    /// Its name in the tree, without the first slash.
    pub name: &'a str,
    /// Its contents; none: it is a folder.
    pub bytes: Option<&'a [u8]>,
}

/// The files of a process.
#[derive(Clone, Debug, Default)]
pub(super) struct Files {
    pub given: Arc<GivenFiles>,
    pub state: State,
}

/// What a checkpoint has of them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct State {
    pub tree: Tree,
    pub descriptors: Descriptors,
    /// The folder in which names begin that do not begin with a slash.
    pub working_folder: String,
    /// Names that were asked for in vain, and about which a notice was given.
    pub missed: BTreeSet<String>,
}

impl Files {
    /// Those of a process that has just begun.
    pub fn new(given: Arc<GivenFiles>) -> Self {
        let mut state = State::default();
        if given.input.is_some() {
            state.descriptors.give_input();
        }
        Files { given, state }
    }

    /// The files and folders that the process has written, in the order of their names.
    pub fn written(&self) -> impl Iterator<Item = Written<'_>> {
        self.state.tree.written()
    }

    /// The given name that is most like one that is not there.
    pub fn nearest(&self, name: &str) -> Option<&str> {
        let last = |path: &str| path.rsplit('/').next().unwrap_or_default().to_ascii_lowercase();
        let wanted = last(name);
        let given = self.given.files.keys().map(String::as_str);
        let distance = |given: &str| path::distance(&wanted, &last(given));
        given.map(|each| (distance(each), each)).filter(|(far, _)| *far <= 2).min().map(|(_, each)| each)
    }
}

/// One name of the ways to write it: from the root, without the first slash, without `.` and `..`.
/// None for what is longer than Linux allows.
pub fn name_in_tree(text: &str) -> Option<String> {
    path::resolved("", text)
}
