//! `tally ledger list`

use api::LedgerPage;
use clap::Subcommand;

use crate::failure::Failure;
use crate::output::{Output, Table, stdout_ink};
use crate::target::Target;

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// List the ids of recorded transactions
    List(Args),
}

/// Arguments of `tally ledger list`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    target: Target,
    /// After this position
    #[arg(long, value_name = "POSITION")]
    after: Option<u64>,
    /// Maximum number of transactions
    #[arg(long, default_value_t = 100, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,
    #[command(flatten)]
    output: Output,
}

impl Command {
    pub fn run(self) -> Result<(), Failure> {
        let Command::List(arguments) = self;
        arguments.target.with_client(async |client| {
            let page = client.ledger(arguments.after, arguments.limit).await?;
            arguments.output.show(&page, people)
        })
    }

    pub fn wants_json(&self) -> bool {
        let Command::List(arguments) = self;
        arguments.output.json
    }
}

fn people(page: &LedgerPage) -> String {
    if page.entries.is_empty() {
        return "nothing".to_owned();
    }
    let mut table = Table::new(&[">position", "transaction"]);
    for entry in &page.entries {
        table.row([entry.seq.to_string(), entry.id.clone()]);
    }
    let mut text = table.render(stdout_ink());
    if let Some(next) = page.next {
        text.push_str(&format!("\nmore: --after {next}"));
    }
    text
}
