//! What programs find around them besides their arguments: variables, input, and files.
//!
//! All of it comes with the request, so that nothing else of this computer decides a run. Every
//! process of every job finds the same. What processes write is in memory until the run has ended,
//! and goes to the folder that the request names then:
//!
//! ```text
//!   FOLDER/node-0/results.txt               a process of a node that has one
//!   FOLDER/node-0-process-1/results.txt     the second process of a node that has several
//! ```

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use narthex_cores::linux::files::name_in_tree;
use narthex_cores::linux::{GivenFiles, Written};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::node::{Node, Personality};
use crate::request::Failure;
use crate::run::document::WrittenFile;
use crate::sha256::sha256;

/// The variable by which the messaging library finds its page.
const OWN_VARIABLE: &str = "NARTHEX_PAGE";

/// The folder in which programs make temporary files, if they can make any.
const TEMPORARY: &str = "tmp";

/// What the programs of a run find around them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Surroundings {
    /// Variables of the environment: "NAME=VALUE".
    #[serde(default)]
    pub environment: Vec<String>,
    /// Standard input; at its end if not given.
    #[serde(default)]
    pub input: Option<GivenFile>,
    /// Files that programs can read, by their names there.
    #[serde(default)]
    pub files: BTreeMap<String, GivenFile>,
    /// Folders that they can list, also without files.
    #[serde(default)]
    pub folders: Vec<String>,
    /// Where the files go that they write; without, they can write none.
    #[serde(default)]
    pub output_files: Option<PathBuf>,
}

/// A file of this computer. It comes with the request as a whole.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GivenFile {
    /// What messages call it.
    pub file: String,
    /// Its bytes; in hexadecimal digits where a request is text.
    #[serde(with = "hex::serde")]
    pub bytes: Vec<u8>,
}

/// What decides a run of its surroundings: where a file was on this computer does not.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SurroundingsIdentity {
    environment: Vec<String>,
    input_sha256: Option<String>,
    files_sha256: BTreeMap<String, String>,
    folders: Vec<String>,
    keeps_written: bool,
}

impl SurroundingsIdentity {
    /// How what a checkpoint was written with differs from what a run asks for, if it does.
    pub fn difference(&self, asked: &SurroundingsIdentity) -> Option<String> {
        let SurroundingsIdentity { environment, input_sha256, files_sha256, folders, keeps_written } = self;
        let is_other = |what: &str| Some(format!("{what} another than that with which it was written"));
        if *environment != asked.environment {
            return is_other("the environment (--env) is");
        }
        if *input_sha256 != asked.input_sha256 {
            return is_other("the standard input (--input) is");
        }
        let mut names = files_sha256.keys().chain(asked.files_sha256.keys());
        let changed = |name: &&String| files_sha256.get(*name) != asked.files_sha256.get(*name);
        if let Some(name) = names.find(changed) {
            return is_other(&format!("the file '{name}' (--file) is"));
        }
        if *folders != asked.folders {
            return is_other("the list of folders (--directory) is");
        }
        let keeps = |keeps: bool| if keeps { "with" } else { "without" };
        let (then, now) = (keeps(*keeps_written), keeps(asked.keeps_written));
        (*keeps_written != asked.keeps_written)
            .then(|| format!("it was written by a run {then} --output-files, and this is one {now}"))
    }
}

impl Surroundings {
    /// Whether programs find nothing.
    pub fn is_empty(&self) -> bool {
        *self == Surroundings::default()
    }

    /// What of it decides the run.
    pub fn identity(&self) -> SurroundingsIdentity {
        let hash = |given: &GivenFile| sha256(&given.bytes);
        SurroundingsIdentity {
            environment: self.environment.clone(),
            input_sha256: self.input.as_ref().map(hash),
            files_sha256: self.files.iter().map(|(name, given)| (name.clone(), hash(given))).collect(),
            folders: self.folders.clone(),
            keeps_written: self.output_files.is_some(),
        }
    }

    /// The files as processes find them.
    ///
    /// # Errors
    /// If a name or a variable makes no sense, or two are the same.
    pub fn given(&self) -> Result<Arc<GivenFiles>, Failure> {
        self.check_environment()?;
        let mut given = GivenFiles {
            input: self.input.as_ref().map(|input| Arc::from(&*input.bytes)),
            keeps_written: self.output_files.is_some(),
            ..GivenFiles::default()
        };
        for (text, file) in &self.files {
            let name = checked_name("--file", text)?;
            if given.files.insert(name.clone(), Arc::from(&*file.bytes)).is_some() {
                return Err(Failure::usage(format!("--file {text}: the file {name:?} is given twice")));
            }
        }
        if given.keeps_written {
            given.folders.insert(TEMPORARY.to_owned());
        }
        for text in &self.folders {
            let name = checked_name("--directory", text)?;
            if given.files.contains_key(&name) {
                return Err(Failure::usage(format!("--directory {text}: {name:?} is a file already")));
            }
            given.folders.insert(name);
        }
        let under = |name: &String| given.files.keys().find(|file| name.starts_with(&format!("{file}/")));
        if let Some((name, file)) = given.files.keys().find_map(|name| Some((name, under(name)?))) {
            return Err(Failure::usage(format!(
                "--file {name}: {file:?} is a file, so nothing can be in it"
            )));
        }
        Ok(Arc::new(given))
    }

