//! Makes the list of built-in machines: every `src/presets/NAME.toml` is one.

use std::path::Path;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let root = env::var("CARGO_MANIFEST_DIR").expect("cargo names the package's folder");
    let output = env::var("OUT_DIR").expect("cargo names a folder for what is made");
    let presets = Path::new(&root).join("src/presets");
    println!("cargo::rerun-if-changed={}", presets.display());

    let mut names = Vec::new();
    for entry in fs::read_dir(&presets)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "toml") {
            let name = path.file_stem().expect("a file has a name").to_string_lossy().into_owned();
            names.push((name, path));
        }
    }
    names.sort();
    let entries: String =
        names.iter().map(|(name, path)| format!("    ({name:?}, include_str!({path:?})),\n")).collect();
    fs::write(Path::new(&output).join("presets.rs"), format!("&[\n{entries}]\n"))
}
