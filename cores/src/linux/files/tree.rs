//! Names and contents: given files, and over them what the process writes.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::path::{behind, folder_of};
use super::{GivenFiles, MOST_WRITTEN_BYTES, Written};

/// The contents of a file, wherever its name is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Contents {
    /// Standard input.
    Input,
    /// A given file of this name.
    Given(String),
    /// A written file of this number.
    Own(u64),
}

/// What a name stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    File(Contents),
    Folder,
}

/// Why something cannot be done in the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    Missing,
    Exists,
    IsFolder,
    NoFolder,
    NotEmpty,
    /// It is given, and stays as it is.
    Given,
    /// The run keeps nothing that is written.
    KeepsNothing,
    /// More than a process can write.
    TooMuch,
    Invalid,
}

/// What a process has written.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Tree {
    /// By name: the number of a file, or none for a folder.
    names: BTreeMap<String, Option<u64>>,
    /// Contents of files, also of those that have no name any more.
    files: BTreeMap<u64, Vec<u8>>,
    /// The number of the next file.
    next: u64,
    written_bytes: u64,
}

impl Tree {
    /// What a name stands for.
    pub fn find(&self, given: &GivenFiles, name: &str) -> Option<Entry> {
        if let Some(own) = self.names.get(name) {
            return Some(own.map_or(Entry::Folder, |number| Entry::File(Contents::Own(number))));
        }
        if given.files.contains_key(name) {
            return Some(Entry::File(Contents::Given(name.to_owned())));
        }
        let is_folder = name.is_empty()
            || given.folders.iter().any(|each| each == name || behind(name, each).is_some())
            || given.files.keys().any(|file| behind(name, file).is_some());
        is_folder.then_some(Entry::Folder)
    }

    /// The names in a folder, in their order, each with whether it is a folder.
    pub fn list(&self, given: &GivenFiles, folder: &str) -> BTreeMap<String, bool> {
        let mut found = BTreeMap::new();
        let all = given.files.keys().map(|name| (name, false));
        let all = all.chain(given.folders.iter().map(|name| (name, true)));
        for (name, is_folder) in all.chain(self.names.iter().map(|(name, file)| (name, file.is_none()))) {
            match behind(folder, name).map(|rest| rest.split_once('/').ok_or(rest)) {
                Some(Ok((first, _))) => drop(found.insert(first.to_owned(), true)),
                Some(Err(last)) => drop(found.insert(last.to_owned(), is_folder)),
                None => {}
            }
        }
        found
    }

    /// The bytes of a file.
    pub fn bytes<'a>(&'a self, given: &'a GivenFiles, contents: &Contents) -> &'a [u8] {
        match contents {
            Contents::Input => given.input.as_deref().unwrap_or_default(),
            Contents::Given(name) => given.files.get(name).map_or(&[], |bytes| bytes),
            Contents::Own(number) => self.files.get(number).map_or(&[], Vec::as_slice),
        }
    }

    /// A new file, in a folder that is there.
    pub fn create(&mut self, given: &GivenFiles, name: &str) -> Result<Contents, Trouble> {
        self.check_new(given, name)?;
        let number = self.next;
        self.next += 1;
        self.names.insert(name.to_owned(), Some(number));
        self.files.insert(number, Vec::new());
        Ok(Contents::Own(number))
    }

    /// A new folder.
    pub fn create_folder(&mut self, given: &GivenFiles, name: &str) -> Result<(), Trouble> {
        self.check_new(given, name)?;
        self.names.insert(name.to_owned(), None);
        Ok(())
    }

    fn check_new(&self, given: &GivenFiles, name: &str) -> Result<(), Trouble> {
        if self.find(given, name).is_some() {
            return Err(Trouble::Exists);
        }
        match self.find(given, folder_of(name)) {
            None => Err(Trouble::Missing),
            Some(Entry::File(_)) => Err(Trouble::NoFolder),
            Some(Entry::Folder) if !given.keeps_written => Err(Trouble::KeepsNothing),
            Some(Entry::Folder) => Ok(()),
        }
    }

    /// Takes a name away; the contents stay for those that have the file open.
    pub fn remove(&mut self, given: &GivenFiles, name: &str, is_folder: bool) -> Result<(), Trouble> {
        match (self.find(given, name).ok_or(Trouble::Missing)?, is_folder) {
            (Entry::Folder, false) => return Err(Trouble::IsFolder),
            (Entry::File(_), true) => return Err(Trouble::NoFolder),
            (Entry::Folder, true) if !self.list(given, name).is_empty() => return Err(Trouble::NotEmpty),
            _ => {}
        }
        self.names.remove(name).map(drop).ok_or(Trouble::Given)
    }

    /// Gives a file or folder another name, in place of what has that.
    pub fn rename(
        &mut self,
        given: &GivenFiles,
        (from, to): (&str, &str),
        replaces: bool,
    ) -> Result<(), Trouble> {
        let entry = self.find(given, from).ok_or(Trouble::Missing)?;
        if !self.names.contains_key(from) {
            return Err(Trouble::Given);
        }
        if from == to {
            return Ok(());
        }
        if behind(from, to).is_some() {
            return Err(Trouble::Invalid);
        }
        match (self.find(given, to), &entry) {
            (None, _) => self.check_new(given, to)?,
            (Some(_), _) if !replaces => return Err(Trouble::Exists),
            (Some(Entry::Folder), Entry::File(_)) => return Err(Trouble::IsFolder),
            (Some(Entry::File(_)), Entry::Folder) => return Err(Trouble::NoFolder),
            (Some(_), _) => self.remove(given, to, entry == Entry::Folder)?,
        }
        let moved: Vec<String> =
            self.names.keys().filter(|name| *name == from || behind(from, name).is_some()).cloned().collect();
        for name in moved {
            let renamed = format!("{to}{}", &name[from.len()..]);
            let own = self.names.remove(&name).expect("it has just been listed");
            self.names.insert(renamed, own);
        }
        Ok(())
    }

