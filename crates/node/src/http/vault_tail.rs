//! Following changes of the vault. A reader holds a position and nothing else.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use axum::body::Bytes;
use tokio::sync::watch;
use tokio::time::Instant;

use super::events::{Sink, cut};
use super::refusal::Refusal;
use super::router::ApiState;
use super::vault_pages::Sight;
use crate::users::Caller;

/// Delay between two pieces at the end of the ledger, so that one write carries the changes of many transactions.
const LINGER: Duration = Duration::from_millis(50);

/// The bytes of events that all followers together may be sent in a second. Following costs a share of the node that does
/// not grow with the followers: under load they fall behind, lose nothing, and catch up.
#[derive(Debug)]
pub(super) struct Allowance {
    bytes_per_s: u64,
    /// The time at which the bytes granted so far will have been used up.
    used_up_at: Mutex<Instant>,
}

impl Allowance {
    pub(super) fn new(bytes_per_s: u64) -> Self {
        Self {
            bytes_per_s: bytes_per_s.max(1),
            used_up_at: Mutex::new(Instant::now()),
        }
    }

    /// Grants some bytes, first come first served; says from when on they may be sent.
    fn grant(&self, bytes: usize, now: Instant) -> Instant {
        let micros = (bytes as u64).saturating_mul(1_000_000) / self.bytes_per_s;
        let mut used_up_at = self
            .used_up_at
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let from = (*used_up_at).max(now);
        *used_up_at = from + Duration::from_micros(micros);
        from
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_followers_share_one_allowance() {
        let allowance = Allowance::new(1_000);
        let start = Instant::now() + Duration::from_secs(1);
        let ms = |ms| start + Duration::from_millis(ms);
        // Bytes asked for, when, and from when on they may be sent.
        for (bytes, asked, granted) in [
            (100, 0, 0),
            (50, 0, 100),
            (500, 120, 150),
            (10, 2_000, 2_000),
            (10, 2_000, 2_010),
        ] {
            assert_eq!(allowance.grant(bytes, ms(asked)), ms(granted), "{bytes}");
        }
    }
}
