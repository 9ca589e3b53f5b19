//! Finds the coherence protocols, those of directories, and the interconnects: every file
//! of their folders but those that serve all of them.
//! So a new one is a new file, and there is no list to edit.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    let protocols = Folder::of("src/protocols", &["mod"]);
    let tables: Vec<String> = protocols.names.iter().map(|name| format!("&{name}::PROTOCOL")).collect();
    let list = format!("static PROTOCOLS: &[&Protocol] = &[{}];", tables.join(", "));
    protocols.write("protocols.rs", &list);

    let directories = Folder::of("src/directory/protocols", &["mod"]);
    let tables: Vec<String> = directories.names.iter().map(|name| format!("&{name}::TABLE")).collect();
    let list = format!("static TABLES: &[&Table] = &[{}];", tables.join(", "));
    directories.write("directory_protocols.rs", &list);

    let interconnects = Folder::of(
        "src/interconnects",
        &["mod", "address_map", "carrying", "composition", "refusals", "seats", "tests"],
    );
    let types: Vec<String> =
        interconnects.names.iter().map(|name| format!("{name}::{}", type_name(name))).collect();
    let list = format!("macro_rules! found {{ () => {{ interconnects! {{ {} }} }} }}", types.join(", "));
    interconnects.write("interconnects.rs", &list);
}

/// A folder whose files are modules that the library includes.
struct Folder {
    path: PathBuf,
    /// The modules, in alphabetical order.
    names: Vec<String>,
}

impl Folder {
    /// The folder at a path in the package, without the modules `but`.
    fn of(path: &str, but: &[&str]) -> Self {
        let root = env::var("CARGO_MANIFEST_DIR").expect("Cargo names the package's folder");
        let path = Path::new(&root).join(path);
        println!("cargo::rerun-if-changed={}", path.display());
        let mut names: Vec<String> = fs::read_dir(&path)
            .expect("the folder is readable")
            .map(|entry| entry.expect("the folder is readable").path())
            .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
            .filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned()))
            .filter(|name| !but.contains(&name.as_str()))
            .collect();
        names.sort();
        Folder { path, names }
    }

    /// Writes the declarations of the modules, and what is made of them.
    fn write(&self, file: &str, rest: &str) {
        let mut text = String::new();
        for name in &self.names {
            let file = self.path.join(format!("{name}.rs"));
            writeln!(text, "#[path = {file:?}]\npub mod {name};").expect("a string grows");
        }
        writeln!(text, "{rest}").expect("a string grows");
        let out = env::var("OUT_DIR").expect("Cargo names the output folder");
        fs::write(Path::new(&out).join(file), text).expect("the output folder is writable");
    }
}

/// The name of a file's type: `SnoopingBus` of `snooping_bus`.
fn type_name(file: &str) -> String {
    let word = |word: &str| word[..1].to_uppercase() + &word[1..];
    file.split('_').map(word).collect()
}
