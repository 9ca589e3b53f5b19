//! Finds the models: each file in src/models is a module with a `MODEL`.

use std::path::Path;
use std::{env, fs};

fn main() {
    let folder = Path::new(&env::var("CARGO_MANIFEST_DIR").expect("cargo sets it")).join("src/models");
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut names: Vec<String> = fs::read_dir(&folder)
        .expect("src/models is there")
        .filter_map(|entry| entry.expect("readable").file_name().into_string().ok())
        .filter_map(|file| file.strip_suffix(".rs").map(str::to_owned))
        .filter(|name| name != "mod")
        .collect();
    names.sort();
    let modules: String = names
        .iter()
        .map(|name| format!("#[path = {:?}]\npub mod {name};\n", folder.join(format!("{name}.rs"))))
        .collect();
    let models: String = names.iter().map(|name| format!("&{name}::MODEL, ")).collect();
    let text =
        format!("{modules}\n/// Every model, by file name.\npub static MODELS: &[&Model] = &[{models}];\n");
    let out = Path::new(&env::var("OUT_DIR").expect("cargo sets it")).join("models.rs");
    fs::write(out, text).expect("the build folder can be written to");
}
