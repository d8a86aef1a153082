//! Submitting transactions, and reading their states.

use std::sync::Arc;

use api::chain::operations;
use api::chain::{
    Prepare, Prepared, SUBMIT_BATCH_MAX, SignAndSend, Submit, SubmitBatch, SubmitBatchAnswer,
    Submitted, codes,
};
use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use axum::http::HeaderMap;
use axum::http::header::CONTENT_TYPE;
use chain::transaction::{read, read_exact};
use chain::{Rejection, Transaction, TxId};
use primitives::{Scheme, Signature, SignatureContext, hex};

use super::parameters::{UnconfirmedQuery, account, chain, passphrase_key};
use super::{Answered, Api, Route, json, route};
use crate::chain::core_views::PoolRange;
use crate::chain::ed25519;
use crate::chain::queries::ChainQuery;
use crate::chain::submit::{TransactionRequest, answered, refused};
use crate::chain::views::view_of;
use crate::http::Refusal;
use crate::http::claim::ClaimedBody;
use crate::http::routes::parameters::{parsed, query, segment, whole_of_any_kind};

/// The operations that this module answers.
pub(super) fn routes() -> impl Iterator<Item = Route> {
    [
        route(&operations::SUBMIT, submit),
        route(&operations::SUBMIT_BATCH, submit_batch),
        route(&operations::TRANSACTION, transaction),
        route(&operations::UNCONFIRMED, unconfirmed),
        route(&operations::PREPARE, prepare),
        route(&operations::SIGN_AND_SEND, sign_and_send),
    ]
    .into_iter()
}

/// The media type of transactions as bytes, one after another.
const OCTETS: &[u8] = b"application/octet-stream";

/// `POST /v1/chain/transactions`
pub(super) async fn submit(State(api): State<Arc<Api>>, body: ClaimedBody) -> Answered {
    let submit: Submit = api.body(body).await?;
    let transaction = of_hex(&submit.transaction).map_err(refused)?;
    json(&api.submit_one(transaction).await?)
}

/// `POST /v1/chain/transactions/batch`
pub(super) async fn submit_batch(
    State(api): State<Arc<Api>>,
    headers: HeaderMap,
    body: ClaimedBody,
) -> Answered {
    let kind = headers.get(CONTENT_TYPE).map(|kind| kind.as_bytes());
    let decoded = if kind.is_some_and(|kind| kind.starts_with(OCTETS)) {
        let (bytes, _place) = whole_of_any_kind(body, &api.front.options).await?;
        of_bytes(&bytes)
    } else {
        let batch: SubmitBatch = api.body(body).await?;
        let taken = batch.transactions.iter().take(SUBMIT_BATCH_MAX + 1);
        taken.map(|text| of_hex(text)).collect()
    };
    if decoded.is_empty() || decoded.len() > SUBMIT_BATCH_MAX {
        let text = format!("a batch has 1 to {SUBMIT_BATCH_MAX} transactions");
        return Err(Refusal::listed(&codes::BAD_BATCH, text));
    }
    let mut good = Vec::with_capacity(decoded.len());
    let places: Vec<Option<Rejection>> = decoded
        .into_iter()
        .map(|one| match one {
            Ok(transaction) => {
                good.push(transaction);
                None
            }
            Err(rejection) => Some(rejection),
        })
        .collect();
    let mut outcomes = if good.is_empty() {
        Vec::new()
    } else {
        api.shared.submit(good, &api.submits).await?
    }
    .into_iter();
    let answers = places.into_iter().map(|bad| match bad {
        Some(rejection) => Some(answered(Err(rejection))),
        None => outcomes.next().map(answered),
    });
    let answers: Option<Vec<_>> = answers.collect();
    // The core answers each.
    let answers = answers.ok_or_else(|| {
        Refusal::listed(
            &api::codes::INTERNAL,
            "the core left a transaction unanswered",
        )
    })?;
    json(&SubmitBatchAnswer { answers })
}

/// `GET /v1/chain/transactions/{transaction_id}`
pub(super) async fn transaction(
    State(api): State<Arc<Api>>,
    id: Result<Path<String>, PathRejection>,
) -> Answered {
    let id: TxId = parsed("transaction id", &segment(id)?)?;
    let reader = api.shared.reader();
    // The pool is asked between two reads of the store. So a transaction that moves from the pool into a block is found in one of
    // them. The second read waits for everything that the core has decided until then, because a block's rows can be in a commit that is
    // not durable yet. An empty submission is answered after it.
    if let Some(found) = reader.ask(move |reader| reader.transaction(&id)).await?
        && found.state == api::chain::TransactionState::Confirmed
    {
        return json(&found);
    }
    let pooled = api.shared.query(|to| ChainQuery::Unconfirmed(id, to));
    if let Some(found) = pooled.await? {
        return json(&found);
    }
    api.shared.submit(Vec::new(), &api.submits).await?;
    let found = reader.ask(move |reader| reader.transaction(&id)).await?;
    let found = found.ok_or_else(|| {
        let text = format!("nothing is known of transaction {id}");
        Refusal::listed(&codes::UNKNOWN_TRANSACTION, text)
    })?;
    json(&found)
}

