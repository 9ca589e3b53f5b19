//! Control groups: limits on this process's memory besides what the host has.
//!
//! ```text
//!   /proc/self/cgroup     which group:   4:memory:/jobs/17/step     (version 1)
//!                                        0::/jobs/17/step           (version 2)
//!   /proc/self/mountinfo  where groups are mounted, and which group is at the root there
//!
//!   <mount>/jobs/17/step   ─┐
//!   <mount>/jobs/17         ├─ each may have a limit; the least that is left counts
//!   <mount>/jobs, <mount>  ─┘
//! ```
//!
//! What a group uses includes pages of files that the kernel gives back when it
//! needs them; they count as left.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use procfs::process::{MountInfo, MountInfos, Process};
use procfs::{ProcResult, ProcessCGroup, ProcessCGroups};

/// What the least limit of all leaves; none without limits. Which groups there
/// are is looked up once: a process that is moved to others is not followed.
pub fn left() -> Option<u64> {
    static OWN: OnceLock<Vec<ControlGroup>> = OnceLock::new();
    OWN.get_or_init(|| own().unwrap_or_default()).iter().filter_map(ControlGroup::left).min()
}

/// All control groups that this process is in.
fn own() -> ProcResult<Vec<ControlGroup>> {
    let process = Process::myself()?;
    Ok(groups_of(&process.cgroups()?, &process.mountinfo()?))
}

/// The groups that limit memory, each with all those around it.
fn groups_of(groups: &ProcessCGroups, mounts: &MountInfos) -> Vec<ControlGroup> {
    let mut all = Vec::new();
    for group in groups {
        let Some(version) = Version::of(group) else { continue };
        for mount in mounts.iter().filter(|mount| version.is_mounted(mount)) {
            all.extend(folders(group, mount).map(|folder| ControlGroup { version, folder }));
        }
    }
    all
}

/// A group's folder and those around it, up to where they are mounted.
fn folders(group: &ProcessCGroup, mount: &MountInfo) -> impl Iterator<Item = PathBuf> {
    // Inside a container the mount's root may be the group, or one around it.
    let inside = Path::new(&group.pathname).strip_prefix(&mount.root).unwrap_or(Path::new("")).to_owned();
    let top = mount.mount_point.clone();
    let ancestors: Vec<PathBuf> = inside.ancestors().map(|part| top.join(part)).collect();
    ancestors.into_iter()
}

/// Of the kernel's interface to control groups.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Version {
    One,
    Two,
}

impl Version {
    /// Of a group that may limit memory.
    fn of(group: &ProcessCGroup) -> Option<Self> {
        if group.controllers.iter().any(|controller| controller == "memory") {
            return Some(Version::One);
        }
        (group.hierarchy == 0).then_some(Version::Two)
    }

    fn is_mounted(self, mount: &MountInfo) -> bool {
        match self {
            Version::One => mount.fs_type == "cgroup" && mount.super_options.contains_key("memory"),
            Version::Two => mount.fs_type == "cgroup2",
        }
    }

    /// The files that tell limit and use, and the keys of what the kernel gives back.
    fn names(self) -> (&'static str, &'static str, [&'static str; 2]) {
        match self {
            Version::One => (
                "memory.limit_in_bytes",
                "memory.usage_in_bytes",
                ["total_inactive_file", "total_active_file"],
            ),
            Version::Two => ("memory.max", "memory.current", ["inactive_file", "active_file"]),
        }
    }
}

/// One control group.
#[derive(Clone, PartialEq, Eq, Debug)]
struct ControlGroup {
    version: Version,
    folder: PathBuf,
}

impl ControlGroup {
    /// What its limit leaves; none if it has no limit or does not tell.
    fn left(&self) -> Option<u64> {
        let (limit, used, given_back) = self.version.names();
        // Without a limit version 2 says "max".
        let limit = self.number(limit)?;
        let used = self.number(used)?;
        let table = self.text("memory.stat").unwrap_or_default();
        let file_pages: u64 = table
            .lines()
            .filter_map(|line| line.split_once(' '))
            .filter(|(key, _)| given_back.contains(key))
            .filter_map(|(_, bytes)| bytes.trim().parse::<u64>().ok())
            .sum();
        Some(limit.saturating_sub(used.saturating_sub(file_pages)))
    }

