//! Changes of the vault for those who follow them, read from the ledger when somebody asks. A reader holds a position and
//! nothing else; the last changes are kept once for all who read at the end.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use api::events::CHANGE;
use axum::body::Bytes;
use bytes::BytesMut;
use tokio::sync::watch;

use super::events::{Sink, cut, event};
use super::refusal::Refusal;
use super::router::ApiState;
use super::service::NodeService;

/// Ledger positions read at once.
const PAGE_POSITIONS: usize = 256;
/// Events kept for those who read at the end.
const KEPT_EVENTS_MAX: usize = 4_096;
/// Bytes of them.
const KEPT_BYTES_MAX: usize = 4 << 20;
/// Bytes handed to a reader at once, and one event.
const PIECE_BYTES: usize = 32 << 10;
/// Between two pieces at the end of the ledger: one write carries what many transactions changed.
const LINGER: Duration = Duration::from_millis(50);

/// The last changes.
#[derive(Debug, Default)]
pub(super) struct VaultTail {
    recent: Mutex<Recent>,
    /// Held by the one who reads on for all.
    reading: tokio::sync::Mutex<()>,
}

/// The events of the positions after `from` up to `upto`.
#[derive(Debug, Default)]
struct Recent {
    events: VecDeque<(u64, Bytes)>,
    bytes: usize,
    from: u64,
    upto: u64,
}

/// Some events, and the position up to which they tell everything.
type Piece = (Bytes, u64);

impl Recent {
    fn after(&self, after: u64) -> Option<Piece> {
        if after < self.from || after >= self.upto {
            return None;
        }
        let first = self.events.partition_point(|(seq, _)| *seq <= after);
        Some(piece(self.events.range(first..), self.upto))
    }

    fn add(&mut self, after: u64, events: Vec<(u64, Bytes)>, upto: u64) {
        if after != self.upto {
            *self = Self {
                from: after,
                ..Self::default()
            };
        }
        self.upto = upto;
        self.bytes += events.iter().map(|(_, event)| event.len()).sum::<usize>();
        self.events.extend(events);
        while self.events.len() > KEPT_EVENTS_MAX || self.bytes > KEPT_BYTES_MAX {
            let Some((seq, event)) = self.events.pop_front() else {
                break;
            };
            self.from = seq;
            self.bytes -= event.len();
        }
    }
}

fn piece<'a>(events: impl Iterator<Item = &'a (u64, Bytes)>, upto: u64) -> Piece {
    let mut bytes = BytesMut::new();
    for (seq, event) in events {
        bytes.extend_from_slice(event);
        if bytes.len() >= PIECE_BYTES {
            return (bytes.freeze(), *seq);
        }
    }
    (bytes.freeze(), upto)
}

impl VaultTail {
    /// The next events after a position that the view has passed.
    async fn after(
        &self,
        service: &dyn NodeService,
        after: u64,
        reached: u64,
    ) -> Result<Piece, Refusal> {
        let (known, behind) = self.known(after);
        if let Some(piece) = known {
            return Ok(piece);
        }
        // One that is far behind reads for itself.
        let _reading = if behind {
            None
        } else {
            Some(self.reading.lock().await)
        };
        if let (Some(piece), _) = self.known(after) {
            return Ok(piece);
        }
        let page = service
            .vault_changes(after, reached, PAGE_POSITIONS)
            .await?;
        let events: Vec<(u64, Bytes)> = page
            .changes
            .iter()
            .map(|change| (change.seq, event(CHANGE, Some(change.seq), change)))
            .collect();
        let next = piece(events.iter(), page.upto);
        if !behind {
            let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
            recent.add(after, events, page.upto);
        }
        Ok(next)
    }

    fn known(&self, after: u64) -> (Option<Piece>, bool) {
        let recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        (recent.after(after), after < recent.upto)
    }
}

/// Sends changes after a position, for ever; gives the last event.
pub(super) async fn follow(
    state: &ApiState,
    sink: &Sink,
    mut reached: watch::Receiver<u64>,
    mut after: u64,
) -> Bytes {
    loop {
        let upto = *reached.borrow_and_update();
        while after < upto {
            match state.vault_tail.after(&*state.service, after, upto).await {
                Ok((events, told)) => {
                    // A page that tells nothing would be asked for again without end.
                    after = told.max(after + 1);
                    if !events.is_empty()
                        && let Err(last) = sink.send(events).await
                    {
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
    fn what_is_kept_follows_on_and_is_bounded() {
        let mut recent = Recent::default();
        let of = |seqs: &[u64]| -> Vec<(u64, Bytes)> {
            let event = |seq: &u64| (*seq, Bytes::from(format!("{seq},")));
            seqs.iter().map(event).collect()
        };
        recent.add(10, of(&[11, 13]), 15);
        assert_eq!(recent.after(9), None);
        assert_eq!(recent.after(10), Some((Bytes::from("11,13,"), 15)));
        assert_eq!(recent.after(11), Some((Bytes::from("13,"), 15)));
        assert_eq!(recent.after(14), Some((Bytes::new(), 15)));
        assert_eq!(recent.after(15), None);
        recent.add(15, of(&[16]), 16);
        assert_eq!(recent.after(13), Some((Bytes::from("16,"), 16)));
        recent.add(30, of(&[31]), 31);
        assert_eq!(recent.after(16), None);
        let many: Vec<u64> = (32..32 + KEPT_EVENTS_MAX as u64).collect();
        recent.add(31, of(&many), 31 + many.len() as u64);
        assert_eq!((recent.events.len(), recent.from), (KEPT_EVENTS_MAX, 31));
        assert_eq!(recent.after(30), None);
    }
}
