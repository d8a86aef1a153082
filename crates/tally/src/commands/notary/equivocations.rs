//! `tally notary equivocations` and `tally notary check-proof`

use std::path::{Path, PathBuf};

use api::{EquivocationEntry, EquivocationPage};
use ledger::EquivocationProof;
use primitives::{Coded, Decode, SignatureChecker, Timestamp};
use serde_json::json;

use crate::failure::{Failure, about_file};
use crate::output::{Output, Table, pairs, stdout_ink};
use crate::target::Target;

/// Arguments of `tally notary equivocations`.
#[derive(Debug, clap::Args)]
pub struct Equivocations {
    #[command(flatten)]
    target: Target,
    /// The refused transaction whose proof is exported; without one a page of all proofs
    #[arg(requires = "export", conflicts_with = "after")]
    refused: Option<String>,
    /// Write the proof to this file, in hexadecimal
    #[arg(long, value_name = "FILE", requires = "refused")]
    export: Option<PathBuf>,
    /// After this refused transaction
    #[arg(long, value_name = "ID")]
    after: Option<String>,
    /// Page size
    #[arg(long, default_value_t = 16, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,
    #[command(flatten)]
    pub output: Output,
}

/// Arguments of `tally notary check-proof`.
#[derive(Debug, clap::Args)]
pub struct CheckProof {
    /// An exported proof
    file: PathBuf,
    #[command(flatten)]
    pub output: Output,
}

impl Equivocations {
    pub fn run(self) -> Result<(), Failure> {
        self.target.with_client(async |client| {
            let (Some(id), Some(path)) = (&self.refused, &self.export) else {
                let after = self.after.as_deref();
                let page = client.equivocations(after, self.limit).await?;
                return self.output.show(&page, table);
            };
            let mut after = None;
            loop {
                let page = client.equivocations(after.as_deref(), self.limit).await?;
                if let Some(entry) = page.entries.iter().find(|entry| entry.refused == *id) {
                    std::fs::write(path, &entry.proof).map_err(|e| about_file(path, &e))?;
                    return self.output.show(entry, one);
                }
                after = page.next;
                if after.is_none() {
                    return Err(unknown(id));
                }
            }
        })
    }
}

fn unknown(id: &str) -> Failure {
    Failure::local(
        "tally.no_proof",
        format!("the node has no proof with the refused transaction {id}"),
        "List the proofs: tally notary equivocations.",
    )
}

impl CheckProof {
    pub fn run(self) -> Result<(), Failure> {
        let proof = read(&self.file)?;
        let found = proof.verify(&mut SignatureChecker::new());
        let found = found.map_err(|error| {
            let text = format!("{} proves nothing: {error}", self.file.display());
            Failure::local(error.code(), text, error.hint())
        })?;
        let states: Vec<String> = found.states.iter().map(ToString::to_string).collect();
        let transactions = found.transactions.map(|id| id.to_string());
        let view = json!({
            "notary": found.notary.name.to_string(),
            "key": found.notary.key.to_text(),
            "transactions": transactions,
            "states": states,
        });
        self.output.show(&view, |_| {
            pairs(&[
                ("notary", found.notary.name.to_string()),
                ("with the key", found.notary.key.to_text()),
                ("signed", transactions[0].clone()),
                ("and", transactions[1].clone()),
                ("both consume", states.join(", ")),
            ])
        })
    }
}

fn read(path: &Path) -> Result<EquivocationProof, Failure> {
    let text = std::fs::read_to_string(path).map_err(|error| about_file(path, &error))?;
    let bytes = primitives::hex::decode(text.trim());
    let proof = bytes.and_then(|bytes| EquivocationProof::from_bytes(&bytes).ok());
    proof.ok_or_else(|| {
        Failure::local(
            "tally.no_proof",
            format!("{} holds no proof of equivocation", path.display()),
            "Export it again: tally notary equivocations ID --export FILE.",
        )
    })
}

fn one(entry: &EquivocationEntry) -> String {
    pairs(&[
        ("notary", entry.notary.clone()),
        ("state", entry.state_ref.clone()),
        ("recorded here", entry.recorded.clone()),
        ("refused", entry.refused.clone()),
        ("on", Timestamp::from_ms(entry.at_ms).to_string()),
    ])
}

fn table(page: &EquivocationPage) -> String {
    if page.entries.is_empty() {
        return "no notary has contradicted itself".to_owned();
    }
    let mut table = Table::new(&["notary", "state", "recorded here", "refused", "on"]);
    for entry in &page.entries {
        table.row([
            entry.notary.clone(),
            entry.state_ref.clone(),
            entry.recorded.clone(),
            entry.refused.clone(),
            Timestamp::from_ms(entry.at_ms).to_string(),
        ]);
    }
    let mut text = table.render(stdout_ink());
    if let Some(next) = &page.next {
        text.push_str(&format!("\nmore: --after {next}"));
    }
    text
}
