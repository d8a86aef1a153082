//! `tally tx chain`

use api::ChainPage;

use crate::failure::Failure;
use crate::output::{Output, Table, stdout_ink};
use crate::target::Target;

/// Arguments of `tally tx chain`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    target: Target,
    /// The transaction
    id: String,
    /// Before this position
    #[arg(long, value_name = "POSITION")]
    after: Option<u64>,
    /// Maximum number of transactions
    #[arg(long, default_value_t = 100, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,
    #[command(flatten)]
    pub output: Output,
}

impl Args {
    pub fn run(self) -> Result<(), Failure> {
        self.target.with_client(async |client| {
            let page = client.chain(&self.id, self.after, self.limit).await?;
            self.output.show(&page, people)
        })
    }
}

fn people(page: &ChainPage) -> String {
    let mut table = Table::new(&[">position", "transaction", "depends on"]);
    for entry in &page.entries {
        table.row([
            entry.seq.to_string(),
            entry.id.clone(),
            match entry.depends_on.as_slice() {
                [] => "-".to_owned(),
                some => some.join(" "),
            },
        ]);
    }
    let mut text = table.render(stdout_ink());
    if let Some(next) = page.next {
        text.push_str(&format!("\nmore: --after {next}"));
    }
    text
}
