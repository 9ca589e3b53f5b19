//! The file of a timeline while it is written: beside its place, compressed if
//! its name ends in `.gz`, which viewers of both formats open, or within a page
//! of its own ([`Page`]).
//!
//! ```text
//!   format ─► bytes ───────────────────────► FILE.pftrace, FILE.vcd
//!                  └► gzip ────────────────► FILE.pftrace.gz
//!                        └► base64 ────────► FILE.html: begin of the page, data, its end
//! ```

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use base64::engine::general_purpose::{GeneralPurpose, STANDARD};
use base64::write::EncoderWriter;
use flate2::Compression;
use flate2::write::GzEncoder;
use narthex_machine::files::{Destination, Writer};
use serde::{Deserialize, Serialize};

/// A page that shows a timeline: what stands before its data and behind them, which are a
/// compressed trace of Perfetto in base64.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Page {
    /// Up to the data.
    pub before: String,
    /// From the data on.
    pub after: String,
    /// The timeline ends where it has so many events, because a browser keeps them all.
    pub most_events: u64,
}

/// What a timeline is written to. It is flushed once, when it is complete.
pub enum Output {
    /// As it is.
    Plain(BufWriter<Writer>),
    /// Compressed by gzip.
    Compressed(GzEncoder<BufWriter<Writer>>),
    /// Compressed, as the text within a page; and what is to follow it.
    Page(Box<GzEncoder<Text>>, String),
}

/// Bytes as text that a page can hold.
type Text = EncoderWriter<'static, GeneralPurpose, BufWriter<Writer>>;

impl Output {
    /// What goes to `destination`, which the user calls `name`; within a page, if there is one.
    ///
    /// # Errors
    /// If it cannot be created.
    pub fn create(destination: &Destination, name: &Path, page: Option<&Page>) -> io::Result<Self> {
        let mut writer = BufWriter::new(destination.create()?);
        if let Some(Page { before, after, .. }) = page {
            writer.write_all(before.as_bytes())?;
            let encoder = GzEncoder::new(EncoderWriter::new(writer, &STANDARD), Compression::default());
            return Ok(Output::Page(Box::new(encoder), after.clone()));
        }
        Ok(match is_compressed(name) {
            true => Output::Compressed(GzEncoder::new(writer, Compression::fast())),
            false => Output::Plain(writer),
        })
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Output::Plain(writer) => writer.write(bytes),
            Output::Compressed(encoder) => encoder.write(bytes),
            Output::Page(encoder, _) => encoder.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Output::Plain(writer) => writer.flush(),
            Output::Compressed(encoder) => {
                encoder.try_finish()?;
                encoder.get_mut().flush()
            }
            Output::Page(encoder, after) => {
                encoder.try_finish()?;
                let mut writer = encoder.get_mut().finish()?;
                writer.write_all(std::mem::take(after).as_bytes())?;
                writer.flush()
            }
        }
    }
}

fn ends_in(path: &Path, extension: &str) -> bool {
    path.extension().is_some_and(|own| own.eq_ignore_ascii_case(extension))
}

fn is_compressed(path: &Path) -> bool {
    ends_in(path, "gz")
}

/// Whether a file of this name is for viewers of waveforms.
pub fn has_waveforms(path: &Path) -> bool {
    let plain: PathBuf = if is_compressed(path) { path.with_extension("") } else { path.to_path_buf() };
    ends_in(&plain, "vcd")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_what_a_file_is_for() {
        let waveforms = |name: &str| has_waveforms(Path::new(name));
        assert!(waveforms("a.vcd") && waveforms("a.VCD") && waveforms("a.vcd.gz"));
        assert!(!waveforms("vcd") && !waveforms("a.pftrace") && !waveforms("a.vcd.b") && !waveforms("a.gz"));
        assert!(is_compressed(Path::new("a.pftrace.gz")) && !is_compressed(Path::new("gz")));
    }
}
