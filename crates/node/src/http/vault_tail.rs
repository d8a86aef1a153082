//! Following changes of the vault. A reader holds a position and nothing else.

use std::time::Duration;

use axum::body::Bytes;
use tokio::sync::watch;
use tokio::time::Instant;

use super::events::{Sink, cut};
use super::refusal::Refusal;
use super::state::ApiState;
use super::vault_pages::Sight;
use crate::users::Caller;

/// Delay between two pieces at the end of the ledger, so that one write carries the changes of many transactions.
const LINGER: Duration = Duration::from_millis(50);

/// Returns an id without an event: the position for a reader that was sent nothing for a while.
fn passed(seq: u64) -> Bytes {
    Bytes::from(format!("id: {seq}\n\n"))
}

/// Sends the changes after a position that the caller may see, without end. Returns the last event.
pub(super) async fn follow(
    state: &ApiState,
    sink: &Sink,
    mut reached: watch::Receiver<u64>,
    mut after: u64,
    caller: &Caller,
) -> Bytes {
    let sees = |contract: &str| caller.queries(contract);
    let sight: Sight<'_> = if caller.permissions.allow("vault.query", None) {
        None
    } else {
        Some(&sees)
    };
    loop {
        let upto = *reached.borrow_and_update();
        while after < upto {
            let pages = &state.vault_pages;
            let metrics = &state.metrics.vault_events;
            match pages
                .after(&*state.services.vault, metrics, after, upto, sight)
                .await
            {
                Ok(piece) => {
                    after = piece.upto;
                    if piece.looked_at == 0 {
                        continue;
                    }
                    // Hidden events cost the node as much as sent ones.
                    let from = state.allowance.grant(piece.looked_at, Instant::now());
                    tokio::time::sleep_until(from).await;
                    let events = if piece.events.is_empty() {
                        passed(after)
                    } else {
                        piece.events
                    };
                    if let Err(last) = sink.send(events).await {
                        return last;
                    }
                }
                Err(refusal) => return cut(refusal),
            }
        }
        tokio::time::sleep(LINGER).await;
        if reached.changed().await.is_err() {
            let text = "the vault's view has stopped";
            return cut(Refusal::listed(&api::codes::NODE_STOPPING, text));
        }
    }
}
