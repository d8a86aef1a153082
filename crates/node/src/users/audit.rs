//! The audit log: the actions of users, one JSON object for each line, in `audit.log` of the node's folder.
//!
//! Lines go to a thread of their own through a bounded queue. If the queue is full, a line is dropped so that no client has to
//! wait. The number of dropped lines is written as a line of its own.

use std::fs::{self, File, OpenOptions};
use std::io::{BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::Serialize;

use super::error::UsersError;

const NAME: &str = "audit.log";
/// Lines that wait to be written.
const QUEUE_MAX: usize = 16_384;
/// Lines written before they are handed to the system at the latest.
const BATCH_MAX: usize = 1_024;
/// A file is set aside at this size, in bytes.
const FILE_BYTES_MAX: u64 = 64 << 20;
/// Files set aside that are kept: `audit.log.1` is the newest.
const KEPT_MAX: u32 = 4;

/// A line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AuditLine {
    /// Milliseconds since the Unix epoch.
    pub time_ms: u64,
    /// Who.
    #[serde(serialize_with = "as_text")]
    pub user: Arc<str>,
    /// From where.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<std::net::IpAddr>,
    /// The action: `flow.start`, `login`, or a method and a path.
    pub action: String,
    /// The flow's registered name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flow: Option<String>,
    /// The flow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flow_id: Option<String>,
    /// The start's client id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_id: Option<String>,
    /// The user that it changes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// The subject, if the path does not name it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    /// `accepted`, `refused` (by the answer, for any reason), or `unknown` if the client did not wait for the answer.
    pub outcome: &'static str,
    /// Why it was refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// How many of the same it stands for, if not one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
}

fn as_text<S: serde::Serializer>(user: &Arc<str>, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(user)
}

impl AuditLine {
    /// A line of now, accepted.
    pub fn new(user: Arc<str>, address: Option<std::net::IpAddr>, action: &str) -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        Self {
            time_ms: since.map_or(0, |d| u64::try_from(d.as_millis()).unwrap_or(u64::MAX)),
            user,
            address,
            action: action.to_owned(),
            flow: None,
            flow_id: None,
            client_id: None,
            subject: None,
            about: None,
            outcome: "accepted",
            code: None,
            count: None,
        }
    }

    /// The same, standing for so many.
    pub fn counted(mut self, count: u64) -> Self {
        self.count = Some(count);
        self
    }

    /// The same, about a user; a name longer than any user's is cut.
    pub fn of(mut self, subject: &str) -> Self {
        self.subject = Some(cut(subject));
        self
    }

    /// The same, refused.
    pub fn refused(mut self, code: &str) -> Self {
        self.outcome = "refused";
        self.code = Some(code.to_owned());
        self
    }
}

/// Longest name of a subject, in characters.
const SUBJECT_CHARS_MAX: usize = 128;

fn cut(subject: &str) -> String {
    subject.chars().take(SUBJECT_CHARS_MAX).collect()
}

/// The log of a folder, for a command that changes the folder while a node may run there.
#[derive(Debug)]
pub struct AuditFile {
    path: PathBuf,
    file: File,
}

impl AuditFile {
    /// Opens the log, so that a change that could not be noted is not made.
    ///
    /// # Errors
    /// The file can't be opened.
    pub fn open(folder: &Path) -> Result<Self, UsersError> {
        let path = folder.join(NAME);
        match append(&path) {
            Ok(file) => Ok(Self { path, file }),
            Err(source) => Err(UsersError::File { path, source }),
        }
    }

    /// Writes a line in one piece, durably.
    ///
    /// # Errors
    /// The line can't be written.
    pub fn write(&mut self, line: &AuditLine) -> Result<(), UsersError> {
        let written = serde_json::to_vec(line)
            .map_err(std::io::Error::from)
            .and_then(|mut text| {
                text.push(b'\n');
                self.file.write_all(&text)?;
                self.file.sync_data()
            });
        written.map_err(|source| UsersError::File {
            path: self.path.clone(),
            source,
        })
    }
}

