//! The file of a checkpoint.
//!
//! ```text
//!   narthex checkpoint 2\n      what it is, and the version of this layout
//!   {"version": ..., ...}\n     the identity of its run, one line of JSON
//!   state                       an archive, compressed (an LZ4 frame)
//!   SHA-256                     of all the bytes before, 32 bytes
//! ```
//!
//! It is written beside the file, flushed to the disk and then renamed, so that
//! a kill at any instant leaves the former checkpoint or the new one, whole.
//! Reading begins with the digest: what passes is what was written, so nothing
//! that a damaged file says is ever believed, least of all a length.

use std::io::{self, BufWriter, Read, Write};
use std::path::Path;

use lz4_flex::frame::{FrameDecoder, FrameEncoder};
use narthex_kernel::{Archive, Archived, Damage};
use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};
use thiserror::Error;

use crate::files::{self, Destination};
use crate::host_memory;
use crate::sha256::hexadecimal;

/// The version of the layout and of what archives hold. A change of any state
/// that is archived is a new version.
const FORMAT: u32 = 20;
const DIGEST_BYTES: usize = 32;

/// What a file holds.
#[derive(Debug, PartialEq, Eq)]
pub struct Kind {
    /// What it begins with.
    magic: &'static [u8],
    /// The version of its layout.
    format: u32,
    /// What it is, and what it is for.
    purpose: &'static str,
}

/// The state of a run, which only that run resumes.
pub const EXACT: Kind = Kind {
    magic: b"narthex checkpoint ",
    format: FORMAT,
    purpose: "it is a checkpoint of one run, which goes on with --resume",
};
/// Programs, which go on over any interface.
pub const WARM: Kind = Kind {
    magic: b"narthex warm checkpoint ",
    format: FORMAT,
    purpose: "it is a warm checkpoint, from which runs start with --from",
};

