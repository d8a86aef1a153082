//! Reads [`Books`] through the public API, as any outside auditor could.

use std::collections::HashMap;

use client::{Client, ClientError};
use primitives::Hash;
use thiserror::Error;

use super::books::{Coin, NodeBooks, Spend, StateId};

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
        /// Whose API.
        name: String,
        /// What it answered.
        #[source]
        source: ClientError,
    },
    /// An answer makes no sense.
    #[error("{name}: {what}")]
    Malformed {
        /// Whose API.
        name: String,
        /// What it is.
        what: String,
    },
}

/// A node's ledger, unconsumed states and balances.
pub async fn node_books(name: &str, client: &Client) -> Result<NodeBooks, CollectError> {
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
    // Balances wait until the view shows what was committed, so they come first.
    let balances = client.balances().await.map_err(call)?;
    for balance in balances.balances {
        let sum: u128 = balance
            .quantity
            .parse()
            .map_err(|_| malformed(format!("a balance of {:?}", balance.quantity)))?;
        *books.balances.entry(balance.symbol).or_default() += sum;
    }
    let mut after = None;
    loop {
        let page = client.states(after, PAGE).await.map_err(call)?;
        for entry in page.states {
            let state = entry.state_ref.parse().map_err(malformed)?;
            if let Some(fungible) = entry.fungible {
                books.coins.push(Coin {
                    state,
                    token: fungible.symbol,
                    quantity: fungible.quantity,
                });
            }
        }
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    let mut after = None;
    loop {
        let page = client.ledger(after, PAGE).await.map_err(call)?;
        for entry in page.entries {
            books.ledger.push(hash(&entry.id).map_err(malformed)?);
        }
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    Ok(books)
}

/// Everything a notary has seen consumed.
pub async fn consumed(name: &str, client: &Client) -> Result<HashMap<StateId, Hash>, CollectError> {
    let malformed = |what: String| CollectError::Malformed {
        name: name.to_owned(),
        what,
    };
    let mut all = HashMap::new();
    let mut after: Option<String> = None;
    loop {
        let page = client
            .consumed(after.as_deref(), PAGE)
            .await
            .map_err(|source| CollectError::Call {
                name: name.to_owned(),
                source,
            })?;
        for entry in page.entries {
            let state = entry.state_ref.parse().map_err(malformed)?;
            all.insert(state, hash(&entry.consumed_by).map_err(malformed)?);
        }
        after = page.next;
        if after.is_none() {
            return Ok(all);
        }
    }
}

/// Transactions in full.
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
