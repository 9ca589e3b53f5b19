//! Finds the coherence protocols: every file of `src/protocols/` but `mod.rs`
//! is one, and its constant `PROTOCOL` joins the list that `mod.rs` includes.
//! So a new protocol is a new file, and there is no list to edit.

use std::fmt::Write;
use std::path::Path;
use std::{env, fs};

fn main() {
    let root = env::var("CARGO_MANIFEST_DIR").expect("Cargo names the package's folder");
    let folder = Path::new(&root).join("src/protocols");
    println!("cargo::rerun-if-changed={}", folder.display());

    let names = protocols_in(&folder);
    let mut list = String::new();
    for name in &names {
        let file = folder.join(format!("{name}.rs"));
        writeln!(list, "#[path = {file:?}]\npub mod {name};").expect("a string grows");
    }
    let tables = names.iter().map(|name| format!("&{name}::PROTOCOL")).collect::<Vec<_>>();
    writeln!(list, "static PROTOCOLS: &[&Protocol] = &[{}];", tables.join(", ")).expect("a string grows");

    let out = env::var("OUT_DIR").expect("Cargo names the output folder");
    fs::write(Path::new(&out).join("protocols.rs"), list).expect("the output folder is writable");
}

/// The module names of the protocol files, in alphabetical order.
fn protocols_in(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .expect("src/protocols is readable")
        .map(|entry| entry.expect("src/protocols is readable").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned()))
        .filter(|name| name != "mod")
        .collect();
    names.sort();
    names
}
