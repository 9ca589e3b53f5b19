//! Who takes part in a collective of some ranks: NAME.json beside the traces, as ASTRA-sim has it.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::{Problem, allowed};

/// Groups of ranks by their names.
#[derive(Default)]
pub(super) struct Groups {
    /// Where they stand.
    pub file: String,
    /// Their ranks.
    pub members: BTreeMap<String, Vec<u32>>,
}

impl Groups {
    /// Those of NAME.json beside the traces; none without such a file.
    pub fn beside(trace: &Path) -> Result<Self, Problem> {
        let stem = trace.file_stem().and_then(|stem| stem.to_str()).unwrap_or("");
        let name = stem.trim_end_matches(|letter: char| letter.is_ascii_digit()).trim_end_matches('.');
        let path = trace.with_file_name(format!("{name}.json"));
        let file = path.display().to_string();
        if !path.is_file() {
            return Ok(Groups { file, members: BTreeMap::new() });
        }
        let within = |message: String| Problem::new(message).within(format!("'{file}'"));
        let text = fs::read_to_string(&path).map_err(|error| within(error.to_string()))?;
        let members: BTreeMap<String, Vec<u32>> = serde_json::from_str(&text).map_err(|error| {
            within(format!("{error}; expected groups and their ranks: {{\"0\": [0, 1]}}"))
        })?;
        Ok(Groups { file, members })
    }

    /// A group's place among all of them, 0 being that of all ranks, and its members.
    pub fn find(&self, name: &str, ranks: u32) -> Result<(u32, Vec<u32>), Problem> {
        let Some(place) = self.members.keys().position(|known| known == name) else {
            if ["", "0", "default", "default_pg"].contains(&name) {
                return Ok((0, (0..ranks).collect()));
            }
            let known: Vec<&str> = self.members.keys().map(String::as_str).collect();
            let known = if known.is_empty() { "it has none".into() } else { allowed(name, &known) };
            return Err(Problem::new(format!(
                "is a collective of the group '{name}' (pg_name), whose ranks '{}' would state; {known}",
                self.file
            )));
        };
        let members = self.members[name].clone();
        let mut seen = vec![false; ranks as usize];
        for &member in &members {
            let Some(seen) = seen.get_mut(member as usize).filter(|seen| !**seen) else {
                return Err(Problem::new(format!(
                    "is a collective of the group '{name}', in which '{}' has rank {member} twice or beyond the {ranks} traces",
                    self.file
                )));
            };
            *seen = true;
        }
        Ok((place as u32 + 1, members))
    }
}
