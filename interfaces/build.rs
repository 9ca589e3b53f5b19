//! Finds the models: each file in src/models is a module with a `MODEL`.
//!
//! The environment's `NARTHEX_MODELS` names a folder of further ones. The feature `examples`,
//! which the tests have, adds those of examples/models and the one that `narthex new interface`
//! begins with; where a further one has the name of one of these, it stands in its place. With
//! the name of a model of Narthex, or one that differs in case only, it ends the build, as does a
//! model whose section is not its file's name.

#[path = "../memory/build/further.rs"]
pub mod further;

use std::path::{Path, PathBuf};
use std::{env, fs};

use further::{Files, collisions, files_in, files_of_user};

fn main() {
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let own = files_of_user("NARTHEX_MODELS");
    let mut shipped = files_in(&root.join("src/models"));
    shipped.remove("mod");
    for problem in collisions(&own, &shipped, &[], "model") {
        println!("cargo::error={problem}");
    }
    let mut files = Files::new();
    if env::var_os("CARGO_FEATURE_EXAMPLES").is_some() {
        files.extend(files_in(&root.join("examples/models")));
        files.extend(files_in(&root.join("../python/narthex/starters/interface")));
    }
    files.extend(own);
    files.extend(shipped);
    let out = Path::new(&env::var("OUT_DIR").expect("cargo sets it")).join("models.rs");
    fs::write(out, text(&files)).expect("the build folder can be written to");
}

/// The modules, the list of their models, and that the section of each is its file's name.
fn text(files: &Files) -> String {
    let module = |(name, file): (&String, &PathBuf)| {
        let told =
            format!("the section of the model in {} must be {name:?}, the file's name", file.display());
        format!(
            "#[path = {file:?}]\npub mod {name};\n\
             const _: () = assert!({name}::MODEL.section.eq_ignore_ascii_case({name:?}), \"{{}}\", {told:?});\n"
        )
    };
    let modules: String = files.iter().map(module).collect();
    let models: String = files.keys().map(|name| format!("&{name}::MODEL, ")).collect();
    format!("{modules}\n/// Every model, by file name.\npub static MODELS: &[&Model] = &[{models}];\n")
}
