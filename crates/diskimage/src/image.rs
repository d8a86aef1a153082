//! Rebuilds a directory from the durable part and a choice of the rest.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use crate::disk::{Change, Disk, FileData, Object, write};
use crate::recording::{Recording, RecordingError};

/// The treatment of the part that was not synced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// All of it is there: the process was killed, the system lives.
    Kept,
    /// The unsynced part is lost completely.
    Dropped,
    /// Any subset of writes, lengths and names is there, each whole.
    Reordered,
    /// Any subset, and writes themselves in part: each sector of 512 bytes for itself.
    Torn,
}

impl Policy {
    /// Every policy.
    pub const ALL: [Policy; 4] = [
        Policy::Kept,
        Policy::Dropped,
        Policy::Reordered,
        Policy::Torn,
    ];
}

const SECTOR: u64 = 512;

impl Recording {
    /// Rebuilds the recorded directory, as it would be found after a power cut just after operation `sequence`, in the
    /// empty or absent directory `out`. The seed makes the choices that the policy leaves open.
    pub fn image_at(
        &self,
        sequence: u64,
        policy: Policy,
        seed: u64,
        out: &Path,
    ) -> Result<(), RecordingError> {
        let disk = Disk::at(self, sequence);
        let mut choice = Choice(seed ^ sequence.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        // Half of the images lean to one side: nearly everything or nearly nothing is there.
        let keep_of_8 = [1, 4, 4, 7][(choice.next() % 4) as usize];
        let mut names = disk.durable_names.clone();
        for (_, naming) in &disk.pending_names {
            if policy == Policy::Kept
                || (policy != Policy::Dropped && choice.next() % 8 < keep_of_8)
            {
                naming.apply(&mut names);
            }
        }
        let io = |path: PathBuf| move |source| RecordingError::Io { path, source };
        std::fs::create_dir_all(out).map_err(io(out.into()))?;
        let mut folders: Vec<(Object, PathBuf)> = vec![(disk.root_object, out.to_path_buf())];
        while let Some((folder, path)) = folders.pop() {
            for ((_, name), object) in
                names.range((folder, String::new())..(folder + 1, String::new()))
            {
                let path = path.join(name);
                match &disk.files[*object] {
                    None => {
                        std::fs::create_dir(&path).map_err(io(path.clone()))?;
                        folders.push((*object, path));
                    }
                    Some(file) => {
                        let content = content(file, policy, keep_of_8, &mut choice);
                        write_sparse(&path, &content).map_err(io(path.clone()))?;
                    }
                }
            }
        }
        Ok(())
    }
}

fn content(file: &FileData<'_>, policy: Policy, keep_of_8: u64, choice: &mut Choice) -> Vec<u8> {
    let mut content = file.durable.clone();
    for pending in &file.pending {
        match (policy, pending.change) {
            (_, change) if pending.certain => change.apply(&mut content),
            (Policy::Dropped, _) => {}
            (Policy::Kept, change) => change.apply(&mut content),
            (Policy::Torn, Change::Write { offset, data }) => {
                tear(&mut content, offset, data, keep_of_8, choice)
            }
            (_, change) => {
                if choice.next() % 8 < keep_of_8 {
                    change.apply(&mut content);
                }
            }
        }
    }
    content
}

/// Writes some of the sectors of a piece; the length grows as far as the last one written.
fn tear(content: &mut Vec<u8>, offset: u64, data: &[u8], keep_of_8: u64, choice: &mut Choice) {
    let mut at = offset;
    let end = offset + data.len() as u64;
    while at < end {
        let next = ((at / SECTOR + 1) * SECTOR).min(end);
        if choice.next() % 8 < keep_of_8 {
            write(
                content,
                at,
                &data[(at - offset) as usize..(next - offset) as usize],
            );
        }
        at = next;
    }
}

/// Leaves out blocks of zeroes.
fn write_sparse(path: &Path, content: &[u8]) -> io::Result<()> {
    const BLOCK: usize = 64 << 10;
    let file = File::create_new(path)?;
    file.set_len(content.len() as u64)?;
    for (at, block) in content.chunks(BLOCK).enumerate() {
        if block.iter().any(|byte| *byte != 0) {
            file.write_all_at(block, (at * BLOCK) as u64)?;
        }
    }
    Ok(())
}

/// A seeded sequence of numbers (splitmix64).
struct Choice(u64);

impl Choice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) >> 8
    }
}
