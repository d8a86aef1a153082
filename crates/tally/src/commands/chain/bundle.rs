//! `tally chain bundle`

use api::chain::{BundlerList, BundlerView, StartBundler};
use chain::ChainId;

use super::amount::parse_with_unit;
use super::bad_value;
use super::notation::{AmountUnit, Notation};
use super::secret::Secret;
use crate::failure::Failure;
use crate::output::{Output, Table, stdout_ink};
use crate::target::Target;

/// Arguments of `tally chain bundle`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    target: Target,
    /// Let the account of a secret bundle a child chain on the node; the chain by its token's symbol or its number
    #[arg(long, value_name = "CHAIN", requires = "rate")]
    start: Option<String>,
    /// The minimum child fee for each whole parent token that a transaction costs, with its unit, such as '1 AMB'
    #[arg(long, value_name = "AMOUNT", requires = "start")]
    rate: Option<String>,
    /// Percentage added to the minimum parent fee
    #[arg(long, value_name = "PERCENT", default_value_t = 0)]
    overpay: u32,
    /// Stop when the parent fees reach this total, with its unit, such as '50 TLY'
    #[arg(long, value_name = "AMOUNT", requires = "start")]
    total: Option<String>,
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
    unit: AmountUnit,
    #[command(flatten)]
    pub output: Output,
}

impl Args {
    pub fn run(self) -> Result<(), Failure> {
        let start = match (&self.start, &self.rate) {
            (Some(chain), Some(rate)) => Some((chain, rate, self.secret.seed()?)),
            _ => None,
        };
        self.target.with_chain(async |client| {
            let notation = self.unit.notation(&client).await?;
            if let Some((chain, rate, seed)) = start {
                let start = self.bundler(&notation, chain, rate, seed)?;
                client.start_bundler(&start).await?;
            }
            if let Some(stop) = &self.stop {
                let (account, chain) = account_and_chain(stop, &notation)?;
                client.stop_bundler(&account, chain).await?;
            }
            let bundlers = client.bundlers().await?;
            self.output.show(&bundlers, |list| people(list, &notation))
        })
    }

    fn bundler(
        &self,
        notation: &Notation,
        chain: &str,
        rate: &str,
        seed: api::SecretText,
    ) -> Result<StartBundler, Failure> {
        let chain = notation.find_chain(chain).map_err(bad_value)?;
        let parent = ChainId::PARENT.to_string();
        let parent = notation.find_chain(&parent).map_err(bad_value)?;
        let total = self.total.as_deref();
        let total = total.map(|total| parse_with_unit(total, parent));
        Ok(StartBundler {
            chain: chain.id,
            seed: Some(seed),
            rate_min: parse_with_unit(rate, chain).map_err(bad_value)?,
            overpay_percent: self.overpay,
            total_fee_max: total.transpose().map_err(bad_value)?,
            senders: accounts(&self.sender)?,
            recipients: accounts(&self.recipient)?,
            purpose: self.purpose.clone(),
            ..StartBundler::default()
        })
    }
}

fn accounts(texts: &[String]) -> Result<Vec<String>, Failure> {
    texts.iter().map(|text| super::account(text)).collect()
}

fn account_and_chain(text: &str, notation: &Notation) -> Result<(String, u8), Failure> {
    let Some((account, chain)) = text.rsplit_once('/') else {
        return Err(bad_value(format!("'{text}' is not ACCOUNT/CHAIN")));
    };
    let chain = notation.find_chain(chain).map_err(bad_value)?;
    Ok((super::account(account)?, chain.id))
}

fn people(list: &BundlerList, notation: &Notation) -> String {
    if list.bundlers.is_empty() {
        return "no account bundles on this node".to_owned();
    }
    let mut table = Table::new(&["account", "chain", ">rate", ">overpay", ">maximum total"]);
    for bundler in &list.bundlers {
        let total = bundler.total_fee_max;
        let in_parent_tokens = |total| notation.amount(total, ChainId::PARENT.0);
        table.row([
            bundler.account.clone(),
            notation.chain_name(bundler.chain),
            rate(bundler, notation),
            format!("{} %", bundler.overpay_percent),
            total.map_or_else(|| "unlimited".to_owned(), in_parent_tokens),
        ]);
    }
    table.render(stdout_ink())
}

/// Writes a rate, such as "0.5 AMB per TLY".
fn rate(bundler: &BundlerView, notation: &Notation) -> String {
    let child = notation.amount(bundler.rate_min, bundler.chain);
    let parent = notation.chain(ChainId::PARENT.0);
    let parent = parent.map_or("parent token", |parent| parent.symbol.as_str());
    format!("{child} per {parent}")
}