    fn check_environment(&self) -> Result<(), Failure> {
        let mut names = Vec::new();
        for text in &self.environment {
            let name = match text.split_once('=') {
                Some((name, _)) if !name.is_empty() => name,
                _ => {
                    return Err(Failure::usage(format!(
                        "--env {text:?} is no variable; expected NAME=VALUE, such as OMP_NUM_THREADS=4"
                    )));
                }
            };
            if name == OWN_VARIABLE {
                return Err(Failure::usage(format!(
                    "--env {text}: the machine sets {OWN_VARIABLE}, by which the messaging library finds its node"
                )));
            }
            if names.contains(&name) {
                return Err(Failure::usage(format!("--env {text}: {name} is given twice")));
            }
            names.push(name);
        }
        Ok(())
    }

    /// Whether the folder for written files can be used: it is empty, or will be made.
    ///
    /// # Errors
    /// If it is no folder, holds something, or cannot be made.
    pub fn check_folder(&self) -> Result<(), Failure> {
        let Some(folder) = &self.output_files else { return Ok(()) };
        let refused = |why: &dyn std::fmt::Display| {
            Failure::usage(format!("--output-files {}: {why}", folder.display()))
        };
        if fs::metadata(folder).is_ok_and(|found| !found.is_dir()) {
            return Err(refused(&"it is no folder; name one that is empty, or none that is there"));
        }
        fs::create_dir_all(folder).map_err(|error| refused(&error))?;
        match fs::read_dir(folder).map_err(|error| refused(&error))?.next() {
            None => Ok(()),
            Some(_) => Err(refused(&"the folder is not empty; empty it, or name another one")),
        }
    }

    /// Writes the files of a run that has ended into the folder.
    ///
    /// # Errors
    /// Which file could not be written, in words.
    pub fn write(&self, nodes: &[Node]) -> Result<(), String> {
        let Some(folder) = &self.output_files else { return Ok(()) };
        for (place, written) in of_all(nodes) {
            let path = folder.join(place).join(written.name);
            write(&path, written.bytes)
                .map_err(|error| format!("the program's file {} is not written: {error}", path.display()))?;
        }
        Ok(())
    }
}

fn checked_name(option: &str, text: &str) -> Result<String, Failure> {
    let name = name_in_tree(text).filter(|name| !name.contains('\0'));
    match name.as_deref() {
        None | Some("") => Err(Failure::usage(format!(
            "{option} {text:?}: the name that programs open is missing; expected NAME=PATH, such as \
             input.txt=./small.txt"
        ))),
        Some(name) if name == "dev" || name.starts_with("dev/") => Err(Failure::usage(format!(
            "{option} {text}: /dev holds the machine's devices; give the file another name"
        ))),
        Some(name) => Ok(name.to_owned()),
    }
}

fn write(path: &Path, bytes: Option<&[u8]>) -> std::io::Result<()> {
    let Some(bytes) = bytes else { return fs::create_dir_all(path) };
    path.parent().map_or(Ok(()), fs::create_dir_all)?;
    fs::write(path, bytes)
}

/// What all processes have written, each with its process's folder.
fn of_all(nodes: &[Node]) -> impl Iterator<Item = (String, Written<'_>)> {
    nodes.iter().enumerate().flat_map(|(number, node)| {
        let programs = || node.processes.iter().filter(|process| process.personality == Personality::Linux);
        let several = programs().count() > 1;
        programs().enumerate().flat_map(move |(process, own)| {
            let place =
                if several { format!("node-{number}-process-{process}") } else { format!("node-{number}") };
            own.calls.written().map(move |written| (place.clone(), written))
        })
    })
}

/// What processes have written, for a result's document.
pub fn written_files(nodes: &[Node]) -> Vec<WrittenFile> {
    let files = of_all(nodes).filter_map(|(place, Written { name, bytes })| {
        let bytes = bytes?;
        Some(WrittenFile { file: format!("{place}/{name}"), bytes: bytes.len(), sha256: sha256(bytes) })
    });
    files.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(surroundings: &Surroundings) -> String {
        surroundings.given().expect_err("it makes no sense").message
    }

    #[test]
    fn names_and_variables_are_checked_before_the_run() {
        let with = |texts: &[&str]| Surroundings {
            environment: texts.iter().map(|text| (*text).to_owned()).collect(),
            ..Surroundings::default()
        };
        assert_eq!(with(&["A=1", "B="]).given().map(drop), Ok(()));
        for (texts, words) in [
            (&["A"][..], "expected NAME=VALUE"),
            (&["=1"], "expected NAME=VALUE"),
            (&["A=1", "A=2"], "A is given twice"),
            (&["NARTHEX_PAGE=1"], "the machine sets NARTHEX_PAGE"),
        ] {
            let text = refusal(&with(texts));
            assert!(text.contains(words), "{text}");
        }
        let files = |names: &[&str]| Surroundings {
            files: names
                .iter()
                .map(|name| ((*name).to_owned(), GivenFile { file: "x".into(), bytes: Vec::new() }))
                .collect(),
            ..Surroundings::default()
        };
        for (names, words) in [
            (&["/"][..], "expected NAME=PATH"),
            (&["a", "./a"], "given twice"),
            (&["a", "a/b"], "is a file, so nothing can be in it"),
            (&["/dev/x"], "holds the machine's devices"),
        ] {
            let text = refusal(&files(names));
            assert!(text.contains(words), "{text}");
        }
    }
}
