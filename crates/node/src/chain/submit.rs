//! Transactions of clients: prepared, and handed to the core.

use std::sync::Arc;

use api::chain::{ItemRefusal, Prepare, SubmitAnswer, codes};
use chain::bundle::BundlerRate;
use chain::core::OrderDone;
use chain::state::{fee_min, read};
use chain::{
    AccountId, Anchor, Body, ChainId, Height, MinorUnits, Minutes, Percent, Rejection, Transaction,
};
use primitives::Hash;
use tokio::sync::{Semaphore, oneshot};

use super::queries::ChainQuery;
use super::reads::{Fault, Reader, failed};
use super::shared::{ChainNodeState, Outcomes, Waiter};
use crate::http::Refusal;

/// The deadline of a prepared transaction if the request has none.
const DEADLINE: Minutes = Minutes::new(60);
/// The anchor of a prepared transaction is this many blocks deeper than required, because blocks may be rolled back before it is
/// submitted.
const ANCHOR_SLACK: u32 = 10;
/// The `retry_after_ms` of a refusal because too many submitted transactions wait.
const RETRY_MS: u64 = 250;

impl ChainNodeState {
    /// Hands transactions to the core; each gets an outcome once that is durable.
    pub(super) async fn submit(
        &self,
        transactions: Vec<Transaction>,
        places: &Arc<Semaphore>,
    ) -> Result<Outcomes, Refusal> {
        // If the count is clipped, it still exceeds the number of places.
        let count = u32::try_from(transactions.len()).unwrap_or(u32::MAX);
        let Ok(place) = Arc::clone(places).try_acquire_many_owned(count) else {
            return Err(Refusal::busy(RETRY_MS));
        };
        let (sender, receiver) = oneshot::channel();
        self.ask(Waiter::Submit(sender, place), |ticket| {
            chain::core::Event::Submit {
                ticket,
                transactions,
            }
        });
        receiver.await.map_err(|_| self.gone())
    }

    /// Gives the core an operator's order.
    pub(super) async fn order(
        &self,
        order: impl FnOnce(chain::core::Ticket) -> chain::core::Event,
    ) -> Result<OrderDone, Refusal> {
        let (sender, receiver) = oneshot::channel();
        self.ask(Waiter::Order(sender), order);
        let done = receiver.await.map_err(|_| self.gone())?;
        done.map_err(refused)
    }
}

/// A "no" of the chain.
pub(super) fn refused(rejection: Rejection) -> Refusal {
    Refusal {
        code: rejection.code.into(),
        message: rejection.detail,
        hint: chain::errors::action_of(rejection.code).into(),
        retry_after_ms: None,
        flow: None,
    }
}

/// An answer of a batch.
pub(super) fn answered(outcome: Result<chain::TxId, Rejection>) -> SubmitAnswer {
    match outcome {
        Ok(id) => SubmitAnswer {
            id: Some(id.to_string()),
            error: None,
        },
        Err(rejection) => SubmitAnswer {
            id: None,
            error: Some(ItemRefusal {
                code: rejection.code.to_owned(),
                detail: rejection.detail,
                retry_after_ms: None,
            }),
        },
    }
}

/// A transaction to prepare, checked as far as that is possible without the chain's state.
pub(super) struct TransactionRequest {
    pub(super) chain: ChainId,
    pub(super) sender: [u8; 32],
    pub(super) body: Body,
    pub(super) fee: Option<MinorUnits>,
    pub(super) deadline_minutes: Option<Minutes>,
}

