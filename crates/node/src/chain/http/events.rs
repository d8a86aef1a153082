//! The events of the chain, as server-sent events.

use std::sync::Arc;

use api::chain::events::{
    ADDED, BlockAdded, BlockPopped, FORKED, Forked, LEFT, POPPED, STATUS, STUCK, Stuck,
    TransactionLeft,
};
use api::chain::operations;
use api::codes::NODE_STOPPING;
use axum::Extension;
use axum::body::Bytes;
use axum::extract::State;
use chain::core::Notice;
use tokio::sync::broadcast::error::RecvError;

use super::{Answered, Api, Route, route};
use crate::http::Refusal;
use crate::http::claim::Claim;
use crate::http::connections::Visitor;
use crate::http::events::{cut, event, open, slow};

/// The operations that this module answers.
pub(super) fn routes() -> impl Iterator<Item = Route> {
    [route(&operations::FOLLOW, follow)].into_iter()
}

/// `GET /v1/chain/events`
pub(super) async fn follow(
    State(api): State<Arc<Api>>,
    Extension(claim): Extension<Claim>,
    Extension(visitor): Extension<Arc<Visitor>>,
) -> Answered {
    let mut notices = api.shared.notices.subscribe();
    // Asked after following began, so that nothing falls in between; a block may be told twice.
    let status = event(STATUS, None, &api.chain_status().await?);
    // While events are followed, the connection counts as in use, and is not closed for other clients.
    let in_flight = visitor.begin();
    open(&api.front, &claim, move |sink| async move {
        let _in_flight = in_flight;
        if let Err(last) = sink.send(status).await {
            return last;
        }
        loop {
            let event = match notices.recv().await {
                Ok(notice) => match told(&notice) {
                    Some(event) => event,
                    None => continue,
                },
                Err(RecvError::Lagged(_)) => return slow(),
                Err(RecvError::Closed) => {
                    return cut(Refusal::listed(&NODE_STOPPING, "the node is stopping"));
                }
            };
            if let Err(last) = sink.send(event).await {
                return last;
            }
        }
    })
}

/// Returns the event for clients, or `None` for notices that only go to the log.
fn told(notice: &Notice) -> Option<Bytes> {
    Some(match notice {
        Notice::Added { header, hash, own } => {
            let added = BlockAdded {
                height: header.height.get(),
                hash: hash.to_string(),
                time: header.time.get(),
                forger: header.forger_account().to_string(),
                own: *own,
                parent_count: header.parent_count,
                child_count: header.child_count,
                body_bytes: header.body_bytes,
            };
            event(ADDED, None, &added)
        }
        Notice::Popped { header, hash } => {
            let popped = BlockPopped {
                height: header.height.get(),
                hash: hash.to_string(),
            };
            event(POPPED, None, &popped)
        }
        Notice::Forked { common, depth } => {
            let forked = Forked {
                common: common.get(),
                depth: *depth,
            };
            event(FORKED, None, &forked)
        }
        Notice::Removed { id, reason } => {
            let left = TransactionLeft {
                id: id.to_string(),
                reason: (*reason).to_owned(),
            };
            event(LEFT, None, &left)
        }
        Notice::DeepFork { common, other } => {
            let stuck = Stuck {
                common: common.get(),
                other: other.to_string(),
            };
            event(STUCK, None, &stuck)
        }
        Notice::TooDeep { .. } | Notice::Equivocated(_) => return None,
    })
}
