//! Files that users name: read if they are files, written whole or not at all.
//!
//! | what is there | to write | to read |
//! | --- | --- | --- |
//! | nothing, a file | beside it, then renamed over it | up to a limit |
//! | a link | what it leads to; the link stays | the same |
//! | a pipe, a device | into it: a renaming would replace it | refused |
//! | a folder, a socket | refused | refused |
//!
//! A name of an open file of this process (`/dev/stdout`, `/dev/fd/3`) is
//! written into, whatever is behind it. The Python side does the same
//! (`narthex.files`), and reads pipes too: it can be interrupted there.
//!
//! A file that is being written is locked, so that two runs do not write the same one; the
//! system unlocks that of a run that was killed, and the next one writes over it.

use std::fs::{self, File, FileType, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::OFlags;

/// How many links may follow each other, as for Linux.
const MOST_LINKS: usize = 40;

/// Where a file is written that a user names.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Destination {
    /// A file, or nothing yet: written beside, then renamed.
    Replaced {
        /// Where it goes; no link.
        place: PathBuf,
    },
    /// A pipe, a device, or an open file of this process: written into.
    Direct {
        /// Its name.
        place: PathBuf,
        /// What it is: "a device".
        kind: &'static str,
    },
}

impl Destination {
    /// What a name leads to.
    ///
    /// # Errors
    /// For a folder and a socket.
    pub fn of(path: &Path) -> io::Result<Self> {
        let mut place = path.to_path_buf();
        for _ in 0..MOST_LINKS {
            if is_of_process(&place) {
                return Ok(Destination::Direct { place, kind: "an open file" });
            }
            let Ok(target) = fs::read_link(&place) else { break };
            place = place.parent().unwrap_or(Path::new("")).join(target);
        }
        match fs::metadata(&place) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Destination::Replaced { place }),
            Err(error) => Err(error),
            Ok(found) if found.is_file() => Ok(Destination::Replaced { place }),
            Ok(found) => match kind(found.file_type()) {
                kind @ ("a pipe" | "a device") => Ok(Destination::Direct { place, kind }),
                _ if found.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
                kind => Err(io::Error::other(format!("it is {kind}"))),
            },
        }
    }

    /// Where the file is while it is written.
    fn unfinished(place: &Path) -> PathBuf {
        let mut name = place.as_os_str().to_owned();
        name.push(".unfinished");
        name.into()
    }

    /// Begins to write. Until the writer is dropped, no other one begins.
    ///
    /// # Errors
    /// If it cannot be written there, or another run writes it.
    pub fn create(&self) -> io::Result<Writer> {
        match self {
            Destination::Replaced { place } => {
                let file = create_alone(&Self::unfinished(place))?;
                // A new file has the mode of the one that it replaces.
                fs::metadata(place).and_then(|former| file.set_permissions(former.permissions())).ok();
                Ok(Writer::File(file))
            }
            Destination::Direct { place, kind: "a pipe" } => Pipe::open(place).map(Writer::Pipe),
            Destination::Direct { place, .. } => OpenOptions::new().write(true).open(place).map(Writer::File),
        }
    }

    /// What was written is complete; the writer is still there.
    ///
    /// # Errors
    /// If it cannot be put in its place.
    pub fn put_in_place(&self) -> io::Result<()> {
        match self {
            Destination::Replaced { place } => fs::rename(Self::unfinished(place), place),
            Destination::Direct { .. } => Ok(()),
        }
    }

    /// What was written is worth nothing; the writer is still there.
    pub fn discard(&self) {
        if let Destination::Replaced { place } = self {
            let _ = fs::remove_file(Self::unfinished(place));
        }
    }

    /// Makes the renaming last. Not every file system can; then the next one will.
    pub fn sync_folder(&self) {
        if let Destination::Replaced { place } = self {
            let folder = place.parent().filter(|folder| !folder.as_os_str().is_empty());
            let _ = File::open(folder.unwrap_or(Path::new("."))).and_then(|folder| folder.sync_all());
        }
    }
}

