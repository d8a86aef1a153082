//! Reads [`Books`] through the public API, as any outside auditor could.

use std::collections::HashMap;

use client::{Client, ClientError};
use primitives::Hash;
use thiserror::Error;

use super::books::{NodeBooks, Spend, StateId};
use super::sample::Sample;

/// Entries asked for at a time.
const PAGE: u32 = 5_000;
/// Transactions asked for at once.
const CONCURRENT: usize = 32;

/// Why the books could not be read.
#[derive(Debug, Error)]
pub enum CollectError {
    /// A call failed.
    #[error("{name}: {source} ({})", .source.hint())]
    Call {
        /// The node.
        name: String,
        /// The client's error.
        #[source]
        source: ClientError,
    },
    /// An answer is malformed.
    #[error("{name}: {what}")]
    Malformed {
        /// The node.
        name: String,
        /// Description of the defect.
        what: String,
    },
}

/// Returns the audit's name of a token. Issuers' references make no difference.
pub fn token_label(symbol: &str, issuer: &str) -> String {
    format!("{symbol} of {issuer}")
}

/// Reads a node's ledger after a position (all of it, if `None`), its unconsumed states and its balances. Single
/// transactions and states are kept only if they are in the sample.
pub async fn node_books(
    name: &str,
    client: &Client,
    sample: Sample,
    after: Option<u64>,
) -> Result<NodeBooks, CollectError> {
    let call = |source| CollectError::Call {
        name: name.to_owned(),
        source,
    };
    let malformed = |what: String| CollectError::Malformed {
        name: name.to_owned(),
        what,
    };
    let mut books = NodeBooks {
        name: name.to_owned(),
        ..NodeBooks::default()
    };
    // The balances query waits until the view shows all committed transactions, so it comes first.
    let balances = client.balances().await.map_err(call)?;
    for balance in balances.balances {
        let sum: u128 = balance
            .quantity
            .parse()
            .map_err(|_| malformed(format!("a balance of {:?}", balance.quantity)))?;
        let token = token_label(&balance.symbol, &balance.issuer);
        *books.balances.entry(token).or_default() += sum;
    }
    let mut number = None;
    loop {
        let page = client.states(number, PAGE).await.map_err(call)?;
        for entry in page.states {
            let Some(fungible) = entry.fungible else {
                continue;
            };
            books.states += 1;
            let token = token_label(&fungible.symbol, &fungible.issuer);
            *books.sums.entry(token).or_default() += u128::from(fungible.quantity);
            let state: StateId = entry.state_ref.parse().map_err(malformed)?;
            if sample.has(&state.transaction) {
                books.coins.push(state);
            }
        }
        number = page.next;
        if number.is_none() {
            break;
        }
    }
    let mut after = after;
    loop {
        let page = client.ledger(after, PAGE).await.map_err(call)?;
        for entry in page.entries {
            let id = hash(&entry.id).map_err(malformed)?;
            if sample.has(&id) {
                books.ledger.push(id);
            }
        }
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    Ok(books)
}

/// Reads the notary's consumed states. Returns those whose creating or consuming transaction is in the sample, and the number of all.
pub async fn consumed(
    name: &str,
    client: &Client,
    sample: Sample,
) -> Result<(HashMap<StateId, Hash>, u64), CollectError> {
    let malformed = |what: String| CollectError::Malformed {
        name: name.to_owned(),
        what,
    };
    let (mut all, mut count) = (HashMap::new(), 0);
    let mut after: Option<String> = None;
    loop {
        let page = client
            .consumed(after.as_deref(), PAGE)
            .await
            .map_err(|source| CollectError::Call {
                name: name.to_owned(),
                source,
            })?;
        count += page.entries.len() as u64;
        for entry in page.entries {
            let state: StateId = entry.state_ref.parse().map_err(malformed)?;
            let consumer = hash(&entry.consumed_by).map_err(malformed)?;
            if sample.has(&consumer) || sample.has(&state.transaction) {
                all.insert(state, consumer);
            }
        }
        after = page.next;
        if after.is_none() {
            return Ok((all, count));
        }
    }
}

/// Reads transactions in full.
pub async fn spends(name: &str, client: &Client, ids: &[Hash]) -> Result<Vec<Spend>, CollectError> {
    let mut spends = Vec::with_capacity(ids.len());
    for part in ids.chunks(CONCURRENT) {
        let mut reading = Vec::with_capacity(part.len());
        for id in part {
            let (client, id) = (client.clone(), *id);
            reading.push(tokio::spawn(async move {
                client
                    .transaction(&id.to_string())
                    .await
                    .map(|view| (id, view))
            }));
        }
        for task in reading {
            let malformed = |what: String| CollectError::Malformed {
                name: name.to_owned(),
                what,
            };
            let answer = task.await.map_err(|error| malformed(error.to_string()))?;
            let (id, view) = answer.map_err(|source| CollectError::Call {
                name: name.to_owned(),
                source,
            })?;
            if view.id != id.to_string() {
                return Err(malformed(format!("asked for {id}, got {}", view.id)));
            }
            let inputs: Result<Vec<StateId>, String> =
                view.inputs.iter().map(|text| text.parse()).collect();
            spends.push(Spend {
                id,
                inputs: inputs.map_err(malformed)?,
            });
        }
    }
    Ok(spends)
}

fn hash(text: &str) -> Result<Hash, String> {
    text.parse()
        .map_err(|error| format!("{text:?} is no transaction id: {error}"))
}
