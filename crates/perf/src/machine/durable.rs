//! Measures how many sequential durable commits per second the disk under a folder performs.

use std::fs::OpenOptions;
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use super::rate::rate;

const COMMIT_BYTES: usize = 4096;
/// The file is written once beforehand, so that a commit changes data only, as in a log that reuses its files.
const FILE_COMMITS: usize = 1024;
/// Upper limit on times kept for the median.
const TIMES_MAX: usize = 100_000;

/// The commit rate of a disk.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Commits {
    /// Commits per second.
    pub per_s: f64,
    /// The median time of one, microseconds.
    pub median_us: f64,
}

/// Writes 4 KiB and syncs, again and again, through a file written before; the file is removed at the end.
pub(super) fn commits(folder: &Path, slice: Duration) -> std::io::Result<Commits> {
    let path = folder.join("commit-probe");
    let mut file = OpenOptions::new()
        .create(true)
        .truncate(true)
        .write(true)
        .open(&path)?;
    file.write_all(&vec![0; COMMIT_BYTES * FILE_COMMITS])?;
    file.sync_all()?;
    let block = [0x5a; COMMIT_BYTES];
    let mut next = 0;
    let mut failure = None;
    let mut times_us = Vec::new();
    let per_s = rate(slice, || {
        let start = Instant::now();
        let written = (|| {
            if next % FILE_COMMITS == 0 {
                file.seek(SeekFrom::Start(0))?;
            }
            file.write_all(&block)?;
            file.sync_data()
        })();
        next += 1;
        if times_us.len() < TIMES_MAX {
            times_us.push(start.elapsed().as_secs_f64() * 1e6);
        }
        match written {
            Ok(()) => 1,
            Err(error) => {
                failure = Some(error);
                0
            }
        }
    });
    drop(file);
    std::fs::remove_file(&path)?;
    let median_us = crate::measure::median(&times_us);
    failure.map_or(Ok(Commits { per_s, median_us }), Err)
}
