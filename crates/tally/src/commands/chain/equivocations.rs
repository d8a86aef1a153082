//! `tally chain equivocations`

use api::chain::EquivocationPage;

use crate::failure::Failure;
use crate::output::{Output, Table, grouped, stdout_ink};
use crate::target::Target;

/// Arguments of `tally chain equivocations`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    target: Target,
    /// The `next` value of the previous page
    #[arg(long, value_name = "PLACE")]
    after: Option<String>,
    /// Maximum number of rows
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,
    #[command(flatten)]
    pub output: Output,
}

impl Args {
    pub fn run(self) -> Result<(), Failure> {
        self.target.with_chain(async |client| {
            let page = client.equivocations(self.after.as_deref(), self.limit);
            self.output.show(&page.await?, people)
        })
    }
}

fn people(page: &EquivocationPage) -> String {
    if page.equivocations.is_empty() {
        return "no forger signed two blocks on one parent, as far as this node has seen"
            .to_owned();
    }
    let mut table = Table::new(&[">height", "forger", ">noticed", "first", "second"]);
    for found in &page.equivocations {
        table.row([
            grouped(found.height),
            found.forger.clone(),
            format!("{} s after genesis", grouped(found.noticed)),
            found.first.hash.clone(),
            found.second.hash.clone(),
        ]);
    }
    let table = table.render(stdout_ink());
    match &page.next {
        Some(next) => format!("{table}\nmore with --after {next}"),
        None => table,
    }
}
