//! Finds the coherence protocols, those of directories, and the interconnects: every file
//! of their folders but those that serve all of them.
//! So a new one is a new file, and there is no list to edit.

#[path = "build/further.rs"]
mod further;

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs};

use further::{Files, collisions, files_in, files_of_user};

/// Modules beside the interconnects that serve all of them.
const SERVE_INTERCONNECTS: [&str; 13] = [
    "mod",
    "accesses",
    "address_map",
    "bridge_agent",
    "carrying",
    "dispatch",
    "host",
    "link_packets",
    "model",
    "part",
    "refusals",
    "ports",
    "tests",
];

fn main() {
    let protocols = shipped("src/protocols", &["mod", "tests"]);
    let list = format!(
        "static PROTOCOLS: &[&Protocol] = &[{}];",
        each(&protocols, |name| format!("&{name}::PROTOCOL"))
    );
    write("protocols.rs", &protocols, &list);

    let directories = shipped("src/directory/protocols", &["mod"]);
    let list =
        format!("static TABLES: &[&Table] = &[{}];", each(&directories, |name| format!("&{name}::TABLE")));
    write("directory_protocols.rs", &directories, &list);

    let interconnects = interconnects();
    let types = each(&interconnects, |name| format!("{name}::{}", type_name(name)));
    let list = format!("macro_rules! found {{ () => {{ interconnects! {{ {types} }} }} }}");
    write("interconnects.rs", &interconnects, &list);
}

/// The interconnects of Narthex; those in the folder that `NARTHEX_INTERCONNECTS` names; and with the
/// feature `examples`, which tests have, those of examples/interconnects.
fn interconnects() -> Files {
    let own = files_of_user("NARTHEX_INTERCONNECTS");
    let shipped = shipped("src/interconnects", &SERVE_INTERCONNECTS);
    for problem in collisions(&own, &shipped, &SERVE_INTERCONNECTS, "interconnect") {
        println!("cargo::error={problem}");
    }
    let mut files = match env::var_os("CARGO_FEATURE_EXAMPLES") {
        Some(_) => files_in(&package().join("examples/interconnects")),
        None => Files::new(),
    };
    files.extend(own);
    files.extend(shipped);
    files
}

/// The files of a folder of the package, without those that serve all of them.
fn shipped(folder: &str, but: &[&str]) -> Files {
    let mut files = files_in(&package().join(folder));
    files.retain(|name, _| !but.contains(&name.as_str()));
    files
}

fn package() -> PathBuf {
    PathBuf::from(env::var("CARGO_MANIFEST_DIR").expect("Cargo names the package's folder"))
}

/// What is said of each file, as a list.
fn each(files: &Files, say: impl Fn(&String) -> String) -> String {
    files.keys().map(say).collect::<Vec<_>>().join(", ")
}

/// Writes the declarations of modules, and what is made of them.
fn write(file: &str, modules: &Files, rest: &str) {
    let mut text = String::new();
    for (name, file) in modules {
        writeln!(text, "#[path = {file:?}]\npub mod {name};").expect("a string grows");
    }
    writeln!(text, "{rest}").expect("a string grows");
    let out = env::var("OUT_DIR").expect("Cargo names the output folder");
    fs::write(Path::new(&out).join(file), text).expect("the output folder is writable");
}

/// The name of a file's type: `SnoopingBus` of `snooping_bus`.
fn type_name(file: &str) -> String {
    let word = |word: &str| word[..1].to_uppercase() + &word[1..];
    file.split('_').map(word).collect()
}
