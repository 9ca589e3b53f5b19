//! Where a schedule comes from: a file in either format, traces, or a pattern's name.

use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Seek, Write};
use std::path::Path;

use crate::patterns::Pattern;
use crate::schedule::Schedule;
use crate::{Problem, binary, chakra, liballprof, pairs, text};

/// Reads a file, or generates a pattern if there is no such file and the name is one's. Every send has
/// its receive in what is returned. `observer` is told of ranks that are generated; false ends it.
///
/// # Errors
/// If the file cannot be read, or is wrong; the file is named.
pub fn load(name: &str, observer: &mut dyn FnMut(u64) -> bool) -> Result<Schedule, Problem> {
    let is_file = Path::new(name).exists();
    if !is_file && !name.contains(['/', '.']) {
        return Pattern::parse(name)
            .map_err(|problem| problem.within(format!("'{name}' is no file")))?
            .generate(observer);
    }
    let schedule = read(name)?;
    pairs::check(&schedule).map_err(|problem| problem.within(format!("'{name}'")))?;
    Ok(schedule)
}

fn read(name: &str) -> Result<Schedule, Problem> {
    if Path::new(name).extension().is_some_and(|ending| ending == chakra::ENDING) {
        return chakra::load(name);
    }
    let within = |problem: Problem| problem.within(format!("'{name}'"));
    let failed = |error: std::io::Error| within(Problem::new(error.to_string()));
    let file = File::open(name).map_err(failed)?;
    let metadata = file.metadata().map_err(failed)?;
    if !metadata.is_file() {
        let message = "is no file; a schedule is one in GOAL's text or binary format, or a trace";
        return Err(within(Problem::new(message)));
    }
    let mut file = BufReader::with_capacity(1 << 20, file);
    let mut begin = Vec::new();
    (&mut file).take(liballprof::HEAD_BYTES).read_to_end(&mut begin).map_err(failed)?;
    file.rewind().map_err(failed)?;
    let cookie = binary::COOKIE.to_le_bytes();
    let is_cut = !begin.is_empty() && cookie.starts_with(&begin);
    if begin.starts_with(&cookie) || is_cut {
        binary::read(&mut file, metadata.len()).map_err(within)
    } else if liballprof::is_trace(&begin) {
        liballprof::load(name)
    } else {
        text::read(file).map_err(within)
    }
}

/// Writes a schedule, as text or binary.
///
/// # Errors
/// If the file cannot be written.
pub fn save(schedule: &Schedule, name: &str, as_text: bool) -> Result<(), Problem> {
    let write = || -> std::io::Result<()> {
        let mut output = BufWriter::with_capacity(1 << 20, File::create(name)?);
        if as_text {
            text::write(schedule, &mut output)?
        } else {
            binary::write(schedule, &mut output)?
        }
        output.flush()
    };
    write().map_err(|error| Problem::new(format!("'{name}': {error}")))
}