/// Why a checkpoint cannot be written or resumed.
#[derive(Debug, Error)]
pub enum Problem {
    /// The host cannot read or write the file.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// It is something else.
    #[error("it is no checkpoint of Narthex")]
    NoCheckpoint,
    /// It is one of the other kind.
    #[error("{0}")]
    OtherKind(&'static str),
    /// It has another layout.
    #[error("it has the format {0}, and this version of Narthex reads {FORMAT}: start at the beginning")]
    Format(String),
    /// It is not what was written.
    #[error("it is cut short or damaged: its checksum is not that of its contents")]
    Checksum,
    /// It is of another run.
    #[error("{0}")]
    Foreign(String),
    /// It is sound, and its state is not that of the machine.
    #[error("its state does not fit the machine: {0}")]
    State(Damage),
}

impl From<Damage> for Problem {
    fn from(damage: Damage) -> Self {
        match damage {
            Damage::Write(error) => Problem::Io(error),
            damage => Problem::State(damage),
        }
    }
}

/// Tries whether a checkpoint could be written there.
///
/// # Errors
/// If the folder does not exist or cannot be written, or there is something that
/// is no file: what is read again must be one.
pub fn check_place(path: &Path) -> io::Result<()> {
    let destination = Destination::of(path)?;
    if let Destination::Direct { kind, .. } = destination {
        return Err(io::Error::other(format!("it is {kind}, and a checkpoint is a file")));
    }
    let _writer = destination.create()?;
    destination.discard();
    Ok(())
}

/// Replaces the checkpoint at `path`.
///
/// # Errors
/// If it cannot be written. What was there is then still there.
pub fn write(
    path: &Path,
    kind: &Kind,
    identity: &impl Serialize,
    state: &mut impl Archived,
) -> Result<(), Problem> {
    let destination = Destination::of(path)?;
    let mut writer = destination.create()?;
    let flushed = write_to(BufWriter::new(&mut writer), kind, identity, state)
        .and_then(|mut buffer| buffer.flush().map_err(Problem::from));
    let written = flushed.and_then(|()| {
        writer.sync()?;
        destination.put_in_place()?;
        destination.sync_folder();
        Ok(())
    });
    if written.is_err() {
        destination.discard();
    }
    written
}

/// Writes the bytes of a checkpoint.
///
/// # Errors
/// If they cannot be written.
pub fn write_to<W: Write>(
    writer: W,
    kind: &Kind,
    identity: &impl Serialize,
    state: &mut impl Archived,
) -> Result<W, Problem> {
    let mut hashing = Hashing { writer, hasher: Sha256::new() };
    hashing.write_all(kind.magic)?;
    writeln!(hashing, "{}", kind.format)?;
    writeln!(hashing, "{}", serde_json::to_string(identity).map_err(io::Error::from)?)?;
    let mut compressing = FrameEncoder::new(hashing);
    Archive::write(state, &mut compressing)?;
    let Hashing { mut writer, hasher } = compressing.finish().map_err(io::Error::from)?;
    writer.write_all(&hasher.finalize())?;
    Ok(writer)
}

/// Hashes what passes.
struct Hashing<W> {
    writer: W,
    hasher: Sha256,
}

impl<W: Write> Write for Hashing<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.writer.write(bytes)?;
        self.hasher.update(&bytes[..count]);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

/// A digest of a state: two simulations with the same one go on alike.
///
/// # Errors
/// Never for a machine's state; see [`Archive::save`].
pub fn digest_of(state: &mut impl Archived) -> Result<String, Damage> {
    let mut hashing = Hashing { writer: io::sink(), hasher: Sha256::new() };
    Archive::write(state, &mut hashing)?;
    Ok(hexadecimal(&hashing.hasher.finalize()))
}

/// The identity and the state in the checkpoint of this kind at `path`; `difference` tells how it
/// differs from the one that is asked for.
///
/// # Errors
/// If it is damaged, of another kind or of another run.
pub fn read<I: DeserializeOwned>(
    path: &Path,
    kind: &Kind,
    difference: impl Fn(&I) -> Option<String>,
) -> Result<(I, Vec<u8>), Problem> {
    let most_bytes = host_memory::available().unwrap_or(u64::MAX);
    state_in(&files::read(path, most_bytes)?, kind, difference, most_bytes)
}

/// The identity and the state in a checkpoint, if that has no more than `most_bytes`.
fn state_in<I: DeserializeOwned>(
    bytes: &[u8],
    kind: &Kind,
    difference: impl Fn(&I) -> Option<String>,
    most_bytes: u64,
) -> Result<(I, Vec<u8>), Problem> {
    let other = [EXACT, WARM].into_iter().find(|other| other != kind && bytes.starts_with(other.magic));
    if let Some(other) = other {
        return Err(Problem::OtherKind(other.purpose));
    }
    let rest = bytes.strip_prefix(kind.magic).ok_or(Problem::NoCheckpoint)?;
    let (format, _) = line(rest)?;
    if format != kind.format.to_string().as_bytes() {
        return Err(Problem::Format(String::from_utf8_lossy(format).into()));
    }
    let (contents, digest) = bytes.split_last_chunk::<DIGEST_BYTES>().ok_or(Problem::Checksum)?;
    if Sha256::digest(contents)[..] != digest[..] {
        return Err(Problem::Checksum);
    }
    let (_, rest) = line(&contents[kind.magic.len()..])?;
    let (header, compressed) = line(rest)?;
    let saved: I = serde_json::from_slice(header).map_err(io::Error::from)?;
    if let Some(difference) = difference(&saved) {
        return Err(Problem::Foreign(difference));
    }
    let mut state = Vec::new();
    FrameDecoder::new(compressed).take(most_bytes.saturating_add(1)).read_to_end(&mut state)?;
    if state.len() as u64 > most_bytes {
        return Err(files::too_large(most_bytes).into());
    }
    Ok((saved, state))
}

/// The first line, and what follows it.
fn line(bytes: &[u8]) -> Result<(&[u8], &[u8]), Problem> {
    let end = bytes.iter().position(|&byte| byte == b'\n').ok_or(Problem::Checksum)?;
    Ok((&bytes[..end], &bytes[end + 1..]))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::identity::Identity;
    use super::*;
    use narthex_kernel::random::Stream;
    use serde_json::json;

    fn identity() -> Identity {
        Identity {
            version: "1.2.3".into(),
            program: "em3d".into(),
            arguments: vec!["64".into()],
            binary_sha256: "12ab".into(),
            jobs: Vec::new(),
            firmware_sha256: BTreeMap::default(),
            surroundings: Default::default(),
            interface: "NI2w".into(),
            hardware: None,
            machine: json!({ "bus": { "clock": { "value": "100MHz", "stated": "Table 1" }, "width": "8B" } }),
        }
    }

    const MOST_BYTES: u64 = 1 << 20;

    fn checkpoint() -> Vec<u8> {
        let mut state: Vec<u64> = (0..500).map(|word| word * word).collect();
        write_to(Vec::new(), &EXACT, &identity(), &mut state).unwrap()
    }

    fn state_in(bytes: &[u8], identity: &Identity, most_bytes: u64) -> Result<Vec<u8>, Problem> {
        let difference = |saved: &Identity| saved.difference(identity);
        super::state_in(bytes, &EXACT, difference, most_bytes).map(|(_, state)| state)
    }

    fn refusal(bytes: &[u8], identity: &Identity) -> String {
        state_in(bytes, identity, MOST_BYTES).unwrap_err().to_string()
    }

    #[test]
    fn what_was_written_is_read() {
        let mut words = Vec::<u64>::new();
        Archive::restore(&state_in(&checkpoint(), &identity(), MOST_BYTES).unwrap(), &mut words).unwrap();
        assert_eq!((words.len(), words[30]), (500, 900));
    }

    #[test]
    fn a_disk_that_is_full_is_named_and_nothing_else() {
        let mut state: Vec<u64> = (0..100_000).map(|word| word * word).collect();
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let problem = write_to(full, &EXACT, &identity(), &mut state).unwrap_err().to_string();
        assert_eq!(problem, "No space left on device (os error 28)");
        let damage = Damage::Write(io::ErrorKind::StorageFull.into());
        assert!(matches!(Problem::from(damage), Problem::Io(_)));
    }

    #[test]
    fn a_file_of_any_other_length_is_refused() {
        let bytes = checkpoint();
        for length in 0..bytes.len() {
            state_in(&bytes[..length], &identity(), MOST_BYTES).unwrap_err();
        }
        state_in(&[&bytes[..], &[0]].concat(), &identity(), MOST_BYTES).unwrap_err();
    }

    #[test]
    fn a_flipped_bit_anywhere_is_refused() {
        let mut bytes = checkpoint();
        let mut random = Stream::new(1, "flipped bits");
        for place in 0..bytes.len() {
            let flipped = 1 << random.below(8);
            bytes[place] ^= flipped;
            state_in(&bytes, &identity(), MOST_BYTES).unwrap_err();
            bytes[place] ^= flipped;
        }
        state_in(&bytes, &identity(), MOST_BYTES).unwrap();
    }

    #[test]
    fn a_refusal_says_what_is_wrong_with_the_file() {
        assert_eq!(refusal(b"\x7fELF", &identity()), "it is no checkpoint of Narthex");
        assert!(refusal(b"narthex warm checkpoint 19\n{}", &identity()).ends_with("runs start with --from"));
        assert!(refusal(b"narthex checkpoint 99\n{}", &identity()).contains("format 99"));
        let mut cut = checkpoint();
        cut.pop();
        assert!(refusal(&cut, &identity()).contains("cut short or damaged"));
    }

    #[test]
    fn a_state_that_is_larger_than_the_memory_is_refused() {
        let refusal = state_in(&checkpoint(), &identity(), 1 << 10).unwrap_err().to_string();
        assert_eq!(refusal, "it is too large: more than 1 KiB");
    }

    #[test]
    fn a_refusal_names_what_differs() {
        let bytes = checkpoint();
        let refusal_by = |change: fn(&mut Identity)| {
            let mut asked = identity();
            change(&mut asked);
            refusal(&bytes, &asked)
        };
        assert_eq!(
            refusal_by(|asked| asked.arguments.clear()),
            "it is of program 'em3d' with arguments '64'; the run asks for 'em3d' without arguments"
        );
        assert!(refusal_by(|asked| asked.program = "appbt".into()).contains("'appbt' with arguments '64'"));
        assert!(refusal_by(|asked| asked.version = "2.0.0".into()).contains("narthex 1.2.3"));
        assert!(refusal_by(|asked| asked.binary_sha256.clear()).contains("compiled again"));
        assert_eq!(
            refusal_by(|asked| asked.interface = "CNI4".into()),
            "it is of interface NI2w; the run asks for CNI4"
        );
        assert_eq!(
            refusal_by(|asked| asked.machine["bus"]["clock"] = json!("125MHz")),
            "it is of another machine: bus.clock is \"100MHz\" there and \"125MHz\" here"
        );
    }

    #[test]
    fn where_a_parameter_comes_from_does_not_matter() {
        let mut asked = identity();
        asked.machine["bus"]["clock"] = json!("100MHz");
        state_in(&checkpoint(), &asked, MOST_BYTES).unwrap();
    }
}