/// The bytes of a file, if it is one and not larger.
///
/// # Errors
/// If it cannot be read, is something else, or has more than `most_bytes`.
pub fn read(path: &Path, most_bytes: u64) -> io::Result<Vec<u8>> {
    let found = fs::metadata(path)?;
    if !found.is_file() {
        return Err(io::Error::other(format!("it is {}", kind(found.file_type()))));
    }
    let mut bytes = Vec::new();
    if found.len() <= most_bytes {
        File::open(path)?.take(most_bytes.saturating_add(1)).read_to_end(&mut bytes)?;
    }
    if found.len().max(bytes.len() as u64) > most_bytes {
        return Err(too_large(most_bytes));
    }
    Ok(bytes)
}

/// The error for more bytes than are read.
pub fn too_large(most_bytes: u64) -> io::Error {
    let most = match most_bytes >> 20 {
        0 => format!("{} KiB", most_bytes >> 10),
        mebibytes => format!("{mebibytes} MiB"),
    };
    io::Error::new(io::ErrorKind::FileTooLarge, format!("it is too large: more than {most}"))
}

/// An empty file at `path` that no other run writes.
fn create_alone(path: &Path) -> io::Result<File> {
    loop {
        let file = OpenOptions::new().write(true).create(true).truncate(false).open(path)?;
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => return Err(io::Error::other("another run writes it")),
            Ok(()) | Err(TryLockError::Error(_)) => {} // not every file system has locks
        }
        // Its former writer may have moved it before it was locked.
        let own = file.metadata()?;
        if fs::metadata(path).is_ok_and(|found| (found.dev(), found.ino()) == (own.dev(), own.ino())) {
            file.set_len(0)?;
            return Ok(file);
        }
    }
}

/// Whether a name is that of an open file of a process.
fn is_of_process(path: &Path) -> bool {
    let folder = path.parent().and_then(|folder| folder.canonicalize().ok()).unwrap_or_default();
    folder.starts_with("/proc") && folder.ends_with("fd")
}

fn kind(of: FileType) -> &'static str {
    match of {
        _ if of.is_dir() => "a folder",
        _ if of.is_fifo() => "a pipe",
        _ if of.is_socket() => "a socket",
        _ => "a device",
    }
}

/// What a user's file is written through.
pub enum Writer {
    /// A file or a device.
    File(File),
    /// A pipe.
    Pipe(Pipe),
}

impl Writer {
    /// Waits until the disk has all of it.
    ///
    /// # Errors
    /// If it cannot.
    pub fn sync(&self) -> io::Result<()> {
        match self {
            Writer::File(file) => file.sync_all(),
            Writer::Pipe(_) => Ok(()),
        }
    }
}

impl Write for Writer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Writer::File(file) => file.write(bytes),
            Writer::Pipe(pipe) => pipe.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A pipe that is written into. A signal (Ctrl-C) ends waiting for its reader,
/// and with that the writing.
pub struct Pipe {
    file: File,
    is_interrupted: bool,
}

impl Pipe {
    fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlags::NONBLOCK.bits().cast_signed();
        let opened = OpenOptions::new().write(true).custom_flags(flags).open(path);
        let file = opened.map_err(|error| match rustix::io::Errno::from_io_error(&error) {
            Some(rustix::io::Errno::NXIO) => io::Error::other("it is a pipe that no program reads"),
            _ => error,
        })?;
        Ok(Pipe { file, is_interrupted: false })
    }
}

