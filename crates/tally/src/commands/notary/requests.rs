//! `tally notary requests`

use api::{RequestEntry, RequestPage};
use primitives::Timestamp;

use super::below;
use crate::failure::Failure;
use crate::output::{Output, Table, pairs, stdout_ink};
use crate::target::Target;

/// Arguments of `tally notary requests`.
#[derive(Debug, clap::Args)]
pub struct Requests {
    #[command(flatten)]
    target: Target,
    /// The transaction; without one a page of all that the notary has signed, in the order of their ids
    #[arg(conflicts_with = "after")]
    transaction: Option<String>,
    /// After this transaction
    #[arg(long, value_name = "ID")]
    after: Option<String>,
    /// Maximum number of transactions
    #[arg(long, default_value_t = 100, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,
    #[command(flatten)]
    pub output: Output,
}

impl Requests {
    pub fn run(self) -> Result<(), Failure> {
        self.target.with_client(async |client| {
            let Some(id) = &self.transaction else {
                let after = self.after.as_deref();
                let page = client.notary_requests(after, self.limit).await?;
                return self.output.show(&page, table);
            };
            let bytes = primitives::hex::decode(id).filter(|bytes| bytes.len() == 32);
            let bytes = bytes.ok_or_else(|| {
                let hint = "A transaction's id has 64 hexadecimal digits.";
                Failure::usage("tally.bad_state", format!("'{id}' is no transaction"), hint)
            })?;
            let before = below(bytes).map(|bytes| primitives::hex::encode(&bytes));
            let page = client.notary_requests(before.as_deref(), 1).await?;
            let found = page.entries.into_iter().find(|e| e.transaction == *id);
            let entry = found.ok_or_else(|| {
                Failure::local(
                    "tally.not_consumed",
                    format!("the notary has not signed {id}"),
                    "Check the id, and that this is its notary: 'tally tx show' names it.",
                )
            })?;
            self.output.show(&entry, one)
        })
    }
}

fn one(entry: &RequestEntry) -> String {
    pairs(&[
        ("transaction", entry.transaction.clone()),
        ("asked for by", entry.requester.clone()),
        ("on", Timestamp::from_ms(entry.at_ms).to_string()),
        ("with the key", entry.key.clone()),
        ("signature", entry.signature.clone()),
    ])
}

fn table(page: &RequestPage) -> String {
    if page.entries.is_empty() {
        return "nothing".to_owned();
    }
    let mut table = Table::new(&["transaction", "asked for by", "on"]);
    for entry in &page.entries {
        table.row([
            entry.transaction.clone(),
            entry.requester.clone(),
            Timestamp::from_ms(entry.at_ms).to_string(),
        ]);
    }
    let mut text = table.render(stdout_ink());
    if let Some(next) = &page.next {
        text.push_str(&format!("\nmore: --after {next}"));
    }
    text
}
