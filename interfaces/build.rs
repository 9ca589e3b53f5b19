//! Finds the models: each file in src/models is a module with a `MODEL`.
//!
//! The environment's `NARTHEX_MODELS` names a folder of further ones. The feature `examples`,
//! which the tests have, adds those of examples/models and the one that `narthex new interface`
//! begins with. Where two files have one name, that of src/models counts.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let mut files = BTreeMap::new();
    if env::var_os("CARGO_FEATURE_EXAMPLES").is_some() {
        files.extend(models_in(&root.join("examples/models")));
        files.extend(models_in(&root.join("../python/narthex/starters/interface")));
    }
    println!("cargo::rerun-if-env-changed=NARTHEX_MODELS");
    if let Some(folder) = env::var_os("NARTHEX_MODELS").filter(|folder| !folder.is_empty()) {
        files.extend(models_in(Path::new(&folder)));
    }
    files.extend(models_in(&root.join("src/models")));
    let modules: String =
        files.iter().map(|(name, file)| format!("#[path = {file:?}]\npub mod {name};\n")).collect();
    let models: String = files.keys().map(|name| format!("&{name}::MODEL, ")).collect();
    let text =
        format!("{modules}\n/// Every model, by file name.\npub static MODELS: &[&Model] = &[{models}];\n");
    let out = Path::new(&env::var("OUT_DIR").expect("cargo sets it")).join("models.rs");
    fs::write(out, text).expect("the build folder can be written to");
}

/// The files of a folder that are models, by the names of their modules.
fn models_in(folder: &Path) -> BTreeMap<String, PathBuf> {
    println!("cargo::rerun-if-changed={}", folder.display());
    fs::read_dir(folder)
        .unwrap_or_else(|error| panic!("the folder of models {}: {error}", folder.display()))
        .filter_map(|entry| entry.expect("readable").file_name().into_string().ok())
        .filter_map(|file| file.strip_suffix(".rs").map(str::to_owned))
        .filter(|name| name != "mod")
        .map(|name| (name.clone(), folder.join(format!("{name}.rs"))))
        .collect()
}
