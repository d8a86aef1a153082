//! Peers, and the orders of operators.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use api::chain::operations;
use api::chain::{
    ChainPeer, ChainPeers, NewBan, PoolCleared, PopOff, Prune, PruneBegun, RolledBack, Snapshot,
    SnapshotMade, Trust, Trusted, codes,
};
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::IntoResponse;
use chain::Height;
use chain::core::{Event, OrderDone};
use net::gossip::{Direction, PeerId, PeerView, SendError};
use primitives::{Hash, hex};

use super::{Answered, Api, Route, json, route};
use crate::http::Refusal;
use crate::http::claim::ClaimedBody;
use crate::http::place;
use crate::http::routes::parameters::{parsed, segment};

/// The operations that this module answers.
pub(super) fn routes() -> impl Iterator<Item = Route> {
    [
        route(&operations::PEERS, peers),
        route(&operations::BAN_PEER, ban),
        route(&operations::UNBAN_PEER, unban),
        route(&operations::POP_OFF, pop_off),
        route(&operations::CLEAR_POOL, clear_pool),
        route(&operations::PRUNE, prune),
        route(&operations::TRUST, trust),
        route(&operations::SNAPSHOT, snapshot),
    ]
    .into_iter()
}

/// Maximum duration of a ban: a year.
const BAN_S_MAX: u32 = 31_536_000;
/// The name of a snapshot, in bytes.
const NAME_BYTES_MAX: usize = 64;

/// `GET /v1/chain/peers`
pub(super) async fn peers(State(api): State<Arc<Api>>) -> Answered {
    let handle = api.shared.peers.handle();
    json(&ChainPeers {
        me: hex::encode(handle.me().as_bytes()),
        listen: handle.local_address().to_string(),
        peers: handle.peers().into_iter().map(peer_view).collect(),
    })
}

fn peer_view(peer: PeerView) -> ChainPeer {
    let left = peer
        .banned_until
        .and_then(|until| until.duration_since(SystemTime::now()).ok());
    ChainPeer {
        id: hex::encode(peer.id.as_bytes()),
        address: peer.address.map(|address| address.to_string()),
        software: (!peer.software.is_empty()).then_some(peer.software),
        connected: peer.since.is_some(),
        direction: peer.direction.map(|direction| {
            match direction {
                Direction::Inbound => "inbound",
                Direction::Outbound => "outbound",
            }
            .to_owned()
        }),
        points: peer.points,
        banned_for_ms: left.map(|left| left.as_millis() as u64),
        reason: peer.reason,
        round_trip_ms: peer.round_trip.map(|time| time.as_secs_f64() * 1_000.0),
    }
}