impl Write for Pipe {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            if self.is_interrupted {
                return Err(io::Error::other("interrupted"));
            }
            match self.file.write(bytes) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.is_interrupted = poll(&mut [PollFd::new(&self.file, PollFlags::OUT)], None).is_err();
                }
                done => return done,
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::os::unix::net::UnixListener;

    /// A folder of its own, that is gone afterwards.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let folder = std::env::temp_dir().join(format!("narthex-{}-{name}", std::process::id()));
            fs::create_dir(&folder).expect("a folder");
            Folder(folder)
        }

        fn pipe(&self) -> PathBuf {
            let pipe = self.0.join("pipe");
            let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
            rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, mode, 0).expect("a pipe");
            pipe
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            fs::remove_dir_all(&self.0).expect("it can be deleted");
        }
    }

    fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
        let destination = Destination::of(path)?;
        let mut writer = destination.create()?;
        writer.write_all(bytes)?;
        destination.put_in_place()
    }

    #[test]
    fn what_another_run_writes_is_left_alone_and_what_a_killed_one_left_is_written_over() {
        let folder = Folder::new("alone");
        let file = folder.0.join("file");
        let destination = Destination::of(&file).unwrap();
        let mut first = destination.create().unwrap();
        first.write_all(b"first").unwrap();
        assert_eq!(write(&file, b"second").unwrap_err().to_string(), "another run writes it");
        destination.put_in_place().unwrap();
        drop(first);
        assert_eq!(fs::read_to_string(&file).unwrap(), "first");
        fs::write(folder.0.join("file.unfinished"), "of a killed run").unwrap();
        write(&file, b"third").unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "third");
        assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 1);
    }

    #[test]
    fn a_link_stays_and_what_it_leads_to_is_written() {
        let folder = Folder::new("link");
        let (target, link) = (folder.0.join("target"), folder.0.join("link"));
        symlink("target", &link).unwrap();
        for content in ["first", "second"] {
            write(&link, content.as_bytes()).unwrap();
            assert!(link.is_symlink());
            assert_eq!(fs::read_to_string(&target).unwrap(), content);
        }
        assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 2);
    }

    #[test]
    fn a_replaced_file_keeps_its_mode() {
        let folder = Folder::new("mode");
        let file = folder.0.join("file");
        fs::write(&file, "old").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o604)).unwrap();
        write(&file, b"new").unwrap();
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o604);
    }

    #[test]
    fn a_device_is_written_into_and_not_replaced() {
        let folder = Folder::new("device");
        let link = folder.0.join("nothing");
        symlink("/dev/null", &link).unwrap();
        write(&link, b"gone").unwrap();
        assert!(link.is_symlink());
        assert!(fs::metadata("/dev/null").unwrap().file_type().is_char_device());
        let full = write(Path::new("/dev/full"), b"x").unwrap_err();
        assert_eq!(full.kind(), io::ErrorKind::StorageFull);
    }

    #[test]
    fn an_open_file_is_written_into_by_its_number() {
        use std::os::fd::AsRawFd;
        let folder = Folder::new("open");
        let file = File::create(folder.0.join("out")).unwrap();
        write(Path::new(&format!("/dev/fd/{}", file.as_raw_fd())), b"here").unwrap();
        assert_eq!(fs::read_to_string(folder.0.join("out")).unwrap(), "here");
        assert_eq!(file.metadata().unwrap().len(), 4, "it is the same file");
    }

    #[test]
    fn a_pipe_is_written_into_if_a_program_reads_it() {
        let folder = Folder::new("pipe");
        let pipe = folder.pipe();
        let refusal = write(&pipe, b"x").unwrap_err().to_string();
        assert_eq!(refusal, "it is a pipe that no program reads");
        let reader = std::thread::spawn({
            let pipe = pipe.clone();
            move || fs::read(pipe).unwrap().len()
        });
        // The reader opens the pipe in its own time.
        while write(&pipe, &[7; 1 << 20]).is_err() {
            std::thread::yield_now();
        }
        assert_eq!(reader.join().unwrap(), 1 << 20);
    }

    #[test]
    fn a_folder_and_a_socket_are_no_place_to_write() {
        let folder = Folder::new("refused");
        let refusal = |path: &Path| Destination::of(path).unwrap_err().to_string();
        assert_eq!(refusal(&folder.0), "is a directory");
        let _socket = UnixListener::bind(folder.0.join("socket")).unwrap();
        assert_eq!(refusal(&folder.0.join("socket")), "it is a socket");
    }

    #[test]
    fn only_files_up_to_a_size_are_read() {
        let folder = Folder::new("read");
        let refusal = |path: &Path| read(path, 4 << 20).unwrap_err().to_string();
        assert_eq!(refusal(Path::new("/dev/zero")), "it is a device");
        assert_eq!(refusal(&folder.0), "it is a folder");
        assert_eq!(refusal(&folder.pipe()), "it is a pipe");
        let file = folder.0.join("huge");
        File::create(&file).unwrap().set_len(1 << 40).unwrap();
        assert_eq!(refusal(&file), "it is too large: more than 4 MiB");
        fs::write(&file, [1; 4]).unwrap();
        assert_eq!(read(&file, 4).unwrap(), [1; 4]);
        assert_eq!(read(&file, 3).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
    }
}
