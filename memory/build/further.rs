//! Files that a build finds: those of Narthex in a folder, and further ones of a user, none of which
//! may stand in the place of another.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{env, fs};

/// Rust files, by the names of their modules.
pub type Files = BTreeMap<String, PathBuf>;

/// The files in the folder that a variable of the environment names; none if it names none.
pub fn files_of_user(variable: &str) -> Files {
    println!("cargo::rerun-if-env-changed={variable}");
    let named = env::var_os(variable).filter(|folder| !folder.is_empty());
    named.map_or_else(Files::new, |folder| files_in(Path::new(&folder)))
}

/// The Rust files of a folder.
pub fn files_in(folder: &Path) -> Files {
    println!("cargo::rerun-if-changed={}", folder.display());
    fs::read_dir(folder)
        .unwrap_or_else(|error| panic!("the folder {}: {error}", folder.display()))
        .filter_map(|entry| entry.expect("readable").file_name().into_string().ok())
        .filter_map(|file| file.strip_suffix(".rs").map(str::to_owned))
        .map(|name| (name.clone(), folder.join(format!("{name}.rs"))))
        .collect()
}

/// What is wrong with the names of the user's own files, each of which is a `what`. The names of
/// `helpers` are taken, too.
pub fn collisions(own: &Files, shipped: &Files, helpers: &[&str], what: &str) -> Vec<String> {
    let is_same = |one: &str, other: &str| one.eq_ignore_ascii_case(other);
    let mut problems = Vec::new();
    for (place, (name, file)) in own.iter().enumerate() {
        let file = file.display();
        if name == "mod" {
            problems.push(format!("{file} cannot be a {what}: mod is no name of a module"));
        } else if helpers.iter().any(|helper| is_same(name, helper)) {
            problems
                .push(format!("{file}: {name} is the name of a module beside them; give the {what} another"));
        }
        if let Some(other) = shipped.keys().find(|other| is_same(name, other)) {
            let told = format!("is the name of a {what} of Narthex, which would stand in its place");
            problems.push(format!("{file}: {other} {told}; give the file and its {what} another name"));
        }
        if let Some((_, other)) = own.iter().take(place).find(|(other, _)| is_same(name, other)) {
            let other = other.display();
            problems.push(format!("{file} and {other} are two {what}s of one name; give one another name"));
        }
    }
    problems
}
