//! `tally vault states`

use api::StatesPage;

use crate::failure::Failure;
use crate::output::{Output, Table, grouped, stdout_ink};
use crate::target::Target;

/// Arguments of `tally vault states`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    target: Target,
    /// After this number
    #[arg(long, value_name = "NUMBER")]
    after: Option<u64>,
    /// So many at most
    #[arg(long, default_value_t = 100, value_name = "N")]
    limit: u32,
    #[command(flatten)]
    pub output: Output,
}

impl Args {
    pub fn run(self) -> Result<(), Failure> {
        self.target.with_client(async |client| {
            let page = client.states(self.after, self.limit).await?;
            self.output.show(&page, people)
        })
    }
}

fn people(page: &StatesPage) -> String {
    if page.states.is_empty() {
        return "nothing".to_owned();
    }
    let mut table = Table::new(&[">number", "state", "contract", "token", ">quantity"]);
    for state in &page.states {
        let (token, quantity) = match &state.fungible {
            Some(fungible) => (fungible.symbol.clone(), grouped(fungible.quantity)),
            None => ("-".to_owned(), "-".to_owned()),
        };
        table.row([
            state.number.to_string(),
            state.state_ref.clone(),
            state.contract.clone(),
            token,
            quantity,
        ]);
    }
    let mut text = table.render(stdout_ink());
    if let Some(next) = page.next {
        text.push_str(&format!("\nmore: --after {next}"));
    }
    text
}
