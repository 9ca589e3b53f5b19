//! The file of a timeline while it is written: beside its place, compressed if
//! its name ends in `.gz`, which viewers of both formats open.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use narthex_machine::files::{Destination, Writer};

/// What a timeline is written to. It is flushed once, when it is complete.
pub enum Output {
    /// As it is.
    Plain(BufWriter<Writer>),
    /// Compressed by gzip.
    Compressed(GzEncoder<BufWriter<Writer>>),
}

impl Output {
    /// What goes to `destination`, which the user calls `name`.
    ///
    /// # Errors
    /// If it cannot be created.
    pub fn create(destination: &Destination, name: &Path) -> io::Result<Self> {
        let writer = BufWriter::new(destination.create()?);
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
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Output::Plain(writer) => writer.flush(),
            Output::Compressed(encoder) => {
                encoder.try_finish()?;
                encoder.get_mut().flush()
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