    fn number(&self, file: &str) -> Option<u64> {
        self.text(file)?.trim().parse().ok()
    }

    fn text(&self, file: &str) -> Option<String> {
        fs::read_to_string(self.folder.join(file)).ok()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use procfs::FromBufRead;

    use super::*;

    const MEBIBYTE: u64 = 1 << 20;

    /// A folder that is gone afterwards, with groups in it.
    struct Groups(PathBuf);

    impl Groups {
        fn new(name: &str) -> Self {
            let top = std::env::temp_dir().join(format!("narthex-groups-{name}-{}", std::process::id()));
            fs::create_dir_all(&top).expect("a folder");
            Groups(top)
        }

        fn group(&self, path: &str, files: &[(&str, &str)]) {
            let folder = self.0.join(path);
            fs::create_dir_all(&folder).expect("a folder");
            for (name, text) in files {
                fs::write(folder.join(name), text).expect("a file");
            }
        }

        /// What is left to a process of this group.
        fn left(&self, group: &str, root: &str, options: &str, kind: &str) -> Option<u64> {
            let mount =
                format!("35 31 0:32 {root} {} rw,relatime - {kind} {kind} {options}\n", self.0.display());
            let mounts = MountInfos::from_buf_read(Cursor::new(mount)).expect("a mount");
            let groups = ProcessCGroups::from_buf_read(Cursor::new(group.to_owned())).expect("a group");
            groups_of(&groups, &mounts).iter().filter_map(ControlGroup::left).min()
        }
    }

    impl Drop for Groups {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn the_least_that_any_group_around_leaves_counts() {
        let groups = Groups::new("nested");
        let (most, little) = ((300 * MEBIBYTE).to_string(), (100 * MEBIBYTE).to_string());
        groups.group("jobs/17/step", &[("memory.max", "max\n"), ("memory.current", &little)]);
        groups.group("jobs/17", &[("memory.max", &most), ("memory.current", &little)]);
        groups.group("jobs", &[("memory.max", &little), ("memory.current", "0\n")]);
        let left = |group: &str| groups.left(&format!("0::{group}\n"), "/", "rw", "cgroup2");
        assert_eq!(left("/jobs/17/step"), Some(100 * MEBIBYTE));
        fs::write(groups.0.join("jobs/memory.max"), "max\n").expect("written");
        assert_eq!(left("/jobs/17/step"), Some(200 * MEBIBYTE));
        assert_eq!(left("/elsewhere"), None);
    }

    #[test]
    fn pages_of_files_in_a_group_of_version_1_are_left() {
        let groups = Groups::new("files");
        let used = (90 * MEBIBYTE).to_string();
        let files =
            format!("cache 1\ntotal_inactive_file {}\ntotal_active_file {}\n", 30 * MEBIBYTE, 10 * MEBIBYTE);
        let limit = (100 * MEBIBYTE).to_string();
        let all: [(&str, &str); 3] =
            [("memory.limit_in_bytes", &limit), ("memory.usage_in_bytes", &used), ("memory.stat", &files)];
        groups.group("step", &all);
        // In a container, the group at the mount's root is not the root of all.
        let left = groups.left("4:memory:/box/step\n3:cpu:/box\n", "/box", "rw,memory", "cgroup");
        assert_eq!(left, Some(50 * MEBIBYTE));
        let elsewhere = groups.left("4:memory:/box/step\n", "/box", "rw,cpu", "cgroup");
        assert_eq!(elsewhere, None);
    }
}
