//! Calls with names of files: opening them, folders, facts about them.

use super::answer::{
    CallResult, EACCES, EBADF, EEXIST, EFAULT, EINVAL, EISDIR, EMFILE, ENAMETOOLONG, ENODEV, ENOENT, ENOSPC,
    ENOTDIR, ENOTEMPTY, ERANGE, EROFS, Error,
};
use super::streams::{CLOSES, READ_ONLY};
use super::{Answer, Call, USER, done};
use crate::linux::GuestMemory;
use crate::linux::address_space::PAGE_BYTES;
use crate::linux::files::MOST_WRITTEN_BYTES;
use crate::linux::files::descriptors::{Open, What};
use crate::linux::files::path::resolved;
use crate::linux::files::tree::{Contents, Entry, Trouble};

/// AT_FDCWD: names begin in the working folder.
const WORKING_FOLDER: u64 = -100i64 as u64;
/// Where runtimes look for facts about the machine at every start, and do without: no notice tells.
const FACTS: [&str; 2] = ["proc/", "sys/"];
/// Names about which notices are given; a program may look in many places.
const MOST_NOTICES: usize = 20;

impl<M: GuestMemory> Call<'_, M> {
    /// The name in the tree that the program means, from the folder of a descriptor.
    fn name_at(&mut self, folder: u64, address: u64) -> Result<String, Error> {
        let text = self.text(address)?;
        self.name_of(folder, &text)
    }

    fn name_of(&self, folder: u64, text: &str) -> Result<String, Error> {
        if text.is_empty() {
            return Err(ENOENT);
        }
        let begin = match folder as i32 as i64 as u64 {
            _ if text.starts_with('/') => "",
            WORKING_FOLDER => &self.calls.files.state.working_folder,
            _ => match &self.open_at(folder)?.what {
                What::Folder(name, _) => name,
                _ => return Err(ENOTDIR),
            },
        };
        resolved(begin, text).ok_or(ENAMETOOLONG)
    }

    fn find(&self, name: &str) -> Option<Entry> {
        self.calls.files.state.tree.find(&self.calls.files.given, name)
    }

    /// What a name stands for; a notice tells which one is not there.
    fn find_or_tell(&mut self, name: &str, does: &str) -> Result<Entry, CallResult> {
        self.find(name).ok_or_else(|| self.missing(name, does))
    }

    fn missing(&mut self, name: &str, does: &str) -> CallResult {
        let files = &self.calls.files;
        let like = files.nearest(name).map(|given| format!("; the run has {given:?}: is that meant?"));
        let like = like.unwrap_or_default();
        self.told_of(
            name,
            ENOENT,
            format!(
                "the program {does} {name:?}, and the run has no such file: it gets ENOENT (give it with \
                 --file {name}=PATH){like}"
            ),
        )
    }

    /// An error about a name, with a notice the first time.
    fn told_of(&mut self, name: &str, error: Error, text: String) -> CallResult {
        let missed = &mut self.calls.files.state.missed;
        let is_facts = FACTS.iter().any(|folder| name.starts_with(folder));
        let is_first = !is_facts && missed.len() < MOST_NOTICES && missed.insert(name.to_owned());
        CallResult { effect: is_first.then_some(super::Effect::Notice(text)), ..CallResult::from(-error.0) }
    }

    /// What the program is told of something that cannot be done.
    pub(super) fn trouble(&mut self, trouble: Trouble, name: &str) -> Answer {
        Err(match trouble {
            Trouble::Missing => ENOENT,
            Trouble::Exists => EEXIST,
            Trouble::IsFolder => EISDIR,
            Trouble::NoFolder => ENOTDIR,
            Trouble::NotEmpty => ENOTEMPTY,
            Trouble::Invalid => EINVAL,
            Trouble::Given => {
                let text = format!(
                    "the program changes {name:?}, which the run was given and only reads: it gets EACCES"
                );
                return Ok(self.told_of(name, EACCES, text));
            }
            Trouble::KeepsNothing => {
                let text = format!(
                    "the program writes {name:?}, and the run keeps no files: it gets EROFS (give a folder for \
                     them with --output-files FOLDER)"
                );
                return Ok(self.told_of(name, EROFS, text));
            }
            Trouble::TooMuch => {
                let most = MOST_WRITTEN_BYTES >> 30;
                let text = format!("the program writes more than {most} GiB into files: it gets ENOSPC");
                return Ok(self.notice(ENOSPC, text));
            }
        })
    }

    /// Opens a device, a file or a folder.
    pub(super) fn open(&mut self) -> Answer {
        const CREATE: u64 = 0x40;
        const EXCLUSIVE: u64 = 0x80;
        const TRUNCATE: u64 = 0x200;
        const FOLDER: u64 = 0x1_0000;
        const ACCESS: u64 = 3;
        const READ_WRITE: u64 = 2;
        let [folder, address, flags, ..] = self.a;
        let text = self.text(address)?;
        if let Some(device) = text.strip_prefix("/dev/") {
            return self.open_device(&text, device, flags);
        }
        let name = self.name_of(folder, &text)?;
        let writes = flags & ACCESS != READ_ONLY;
        let found = self.find(&name);
        let what = match found {
            Some(_) if flags & (CREATE | EXCLUSIVE) == CREATE | EXCLUSIVE => return Err(EEXIST),
            Some(Entry::Folder) if writes => return Err(EISDIR),
            Some(Entry::Folder) => What::Folder(name, None),
            Some(Entry::File(_)) if flags & FOLDER != 0 => return Err(ENOTDIR),
            Some(Entry::File(Contents::Own(number))) => {
                if writes && flags & TRUNCATE != 0 {
                    self.truncate(number, 0)?;
                }
                What::File(Contents::Own(number))
            }
            // Runtimes try so first, to open a file for reading only then.
            Some(Entry::File(_)) if flags & (ACCESS | CREATE | TRUNCATE) == READ_WRITE => return Err(EACCES),
            Some(Entry::File(_)) if writes => return self.trouble(Trouble::Given, &name),
            Some(Entry::File(contents)) => What::File(contents),
            None if flags & CREATE == 0 => return Ok(self.missing(&name, "opens")),
            None => {
                let files = &mut self.calls.files;
                match files.state.tree.create(&files.given, &name) {
                    Ok(contents) => What::File(contents),
                    Err(trouble) => return self.trouble(trouble, &name),
                }
            }
        };
        self.opened(what, flags)
    }

    fn opened(&mut self, what: What, flags: u64) -> Answer {
        const KEPT: u64 = 0xc03;
        let least = self.lowest_descriptor(0);
        let open = Open { what, offset: 0, flags: flags & KEPT };
        let descriptors = &mut self.calls.files.state.descriptors;
        let descriptor = descriptors.open(open, least, flags & CLOSES != 0).ok_or(EMFILE)?;
        Ok((descriptor as i64).into())
    }

    fn open_device(&mut self, text: &str, name: &str, flags: u64) -> Answer {
        if let Some(place) = self.calls.devices.iter().position(|device| device == name) {
            return self.device_descriptor(place);
        }
        if name == "null" {
            return self.opened(What::Null, flags);
        }
        let absent = self.calls.absent.iter().find(|(device, _)| device == name);
        let reason = absent.map_or("and nodes have no such device", |(_, reason)| reason);
        let notice = format!("the program opens {text:?}, {reason}: it gets ENOENT");
        Ok(self.told_of(text, ENOENT, notice))
    }

    /// Facts about what a descriptor stands for.
    pub(super) fn open_status(&mut self, descriptor: u64, address: u64) -> Answer {
        let what = self.open_at(descriptor)?.what.clone();
        let status = self.status(&what);
        self.put(address, &status).and_then(done)
    }

    /// The same about a name.
    pub(super) fn file_status(&mut self) -> Answer {
        const EMPTY_PATH: u64 = 0x1000;
        let [folder, text, address, flags, ..] = self.a;
        let text = self.text(text)?;
        if text.is_empty() && flags & EMPTY_PATH != 0 {
            return self.open_status(folder, address);
        }
        let name = self.name_of(folder, &text)?;
        let what = match self.find_or_tell(&name, "looks for") {
            Ok(Entry::Folder) => What::Folder(name, None),
            Ok(Entry::File(contents)) => What::File(contents),
            Err(told) => return Ok(told),
        };
        let status = self.status(&what);
        self.put(address, &status).and_then(done)
    }

    /// `struct stat`. Streams are pipes: C libraries then write in large pieces.
    fn status(&self, what: &What) -> [u8; 128] {
        const PIPE: u32 = 0o010_600;
        const CHARACTERS: u32 = 0o020_666;
        const FOLDER: u32 = 0o040_755;
        const FILE: u32 = 0o100_000;
        let files = &self.calls.files;
        let (mode, number, bytes) = match what {
            What::NoInput | What::Stream(_) | What::PipeIn(_) | What::PipeOut(_) => (PIPE, 0, 0),
            What::Null => (CHARACTERS, 0, 0),
            What::Folder(name, _) => (FOLDER, number_of(name), 0),
            What::File(contents) => {
                let length = files.state.tree.bytes(&files.given, contents).len() as u64;
                match contents {
                    Contents::Input => (FILE | 0o444, number_of("\0input"), length),
                    Contents::Given(name) => (FILE | 0o444, number_of(name), length),
                    Contents::Own(number) => (FILE | 0o644, *number + 1, length),
                }
            }
        };
        let mut status = [0; 128];
        let mut put = |at: usize, bytes: &[u8]| status[at..at + bytes.len()].copy_from_slice(bytes);
        put(8, &u64::to_le_bytes(number));
        put(16, &mode.to_le_bytes());
        put(20, &1u32.to_le_bytes());
        put(24, &(USER as u32).to_le_bytes());
        put(28, &(USER as u32).to_le_bytes());
        put(48, &u64::to_le_bytes(bytes));
        put(56, &4096u32.to_le_bytes());
        put(64, &bytes.div_ceil(512).to_le_bytes());
        status
    }

    /// The names in a folder, as many as there is room for.
    pub(super) fn list_folder(&mut self) -> Answer {
        const FOLDER: u8 = 4;
        const FILE: u8 = 8;
        let [descriptor, address, room, ..] = self.a;
        let Open { what: What::Folder(name, list), offset, .. } = self.open_at(descriptor)?.clone() else {
            return Err(ENOTDIR);
        };
        let list = list.unwrap_or_else(|| {
            let files = &self.calls.files;
            let own = [".", ".."].map(|name| (name.to_owned(), true));
            own.into_iter().chain(files.state.tree.list(&files.given, &name)).collect()
        });
        let mut bytes: Vec<u8> = Vec::new();
        let mut next = offset;
        for (entry, is_folder) in list.iter().skip(usize::try_from(offset).unwrap_or(usize::MAX)) {
            let length = (19 + entry.len() + 1).next_multiple_of(8);
            if (bytes.len() + length) as u64 > room {
                break;
            }
            next += 1;
            let end = bytes.len() + length;
            bytes.extend(number_of(&format!("{name}/{entry}")).to_le_bytes());
            bytes.extend(next.to_le_bytes());
            bytes.extend((length as u16).to_le_bytes());
            bytes.push(if *is_folder { FOLDER } else { FILE });
            bytes.extend(entry.as_bytes());
            bytes.resize(end, 0);
        }
        if bytes.is_empty() && (next as usize) < list.len() {
            return Err(EINVAL);
        }
        self.put(address, &bytes)?;
        let open = self.calls.files.state.descriptors.get_mut(descriptor).ok_or(EBADF)?;
        (open.offset, open.what) = (next, What::Folder(name, Some(list)));
        Ok((bytes.len() as i64).into())
    }

    pub(super) fn make_folder(&mut self) -> Answer {
        let name = self.name_at(self.a[0], self.a[1])?;
        let files = &mut self.calls.files;
        let made = files.state.tree.create_folder(&files.given, &name);
        self.changed(made, &name)
    }

    /// Takes the name of a file or an empty folder away.
    pub(super) fn remove(&mut self) -> Answer {
        const FOLDER: u64 = 0x200;
        let name = self.name_at(self.a[0], self.a[1])?;
        let files = &mut self.calls.files;
        let removed = files.state.tree.remove(&files.given, &name, self.a[2] & FOLDER != 0);
        self.changed(removed, &name)
    }

    pub(super) fn rename(&mut self) -> Answer {
        const KEEPS: u64 = 1;
        let [from_folder, from, to_folder, to, flags, _] = self.a;
        if flags & !KEEPS != 0 {
            return Err(EINVAL);
        }
        let (from, to) = (self.name_at(from_folder, from)?, self.name_at(to_folder, to)?);
        let files = &mut self.calls.files;
        let renamed = files.state.tree.rename(&files.given, (&from, &to), flags & KEEPS == 0);
        self.changed(renamed, &from)
    }

    fn changed(&mut self, made: Result<(), Trouble>, name: &str) -> Answer {
        if let Err(trouble) = made {
            return self.trouble(trouble, name);
        }
        let state = &mut self.calls.files.state;
        state.tree.forget_unnamed(|number| state.descriptors.has_file(number));
        done(())
    }

    pub(super) fn truncate_named(&mut self) -> Answer {
        let name = self.name_at(WORKING_FOLDER, self.a[0])?;
        match self.find_or_tell(&name, "changes") {
            Ok(Entry::File(Contents::Own(number))) => self.truncate(number, self.a[1]),
            Ok(Entry::File(_)) => self.trouble(Trouble::Given, &name),
            Ok(Entry::Folder) => Err(EISDIR),
            Err(told) => Ok(told),
        }
    }

    /// Whether the program may use a file so.
    pub(super) fn access(&mut self) -> Answer {
        const WRITE: u64 = 2;
        const EXECUTE: u64 = 1;
        let name = self.name_at(self.a[0], self.a[1])?;
        let wanted = self.a[2];
        match self.find_or_tell(&name, "looks for") {
            Ok(Entry::Folder) => done(()),
            Ok(Entry::File(_)) if wanted & EXECUTE != 0 => Err(EACCES),
            Ok(Entry::File(Contents::Own(_))) => done(()),
            Ok(Entry::File(_)) if wanted & WRITE != 0 => Err(EACCES),
            Ok(Entry::File(_)) => done(()),
            Err(told) => Ok(told),
        }
    }

    /// There are no links.
    pub(super) fn read_link(&mut self) -> Answer {
        let name = self.name_at(self.a[0], self.a[1])?;
        Err(if self.find(&name).is_some() { EINVAL } else { ENOENT })
    }

    /// What a file's owner and times are is not kept: done, if the file is there.
    pub(super) fn change_attributes(&mut self) -> Answer {
        if self.a[1] == 0 {
            return self.open_at(self.a[0]).map(|_| ()).and_then(done);
        }
        let name = self.name_at(self.a[0], self.a[1])?;
        if self.find(&name).is_some() { done(()) } else { Err(ENOENT) }
    }

    pub(super) fn change_folder(&mut self) -> Answer {
        let name = self.name_at(WORKING_FOLDER, self.a[0])?;
        match self.find_or_tell(&name, "goes into") {
            Ok(Entry::Folder) => self.calls.files.state.working_folder = name,
            Ok(Entry::File(_)) => return Err(ENOTDIR),
            Err(told) => return Ok(told),
        }
        done(())
    }

    pub(super) fn change_open_folder(&mut self) -> Answer {
        let What::Folder(name, _) = self.open_at(self.a[0])?.what.clone() else { return Err(ENOTDIR) };
        self.calls.files.state.working_folder = name;
        done(())
    }

    pub(super) fn working_folder(&mut self) -> Answer {
        let [address, room, ..] = self.a;
        let text = format!("/{}\0", self.calls.files.state.working_folder);
        if room < text.len() as u64 {
            return Err(ERANGE);
        }
        self.put(address, text.as_bytes())?;
        Ok((text.len() as i64).into())
    }

    /// The bytes of a file for a private mapping, which begins with a copy of them.
    pub(super) fn mapped_bytes(&self, descriptor: u64, offset: u64, length: u64) -> Result<Vec<u8>, Error> {
        let What::File(contents) = &self.open_at(descriptor)?.what else { return Err(ENODEV) };
        if !offset.is_multiple_of(PAGE_BYTES) {
            return Err(EINVAL);
        }
        let files = &self.calls.files;
        let bytes = files.state.tree.bytes(&files.given, contents);
        let from = usize::try_from(offset).map_err(|_| EFAULT)?.min(bytes.len());
        let count = usize::try_from(length).unwrap_or(usize::MAX).min(bytes.len() - from);
        Ok(bytes[from..from + count].to_vec())
    }
}

/// The number by which a program tells files apart (`st_ino`): a hash of the name.
fn number_of(name: &str) -> u64 {
    let hash = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
    name.trim_start_matches('/').bytes().fold(0xcbf2_9ce4_8422_2325, hash) | 1 << 63
}
