//! Finds the networks, the topologies, the flow controls, the kinds of backpressure and of
//! congestion control: each file of their folders in src that has a `Config` is a kind of one, by its file's name.

use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let out = PathBuf::from(env::var("OUT_DIR").expect("cargo sets it"));
    let folders = [
        ("networks", "network", false),
        ("topologies", "topology", true),
        ("flow_control", "flow control", false),
        ("backpressure", "backpressure", true),
        ("congestion", "congestion control", true),
    ];
    for (folder, what, is_static) in folders {
        let kinds = kinds_in(&root.join("src").join(folder));
        let choice = if is_static { chosen_statically(&kinds) } else { chosen(&kinds) };
        let text = generated(&kinds, what) + &choice;
        fs::write(out.join(format!("{folder}.rs")), text).expect("the build folder can be written to");
    }
}

/// A file, and what its `Config` says of itself.
struct Kind {
    name: String,
    file: PathBuf,
    doc: String,
}

fn kinds_in(folder: &Path) -> Vec<Kind> {
    println!("cargo::rerun-if-changed={}", folder.display());
    let entries = fs::read_dir(folder).expect("the folder is there");
    let mut kinds: Vec<Kind> =
        entries.filter_map(|entry| kind(&entry.expect("it is readable").path())).collect();
    kinds.sort_by(|one, other| one.name.cmp(&other.name));
    kinds
}

/// The kind that a file is; none if it has no `Config`, or declares them all.
fn kind(file: &Path) -> Option<Kind> {
    let name = file.file_name()?.to_str()?.strip_suffix(".rs")?;
    if name == "mod" {
        return None;
    }
    let text = fs::read_to_string(file).expect("it is readable");
    let (before, _) = text.split_once("pub struct Config")?;
    let lines: Vec<&str> = before.trim_end().lines().rev().skip_while(|line| line.starts_with('#')).collect();
    let doc: Vec<&str> = lines.iter().map_while(|line| line.strip_prefix("/// ")).collect();
    let doc: Vec<&str> = doc.into_iter().rev().collect();
    Some(Kind { name: name.into(), file: file.into(), doc: doc.join(" ") })
}

/// The modules, and the configuration that chooses between them.
fn generated(kinds: &[Kind], what: &str) -> String {
    let each = |line: &dyn Fn(&Kind) -> String| kinds.iter().map(line).collect::<String>();
    let modules = each(&|kind| format!("#[path = {:?}]\npub mod {};\n", kind.file, kind.name));
    let variants = each(&|kind| {
        format!("    #[doc = {:?}]\n    {}({}::Config),\n", kind.doc, camel_case(&kind.name), kind.name)
    });
    format!(
        "{modules}\n/// The {what} of a machine.\n\
         #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]\n\
         #[serde(tag = \"kind\", rename_all = \"kebab-case\")]\n\
         // A machine has one.\n#[allow(clippy::large_enum_variant)]\npub enum Config {{\n{variants}}}\n\n"
    )
}

/// The chosen configuration as what all of them are.
fn chosen(kinds: &[Kind]) -> String {
    let arm = |kind: &Kind| format!("            Config::{}(config) => config,\n", camel_case(&kind.name));
    let arms: String = kinds.iter().map(arm).collect();
    format!(
        "impl Config {{\n    fn chosen(&self) -> &dyn Parameters {{\n        match self {{\n{arms}        }}\n    }}\n}}\n"
    )
}

/// A macro that does something with the chosen configuration, whatever it is: no
/// table of functions is asked.
fn chosen_statically(kinds: &[Kind]) -> String {
    let arm = |kind: &Kind| format!("            Config::{}($config) => $body,\n", camel_case(&kind.name));
    let arms: String = kinds.iter().map(arm).collect();
    format!(
        "macro_rules! chosen {{\n    ($of:expr, $config:ident => $body:expr) => {{\n        match $of {{\n{arms}        }}\n    }};\n}}\n"
    )
}

/// `return_to_sender` as `ReturnToSender`.
fn camel_case(name: &str) -> String {
    let words = name.split('_').map(|word| {
        let (first, rest) = word.split_at(1);
        first.to_uppercase() + rest
    });
    words.collect()
}