/// `POST /v1/chain/peers/{peer}/ban`
pub(super) async fn ban(
    State(api): State<Arc<Api>>,
    name: Result<Path<String>, PathRejection>,
    body: ClaimedBody,
) -> Answered {
    let peer = api.known_peer(&segment(name)?)?;
    let ban: NewBan = api.body(body).await?;
    let time = Duration::from_secs(u64::from(ban.seconds.clamp(1, BAN_S_MAX)));
    let reason: String = ban.reason.chars().take(200).collect();
    let done = api.shared.peers.handle().ban(peer, time, &reason);
    done.map_err(not_sent)?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// `DELETE /v1/chain/peers/{peer}/ban`
pub(super) async fn unban(
    State(api): State<Arc<Api>>,
    name: Result<Path<String>, PathRejection>,
) -> Answered {
    let peer = api.known_peer(&segment(name)?)?;
    api.shared.peers.handle().unban(peer).map_err(not_sent)?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

fn not_sent(error: SendError) -> Refusal {
    match error {
        SendError::Stopped => Refusal::listed(&api::codes::NODE_STOPPING, error.to_string()),
        _ => Refusal::busy(1_000),
    }
}

/// `POST /v1/chain/orders/pop-off`
pub(super) async fn pop_off(State(api): State<Arc<Api>>, body: ClaimedBody) -> Answered {
    let PopOff { height } = api.body(body).await?;
    let order = api.shared.order(|ticket| Event::PopOff {
        ticket,
        height: Height::new(height),
    });
    match order.await? {
        OrderDone::RolledBack { blocks } => json(&RolledBack { blocks, height }),
        other => Err(mixed_up(other)),
    }
}

/// `POST /v1/chain/orders/clear-pool`
pub(super) async fn clear_pool(State(api): State<Arc<Api>>) -> Answered {
    let order = api.shared.order(|ticket| Event::ClearPool { ticket });
    match order.await? {
        OrderDone::PoolCleared { transactions } => json(&PoolCleared { transactions }),
        other => Err(mixed_up(other)),
    }
}

/// `POST /v1/chain/orders/prune`
pub(super) async fn prune(State(api): State<Arc<Api>>, body: ClaimedBody) -> Answered {
    let Prune { keep_blocks } = api.body(body).await?;
    let order = api.shared.order(|ticket| Event::Prune {
        ticket,
        keep: keep_blocks,
    });
    match order.await? {
        OrderDone::PruneBegun { blocks, until } => json(&PruneBegun {
            blocks,
            until: (blocks > 0).then_some(until.get()),
        }),
        other => Err(mixed_up(other)),
    }
}

/// `POST /v1/chain/orders/trust`
pub(super) async fn trust(State(api): State<Arc<Api>>, body: ClaimedBody) -> Answered {
    let Trust { height, hash } = api.body(body).await?;
    let trusted: Hash = parsed("hash", &hash)?;
    let order = api.shared.order(|ticket| Event::Trust {
        ticket,
        height: Height::new(height),
        hash: trusted,
    });
    match order.await? {
        OrderDone::Trusted { rolled_back } => json(&Trusted {
            height,
            hash: trusted.to_string(),
            rolled_back,
        }),
        other => Err(mixed_up(other)),
    }
}

/// `POST /v1/chain/orders/snapshot`
pub(super) async fn snapshot(State(api): State<Arc<Api>>, body: ClaimedBody) -> Answered {
    let Snapshot { name } = api.body(body).await?;
    let refused = |text: String| Refusal::listed(&codes::SNAPSHOT_FAILED, text);
    let good = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    if name.is_empty() || name.len() > NAME_BYTES_MAX || !name.bytes().all(good) {
        let text = "a snapshot's name has 1 to 64 letters, digits, dashes and underscores";
        return Err(refused(text.into()));
    }
    let path = api.snapshots.join(&name);
    if path.exists() {
        return Err(refused(format!("{} already exists", path.display())));
    }
    let (store, to) = (api.shared.store.clone(), path.clone());
    let folder = api.snapshots.clone();
    let copied = place::blocking(move || {
        std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
        store.checkpoint(&to).map_err(|failure| failure.message)
    });
    match copied.await {
        Ok(Ok(_)) => json(&SnapshotMade {
            path: path.display().to_string(),
        }),
        Ok(Err(message)) => Err(refused(message)),
        Err(_) => Err(refused("the copy met a bug".into())),
    }
}

/// Returns the refusal for the result of another order, which only a bug can return.
fn mixed_up(done: OrderDone) -> Refusal {
    Refusal::listed(
        &api::codes::INTERNAL,
        format!("the node answered another order: {done:?}"),
    )
}

impl Api {
    fn known_peer(&self, text: &str) -> Result<PeerId, Refusal> {
        let key = hex::decode_array(text).ok_or_else(|| {
            let text = format!("'{text}' is no peer's key of 64 hexadecimal digits");
            Refusal::listed(&api::codes::BAD_PARAMETER, text)
        })?;
        let id = PeerId::from_bytes(key);
        let known = self.shared.peers.handle().peers();
        if known.iter().any(|peer| peer.id == id) {
            Ok(id)
        } else {
            let text = format!("no peer has the key {text}");
            Err(Refusal::listed(&codes::UNKNOWN_PEER, text))
        }
    }
}
