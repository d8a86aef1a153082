//! Reads of the vault's view for the HTTP API.

use std::sync::Arc;
use std::time::Instant;

use api::{
    Balance, Balances, Fungible, Quarantined, StateEntry, StatesPage, VaultAnswer, VaultQuery,
};
use ledger::{StateRef, TransactionState, TxId};
use primitives::Decode;
use vaultview::{StateFilter, StateRow, VaultReader};

use super::locks::{self, Locked};
use super::query_interrupt::{InterruptOnDrop, QueryInterrupt, late};
use super::readers::{VIEW_RETRY_MS, view_failed};
use super::refusals::joined;
use super::service::Service;
use super::vault_changes::ChangeReader;
use super::vault_query::{QUERY_RETRY_MS, Searcher};
use super::view_feed::FedPoint;
use super::view_rows::notary_of;
use crate::http::place;
use crate::http::{Refusal, VaultChanges};

impl Service {
    /// Waits until the view shows everything acknowledged before the call. Returns the view's position, and the point that it shows.
    async fn view_ready(&self, deadline: Instant) -> Result<(u64, FedPoint), Refusal> {
        let wanted = self.shared.view.fed();
        let mut reached = self.shared.view.reached();
        loop {
            // Marked as seen before it is looked at, so that no change is missed.
            reached.borrow_and_update();
            let upto = self.progress.upto();
            if self.shared.view.shows(upto, wanted) {
                return Ok((upto, wanted));
            }
            if let Some(failure) = self.shared.view.failure() {
                let text = format!("{} ({})", failure.message, failure.code);
                return Err(view_failed(text));
            }
            let changed = tokio::time::timeout_at(deadline.into(), reached.changed()).await;
            if !matches!(changed, Ok(Ok(()))) {
                let text = format!("the vault's view is at {upto} of {}", wanted.seq);
                return Err(Refusal {
                    retry_after_ms: Some(VIEW_RETRY_MS),
                    ..Refusal::listed(&api::codes::VIEW_BEHIND, text)
                });
            }
        }
    }

    /// Sums by token.
    pub(super) async fn read_balances(&self, deadline: Instant) -> Result<Balances, Refusal> {
        let (view_seq, shown) = self.view_ready(deadline).await?;
        let readers = Arc::clone(&self.readers);
        let found = place::blocking(move || readers.with(shown, VaultReader::balances));
        let balances = joined(found.await)?;
        let balances = balances.into_iter().map(|balance| Balance {
            token: primitives::hex::encode(&balance.token.id),
            symbol: balance.token.symbol,
            issuer: balance.token.issuer,
            quantity: balance.quantity.to_string(),
            states: balance.states,
            quarantined: (balance.quarantined_states > 0).then(|| balance.quarantined.to_string()),
        });
        Ok(Balances {
            view_seq,
            balances: balances.collect(),
        })
    }

    /// A page of unconsumed states.
    pub(super) async fn read_states(
        &self,
        after: Option<u64>,
        limit: usize,
        quarantined: Quarantined,
        deadline: Instant,
    ) -> Result<StatesPage, Refusal> {
        let (view_seq, shown) = self.view_ready(deadline).await?;
        let readers = Arc::clone(&self.readers);
        // A place that is clipped is after all states.
        let after = after.map_or(0, |after| i64::try_from(after).unwrap_or(i64::MAX));
        let filter = StateFilter {
            quarantined: match quarantined {
                Quarantined::Exclude => Some(false),
                Quarantined::Include => None,
                Quarantined::Only => Some(true),
            },
            ..StateFilter::default()
        };
        let found = place::blocking(move || {
            // One row more shows whether another page follows.
            readers.with(shown, |reader| reader.unconsumed(&filter, after, limit + 1))
        });
        let mut rows = joined(found.await)?;
        let more = rows.len() > limit;
        rows.truncate(limit);
        let last = rows.last().filter(|_| more);
        let next = last.map(|row| row.cursor as u64);
        let states = rows.into_iter().map(|row| self.state_entry(row)).collect();
        Ok(StatesPage {
            view_seq,
            states,
            next,
        })
    }

    /// Answers a query, within its places and its deadline.
    pub(super) async fn answer_query(
        &self,
        query: VaultQuery,
        deadline: Instant,
    ) -> Result<VaultAnswer, Refusal> {
        let place = Arc::clone(&self.readers.queries).try_acquire_owned();
        let place = place.map_err(|_| Refusal::busy(QUERY_RETRY_MS))?;
        let asked = self.locks(locks::needed(&query)?);
        let asked = tokio::time::timeout_at(deadline.into(), asked).await;
        let locks = asked.map_err(|_| late())??;
        // It waits after the copy of the locks, so that the view contains all states that flows spent before.
        let (view_seq, shown) = self.view_ready(deadline).await?;
        let readers = Arc::clone(&self.readers);
        let interrupt = QueryInterrupt::default();
        let mut searcher = Searcher {
            store: self.store.clone(),
            network: Arc::clone(&self.network),
            me: self.info.party.id(),
            columns: Arc::clone(&self.columns),
            interrupt: interrupt.clone(),
            locked: Locked::default(),
        };
        // Dropped with this future at the deadline, and when the client goes.
        let _waiting = InterruptOnDrop(interrupt);
        let search = place::blocking(move || {
            let _place = place;
            if let Some(locks) = locks {
                searcher.locked = Locked::of(locks, &searcher.store, &searcher.interrupt)?;
            }
            readers.lend(shown, |reader| searcher.answer(reader, query))
        });
        let found = tokio::time::timeout_at(deadline.into(), search).await;
        let mut answer = joined(found.map_err(|_| late())?)?;
        answer.view_seq = view_seq;
        Ok(answer)
    }

    /// Returns the changes between two positions.
    pub(super) async fn read_changes(
        &self,
        after: u64,
        upto: u64,
        limit: usize,
    ) -> Result<VaultChanges, Refusal> {
        let reader = ChangeReader {
            store: self.store.clone(),
            keys: self.keys.clone(),
            contracts: Arc::clone(&self.contracts),
            network: Arc::clone(&self.network),
        };
        joined(place::blocking(move || reader.read(after, upto, limit)).await)
    }

    fn state_entry(&self, row: StateRow) -> StateEntry {
        let reference = StateRef::new(TxId::from_array(row.tx), row.output);
        let notary = notary_of(&row);
        let linear_id = TransactionState::from_bytes(&row.state)
            .ok()
            .and_then(|state| self.describe(&state))
            .and_then(|facts| facts.linear_id);
        StateEntry {
            number: row.cursor as u64,
            state_ref: reference.to_string(),
            quarantined: row.quarantined,
            contract: row.contract,
            fungible: row.token.map(|token| Fungible {
                token: primitives::hex::encode(&token.id),
                symbol: token.symbol,
                issuer: token.issuer,
                quantity: row.quantity,
            }),
            linear_id: linear_id.map(|id| id.to_string()),
            notary: match self.network.party(&notary) {
                Some(party) => party.name.to_string(),
                None => notary.to_string(),
            },
        }
    }
}
