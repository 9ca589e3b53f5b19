//! What readers of traces have in common: a file for each rank, and a number for each collective.

use std::fs;
use std::path::{Path, PathBuf};

use crate::Problem;
use crate::schedule::{RankBuilder, Schedule};

/// Tags of collectives begin here; those of messages are below.
pub(crate) const COLLECTIVE_TAG: u32 = 1 << 31;
const LARGEST_FILE_BYTES: u64 = 4 << 30;

/// The tag of the n-th collective: a rank's n-th meets the others' n-th.
pub(crate) fn collective_tag(number: u32) -> u32 {
    COLLECTIVE_TAG + number % (COLLECTIVE_TAG - 1)
}

/// Reads the traces of all ranks, given the file of any of them, one after the other: `read` gets
/// the bytes of a file, its rank, and how many ranks there are. `form` is how files are called.
///
/// # Errors
/// If a rank's file is missing or wrong; the file is named.
pub(crate) fn load(
    file: &str,
    form: &str,
    read: impl Fn(&[u8], u32, u32) -> Result<RankBuilder, Problem>,
) -> Result<Schedule, Problem> {
    let files = files_of(Path::new(file), form)?;
    let mut schedule = Schedule::with(1, 1);
    for (rank, file) in (0..).zip(&files) {
        let builder = bytes_of(file)
            .and_then(|bytes| read(&bytes, rank, files.len() as u32))
            .map_err(|problem| problem.within(format!("'{}'", file.display())))?;
        schedule.push(&builder)?;
    }
    Ok(schedule)
}

fn bytes_of(file: &Path) -> Result<Vec<u8>, Problem> {
    let failed = |error: std::io::Error| Problem::new(error.to_string());
    if fs::metadata(file).map_err(failed)?.len() > LARGEST_FILE_BYTES {
        return Err(Problem::new("has more than 4 GiB"));
    }
    fs::read(file).map_err(failed)
}

/// The files of ranks 0, 1, ... beside one of them: the last number in a name is the rank.
fn files_of(file: &Path, form: &str) -> Result<Vec<PathBuf>, Problem> {
    let name = file.file_name().and_then(|name| name.to_str()).unwrap_or("");
    let (stem, ending) = name.rsplit_once('.').unwrap_or((name, ""));
    let end = stem.rfind(|letter: char| letter.is_ascii_digit()).map_or(0, |last| last + 1);
    let begin = stem[..end].trim_end_matches(|letter: char| letter.is_ascii_digit()).len();
    if begin == end {
        return Err(Problem::new(format!("'{}': a trace is called {form}", file.display())));
    }
    let (before, behind, digits) = (&stem[..begin], &stem[end..], end - begin);
    let of = |rank: usize| {
        let padded = file.with_file_name(format!("{before}{rank:0digits$}{behind}.{ending}"));
        let plain = file.with_file_name(format!("{before}{rank}{behind}.{ending}"));
        if padded.is_file() { padded } else { plain }
    };
    let files: Vec<PathBuf> = (0..).map(of).take_while(|file| file.is_file()).collect();
    if files.iter().any(|each| each == file) {
        return Ok(files);
    }
    Err(Problem::new(format!(
        "'{}' is missing: the ranks' traces are numbered from 0",
        of(files.len()).display()
    )))
}
