//! `tally vault states`

use api::{Quarantined, StatesPage};

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
    /// States in quarantine: exclude, include or only
    #[arg(long, default_value = "exclude", value_name = "WHICH")]
    quarantined: Quarantined,
    /// Maximum number of states
    #[arg(long, default_value_t = 100, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,
    #[command(flatten)]
    pub output: Output,
}

impl Args {
    pub fn run(self) -> Result<(), Failure> {
        self.target.with_client(async |client| {
            let page = client
                .states_quarantined(self.quarantined, self.after, self.limit)
                .await?;
            self.output.show(&page, people)
        })
    }
}

fn people(page: &StatesPage) -> String {
    if page.states.is_empty() {
        return "nothing".to_owned();
    }
    let mut heads = vec![">number", "state", "contract", "token", ">quantity"];
    let quarantined = page.states.iter().any(|state| state.quarantined);
    heads.extend(quarantined.then_some("standing"));
    let mut table = Table::new(&heads);
    for state in &page.states {
        let (token, quantity) = match &state.fungible {
            Some(fungible) => (fungible.symbol.clone(), grouped(fungible.quantity)),
            None => ("-".to_owned(), "-".to_owned()),
        };
        let mut cells = vec![
            state.number.to_string(),
            state.state_ref.clone(),
            state.contract.clone(),
            token,
            quantity,
        ];
        if quarantined {
            let standing = match state.quarantined {
                true => "quarantined",
                false => "",
            };
            cells.push(standing.to_owned());
        }
        table.row(cells);
    }
    let mut text = table.render(stdout_ink());
    if let Some(next) = page.next {
        text.push_str(&format!("\nmore: --after {next}"));
    }
    text
}
