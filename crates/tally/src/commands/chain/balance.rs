//! `tally chain balance`

use api::chain::{BalancesView, ChainBalance};

use super::notation::{AmountUnit, Notation};
use crate::failure::Failure;
use crate::output::{Output, Table, grouped, stdout_ink};
use crate::target::Target;

/// Arguments of `tally chain balance`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    target: Target,
    /// Accounts, such as TLY-XXXXX-..; on a test network also 'passphrase:0'
    #[arg(value_name = "ACCOUNT", required = true)]
    accounts: Vec<String>,
    #[command(flatten)]
    unit: AmountUnit,
    #[command(flatten)]
    pub output: Output,
}

impl Args {
    pub fn run(self) -> Result<(), Failure> {
        let accounts = self.accounts.iter().map(|text| super::account(text));
        let accounts: Vec<String> = accounts.collect::<Result<_, _>>()?;
        self.target.with_chain(async |client| {
            let notation = self.unit.notation(&client).await?;
            let balances = client.balances(&accounts).await?;
            self.output.show(&balances, |view| people(view, &notation))
        })
    }
}

/// Returns the chain and the amount of a balance.
pub fn balance_cells(balance: &ChainBalance, notation: &Notation) -> [String; 2] {
    [
        notation.chain_name(balance.chain),
        notation.amount(balance.balance, balance.chain),
    ]
}

fn people(view: &BalancesView, notation: &Notation) -> String {
    let mut table = Table::new(&["account", "chain", ">balance"]);
    for account in &view.accounts {
        for balance in &account.balances {
            let [chain, amount] = balance_cells(balance, notation);
            table.row([account.account.clone(), chain, amount]);
        }
    }
    let table = table.render(stdout_ink());
    format!("{table}\n\nat height {}", grouped(view.height))
}
