//! `tally attachment`: files that transactions refer to.

mod download;
mod list;
mod progress;
mod source;
mod upload;

use api::AttachmentView;
use clap::Subcommand;
use primitives::Timestamp;

use crate::failure::Failure;
use crate::output::{Output, grouped, pairs};
use crate::target::Target;

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Upload a file; resumes by itself after a lost connection
    Upload(upload::Args),
    /// Download a file; resumes where an earlier try stopped
    Download(download::Args),
    /// List the files of a node
    List(list::Args),
    /// Show the details of a file
    Show(Show),
    /// Mark a file from a peer as trusted
    Trust(Trust),
    /// Remove a file that no recorded transaction refers to
    Remove(Remove),
}

/// Arguments of `tally attachment show`.
#[derive(Debug, clap::Args)]
pub struct Show {
    #[command(flatten)]
    target: Target,
    /// The file's SHA-256
    hash: String,
    #[command(flatten)]
    output: Output,
}

/// Arguments of `tally attachment trust`.
#[derive(Debug, clap::Args)]
pub struct Trust {
    #[command(flatten)]
    target: Target,
    /// The file's SHA-256
    hash: String,
    /// Withdraw the trust
    #[arg(long)]
    withdraw: bool,
    #[command(flatten)]
    output: Output,
}

/// Arguments of `tally attachment remove`.
#[derive(Debug, clap::Args)]
pub struct Remove {
    #[command(flatten)]
    target: Target,
    /// The file's SHA-256
    hash: String,
}

impl Command {
    pub fn run(self) -> Result<(), Failure> {
        match self {
            Command::Upload(arguments) => arguments.run(),
            Command::Download(arguments) => arguments.run(),
            Command::List(arguments) => arguments.run(),
            Command::Show(show) => show.target.with_client(async |client| {
                let view = client.attachment(&show.hash).await?;
                show.output.show(&view, people)
            }),
            Command::Trust(trust) => trust.target.with_client(async |client| {
                let view = client
                    .trust_attachment(&trust.hash, !trust.withdraw)
                    .await?;
                trust.output.show(&view, people)
            }),
            Command::Remove(remove) => remove.target.with_client(async |client| {
                client.remove_attachment(&remove.hash).await?;
                Ok(())
            }),
        }
    }

    pub fn wants_json(&self) -> bool {
        match self {
            Command::Upload(arguments) => arguments.output.json,
            Command::Download(arguments) => arguments.output.json,
            Command::List(arguments) => arguments.output.json,
            Command::Show(show) => show.output.json,
            Command::Trust(trust) => trust.output.json,
            Command::Remove(_) => false,
        }
    }
}

/// Escapes a hint from the sender of a file, so that it cannot move the cursor or ring the bell.
fn hint(text: &str) -> String {
    match text {
        "" => "-".to_owned(),
        text => text.escape_debug().to_string(),
    }
}

/// Returns the origin of a file.
fn origin(view: &AttachmentView) -> String {
    match (&view.uploaded_by, &view.received_from) {
        (Some(user), _) => format!("uploaded by {user}"),
        (None, Some(party)) => format!("from {party}"),
        (None, None) => "-".to_owned(),
    }
}

/// Describes whether a file is trusted, and by whose decision: a user's or a rule's.
fn trust(view: &AttachmentView) -> String {
    match (view.trusted, &view.trust_by) {
        (true, Some(user)) => format!("yes, by {user}"),
        (true, None) => "yes, by a rule".to_owned(),
        (false, Some(user)) => format!("no, by {user}"),
        (false, None) => "no".to_owned(),
    }
}

fn people(view: &AttachmentView) -> String {
    pairs(&[
        ("hash", view.hash.clone()),
        ("bytes", grouped(view.size)),
        ("name", hint(&view.name)),
        ("media type", hint(&view.media_type)),
        ("trusted", trust(view)),
        ("origin", origin(view)),
        ("on", Timestamp::from_ms(view.stored_at_ms).to_string()),
        ("transactions", grouped(view.references)),
    ])
}