    /// Writes into a file of the process's own; what lies between its end and `offset` is zero.
    pub fn write(&mut self, number: u64, offset: u64, bytes: &[u8]) -> Result<(), Trouble> {
        let length = self.files.get(&number).map_or(0, Vec::len) as u64;
        let end = offset.checked_add(bytes.len() as u64).ok_or(Trouble::TooMuch)?;
        if end > length {
            self.resize(number, end)?;
        }
        let file = self.files.get_mut(&number).ok_or(Trouble::Missing)?;
        file[offset as usize..end as usize].copy_from_slice(bytes);
        Ok(())
    }

    /// Gives a file of its own another length.
    pub fn resize(&mut self, number: u64, length: u64) -> Result<(), Trouble> {
        let file = self.files.get_mut(&number).ok_or(Trouble::Missing)?;
        let others = self.written_bytes - file.len() as u64;
        let all = others.checked_add(length).filter(|all| *all <= MOST_WRITTEN_BYTES);
        self.written_bytes = all.ok_or(Trouble::TooMuch)?;
        file.resize(length as usize, 0);
        Ok(())
    }

    /// Forgets the contents of files without a name that are not open.
    pub fn forget_unnamed(&mut self, is_open: impl Fn(u64) -> bool) {
        let named: Vec<u64> = self.names.values().flatten().copied().collect();
        let written_bytes = &mut self.written_bytes;
        self.files.retain(|number, file| {
            let stays = named.contains(number) || is_open(*number);
            *written_bytes -= if stays { 0 } else { file.len() as u64 };
            stays
        });
    }

    /// What was written and has a name.
    pub fn written(&self) -> impl Iterator<Item = Written<'_>> {
        self.names.iter().map(|(name, file)| {
            let bytes = file.map(|number| self.files[&number].as_slice());
            Written { name, bytes }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given() -> GivenFiles {
        let files = [("in/a.txt", &b"given"[..])].map(|(name, bytes)| (name.to_owned(), bytes.into()));
        GivenFiles {
            files: files.into(),
            folders: ["empty".to_owned()].into(),
            keeps_written: true,
            ..GivenFiles::default()
        }
    }

    #[test]
    fn written_files_lie_over_the_given_ones_which_stay() {
        let (given, mut tree) = (given(), Tree::default());
        assert_eq!(tree.find(&given, "in"), Some(Entry::Folder));
        assert_eq!(tree.find(&given, "in/b.txt"), None);
        let Ok(Contents::Own(number)) = tree.create(&given, "in/b.txt") else {
            panic!("its folder is there")
        };
        tree.write(number, 2, b"xy").expect("room");
        assert_eq!(tree.bytes(&given, &Contents::Own(number)), b"\0\0xy");
        let names = ["a.txt", "b.txt"].map(|name| (name.to_owned(), false));
        assert_eq!(tree.list(&given, "in"), names.into());
        assert_eq!(tree.list(&given, "").into_keys().collect::<Vec<_>>(), ["empty", "in"]);
        assert_eq!(tree.remove(&given, "in/a.txt", false), Err(Trouble::Given));
        assert_eq!(tree.rename(&given, ("in/a.txt", "c"), true), Err(Trouble::Given));
        assert_eq!(tree.create(&given, "out/x"), Err(Trouble::Missing));
        assert_eq!(tree.create(&given, "in/a.txt/x"), Err(Trouble::NoFolder));
        let written: Vec<_> = tree.written().collect();
        assert_eq!(written, [Written { name: "in/b.txt", bytes: Some(b"\0\0xy") }]);
    }

    #[test]
    fn a_folder_moves_with_what_is_in_it() {
        let (given, mut tree) = (given(), Tree::default());
        tree.create_folder(&given, "out").expect("new");
        tree.create(&given, "out/x").expect("new");
        assert_eq!(tree.rename(&given, ("out", "out/deeper"), true), Err(Trouble::Invalid));
        tree.rename(&given, ("out", "results"), true).expect("free");
        let names: Vec<&str> = tree.written().map(|each| each.name).collect();
        assert_eq!(names, ["results", "results/x"]);
        assert_eq!(tree.remove(&given, "results", true), Err(Trouble::NotEmpty));
        assert_eq!(tree.rename(&given, ("results/x", "empty"), true), Err(Trouble::IsFolder));
    }

    #[test]
    fn a_file_without_a_name_is_forgotten_when_it_is_open_no_more() {
        let (given, mut tree) = (given(), Tree::default());
        let Ok(Contents::Own(number)) = tree.create(&given, "x") else { panic!("it is new") };
        tree.write(number, 0, b"abc").expect("room");
        tree.remove(&given, "x", false).expect("it is its own");
        tree.forget_unnamed(|_| true);
        assert_eq!(tree.bytes(&given, &Contents::Own(number)), b"abc");
        tree.forget_unnamed(|_| false);
        assert_eq!((tree.files.len(), tree.written_bytes), (0, 0));
        let full = tree.create(&given, "y");
        let Ok(Contents::Own(number)) = full else { panic!("it is new") };
        assert_eq!(tree.resize(number, MOST_WRITTEN_BYTES + 1), Err(Trouble::TooMuch));
    }

    #[test]
    fn nothing_is_written_that_the_run_does_not_keep() {
        let given = GivenFiles { keeps_written: false, ..given() };
        assert_eq!(Tree::default().create(&given, "x"), Err(Trouble::KeepsNothing));
    }
}
