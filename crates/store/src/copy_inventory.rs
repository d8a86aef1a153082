//! The inventory of a finished copy of a store. With it a partial copy cannot pass as a whole one.

use std::io;
use std::path::Path;

use xxhash_rust::xxh3::xxh3_64;

/// The files of a copy, in one line of its FORMAT file: `copy of FILES files BYTES bytes DIGEST`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CopyInventory {
    files: u64,
    bytes: u64,
    /// XXH3-64 of every file's path and length.
    digest: u64,
}

impl CopyInventory {
    /// Makes the inventory of these folders of a store.
    pub(crate) fn take(store: &Path, folders: &[&str]) -> io::Result<Self> {
        let mut found = Vec::new();
        for folder in folders {
            match walk(&store.join(folder), folder, &mut found) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                walked => walked?,
            }
        }
        found.sort();
        let text: String = found
            .iter()
            .map(|(path, bytes)| format!("{path} {bytes}\n"))
            .collect();
        Ok(Self {
            files: found.len() as u64,
            bytes: found.iter().map(|(_, bytes)| bytes).sum(),
            digest: xxh3_64(text.as_bytes()),
        })
    }

    /// Returns the inventory as a line of text.
    pub(crate) fn line(&self) -> String {
        let Self {
            files,
            bytes,
            digest,
        } = self;
        format!("copy of {files} files {bytes} bytes {digest:016x}")
    }

    /// Parses the line.
    pub(crate) fn parse(line: &str) -> Option<Self> {
        let mut words = line.strip_prefix("copy of ")?.split(' ');
        let mut next = || words.next();
        let files = next()?.parse().ok()?;
        next().filter(|word| *word == "files")?;
        let bytes = next()?.parse().ok()?;
        next().filter(|word| *word == "bytes")?;
        let digest = u64::from_str_radix(next()?, 16).ok()?;
        let inventory = Self {
            files,
            bytes,
            digest,
        };
        (inventory.line() == line).then_some(inventory)
    }

    /// Returns how the files found differ from those of the copy, if they do.
    pub(crate) fn difference(&self, found: &Self) -> Option<String> {
        (self != found).then(|| {
            format!(
                "the copy is not whole: it has {} files of {} bytes, it was made with {} files of {} bytes",
                found.files, found.bytes, self.files, self.bytes
            )
        })
    }

    /// Returns the number of files.
    pub(crate) fn files(&self) -> u64 {
        self.files
    }

    /// Returns the sum of their lengths.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }
}

fn walk(folder: &Path, name: &str, found: &mut Vec<(String, u64)>) -> io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let name = format!("{name}/{}", entry.file_name().display());
        let kind = entry.file_type()?;
        if kind.is_dir() {
            walk(&entry.path(), &name, found)?;
        } else {
            found.push((name, entry.metadata()?.len()));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_and_back_and_nothing_else() {
        let inventory = CopyInventory {
            files: 3,
            bytes: 4711,
            digest: 0xabc,
        };
        let line = inventory.line();
        assert_eq!(CopyInventory::parse(&line), Some(inventory));
        for end in 0..line.len() {
            assert_eq!(CopyInventory::parse(&line[..end]), None, "{}", &line[..end]);
        }
        for wrong in ["", "copy of 3 files", "copy of +3 files 4711 bytes abc"] {
            assert_eq!(CopyInventory::parse(wrong), None, "{wrong}");
        }
        assert_eq!(CopyInventory::parse(&format!("{line} more")), None);
    }
}
