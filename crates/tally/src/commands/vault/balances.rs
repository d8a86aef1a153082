//! `tally vault balances`

use api::Balances;

use crate::failure::Failure;
use crate::output::{Output, Table, grouped, stdout_ink};
use crate::target::Target;

/// Arguments of `tally vault balances`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    target: Target,
    #[command(flatten)]
    pub output: Output,
}

impl Args {
    pub fn run(self) -> Result<(), Failure> {
        self.target
            .with_client(async |client| self.output.show(&client.balances().await?, people))
    }
}

fn people(balances: &Balances) -> String {
    if balances.balances.is_empty() {
        return "nothing".to_owned();
    }
    let mut table = Table::new(&[
        "token",
        "issuer",
        ">quantity (minor units)",
        ">states",
        ">quarantined",
    ]);
    for balance in &balances.balances {
        table.row([
            balance.symbol.clone(),
            balance.issuer.clone(),
            grouped(&balance.quantity),
            grouped(balance.states),
            balance
                .quarantined
                .as_ref()
                .map(grouped)
                .unwrap_or_default(),
        ]);
    }
    table.render(stdout_ink())
}