impl TransactionRequest {
    /// Takes a request apart.
    pub(super) fn of(shared: &ChainNodeState, prepare: Prepare) -> Result<Self, Refusal> {
        let key = |text: &str| {
            primitives::hex::decode_array(text).ok_or_else(|| {
                let text = format!("'{text}' is no key of 64 hexadecimal digits");
                Refusal::listed(&codes::BAD_KEY, text)
            })
        };
        // Without a chain, the payment is of the parent chain.
        let chain = ChainId(prepare.chain.unwrap_or(ChainId::PARENT.0));
        if shared.genesis.chain(chain).is_none() {
            let text = format!("the network has no chain {chain}");
            return Err(Refusal::listed(&codes::UNKNOWN_CHAIN, text));
        }
        let to = prepare.recipient.parse::<AccountId>().map_err(|error| {
            Refusal::listed(&codes::BAD_KEY, format!("'{}': {error}", prepare.recipient))
        })?;
        let message = prepare.message.unwrap_or_default().into_bytes();
        let most = shared.genesis.params.message_bytes_max as usize;
        if message.len() > most {
            let text = format!("a message of {} bytes; {most} are allowed", message.len());
            return Err(Refusal::listed(&codes::BAD_PREPARE, text));
        }
        let body = match (prepare.amount, prepare.lease_blocks) {
            (Some(amount), None) => Body::Payment {
                to,
                amount: MinorUnits::new(amount),
                message,
            },
            (None, Some(blocks)) if message.is_empty() && chain == ChainId::PARENT => {
                Body::Lease { to, blocks }
            }
            (None, Some(_)) => {
                let text = "a lease is made on the parent chain and has no message";
                return Err(Refusal::listed(&codes::BAD_PREPARE, text));
            }
            _ => {
                let text = "give either an amount or lease_blocks";
                return Err(Refusal::listed(&codes::BAD_PREPARE, text));
            }
        };
        Ok(Self {
            chain,
            sender: key(&prepare.sender)?,
            body,
            fee: prepare.fee.map(MinorUnits::new),
            deadline_minutes: prepare.deadline_minutes.map(Minutes::new),
        })
    }

    /// The transaction, without a signature, and the bundler whose rate its fee is enough for, if the fee follows from one.
    pub(super) async fn transaction(
        self,
        shared: &ChainNodeState,
    ) -> Result<(Transaction, Option<AccountId>), Refusal> {
        let params = &shared.genesis.params;
        // In a chain that is not as deep, the anchor is genesis.
        let depth = params.anchor_depth_min.saturating_add(ANCHOR_SLACK);
        let anchor = shared
            .reader()
            .ask(move |reader| anchor(reader, depth))
            .await?;
        let deadline = self.deadline_minutes.unwrap_or(DEADLINE);
        let mut transaction = Transaction {
            chain: self.chain,
            time: shared.clock.now(),
            deadline_minutes: deadline.min(params.deadline_minutes_max),
            sender: self.sender,
            fee: MinorUnits::ZERO,
            anchor,
            body: self.body,
            signature: [0; 64],
        };
        let bundler;
        (transaction.fee, bundler) = match self.fee {
            Some(fee) => (fee, None),
            None if self.chain == ChainId::PARENT => (fee_min(params, &transaction), None),
            None => child_fee(shared, self.chain).await?,
        };
        Ok((transaction, bundler))
    }
}

/// The newest block that is deep enough below the tip.
fn anchor(reader: &Reader, depth: u32) -> Result<Anchor, Fault> {
    let (tip, _) = read::tip(&reader.store)?;
    // In a young chain the anchor is genesis.
    let height = tip.minus_or_genesis(depth);
    let hash: Option<Hash> = match height {
        Height::GENESIS => Some(reader.genesis.hash),
        height => read::header(&reader.store, height)?.map(|row| row.hash),
    };
    let hash = hash.ok_or_else(|| chain::port::damaged("a block below the tip is missing"))?;
    Ok(Anchor::at(height, &hash))
}

/// Returns the fee of the cheapest usable bundler, and that bundler. Without one, the fee is a whole child token for a whole parent token.
async fn child_fee(
    shared: &ChainNodeState,
    child: ChainId,
) -> Result<(MinorUnits, Option<AccountId>), Refusal> {
    let usable = shared
        .query(|to| ChainQuery::UsableRates(child, to))
        .await?;
    let usable = usable.map_err(failed)?;
    let cheapest = usable.into_iter().next();
    let decimals = |id| shared.genesis.chain(id).map_or(0, |chain| chain.decimals);
    let rate = match &cheapest {
        Some(cheapest) => cheapest.rate,
        // A clipped rate makes a fee that no account can pay.
        None => BundlerRate::one_for_one(decimals(child)).unwrap_or(BundlerRate::MAX),
    };
    let parent_decimals = decimals(ChainId::PARENT);
    let fee = rate.fee(Percent::ZERO, &shared.genesis.params, parent_decimals);
    // A payment without a fee costs nothing to repeat: networks refuse it unless it moves something.
    Ok((
        fee.max(MinorUnits::new(1)),
        cheapest.map(|cheapest| cheapest.bundler),
    ))
}
