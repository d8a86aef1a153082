//! `tally flow journal`

use api::{FlowJournal, JournalEntry};

use crate::failure::Failure;
use crate::output::{Output, Table, stdout_ink};
use crate::target::Target;

/// Rows requested at once.
const PAGE: u32 = 500;

/// Arguments of `tally flow journal`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    target: Target,
    /// The flow, which must not have ended
    flow_id: String,
    #[command(flatten)]
    pub output: Output,
}

impl Args {
    pub fn run(self) -> Result<(), Failure> {
        self.target.with_client(async |client| {
            let mut journal = client.flow_journal(&self.flow_id, None, PAGE).await?;
            while let Some(after) = journal.next.take() {
                let more = client
                    .flow_journal(&self.flow_id, Some(after), PAGE)
                    .await?;
                journal.entries.extend(more.entries);
                journal.next = more.next;
            }
            self.output.show(&journal, people)
        })
    }
}

fn people(journal: &FlowJournal) -> String {
    let ink = stdout_ink();
    let name = journal.flow.flow.as_deref().unwrap_or("-");
    let mut text = format!(
        "{name} {}: {}",
        journal.flow.status.as_str(),
        journal.flow.step
    );
    for cause in &journal.flow.errors {
        let error = &cause.error;
        text.push_str(&format!(
            "\n  failure {}: {}: {}",
            cause.attempt, error.code, error.message
        ));
    }
    let mut table = Table::new(&[">row", "entry", "effect", "kind", "about"]);
    for entry in &journal.entries {
        table.row([
            entry.row.to_string(),
            entry.entry.clone(),
            number(entry),
            entry.kind.clone().unwrap_or_default(),
            about(entry),
        ]);
    }
    text.push_str("\n\n");
    text.push_str(&table.render(ink));
    text
}

fn number(entry: &JournalEntry) -> String {
    match (entry.scope, entry.number) {
        (Some(0) | None, Some(number)) => number.to_string(),
        (Some(scope), Some(number)) => format!("{scope}/{number}"),
        _ => String::new(),
    }
}

fn about(entry: &JournalEntry) -> String {
    let mut parts = Vec::new();
    parts.extend(entry.peer.clone());
    parts.extend(entry.value.as_ref().map(|value| value.get().to_owned()));
    parts.extend(entry.bytes.map(|bytes| format!("{bytes} bytes")));
    parts.extend(entry.transaction.clone());
    parts.extend(entry.states.iter().cloned());
    let error = entry.error.as_ref();
    parts.extend(error.map(|error| format!("{}: {}", error.code, error.message)));
    parts.join(" ")
}
