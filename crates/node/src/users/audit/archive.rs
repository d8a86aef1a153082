//! Lines that outlast the files of the log: those about users in `audit-users.log`, and accepted logins in `audit-logins.log`.
//!
//! Starts and refusals are many. They fill the files of the log, and could push out the few lines about users. So before the
//! oldest file is removed, its lines about users and logins are copied. A crash in between copies them twice.

use std::borrow::Cow;
use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, BufWriter, ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::line::Kind;

/// Lines about users.
const USERS: &str = "audit-users.log";
/// Lines about logins.
const LOGINS: &str = "audit-logins.log";

/// The fields that decide whether a line is kept.
#[derive(Deserialize)]
struct Head<'a> {
    #[serde(borrow)]
    action: Cow<'a, str>,
    #[serde(borrow)]
    subject: Option<Cow<'a, str>>,
    #[serde(borrow)]
    outcome: Option<Cow<'a, str>>,
}

/// Copies the lines to keep of a file that is to be removed. A full archive replaces the one before it.
///
/// # Errors
/// A file can't be read or written. Then the file must not be removed.
pub(super) fn keep(oldest: &Path, log: &Path, bytes_max: u64) -> std::io::Result<()> {
    let file = match File::open(oldest) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        opened => opened?,
    };
    let mut users = Archive::new(log.with_file_name(USERS), bytes_max);
    let mut logins = Archive::new(log.with_file_name(LOGINS), bytes_max);
    let mut lines = BufReader::new(file);
    let mut line = Vec::new();
    while lines.read_until(b'\n', &mut line)? > 0 {
        match kept_kind(&line) {
            Some(Kind::Login) => logins.line(&line)?,
            Some(_) => users.line(&line)?,
            None => {}
        }
        line.clear();
    }
    users.end()?;
    logins.end()
}

/// The kind of a line, if it is kept. A line that is no JSON is kept among those about users.
fn kept_kind(line: &[u8]) -> Option<Kind> {
    let Ok(head) = serde_json::from_slice::<Head<'_>>(line) else {
        return Some(Kind::Users);
    };
    let kind = Kind::of(&head.action, head.subject.is_some());
    let is_refused = head.outcome.is_some_and(|outcome| outcome == "refused");
    (kind.is_kept() && !is_refused).then_some(kind)
}

/// A file of kept lines, opened with its first line.
struct Archive {
    path: PathBuf,
    file: Option<(BufWriter<File>, u64)>,
    bytes_max: u64,
}

impl Archive {
    fn new(path: PathBuf, bytes_max: u64) -> Self {
        Self {
            path,
            file: None,
            bytes_max,
        }
    }

    fn line(&mut self, line: &[u8]) -> std::io::Result<()> {
        let is_full = |bytes: u64| bytes > 0 && bytes + line.len() as u64 > self.bytes_max;
        let (mut file, mut bytes) = match self.file.take() {
            Some(open) => open,
            None => open(&self.path)?,
        };
        if is_full(bytes) {
            file.flush()?;
            file.get_ref().sync_all()?;
            fs::rename(&self.path, self.path.with_extension("log.1"))?;
            (file, bytes) = open(&self.path)?;
        }
        file.write_all(line)?;
        bytes += line.len() as u64;
        if !line.ends_with(b"\n") {
            file.write_all(b"\n")?;
            bytes += 1;
        }
        self.file = Some((file, bytes));
        Ok(())
    }

    fn end(self) -> std::io::Result<()> {
        match self.file {
            Some((mut file, _)) => {
                file.flush()?;
                file.get_ref().sync_all()
            }
            None => Ok(()),
        }
    }
}

fn open(path: &Path) -> std::io::Result<(BufWriter<File>, u64)> {
    let mut options = OpenOptions::new();
    let file = options.append(true).create(true).mode(0o600).open(path)?;
    let bytes = file.metadata()?.len();
    Ok((BufWriter::new(file), bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_about_users_and_accepted_logins_are_kept() {
        for (line, kept) in [
            (r#"{"action":"flow.start","outcome":"accepted"}"#, None),
            (
                r#"{"action":"login","outcome":"accepted"}"#,
                Some(Kind::Login),
            ),
            (
                r#"{"action":"login","subject":"x","outcome":"refused"}"#,
                None,
            ),
            (
                r#"{"action":"user.init","outcome":"accepted"}"#,
                Some(Kind::Users),
            ),
            (
                r#"{"action":"POST /v1/users","subject":"a","outcome":"accepted"}"#,
                Some(Kind::Users),
            ),
            (
                r#"{"action":"POST /v1/users","subject":"a","outcome":"refused"}"#,
                None,
            ),
            (
                r#"{"action":"POST /v1/users","subject":"a","outcome":"unknown"}"#,
                Some(Kind::Users),
            ),
            (
                r#"{"action":"DELETE /v1/attachments/1","outcome":"accepted"}"#,
                None,
            ),
            (r#"{"action":"audit.lost","count":7}"#, None),
            (r#"{"action":"audit.begins_anew"}"#, Some(Kind::Users)),
            ("half a li", Some(Kind::Users)),
        ] {
            assert_eq!(kept_kind(line.as_bytes()), kept, "{line}");
        }
    }

    #[test]
    fn an_archive_is_bounded() {
        let folder = tempfile::tempdir().expect("a folder");
        let log = folder.path().join("audit.log");
        let oldest = folder.path().join("audit.log.4");
        for round in 0..20 {
            let line = format!("{{\"action\":\"user.add\",\"subject\":\"u{round}\"}}\n");
            fs::write(&oldest, line.repeat(10)).expect("written");
            keep(&oldest, &log, 1_000).expect("kept");
        }
        let read = |name: &str| fs::read_to_string(folder.path().join(name)).expect("there");
        let (last, before) = (read(USERS), read("audit-users.log.1"));
        assert!(last.len() <= 1_000 && before.len() <= 1_000);
        assert!(
            last.ends_with("\"u19\"}\n") && before.contains("\"u17\""),
            "{before}"
        );
        assert!(!folder.path().join(LOGINS).exists());
    }
}
