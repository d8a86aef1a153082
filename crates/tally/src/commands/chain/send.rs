//! `tally chain send` makes, signs and submits a payment.

use std::time::{Duration, Instant};

use api::chain::{ChainInfo, TransactionAnswer, TransactionState};
use chain::bundle::BundlerRate;
use chain::state::fee_min;
use chain::{
    AccountId, Anchor, BlockTimestamp, Body, ChainId, Height, MinorUnits, Minutes, Params, Percent,
    Transaction,
};
use client::ChainClient;
use primitives::{Hash, PublicKey, hex};
use serde::Serialize;

use super::amount;
use super::notation::{AmountUnit, Notation};
use super::secret::Secret;
use super::{account, bad_answer, bad_value};
use crate::failure::Failure;
use crate::output::{Output, counted, grouped, pairs};
use crate::target::Target;

/// Additional depth of a payment's anchor, because blocks may be rolled back before the payment is included.
const ANCHOR_SLACK: u32 = 10;
/// Interval of the status requests for the transaction.
const ASK_EVERY: Duration = Duration::from_millis(250);

/// Arguments of `tally chain send`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    target: Target,
    #[command(flatten)]
    secret: Secret,
    /// The recipient, such as TLY-XXXXX-..; on a test network also 'passphrase:1'
    #[arg(long, value_name = "ACCOUNT")]
    to: String,
    /// The amount in whole tokens, such as 1.5 or '1.5 TLY'
    #[arg(long, value_name = "AMOUNT")]
    amount: String,
    /// The chain, by its token's symbol or its number; the parent chain by default
    #[arg(long, value_name = "CHAIN")]
    chain: Option<String>,
    /// A public message
    #[arg(long, value_name = "TEXT", default_value = "")]
    message: String,
    /// The fee in whole tokens of the same chain; the usual fee by default
    #[arg(long, value_name = "AMOUNT")]
    fee: Option<String>,
    /// The deadline for a block to include it, in minutes from now
    #[arg(long, value_name = "MINUTES", default_value_t = 60)]
    deadline: u16,
    /// Wait for this number of blocks after the one that includes it; 0 waits for that block only
    #[arg(long, value_name = "BLOCKS")]
    wait: Option<u32>,
    /// Maximum wait in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 600)]
    timeout: u64,
    #[command(flatten)]
    unit: AmountUnit,
    #[command(flatten)]
    pub output: Output,
}

/// The sent payment.
#[derive(Debug, Serialize)]
struct Sent {
    id: String,
    chain: u8,
    sender: String,
    recipient: String,
    #[serde(with = "api::QuantityText")]
    amount: u64,
    #[serde(with = "api::QuantityText")]
    fee: u64,
    state: TransactionState,
    #[serde(skip_serializing_if = "Option::is_none")]
    height: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    confirmations: Option<u32>,
}

impl Args {
    pub fn run(self) -> Result<(), Failure> {
        let key = self.secret.key()?;
        let PublicKey::Ed25519(sender) = *key.public() else {
            return Err(bad_value("the key is not an Ed25519 key"));
        };
        let to = account(&self.to)?;
        self.target.with_chain(async |client| {
            let notation = self.unit.notation(&client).await?;
            let genesis = &notation.constants.genesis;
            let genesis: Hash = genesis
                .parse()
                .map_err(|error| bad_answer(format!("the node's genesis: {error}")))?;
            // Without a chain, the payment is of the parent chain.
            let chain = self.chain.as_deref().unwrap_or("1");
            let chain = notation.find_chain(chain).map_err(bad_value)?;
            let amount = amount::parse(&self.amount, chain).map_err(bad_value)?;
            let mut transaction = self
                .payment(&client, &notation, chain, sender, &to, amount)
                .await?;
            transaction.sign(&genesis, &key);
            let submitted = client.submit(hex::encode(&transaction.to_bytes())).await;
            let submitted = submitted.map_err(|error| {
                Failure::from(error).with_message(|message| notation.with_units(message))
            })?;
            let id = transaction.id(&genesis).to_string();
            if submitted.id != id {
                let text = format!("the node calls the transaction {}, not {id}", submitted.id);
                return Err(bad_answer(text));
            }
            let (found, failure) = match self.wait {
                Some(blocks) => self.confirmed(&client, &id, blocks).await,
                None => (None, None),
            };
            let sent = Sent {
                id,
                chain: chain.id,
                sender: AccountId::of_key(&sender).to_string(),
                recipient: to.clone(),
                amount,
                fee: transaction.fee.get(),
                // The node has accepted it: until it is seen elsewhere, it is in the pool.
                state: found
                    .as_ref()
                    .map_or(TransactionState::Unconfirmed, |found| found.state),
                height: found.as_ref().and_then(|found| found.height),
                confirmations: found.as_ref().and_then(|found| found.confirmations),
            };
            // The payment is shown even if the wait has failed: it may go on.
            self.output.show(&sent, |sent| people(sent, &notation))?;
            failure.map_or(Ok(()), Err)
        })
    }

