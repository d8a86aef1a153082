//! `tally tx show`

use api::{StateView, TransactionView};

use crate::failure::Failure;
use crate::output::{Output, grouped, pairs};
use crate::target::Target;

/// Arguments of `tally tx show`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    target: Target,
    /// The transaction
    id: String,
    #[command(flatten)]
    pub output: Output,
}

impl Args {
    pub fn run(self) -> Result<(), Failure> {
        self.target.with_client(async |client| {
            let transaction = client.transaction(&self.id).await?;
            self.output.show(&transaction, people)
        })
    }
}

fn people(tx: &TransactionView) -> String {
    let mut lines = vec![
        ("transaction", tx.id.clone()),
        ("position", tx.seq.to_string()),
    ];
    let mut add = |name, values: Vec<String>| {
        if !values.is_empty() {
            lines.push((name, values.join("\n")));
        }
    };
    add("inputs", tx.inputs.clone());
    add("references", tx.references.clone());
    add("outputs", tx.outputs.iter().map(output).collect());
    add(
        "commands",
        tx.commands
            .iter()
            .map(|c| format!("{} {}", c.contract, c.value))
            .collect(),
    );
    add("notary", tx.notary.iter().cloned().collect());
    if let Some(window) = &tx.time_window {
        let end = |ms: Option<u64>| ms.map_or("..".to_owned(), |ms| format!("{ms} ms"));
        add(
            "time window",
            vec![format!(
                "[{}, {})",
                end(window.from_ms),
                end(window.until_ms)
            )],
        );
    }
    add("attachments", tx.attachments.clone());
    let signature = |s: &api::SignatureView| {
        // A key of no known party stands for itself.
        let who = s.party.as_ref().unwrap_or(&s.by);
        s.batch.map_or(who.clone(), |count| {
            format!("{who} (over a batch of {count})")
        })
    };
    add("signatures", tx.signatures.iter().map(signature).collect());
    add(
        "size",
        vec![format!("{} bytes", grouped(tx.bytes.len() / 2))],
    );
    pairs(&lines)
}

fn output(state: &StateView) -> String {
    let mut text = format!("{}: {}", state.index, state.contract);
    if let Some(fungible) = &state.fungible {
        text.push_str(&format!(
            " {} {} of {}",
            grouped(fungible.quantity),
            fungible.symbol,
            fungible.issuer
        ));
    }
    if let Some(owner) = &state.owner {
        text.push_str(&format!(", owned by {owner}"));
    }
    if let Some(encumbrance) = state.encumbrance {
        text.push_str(&format!(", only with output {encumbrance}"));
    }
    text
}
