//! Arms a process with the recorder, and talks to it while it runs.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;

const SEQUENCE_AT: u64 = 8;
const WRITES_AT: u64 = 24;
const SYNCS_AT: u64 = 32;
const FAIL_WRITE_AT: u64 = 40;
const FAIL_SYNC_AT: u64 = 48;
const ERROR_AT: u64 = 56;
const ONCE_AT: u64 = 64;

/// The recorder of one directory.
#[derive(Clone, Debug)]
pub struct Recorder {
    directory: PathBuf,
    log: PathBuf,
}

impl Recorder {
    /// Records the operations under `directory` to the file `log`, which lies outside it. Both paths
    /// are absolute.
    pub fn new(directory: &Path, log: &Path) -> Self {
        Self {
            directory: directory.to_path_buf(),
            log: log.to_path_buf(),
        }
    }

    /// Returns the library to preload.
    pub fn library() -> &'static Path {
        Path::new(concat!(env!("OUT_DIR"), "/recorder.so"))
    }

    /// Returns the recording.
    pub fn log(&self) -> &Path {
        &self.log
    }

    /// Makes a process record.
    pub fn arm<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        command
            .env("LD_PRELOAD", Self::library())
            .env("RECORDER_DIR", &self.directory)
            .env("RECORDER_LOG", &self.log)
    }

    /// Returns the number of operations so far. Everything acknowledged by now must be in every image
    /// from this moment on.
    pub fn sequence(&self) -> io::Result<u64> {
        self.read(SEQUENCE_AT)
    }

    /// Writes and syncs attempted so far.
    pub fn attempts(&self) -> io::Result<(u64, u64)> {
        Ok((self.read(WRITES_AT)?, self.read(SYNCS_AT)?))
    }

    /// Makes the `nth` write from now on fail with `errno`, and all after it until [`Recorder::heal`].
    pub fn fail_writes(&self, nth: u64, errno: i32) -> io::Result<()> {
        self.write(ERROR_AT, u64::from(errno.unsigned_abs()))?;
        let from = self.read(WRITES_AT)? + nth;
        self.write(FAIL_WRITE_AT, from)
    }

    /// Makes the `nth` sync from now on fail with `errno`, and all after it until [`Recorder::heal`].
    pub fn fail_syncs(&self, nth: u64, errno: i32) -> io::Result<()> {
        self.write(ERROR_AT, u64::from(errno.unsigned_abs()))?;
        let from = self.read(SYNCS_AT)? + nth;
        self.write(FAIL_SYNC_AT, from)
    }

    /// Makes only the chosen write or sync fail, not those after it.
    pub fn fail_once(&self) -> io::Result<()> {
        self.write(ONCE_AT, 1)
    }

    /// Ends all failures.
    pub fn heal(&self) -> io::Result<()> {
        self.write(FAIL_WRITE_AT, 0)?;
        self.write(FAIL_SYNC_AT, 0)?;
        self.write(ONCE_AT, 0)
    }

    fn read(&self, at: u64) -> io::Result<u64> {
        let mut word = [0; 8];
        File::open(&self.log)?.read_exact_at(&mut word, at)?;
        Ok(u64::from_ne_bytes(word))
    }

    /// Prepares the header before the process starts, or changes it while it runs.
    fn write(&self, at: u64, value: u64) -> io::Result<()> {
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .open(&self.log)?;
        if file.metadata()?.len() < 4096 {
            file.set_len(4096)?;
        }
        file.write_all_at(&value.to_ne_bytes(), at)
    }
}
