//! The audit log of a running node.

use std::io::Error;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::SyncSender;
use std::thread::JoinHandle;

use kernel::folder::AuditMark;
use primitives::ErrorInfo;

use super::file::{FILE_BYTES_MAX, LogFile, mark_of, path_of};
use super::line::{AuditLine, Kind};
use super::queue::{AuditQueue, Batch, Durable, QueuedLine};
use crate::users::error::{AUDIT_LOST, UsersError};

/// Reports the position of a new log that replaces a lost one.
pub(crate) type Remember = Box<dyn Fn(AuditMark) + Send>;

/// A running log. Dropping it writes the waiting lines.
#[derive(Debug)]
pub struct AuditLog {
    path: PathBuf,
    queue: Arc<AuditQueue>,
    was_lost: Arc<AtomicBool>,
    writer: Option<JoinHandle<()>>,
}

impl AuditLog {
    /// Opens the log of a node's folder, and goes on where it ended.
    ///
    /// # Errors
    /// The file can't be opened, or the system gives no thread.
    pub fn open(folder: &Path) -> Result<Self, UsersError> {
        Self::with(folder, FILE_BYTES_MAX, Box::new(|_| {}))
    }

    /// The same. If the log is lost while the node runs, the new one is remembered.
    ///
    /// # Errors
    /// See [`AuditLog::open`].
    pub(crate) fn open_remembered(folder: &Path, remember: Remember) -> Result<Self, UsersError> {
        Self::with(folder, FILE_BYTES_MAX, remember)
    }

    /// The file of a node's folder.
    pub(crate) fn path(folder: &Path) -> PathBuf {
        path_of(folder)
    }

    /// The place that the log of a folder has reached. `None` if there is no log, or nothing in it.
    ///
    /// # Errors
    /// The file can't be read.
    pub(crate) fn mark(folder: &Path) -> Result<Option<AuditMark>, UsersError> {
        let path = path_of(folder);
        mark_of(&path).map_err(|source| UsersError::File { path, source })
    }

    /// Notes durably that the log before this one was lost.
    ///
    /// # Errors
    /// The line can't be written.
    pub(crate) fn begins_anew(&self) -> Result<(), UsersError> {
        self.write_durably(begins_anew())
    }

    /// Writes a line and waits until it is durable.
    ///
    /// # Errors
    /// The line can't be written, or too many lines wait.
    pub(crate) fn write_durably(&self, line: AuditLine) -> Result<(), UsersError> {
        let durable = match self.queue.put_durable(line) {
            Some(durable) => durable.recv(),
            None => Ok(Err(Error::other("too many lines wait to be written"))),
        };
        let unwritten = || Error::other("the line could not be written");
        let durable = durable.unwrap_or_else(|_| Err(unwritten()));
        durable.map_err(|source| UsersError::File {
            path: self.path.clone(),
            source,
        })
    }

    /// The loss of the log while the node runs, if there was one.
    pub(crate) fn fault(&self) -> Option<(ErrorInfo, String)> {
        let was_lost = self.was_lost.load(Ordering::Relaxed);
        was_lost.then(|| {
            (
                AUDIT_LOST,
                "audit.log was lost while the node runs".to_owned(),
            )
        })
    }

    pub(super) fn with(
        folder: &Path,
        bytes_max: u64,
        remember: Remember,
    ) -> Result<Self, UsersError> {
        let path = path_of(folder);
        let failed = |source| UsersError::File {
            path: path.clone(),
            source,
        };
        let file = LogFile::open(path.clone(), bytes_max).map_err(failed)?;
        let queue = Arc::new(AuditQueue::default());
        let was_lost = Arc::new(AtomicBool::new(false));
        let writer = Writer {
            file,
            queue: Arc::clone(&queue),
            was_lost: Arc::clone(&was_lost),
            remember,
        };
        let thread = std::thread::Builder::new().name("audit".to_owned());
        let writer = thread.spawn(move || writer.run());
        Ok(Self {
            queue,
            was_lost,
            writer: Some(writer.map_err(failed)?),
            path,
        })
    }

    /// Hands a line over. Never blocks. Refused requests share lines when they are many.
    pub fn write(&self, line: AuditLine) {
        self.queue.put(line);
    }
}

impl Drop for AuditLog {
    fn drop(&mut self) {
        self.queue.close();
        if let Some(writer) = self.writer.take() {
            // A writer that panicked has said so.
            let _ = writer.join();
        }
    }
}

fn begins_anew() -> AuditLine {
    AuditLine::new("node".into(), None, "audit.begins_anew")
}

/// Tells the end of a line's wait.
fn tell(done: &SyncSender<Durable>, written: Result<(), &Error>) {
    let copy = |error: &Error| Error::new(error.kind(), error.to_string());
    // A waiter that is gone needs no answer.
    let _ = done.send(written.map_err(copy));
}

/// The thread that writes the lines.
struct Writer {
    file: LogFile,
    queue: Arc<AuditQueue>,
    was_lost: Arc<AtomicBool>,
    remember: Remember,
}

impl Writer {
    fn run(mut self) {
        while let Some(batch) = self.queue.next() {
            let written = match self.look() {
                Ok(()) => self.write(batch),
                Err(error) => {
                    self.queue.lost(batch.lost + batch.lines.len() as u64);
                    Err(error)
                }
            };
            if let Err(error) = written {
                let path = self.file.path().display();
                tracing::error!(code = "users.file", %error, %path, "the audit log can't be written");
            }
        }
    }

    /// Goes on in a new file if the log was deleted, replaced or cut.
    fn look(&mut self) -> std::io::Result<()> {
        if !self.file.was_lost()? {
            return Ok(());
        }
        self.was_lost.store(true, Ordering::Relaxed);
        let (code, hint) = (AUDIT_LOST.code, AUDIT_LOST.action);
        let path = self.file.path().display();
        tracing::error!(code, hint, %path, "the audit log was lost and begins anew");
        self.file.line(&begins_anew())?;
        self.file.flush()?;
        if let Some(mark) = mark_of(self.file.path())? {
            (self.remember)(mark);
        }
        Ok(())
    }

    fn write(&mut self, Batch { lines, lost }: Batch) -> std::io::Result<()> {
        let (mut failed, mut unwritten) = (None, 0_u64);
        let (mut waiting, mut is_synced) = (Vec::new(), false);
        for QueuedLine { line, done } in lines {
            // A line about users is durable soon, also without a waiter.
            is_synced |= done.is_some() || (line.kind() == Kind::Users && !line.is_refused());
            match self.file.line(&line) {
                Ok(()) => waiting.extend(done),
                Err(error) => {
                    done.into_iter().for_each(|done| tell(&done, Err(&error)));
                    (failed, unwritten) = (Some(error), unwritten + 1);
                }
            }
        }
        if lost > 0 {
            tracing::warn!(count = lost, "lines of the audit log were lost");
            let line = serde_json::json!({ "action": "audit.lost", "count": lost });
            if self.file.line(&line).is_err() {
                unwritten += lost;
            }
        }
        self.queue.lost(unwritten);
        let written = match is_synced {
            true => self.file.sync(),
            false => self.file.flush(),
        };
        waiting
            .iter()
            .for_each(|done| tell(done, written.as_ref().copied()));
        written.and(failed.map_or(Ok(()), Err))
    }
}