/// `GET /v1/chain/unconfirmed`
pub(super) async fn unconfirmed(
    State(api): State<Arc<Api>>,
    asked: Result<Query<UnconfirmedQuery>, QueryRejection>,
) -> Answered {
    let asked = query(asked)?;
    let of = asked.account.as_deref().map(account).transpose()?;
    let after = asked.after.as_deref();
    let after: Option<TxId> = after
        .map(|text| parsed("transaction id", text))
        .transpose()?;
    let range = PoolRange {
        account: of,
        chain: chain(asked.chain),
        after,
        limit: api.limit(asked.limit),
    };
    json(&api.shared.query(|to| ChainQuery::Pool(range, to)).await?)
}

/// `POST /v1/chain/prepare`
pub(super) async fn prepare(State(api): State<Arc<Api>>, body: ClaimedBody) -> Answered {
    let prepare: Prepare = api.body(body).await?;
    let wish = TransactionRequest::of(&api.shared, prepare)?;
    let (transaction, bundler) = wish.transaction(&api.shared).await?;
    let hash = transaction.hash(&api.shared.genesis.hash);
    let id = transaction.id_of(&hash);
    let bytes = transaction.to_bytes();
    let unsigned = &bytes[..bytes.len() - Signature::LENGTH];
    let context = SignatureContext::ChainTransaction;
    let to_sign = Signature::signed_hash(Scheme::Ed25519, context, &hash);
    json(&Prepared {
        unsigned: hex::encode(unsigned),
        to_sign: to_sign.to_string(),
        id: id.to_string(),
        transaction: view_of(&transaction, &id),
        bundler: bundler.map(|bundler| bundler.to_string()),
    })
}

/// `POST /v1/chain/sign-and-send`
pub(super) async fn sign_and_send(State(api): State<Arc<Api>>, body: ClaimedBody) -> Answered {
    let send: SignAndSend = api.body(body).await?;
    if !api.config.api.allow_server_signing {
        let text = "this node does not sign for its clients";
        return Err(Refusal::listed(&codes::SIGNING_OFF, text));
    }
    let key = passphrase_key(&api.shared.genesis, &send.passphrase)?;
    let prepare = Prepare {
        chain: send.chain,
        sender: hex::encode(&ed25519(&key)),
        recipient: send.recipient,
        amount: send.amount,
        lease_blocks: send.lease_blocks,
        message: send.message,
        fee: send.fee,
        deadline_minutes: send.deadline_minutes,
    };
    let wish = TransactionRequest::of(&api.shared, prepare)?;
    let (mut transaction, _) = wish.transaction(&api.shared).await?;
    transaction.sign(&api.shared.genesis.hash, &key);
    json(&api.submit_one(transaction).await?)
}

impl Api {
    async fn submit_one(&self, transaction: Transaction) -> Result<Submitted, Refusal> {
        let outcomes = self.shared.submit(vec![transaction], &self.submits).await?;
        let outcome = outcomes.into_iter().next().ok_or_else(|| {
            Refusal::listed(
                &api::codes::INTERNAL,
                "the core left a transaction unanswered",
            )
        })?;
        let id = outcome.map_err(refused)?;
        Ok(Submitted { id: id.to_string() })
    }
}

fn malformed(detail: &str) -> Rejection {
    Rejection::new("chain_tx.malformed", detail)
}

fn of_hex(text: &str) -> Result<Transaction, Rejection> {
    let bytes = hex::decode(text).ok_or_else(|| malformed("not hexadecimal text"))?;
    read_exact(&bytes)
}

/// Decodes transactions in sequence. After a transaction that does not decode, the rest cannot be decoded either.
fn of_bytes(mut bytes: &[u8]) -> Vec<Result<Transaction, Rejection>> {
    let mut decoded = Vec::new();
    while !bytes.is_empty() && decoded.len() <= SUBMIT_BATCH_MAX {
        match read(bytes) {
            Ok((transaction, used)) => {
                decoded.push(Ok(transaction));
                bytes = &bytes[used..];
            }
            Err(rejection) => {
                decoded.push(Err(rejection));
                break;
            }
        }
    }
    decoded
}