    async fn payment(
        &self,
        client: &ChainClient,
        notation: &Notation,
        chain: &ChainInfo,
        sender: [u8; 32],
        to: &str,
        amount: u64,
    ) -> Result<Transaction, Failure> {
        let constants = &notation.constants;
        let params = serde_json::Value::Object(constants.parameters.clone());
        let params: Params = serde_json::from_value(params)
            .map_err(|error| bad_answer(format!("the network's parameters: {error}")))?;
        let status = client.status().await?;
        // In a chain that is not as deep, the anchor is genesis.
        let depth = params.anchor_depth_min.saturating_add(ANCHOR_SLACK);
        // In a young chain the anchor is genesis.
        let height = Height::new(status.height).minus_or_genesis(depth);
        let block = match height {
            Height::GENESIS => constants.genesis.clone(),
            height => client.block(&height.to_string(), "none").await?.hash,
        };
        let block: Hash = block
            .parse()
            .map_err(|error| bad_answer(format!("the hash of block {height}: {error}")))?;
        let to = to
            .parse()
            .map_err(|error| bad_value(format!("'{to}': {error}")))?;
        let mut transaction = Transaction {
            chain: ChainId(chain.id),
            time: BlockTimestamp::new(status.now),
            deadline_minutes: Minutes::new(self.deadline)
                .clamp(Minutes::new(1), params.deadline_minutes_max),
            sender,
            fee: MinorUnits::ZERO,
            anchor: Anchor::at(height, &block),
            body: Body::Payment {
                to,
                amount: MinorUnits::new(amount),
                message: self.message.clone().into_bytes(),
            },
            signature: [0; 64],
        };
        if self.message.len() > params.message_bytes_max as usize {
            let most = params.message_bytes_max;
            return Err(bad_value(format!("a message has at most {most} bytes")));
        }
        transaction.fee = match &self.fee {
            Some(fee) => MinorUnits::new(amount::parse(fee, chain).map_err(bad_value)?),
            None if chain.id == ChainId::PARENT.0 => fee_min(&params, &transaction),
            None => {
                let rates = client.rates().await?.rates;
                let of_chain = rates.iter().filter(|rate| rate.chain == chain.id);
                let least = of_chain.map(|rate| rate.rate).min();
                let rate = match least {
                    Some(least) => BundlerRate::new(least),
                    // Without a bundler, it is one whole token. A clipped rate makes a fee that no account can pay.
                    None => BundlerRate::one_for_one(chain.decimals).unwrap_or(BundlerRate::MAX),
                };
                let parent = notation.chain(ChainId::PARENT.0);
                let decimals = parent.map_or(0, |parent| parent.decimals);
                rate.fee(Percent::ZERO, &params, decimals)
            }
        };
        Ok(transaction)
    }

    /// Polls until the transaction has this number of confirmations or has left the pool, or the time is over. Returns the last
    /// answer, and the failure of the wait if the transaction is not confirmed.
    async fn confirmed(
        &self,
        client: &ChainClient,
        id: &str,
        blocks: u32,
    ) -> (Option<TransactionAnswer>, Option<Failure>) {
        let end = Instant::now() + Duration::from_secs(self.timeout);
        let mut last = None;
        loop {
            let found = match client.transaction(id).await {
                Ok(found) => found,
                Err(error) => return (last, Some(error.into())),
            };
            if let Some(verdict) = verdict(&found, id, blocks) {
                return (Some(found), verdict.err());
            }
            if Instant::now() > end {
                let failure = not_confirmed(id, blocks);
                return (Some(found), Some(failure));
            }
            last = Some(found);
            tokio::time::sleep(ASK_EVERY).await;
        }
    }
}

/// Returns the result of the wait for a transaction, or `None` if it goes on.
fn verdict(found: &TransactionAnswer, id: &str, blocks: u32) -> Option<Result<(), Failure>> {
    match found.state {
        TransactionState::Confirmed if found.confirmations >= Some(blocks) => Some(Ok(())),
        TransactionState::Left => {
            // A node that names no reason gets a failure without one.
            let code = found.reason.as_deref().unwrap_or("tally.not_confirmed");
            Some(Err(Failure::refused(
                code,
                format!("the transaction {id} left the pool without being in a block"),
                chain::errors::action_of(code),
            )))
        }
        TransactionState::Confirmed | TransactionState::Unconfirmed => None,
    }
}

fn not_confirmed(id: &str, blocks: u32) -> Failure {
    let wanted = match blocks {
        0 => "is not in a block yet".to_owned(),
        blocks => format!("does not have {} yet", counted(blocks, "confirmation")),
    };
    Failure::later(
        "tally.not_confirmed",
        format!("the transaction {id} {wanted}"),
        format!("It goes on; ask with 'tally chain tx {id}'."),
    )
}

fn people(sent: &Sent, notation: &Notation) -> String {
    let amount = |minor| notation.amount(minor, sent.chain);
    let state = match (sent.state, sent.height, sent.confirmations) {
        (TransactionState::Confirmed, Some(height), Some(blocks)) => format!(
            "in block {}, {}",
            grouped(height),
            counted(blocks, "confirmation")
        ),
        (TransactionState::Left, ..) => "not in a block, and no longer in the pool".to_owned(),
        _ => "in the pool".to_owned(),
    };
    pairs(&[
        ("transaction", sent.id.clone()),
        ("from", sent.sender.clone()),
        ("to", sent.recipient.clone()),
        ("amount", amount(sent.amount)),
        ("fee", amount(sent.fee)),
        ("state", state),
    ])
}
