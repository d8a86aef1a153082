//! The audit log of a running node.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;

use super::file::{FILE_BYTES_MAX, LogFile, path_of};
use super::line::AuditLine;
use super::queue::{AuditQueue, Batch};
use crate::users::error::UsersError;

/// A running log. Dropping it writes the waiting lines.
#[derive(Debug)]
pub struct AuditLog {
    queue: Arc<AuditQueue>,
    writer: Option<JoinHandle<()>>,
}

impl AuditLog {
    /// Opens the log of a node's folder, and goes on where it ended.
    ///
    /// # Errors
    /// The file can't be opened, or the system gives no thread.
    pub fn open(folder: &Path) -> Result<Self, UsersError> {
        Self::with(folder, FILE_BYTES_MAX)
    }

    /// The file of a node's folder.
    pub(crate) fn path(folder: &Path) -> PathBuf {
        path_of(folder)
    }

    /// Notes that the log before this one was lost.
    pub(crate) fn begins_anew(&self) {
        self.write(AuditLine::new("node".into(), None, "audit.begins_anew"));
    }

    pub(super) fn with(folder: &Path, bytes_max: u64) -> Result<Self, UsersError> {
        let path = path_of(folder);
        let failed = |source| UsersError::File {
            path: path.clone(),
            source,
        };
        let file = LogFile::open(path.clone(), bytes_max).map_err(failed)?;
        let queue = Arc::new(AuditQueue::default());
        let lines = Arc::clone(&queue);
        let thread = std::thread::Builder::new().name("audit".to_owned());
        let writer = thread.spawn(move || run(file, &lines));
        Ok(Self {
            queue,
            writer: Some(writer.map_err(failed)?),
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

fn run(mut file: LogFile, queue: &AuditQueue) {
    while let Some(Batch { lines, lost }) = queue.next() {
        let (mut failed, mut unwritten) = (None, 0_u64);
        for line in &lines {
            if let Err(error) = file.line(line) {
                (failed, unwritten) = (Some(error), unwritten + 1);
            }
        }
        if lost > 0 {
            tracing::warn!(count = lost, "lines of the audit log were lost");
            let line = serde_json::json!({ "action": "audit.lost", "count": lost });
            if file.line(&line).is_err() {
                unwritten += lost;
            }
        }
        if let Some(error) = file.flush().err().or(failed) {
            tracing::error!(code = "users.file", %error, path = %file.path().display(), "the audit log can't be written");
        }
        queue.lost(unwritten);
    }
}
