//! `tally attachment download`

use std::fs::{File, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use client::{Client, ClientError};
use indicatif::ProgressBar;
use serde::Serialize;

use super::progress::bar;
use super::source::hash_of;
use crate::failure::{Failure, about_file};
use crate::output::{Output, grouped};
use crate::target::Target;

/// Consecutive tries without progress.
const TRIES_MAX: u32 = 8;
/// Pause between two tries.
const PAUSE: Duration = Duration::from_secs(2);
/// Suffix of the name of an incomplete file.
const PART: &str = ".part";

/// Arguments of `tally attachment download`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    target: Target,
    /// The file's SHA-256
    hash: String,
    /// The output file; '-' is the standard output. By default the file gets its name at the node, in the current folder
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Replace an existing file
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    pub output: Output,
}

/// The result.
#[derive(Debug, Serialize)]
struct Downloaded {
    hash: String,
    size: u64,
    file: String,
}

impl Args {
    pub fn run(self) -> Result<(), Failure> {
        self.target.with_client(async |client| {
            if self.out.as_deref() == Some(Path::new("-")) {
                return to_stdout(&client, &self.hash).await;
            }
            let out = match &self.out {
                Some(out) => out.clone(),
                None => name_for(&client.attachment(&self.hash).await?.name, &self.hash),
            };
            if out.exists() && !self.force {
                let text = format!("{} already exists", out.display());
                let hint = "Choose another name with --out, or replace it with --force.";
                return Err(Failure::local("tally.file_exists", text, hint));
            }
            let size = to_file(&client, &self.hash, &out).await?;
            let done = Downloaded {
                hash: self.hash.to_ascii_lowercase(),
                size,
                file: out.display().to_string(),
            };
            self.output.show(&done, |done| {
                format!("{}  {} bytes, verified", done.file, grouped(done.size))
            })
        })
    }
}

/// Returns a plain name in the current folder, regardless of the name at the node, which a peer may have chosen.
fn name_for(name: &str, hash: &str) -> PathBuf {
    let last = name.rsplit(['/', '\\']).next();
    let last = last.expect("a split has a last part");
    let last: String = last.chars().filter(|c| !c.is_control()).collect();
    match last.trim_matches(['.', ' ', '-']) {
        "" => PathBuf::from(hash),
        // The name is neither hidden nor an option of a command.
        name => PathBuf::from(name),
    }
}

async fn to_stdout(client: &Client, hash: &str) -> Result<(), Failure> {
    let mut download = client.download(hash, 0).await?;
    let bar = bar("downloading", Some(download.size()));
    let mut out = std::io::stdout().lock();
    let failed = |error: std::io::Error| about_file(Path::new("standard output"), &error);
    while let Some(piece) = download.next().await? {
        out.write_all(&piece).map_err(failed)?;
        bar.set_position(download.offset());
    }
    bar.finish_and_clear();
    out.flush().map_err(failed)
}

/// Downloads into a temporary file, which is renamed when it is complete and correct.
async fn to_file(client: &Client, hash: &str, out: &Path) -> Result<u64, Failure> {
    let mut part = out.as_os_str().to_owned();
    part.push(PART);
    let part = PathBuf::from(part);
    let failed = |error: std::io::Error| about_file(&part, &error);
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .open(&part)
        .map_err(failed)?;
    let began_at = file.seek(SeekFrom::End(0)).map_err(failed)?;
    let bar = bar("downloading", None);
    let (mut tries, mut at) = (0, began_at);
    let size = loop {
        let outcome = fetch(client, hash, &mut file, &part, at, &bar).await;
        let now = file.stream_position().map_err(failed)?;
        if now > at {
            tries = 0;
        }
        at = now;
        match outcome {
            Ok(size) => break size,
            Err(Stopped::Client(error)) if passes(&error) && tries < TRIES_MAX => {
                tries += 1;
                tokio::time::sleep(PAUSE).await;
            }
            Err(Stopped::Client(error)) if error.code() == api::codes::BAD_RANGE.code => {
                // The existing part is longer than the file, so it belongs to another file.
                file.set_len(0).map_err(failed)?;
                at = file.seek(SeekFrom::Start(0)).map_err(failed)?;
                tries += 1;
                if tries > TRIES_MAX {
                    return Err(error.into());
                }
            }
            Err(Stopped::Client(error)) => {
                if at == 0 {
                    // An empty file without a purpose. It does no harm if it stays.
                    let _ = std::fs::remove_file(&part);
                }
                return Err(error.into());
            }
            Err(Stopped::Here(failure)) => return Err(failure),
        }
    };
    bar.finish_and_clear();
    file.sync_all().map_err(failed)?;
    drop(file);
    let (found, _) = hash_of(&part)?;
    if found.to_string() != hash.to_ascii_lowercase() {
        std::fs::remove_file(&part).map_err(failed)?;
        let error = ClientError::Mismatch {
            expected: hash.to_owned(),
            found: found.to_string(),
        };
        return Err(error.into());
    }
    std::fs::rename(&part, out).map_err(|error| about_file(out, &error))?;
    Ok(size)
}

/// The reason why a try stopped.
enum Stopped {
    Client(ClientError),
    Here(Failure),
}

impl From<ClientError> for Stopped {
    fn from(error: ClientError) -> Self {
        Self::Client(error)
    }
}

async fn fetch(
    client: &Client,
    hash: &str,
    file: &mut File,
    path: &Path,
    from: u64,
    bar: &ProgressBar,
) -> Result<u64, Stopped> {
    let failed = |error: std::io::Error| Stopped::Here(about_file(path, &error));
    if from > 0 && client.attachment(hash).await?.size == from {
        return Ok(from);
    }
    let mut download = client.download(hash, from).await?;
    bar.set_length(download.size());
    // A node without range support starts again from the beginning.
    file.seek(SeekFrom::Start(download.offset()))
        .map_err(failed)?;
    while let Some(piece) = download.next().await? {
        file.write_all(&piece).map_err(failed)?;
        bar.set_position(download.offset());
    }
    Ok(download.size())
}

fn passes(error: &ClientError) -> bool {
    match error {
        ClientError::NotConnected { .. }
        | ClientError::ConnectionLost { .. }
        | ClientError::Timeout { .. } => true,
        ClientError::Problem(problem) => matches!(problem.status, 429 | 503),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_saved_in_this_folder_under_a_plain_name() {
        for (name, expected) in [
            ("a.pdf", "a.pdf"),
            ("../../etc/passwd", "passwd"),
            ("/etc/passwd", "passwd"),
            ("..\\..\\boot.ini", "boot.ini"),
            (".bashrc", "bashrc"),
            ("-rf", "rf"),
            ("a\nb", "ab"),
            ("..", "00ff"),
            ("a/", "00ff"),
            ("", "00ff"),
        ] {
            assert_eq!(name_for(name, "00ff"), PathBuf::from(expected), "{name:?}");
        }
    }
}
