//! `tally chain balance`

use api::chain::{BalancesView, ChainInfo};

use super::tokens::shown;
use crate::failure::Failure;
use crate::output::{Output, Table, stdout_ink};
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
    pub output: Output,
}

impl Args {
    pub fn run(self) -> Result<(), Failure> {
        let accounts = self.accounts.iter().map(|text| super::account(text));
        let accounts: Vec<String> = accounts.collect::<Result<_, _>>()?;
        self.target.with_chain(async |client| {
            let chains = client.constants().await?.chains;
            let balances = client.balances(&accounts).await?;
            self.output.show(&balances, |view| people(view, &chains))
        })
    }
}

fn people(view: &BalancesView, chains: &[ChainInfo]) -> String {
    let mut table = Table::new(&["account", "chain", ">balance", "token"]);
    for account in &view.accounts {
        for balance in &account.balances {
            let chain = chains.iter().find(|chain| chain.id == balance.chain);
            table.row([
                account.account.clone(),
                chain.map_or_else(|| balance.chain.to_string(), |chain| chain.name.clone()),
                shown(balance.balance, chain.map_or(0, |chain| chain.decimals)),
                chain.map_or_else(String::new, |chain| chain.symbol.clone()),
            ]);
        }
    }
    format!(
        "{}\n\nat height {}",
        table.render(stdout_ink()),
        view.height
    )
}
