//! `tally chain account`

mod text;

use api::chain::{AccountView, PlacedTransaction, TransactionView};
use client::{ChainClient, ClientError};
use serde::Serialize;

use super::bad_value;
use super::notation::AmountUnit;
use crate::failure::Failure;
use crate::output::Output;
use crate::target::Target;

/// Arguments of `tally chain account`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    target: Target,
    /// The account, such as TLY-XXXXX-..; on a test network also 'passphrase:0'
    #[arg(value_name = "ACCOUNT")]
    account: String,
    /// Only transactions of this chain, by its token's symbol or its number
    #[arg(long, value_name = "CHAIN")]
    chain: Option<String>,
    /// Maximum number of transactions in blocks, and of those in the pool
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    limit: u32,
    /// Older transactions: the `next` value of the previous page
    #[arg(long, value_name = "PLACE")]
    before: Option<String>,
    #[command(flatten)]
    unit: AmountUnit,
    #[command(flatten)]
    pub output: Output,
}

impl Args {
    pub fn run(self) -> Result<(), Failure> {
        let account = super::account(&self.account)?;
        self.target.with_chain(async |client| {
            let notation = self.unit.notation(&client).await?;
            let chain = self.chain.as_deref();
            let chain = chain.map(|chain| notation.find_chain(chain)).transpose();
            let chain = chain.map_err(bad_value)?.map(|chain| chain.id);
            let report = self.report(&client, &account, chain).await?;
            self.output
                .show(&report, |report| text::people(report, &notation))
        })
    }

    async fn report(
        &self,
        client: &ChainClient,
        account: &str,
        chain: Option<u8>,
    ) -> Result<Report, ClientError> {
        let view = client.account(account).await?;
        // A page of older transactions has none of the pool.
        let unconfirmed = match &self.before {
            None => {
                let page = client.account_unconfirmed(account, chain, self.limit);
                page.await?.transactions
            }
            Some(_) => Vec::new(),
        };
        let before = self.before.as_deref();
        let page = client.account_transactions(account, chain, before, self.limit);
        let page = page.await?;
        Ok(Report {
            public_key: public_key(&view.account, &unconfirmed, &page.transactions),
            account: view,
            unconfirmed,
            transactions: page.transactions,
            next: page.next,
        })
    }
}

/// An account and its last transactions.
#[derive(Debug, Serialize)]
struct Report {
    #[serde(flatten)]
    account: AccountView,
    /// The key, if one of the transactions below has it. The chain stores accounts as hashes of keys.
    #[serde(skip_serializing_if = "Option::is_none")]
    public_key: Option<String>,
    /// Transactions in the pool, ordered by the time at which they were made.
    unconfirmed: Vec<TransactionView>,
    /// Transactions in blocks, the newest first.
    transactions: Vec<PlacedTransaction>,
    /// The value of `--before` for the next page.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

/// Returns the key of an account from a transaction that it has sent.
fn public_key(
    account: &str,
    unconfirmed: &[TransactionView],
    transactions: &[PlacedTransaction],
) -> Option<String> {
    let placed = transactions.iter().map(|placed| &placed.transaction);
    let mut sent = unconfirmed.iter().chain(placed);
    let own = sent.find(|transaction| transaction.sender == account);
    own.map(|transaction| transaction.sender_key.clone())
}
