//! `tally tx note`

use api::{NoteList, NoteView};
use clap::Subcommand;
use primitives::Timestamp;

use crate::failure::Failure;
use crate::output::{Output, Table, stdout_ink};
use crate::target::Target;

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Add a note to a transaction
    Add(Add),
    /// List the notes of a transaction
    List(List),
    /// Remove a note
    Remove(Remove),
}

/// Arguments of `tally tx note add`.
#[derive(Debug, clap::Args)]
pub struct Add {
    #[command(flatten)]
    target: Target,
    /// The transaction
    id: String,
    /// The text of the note
    text: String,
    #[command(flatten)]
    output: Output,
}

/// Arguments of `tally tx note list`.
#[derive(Debug, clap::Args)]
pub struct List {
    #[command(flatten)]
    target: Target,
    /// The transaction
    id: String,
    #[command(flatten)]
    output: Output,
}

/// Arguments of `tally tx note remove`.
#[derive(Debug, clap::Args)]
pub struct Remove {
    #[command(flatten)]
    target: Target,
    /// The transaction
    id: String,
    /// The note, as the list shows it
    note: String,
}

impl Command {
    pub fn run(self) -> Result<(), Failure> {
        match self {
            Command::Add(add) => add.target.with_client(async |client| {
                let note = client.add_note(&add.id, &add.text).await?;
                add.output.show(&note, |note| format!("note {}", note.id))
            }),
            Command::List(list) => list.target.with_client(async |client| {
                let notes = client.notes(&list.id).await?;
                list.output.show(&notes, people)
            }),
            Command::Remove(remove) => remove.target.with_client(async |client| {
                client.remove_note(&remove.id, &remove.note).await?;
                Ok(())
            }),
        }
    }

    pub fn wants_json(&self) -> bool {
        match self {
            Command::Add(add) => add.output.json,
            Command::List(list) => list.output.json,
            Command::Remove(_) => false,
        }
    }
}

fn people(list: &NoteList) -> String {
    if list.notes.is_empty() {
        return "no notes".to_owned();
    }
    let mut table = Table::new(&["note", "when", "who", "what"]);
    for NoteView {
        id,
        user,
        at_ms,
        text,
    } in &list.notes
    {
        table.row([
            id.clone(),
            Timestamp::from_ms(*at_ms).to_string(),
            user.clone(),
            // Escaped, so that a note of any author cannot move the cursor or ring the bell.
            text.escape_debug().to_string(),
        ]);
    }
    table.render(stdout_ink())
}
