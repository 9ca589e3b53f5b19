//! Finds the models: each file in src/models is a module with a `MODEL`.
//!
//! The environment's `NARTHEX_MODELS` names a folder of further ones. The feature `examples`,
//! which the tests have, adds those of examples/models and the one that `narthex new interface`
//! begins with; where a further one has the name of one of these, it stands in its place. With
//! the name of a model of Narthex, or one that differs in case only, it ends the build, as does a
//! model whose section is not its file's name.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{env, fs};

/// Files of models, by the names of their modules.
type Models = BTreeMap<String, PathBuf>;

fn main() {
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    println!("cargo::rerun-if-env-changed=NARTHEX_MODELS");
    let named = env::var_os("NARTHEX_MODELS").filter(|folder| !folder.is_empty());
    let own = named.map_or_else(Models::new, |folder| models_in(Path::new(&folder)));
    let mut shipped = models_in(&root.join("src/models"));
    shipped.remove("mod");
    for problem in collisions(&own, &shipped) {
        println!("cargo::error={problem}");
    }
    let mut files = Models::new();
    if env::var_os("CARGO_FEATURE_EXAMPLES").is_some() {
        files.extend(models_in(&root.join("examples/models")));
        files.extend(models_in(&root.join("../python/narthex/starters/interface")));
    }
    files.extend(own);
    files.extend(shipped);
    let out = Path::new(&env::var("OUT_DIR").expect("cargo sets it")).join("models.rs");
    fs::write(out, text(&files)).expect("the build folder can be written to");
}

/// The modules, the list of their models, and that the section of each is its file's name.
fn text(files: &Models) -> String {
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

/// What is wrong with the names of the user's own models.
pub fn collisions(own: &Models, shipped: &Models) -> Vec<String> {
    let is_same = |one: &str, other: &str| one.eq_ignore_ascii_case(other);
    let mut problems = Vec::new();
    for (place, (name, file)) in own.iter().enumerate() {
        let file = file.display();
        if name == "mod" {
            problems.push(format!("{file} cannot be a model: mod is no name of a module"));
        }
        if let Some(other) = shipped.keys().find(|other| is_same(name, other)) {
            let told = "is the name of a model of Narthex, which would stand in its place";
            problems.push(format!("{file}: {other} {told}; give the file and its model another name"));
        }
        if let Some((_, other)) = own.iter().take(place).find(|(other, _)| is_same(name, other)) {
            let other = other.display();
            problems.push(format!("{file} and {other} are two models of one name; give one another name"));
        }
    }
    problems
}

/// The files of a folder that may be models.
fn models_in(folder: &Path) -> Models {
    println!("cargo::rerun-if-changed={}", folder.display());
    fs::read_dir(folder)
        .unwrap_or_else(|error| panic!("the folder of models {}: {error}", folder.display()))
        .filter_map(|entry| entry.expect("readable").file_name().into_string().ok())
        .filter_map(|file| file.strip_suffix(".rs").map(str::to_owned))
        .map(|name| (name.clone(), folder.join(format!("{name}.rs"))))
        .collect()
}
