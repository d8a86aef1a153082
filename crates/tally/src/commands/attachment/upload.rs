//! `tally attachment upload`

use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use api::{AttachmentView, NewUpload, UploadView};
use client::{Client, ClientError, Progress};
use indicatif::ProgressBar;
use serde::Serialize;
use tokio::io::AsyncSeekExt;
use tokio::signal::unix::{SignalKind, signal};

use super::progress::{bar, watched};
use super::source::{hash_of, media_type};
use crate::failure::{Failure, about_file};
use crate::output::{Output, grouped};
use crate::target::Target;

/// Consecutive tries without progress.
const TRIES_MAX: u32 = 8;
/// Pause before the second try. It doubles for each further try.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
/// Maximum pause before a try.
const PAUSE_MAX: Duration = Duration::from_secs(15);

/// Arguments of `tally attachment upload`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    target: Target,
    /// The file; '-' reads the standard input, in one piece
    file: PathBuf,
    /// The name at the node, instead of the file's own name
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// The media type, such as application/pdf, instead of the one for the file's name
    #[arg(long, value_name = "TYPE")]
    media_type: Option<String>,
    /// Resume an upload that was begun before
    #[arg(long, value_name = "UPLOAD")]
    resume: Option<String>,
    #[command(flatten)]
    pub output: Output,
}

/// The result.
#[derive(Debug, Serialize)]
struct Uploaded {
    #[serde(flatten)]
    attachment: AttachmentView,
    /// Whether the file is new on the node.
    new: bool,
}

impl Args {
    pub fn run(self) -> Result<(), Failure> {
        let is_stdin = self.file == Path::new("-");
        if is_stdin && self.resume.is_some() {
            return Err(Failure::usage(
                "tally.cannot_resume",
                "what comes from the standard input cannot be sent again",
                "Give the file by its path.",
            ));
        }
        let own = self.file.file_name().filter(|_| !is_stdin);
        let own = own.map(|name| name.to_string_lossy().into_owned());
        let media = media_type(&self.file).map(str::to_owned);
        let wish = NewUpload {
            name: self.name.or(own),
            media_type: self.media_type.or(media),
            ..NewUpload::default()
        };
        let (file, resume, output) = (self.file, self.resume, self.output);
        self.target.with_client(async |client| {
            let uploaded = match is_stdin {
                true => from_stdin(&client, &wish).await?,
                false => from_file(&client, &file, wish, resume).await?,
            };
            output.show(&uploaded, |uploaded| {
                let was_here = if uploaded.new {
                    ""
                } else {
                    " (was here before)"
                };
                let size = grouped(uploaded.attachment.size);
                format!("{}  {size} bytes{was_here}", uploaded.attachment.hash)
            })
        })
    }
}

async fn from_stdin(client: &Client, wish: &NewUpload) -> Result<Uploaded, Failure> {
    let (bar, progress) = (bar("uploading", None), Progress::default());
    let input = std::io::stdin().as_fd().try_clone_to_owned();
    let input = input.map_err(|error| about_file(Path::new("standard input"), &error))?;
    let input = tokio::fs::File::from_std(std::fs::File::from(input));
    let work = client.upload(wish, input, &progress);
    let (attachment, new) = watched(&bar, 0, &progress, work).await?;
    bar.finish_and_clear();
    Ok(Uploaded { attachment, new })
}

async fn from_file(
    client: &Client,
    path: &Path,
    wish: NewUpload,
    resume: Option<String>,
) -> Result<Uploaded, Failure> {
    let (hash, size) = hash_of(path)?;
    let hash = hash.to_string();
    // If the user lacks the permission to read files, the request fails and the file is sent.
    if let Ok(attachment) = client.attachment(&hash).await {
        let new = false;
        return Ok(Uploaded { attachment, new });
    }
    let wish = NewUpload {
        size: Some(size),
        sha256: Some(hash),
        ..wish
    };
    let upload = match resume {
        Some(id) => client.upload_state(&id).await?,
        None => client.begin_upload(&wish).await?,
    };
    if upload.size != wish.size || upload.sha256 != wish.sha256 {
        let text = format!("upload {} was begun with another file", upload.upload_id);
        let hint = "Give the same file, or leave --resume out.";
        return Err(Failure::local("tally.cannot_resume", text, hint));
    }
    let id = &upload.upload_id;
    let bar = bar("uploading", Some(size));
    let work = async {
        send(client, path, &upload, size, &bar).await?;
        Ok(client.complete_upload(id, size).await?)
    };
    let done: Result<AttachmentView, Failure> = tokio::select! {
        done = work => done,
        () = asked_to_stop() => Err(interrupted(id)),
    };
    bar.finish_and_clear();
    if done.as_ref().is_err_and(may_go_on) {
        eprintln!("What the node has of it stays for a while: go on with --resume {id}");
    }
    let new = true;
    done.map(|attachment| Uploaded { attachment, new })
}

fn interrupted(id: &str) -> Failure {
    Failure::interrupted(
        "the upload was interrupted",
        format!("Go on with --resume {id}"),
    )
}

/// Returns whether the node keeps the received part of an upload and the user was not told yet.
fn may_go_on(failure: &Failure) -> bool {
    let gone = [
        api::codes::UNKNOWN_UPLOAD.code,
        api::codes::files::MISMATCH.code,
    ];
    !failure.is_interrupted() && !gone.contains(&failure.code())
}

/// Waits for Ctrl-C or SIGTERM. If no handler can be installed, the signals end the process as usual.
async fn asked_to_stop() {
    let (interrupt, terminate) = (SignalKind::interrupt(), SignalKind::terminate());
    let (Ok(mut interrupt), Ok(mut terminate)) = (signal(interrupt), signal(terminate)) else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
}

/// Sends the part that the node lacks, again after each lost connection.
async fn send(
    client: &Client,
    path: &Path,
    upload: &UploadView,
    size: u64,
    bar: &ProgressBar,
) -> Result<(), Failure> {
    let id = &upload.upload_id;
    let (mut offset, mut tries) = (upload.offset, 0);
    while offset < size {
        let failed = |error: std::io::Error| about_file(path, &error);
        let mut file = tokio::fs::File::open(path).await.map_err(failed)?;
        file.seek(std::io::SeekFrom::Start(offset))
            .await
            .map_err(failed)?;
        let progress = Progress::default();
        let work = client.add_to_upload(id, offset, Some(size - offset), file, &progress);
        let error = match watched(bar, offset, &progress, work).await {
            Ok(view) => {
                (offset, tries) = (view.offset, 0);
                continue;
            }
            Err(error) => error,
        };
        if !may_pass(&error) || tries == TRIES_MAX {
            return Err(error.into());
        }
        tokio::time::sleep(pause(tries)).await;
        tries += 1;
        if let Ok(state) = client.upload_state(id).await {
            if state.offset > offset {
                tries = 0;
            }
            offset = state.offset;
        }
    }
    Ok(())
}

/// Returns whether another try may succeed.
fn may_pass(error: &ClientError) -> bool {
    match error {
        ClientError::NotConnected { .. }
        | ClientError::ConnectionLost { .. }
        | ClientError::Timeout { .. } => true,
        ClientError::Problem(problem) => {
            matches!(problem.status, 408 | 429 | 503)
                || [api::codes::UPLOAD_OFFSET.code, api::codes::files::BUSY.code]
                    .contains(&problem.code.as_ref())
        }
        _ => false,
    }
}

fn pause(tries: u32) -> Duration {
    // A clipped pause is above the longest one.
    FIRST_PAUSE
        .saturating_mul(2_u32.saturating_pow(tries))
        .min(PAUSE_MAX)
}