/// A running log. Dropping it writes the waiting lines.
#[derive(Debug)]
pub struct AuditLog {
    lines: Option<SyncSender<Box<AuditLine>>>,
    lost: Arc<AtomicU64>,
    writer: Option<JoinHandle<()>>,
}

/// A line whose outcome is not known yet; dropped without one, it says so.
#[derive(Debug)]
pub struct AuditNote {
    log: Arc<AuditLog>,
    line: Option<AuditLine>,
}

impl AuditNote {
    /// A note.
    pub fn new(log: &Arc<AuditLog>, line: AuditLine) -> Self {
        Self {
            log: Arc::clone(log),
            line: Some(line),
        }
    }

    /// Sets the subject of the line.
    pub fn about(&mut self, text: String) {
        if let Some(line) = &mut self.line {
            line.about = Some(text);
        }
    }

    /// Says which user the line is about.
    pub fn of(&mut self, subject: &str) {
        if let Some(line) = &mut self.line {
            line.subject = Some(cut(subject));
        }
    }

    /// Writes the line; `code` says why it was refused.
    pub fn end(mut self, code: Option<&str>) {
        if let Some(line) = self.line.take() {
            self.log.write(match code {
                Some(code) => line.refused(code),
                None => line,
            });
        }
    }
}

impl Drop for AuditNote {
    fn drop(&mut self) {
        if let Some(mut line) = self.line.take() {
            line.outcome = "unknown";
            self.log.write(line);
        }
    }
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
        folder.join(NAME)
    }

    /// Notes that the log before this one was lost.
    pub(crate) fn begins_anew(&self) {
        self.write(AuditLine::new("node".into(), None, "audit.begins_anew"));
    }

    fn with(folder: &Path, bytes_max: u64) -> Result<Self, UsersError> {
        let path = folder.join(NAME);
        let failed = |source| UsersError::File {
            path: path.clone(),
            source,
        };
        let out = Out::open(path.clone(), bytes_max).map_err(failed)?;
        let (lines, waiting) = sync_channel(QUEUE_MAX);
        let lost = Arc::new(AtomicU64::new(0));
        let count = Arc::clone(&lost);
        let thread = std::thread::Builder::new().name("audit".to_owned());
        let writer = thread.spawn(move || run(out, &waiting, &count));
        Ok(Self {
            lines: Some(lines),
            lost,
            writer: Some(writer.map_err(failed)?),
        })
    }

    /// Hands a line over. Never blocks.
    pub fn write(&self, line: AuditLine) {
        let sent = self
            .lines
            .as_ref()
            .map(|lines| lines.try_send(Box::new(line)));
        if !matches!(sent, Some(Ok(()))) {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Drop for AuditLog {
    fn drop(&mut self) {
        self.lines = None;
        if let Some(writer) = self.writer.take() {
            // A writer that panicked has said so.
            let _ = writer.join();
        }
    }
}

fn run(mut out: Out, lines: &Receiver<Box<AuditLine>>, lost: &AtomicU64) {
    while let Ok(first) = lines.recv() {
        let more = std::iter::from_fn(|| lines.try_recv().ok());
        let (mut failed, mut unwritten) = (None, 0_u64);
        for line in std::iter::once(first).chain(more).take(BATCH_MAX) {
            if let Err(error) = out.line(&line) {
                (failed, unwritten) = (Some(error), unwritten + 1);
            }
        }
        let count = lost.swap(0, Ordering::Relaxed);
        if count > 0 {
            tracing::warn!(count, "lines of the audit log were lost");
            let line = serde_json::json!({ "action": "audit.lost", "count": count });
            if out.line(&line).is_err() {
                unwritten += count;
            }
        }
        if let Some(error) = out.flush().err().or(failed) {
            tracing::error!(code = "users.file", %error, path = %out.path.display(), "the audit log can't be written");
        }
        lost.fetch_add(unwritten, Ordering::Relaxed);
    }
}

/// The file, set aside when it is full.
struct Out {
    path: PathBuf,
    file: BufWriter<File>,
    bytes: u64,
    bytes_max: u64,
}

impl Out {
    fn open(path: PathBuf, bytes_max: u64) -> std::io::Result<Self> {
        let file = append(&path)?;
        Ok(Self {
            bytes: file.metadata()?.len(),
            path,
            file: BufWriter::new(file),
            bytes_max,
        })
    }

    fn line(&mut self, line: &impl Serialize) -> std::io::Result<()> {
        let mut text = serde_json::to_vec(line)?;
        text.push(b'\n');
        let length = text.len() as u64;
        if self.bytes > 0 && self.bytes.saturating_add(length) > self.bytes_max {
            self.set_aside()?;
        }
        self.file.write_all(&text)?;
        self.bytes = self.bytes.saturating_add(length);
        Ok(())
    }

    fn set_aside(&mut self) -> std::io::Result<()> {
        self.file.flush()?;
        let numbered = |n: u32| self.path.with_extension(format!("log.{n}"));
        for n in (1..KEPT_MAX).rev() {
            match fs::rename(numbered(n), numbered(n + 1)) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        fs::rename(&self.path, numbered(1))?;
        self.file = BufWriter::new(append(&self.path)?);
        self.bytes = 0;
        Ok(())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.file.flush()
    }
}

fn append(path: &Path) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    options.append(true).create(true).mode(0o600).open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_adds_whole_lines_beside_a_running_log() {
        let folder = tempfile::tempdir().expect("a folder");
        let log = AuditLog::open(folder.path()).expect("a log");
        let mut file = AuditFile::open(folder.path()).expect("a log");
        for n in 0..200 {
            log.write(AuditLine::new("node".into(), None, &n.to_string()));
            let line = AuditLine::new("os:ann".into(), None, "user.add").of("bob");
            file.write(&line).expect("written");
        }
        drop(log);
        let text = fs::read_to_string(folder.path().join(NAME)).expect("there");
        let lines: Vec<serde_json::Value> = text
            .lines()
            .map(|line| serde_json::from_str(line).expect("JSON"))
            .collect();
        assert_eq!(lines.len(), 400);
        let of_command = lines.iter().filter(|line| line["user"] == "os:ann");
        assert!(of_command.clone().all(|line| line["subject"] == "bob"));
        assert_eq!(of_command.count(), 200);
    }

    #[test]
    fn lines_are_kept_or_counted_and_files_are_bounded() {
        let folder = tempfile::tempdir().expect("a folder");
        let log = Arc::new(AuditLog::with(folder.path(), 2_000).expect("a log"));
        let line = |n: usize| AuditLine::new("ann".into(), None, &format!("{n:06}"));
        for n in 0..40 {
            log.write(line(n));
        }
        AuditNote::new(&log, line(40)).end(Some("node.busy"));
        AuditNote::new(&log, line(41)).end(None);
        drop(AuditNote::new(&log, line(42)));
        drop(log);
        let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap_or_default();
        let names = [
            "audit.log.4",
            "audit.log.3",
            "audit.log.2",
            "audit.log.1",
            NAME,
        ];
        let all: String = names.iter().map(|name| read(name)).collect();
        let lines: Vec<serde_json::Value> = all
            .lines()
            .map(|line| serde_json::from_str(line).expect("JSON"))
            .collect();
        assert_eq!(lines.len(), 43);
        let ends = [
            ("refused", "node.busy".into()),
            ("accepted", serde_json::Value::Null),
            ("unknown", serde_json::Value::Null),
        ];
        for (line, (outcome, code)) in lines[40..].iter().zip(ends) {
            assert_eq!((&line["outcome"], &line["code"]), (&outcome.into(), &code));
        }
        assert!(names.iter().all(|name| read(name).len() <= 2_000));
        let again = AuditLog::with(folder.path(), 2_000).expect("a log");
        for n in 0..200 {
            again.write(line(n));
        }
        drop(again);
        assert!(read(NAME).contains("000199") && !folder.path().join("audit.log.5").exists());
    }
}
