//! `tally chain bundle`

use api::chain::{BundlerList, StartBundler};

use super::secret::Secret;
use crate::failure::Failure;
use crate::output::{Output, Table, grouped, stdout_ink};
use crate::target::Target;

/// Arguments of `tally chain bundle`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    target: Target,
    /// Let the account of a secret bundle a child chain on the node
    #[arg(long, value_name = "CHAIN", requires = "rate")]
    start: Option<u8>,
    /// The minimum child fee, in minor units, for each whole parent token that a transaction costs
    #[arg(long, value_name = "MINOR", requires = "start")]
    rate: Option<u64>,
    /// Percentage added to the minimum parent fee
    #[arg(long, value_name = "PERCENT", default_value_t = 0)]
    overpay: u32,
    /// Stop when the parent fees reach this total, in minor units
    #[arg(long, value_name = "MINOR")]
    total: Option<u64>,
    /// Carry only transactions of this account; may be given again
    #[arg(long, value_name = "ACCOUNT", requires = "start")]
    sender: Vec<String>,
    /// Carry only transactions to this account; may be given again
    #[arg(long, value_name = "ACCOUNT", requires = "start")]
    recipient: Vec<String>,
    /// Carry only transactions whose message begins with this
    #[arg(long, value_name = "TEXT", requires = "start", default_value = "")]
    purpose: String,
    #[command(flatten)]
    secret: Secret,
    /// Stop bundling for an account: ACCOUNT/CHAIN
    #[arg(long, value_name = "ACCOUNT/CHAIN", conflicts_with = "start")]
    stop: Option<String>,
    #[command(flatten)]
    pub output: Output,
}

impl Args {
    pub fn run(self) -> Result<(), Failure> {
        let start = match (self.start, self.rate) {
            (Some(chain), Some(rate_min)) => Some(StartBundler {
                chain,
                seed: Some(self.secret.seed()?),
                rate_min,
                overpay_percent: self.overpay,
                total_fee_max: self.total,
                senders: accounts(&self.sender)?,
                recipients: accounts(&self.recipient)?,
                purpose: self.purpose.clone(),
                ..StartBundler::default()
            }),
            _ => None,
        };
        let stop = self.stop.as_deref().map(of_text).transpose()?;
        self.target.with_chain(async |client| {
            if let Some(start) = &start {
                client.start_bundler(start).await?;
            }
            if let Some((account, chain)) = &stop {
                client.stop_bundler(account, *chain).await?;
            }
            self.output.show(&client.bundlers().await?, people)
        })
    }
}

fn accounts(texts: &[String]) -> Result<Vec<String>, Failure> {
    texts.iter().map(|text| super::account(text)).collect()
}

fn of_text(text: &str) -> Result<(String, u8), Failure> {
    let parts = text.rsplit_once('/');
    let chain = parts.and_then(|(_, chain)| chain.parse().ok());
    let (Some((account, _)), Some(chain)) = (parts, chain) else {
        return Err(super::bad_value(format!("'{text}' is not ACCOUNT/CHAIN")));
    };
    Ok((super::account(account)?, chain))
}

fn people(list: &BundlerList) -> String {
    if list.bundlers.is_empty() {
        return "no account bundles on this node".to_owned();
    }
    let mut table = Table::new(&["account", ">chain", ">rate", ">overpay", ">total"]);
    for bundler in &list.bundlers {
        table.row([
            bundler.account.clone(),
            bundler.chain.to_string(),
            grouped(bundler.rate_min),
            format!("{} %", bundler.overpay_percent),
            bundler.total_fee_max.map(grouped).unwrap_or_default(),
        ]);
    }
    table.render(stdout_ink())
}
