//! The built-in machines: every file `machine/src/presets/NAME.toml` is one,
//! and the build script finds it, so adding a machine is adding a file.

/// (name, text) of each built-in machine, by name.
const PRESETS: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/presets.rs"));

/// The names of the built-in machines.
pub fn names() -> Vec<&'static str> {
    PRESETS.iter().map(|(name, _)| *name).collect()
}

/// A built-in machine's name as it is written here, and its text.
/// The case of letters does not matter.
pub(super) fn find(name: &str) -> Option<(&'static str, &'static str)> {
    PRESETS.iter().copied().find(|(preset, _)| preset.eq_ignore_ascii_case(name))
}
