//! `tally chain forge`

use api::chain::{ForgingView, StartForging};

use super::notation::{AmountUnit, Notation};
use super::secret::Secret;
use crate::failure::Failure;
use crate::output::{Output, Table, grouped, stdout_ink};
use crate::target::Target;

/// Arguments of `tally chain forge`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    target: Target,
    /// Let the account of a secret forge on the node
    #[arg(long)]
    start: bool,
    #[command(flatten)]
    secret: Secret,
    /// Stop forging with an account
    #[arg(long, value_name = "ACCOUNT", conflicts_with = "start")]
    stop: Option<String>,
    #[command(flatten)]
    unit: AmountUnit,
    #[command(flatten)]
    pub output: Output,
}

impl Args {
    pub fn run(self) -> Result<(), Failure> {
        let seed = match self.start {
            true => Some(self.secret.seed()?),
            false => None,
        };
        let stop = self.stop.as_deref().map(super::account).transpose()?;
        self.target.with_chain(async |client| {
            if let Some(seed) = seed {
                let start = StartForging {
                    seed: Some(seed),
                    passphrase: None,
                };
                client.start_forging(&start).await?;
            }
            if let Some(account) = &stop {
                client.stop_forging(account).await?;
            }
            let notation = self.unit.notation(&client).await?;
            let forging = client.forging().await?;
            self.output.show(&forging, |view| people(view, &notation))
        })
    }
}

fn people(view: &ForgingView, notation: &Notation) -> String {
    if view.accounts.is_empty() {
        return "no account forges on this node".to_owned();
    }
    let mut table = Table::new(&["account", ">forging balance", ">next block"]);
    for account in &view.accounts {
        let left = account
            .hit_time
            .map(|time| i64::from(time) - i64::from(view.now));
        table.row([
            account.account.clone(),
            notation.stake(account.effective_tokens),
            match left {
                Some(left) if left > 0 => format!("in {} s", grouped(left)),
                Some(_) => "due".to_owned(),
                None => "has too little".to_owned(),
            },
        ]);
    }
    table.render(stdout_ink())
}
