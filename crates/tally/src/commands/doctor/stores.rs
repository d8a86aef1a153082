//! The disk use of a node's data folder, by store.

use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::finding::Finding;
use crate::output::grouped;

/// Maximum number of files and folders that are read.
const ENTRIES_MAX: usize = 1_000_000;
/// Files below this size are not named.
const NAMED_BYTES_MIN: u64 = 1 << 20;
/// Maximum number of stores that are named, the largest first.
const NAMED_MAX: usize = 8;
/// Suffixes of the further files of an SQLite database.
const OF_SQLITE: [&str; 3] = ["-wal", "-shm", "-journal"];
/// The unit of `st_blocks`.
const BLOCK_BYTES: u64 = 512;

/// Returns a finding with the disk use of each store in the data folder: the ledger or the chain, attachments, the vault's view,
/// snapshots, and what an operator put there, such as a former store.
pub fn usage(data: &Path) -> Finding {
    const CHECK: &str = "disk use";
    match measure(data) {
        Ok(measured) => Finding::ok(CHECK, measured.text()),
        Err(error) => Finding::warning(
            CHECK,
            format!("{}: {error}", data.display()),
            "Let this user read the folder, and check the disk.",
        ),
    }
}

/// Bytes on the disk by store.
#[derive(Debug, Default)]
struct DiskUse {
    stores: BTreeMap<String, u64>,
    /// Small files.
    other_bytes: u64,
    /// Whether the folder has too many files to read all.
    is_cut: bool,
}

impl DiskUse {
    fn text(&self) -> String {
        let mut stores: Vec<(&str, u64)> = self
            .stores
            .iter()
            .map(|(name, bytes)| (name.as_str(), *bytes))
            .collect();
        stores.sort_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
        let all = self.other_bytes + stores.iter().map(|(_, bytes)| bytes).sum::<u64>();
        let rest = stores.split_off(stores.len().min(NAMED_MAX));
        let rest = self.other_bytes + rest.iter().map(|(_, bytes)| bytes).sum::<u64>();
        stores.push(("other files", rest));
        let named = stores.iter();
        let named = named.map(|(name, bytes)| format!("{} {}", name.escape_debug(), mib(*bytes)));
        let named: Vec<String> = named.collect();
        let least = if self.is_cut { "at least " } else { "" };
        format!("{least}{}: {}", mib(all), named.join(", "))
    }
}

/// Writes bytes in MiB with one decimal, rounded down.
fn mib(bytes: u64) -> String {
    let tenths = ((bytes >> 10) * 10) >> 10;
    format!("{}.{} MiB", grouped(tenths / 10), tenths % 10)
}

fn measure(data: &Path) -> io::Result<DiskUse> {
    let mut found = DiskUse::default();
    let mut budget = ENTRIES_MAX;
    for entry in fs::read_dir(data)? {
        let path = entry?.path();
        // A link to a folder elsewhere is followed here, as an operator may have moved a store to another disk.
        let Some(meta) = unless_gone(fs::metadata(&path))? else {
            continue;
        };
        let bytes = match meta.is_dir() {
            true => folder_bytes(&path, &mut budget)?,
            false => on_disk(&meta),
        };
        if meta.is_dir() || bytes >= NAMED_BYTES_MIN {
            *found.stores.entry(store_of(&path)).or_default() += bytes;
        } else {
            found.other_bytes += bytes;
        }
    }
    found.is_cut = budget == 0;
    Ok(found)
}

/// Returns the name of a store: the file's name, without the suffix of a file beside a database.
fn store_of(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let mut stems = OF_SQLITE.iter().filter_map(|end| name.strip_suffix(end));
    stems.next().unwrap_or(&name).to_owned()
}

/// Returns the bytes that a folder takes on the disk. Stops when `budget` entries are read.
fn folder_bytes(folder: &Path, budget: &mut usize) -> io::Result<u64> {
    let mut bytes = 0;
    let mut folders: Vec<PathBuf> = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        // A running node removes files and folders at any time.
        let Some(entries) = unless_gone(fs::read_dir(&folder))? else {
            continue;
        };
        for entry in entries {
            if *budget == 0 {
                return Ok(bytes);
            }
            *budget -= 1;
            let path = entry?.path();
            match unless_gone(fs::symlink_metadata(&path))? {
                Some(meta) if meta.is_dir() => folders.push(path),
                Some(meta) => bytes += on_disk(&meta),
                None => {}
            }
        }
    }
    Ok(bytes)
}

/// Returns the bytes that a file takes, which are fewer than its length if it has holes.
fn on_disk(meta: &Metadata) -> u64 {
    meta.blocks() * BLOCK_BYTES
}

fn unless_gone<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        result => result.map(Some),
    }
}

#[cfg(test)]
mod tests {
    use super::super::finding::Verdict;
    use super::*;

    const MIB: u64 = 1 << 20;

    #[test]
    fn each_store_is_named_the_largest_first() {
        let stores = [
            ("chain", 3 * MIB),
            ("chain.lost", 1_500 * MIB),
            ("vault.sqlite", MIB / 2),
        ];
        let stores = stores.map(|(name, bytes)| (name.to_owned(), bytes));
        let mut found = DiskUse {
            stores: stores.into(),
            other_bytes: 2_048,
            is_cut: false,
        };
        let shown = "1,503.5 MiB: chain.lost 1,500.0 MiB, chain 3.0 MiB, vault.sqlite 0.5 MiB, other files 0.0 MiB";
        assert_eq!(found.text(), shown);
        found.is_cut = true;
        assert_eq!(found.text(), format!("at least {shown}"));
    }

    #[test]
    fn files_of_a_database_count_together_and_folders_count_whole() {
        let data = tempfile::tempdir().expect("a folder");
        let write = |name: &str, bytes: usize| {
            let path = data.path().join(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            fs::write(path, vec![7; bytes]).expect("written");
        };
        write("vault.sqlite", 1 << 20);
        write("vault.sqlite-wal", 1 << 20);
        write("ledger/log/1.log", 1 << 20);
        write("ledger/FORMAT", 10);
        write("ledger.mark", 10);
        let found = measure(data.path()).expect("readable");
        let names: Vec<&str> = found.stores.keys().map(String::as_str).collect();
        assert_eq!(names, ["ledger", "vault.sqlite"]);
        assert!(found.stores["ledger"] >= MIB, "{found:?}");
        assert!(found.stores["vault.sqlite"] >= 2 * MIB, "{found:?}");
        assert!(found.other_bytes < MIB && !found.is_cut, "{found:?}");
        let finding = usage(&data.path().join("none"));
        assert_eq!(finding.verdict, Verdict::Warning, "{}", finding.found);
    }

    #[test]
    fn a_folder_with_too_many_files_is_read_in_part() {
        let data = tempfile::tempdir().expect("a folder");
        for name in ["a", "b", "c"] {
            fs::write(data.path().join(name), [7; 10]).expect("written");
        }
        let mut budget = 2;
        folder_bytes(data.path(), &mut budget).expect("readable");
        assert_eq!(budget, 0);
    }
}
