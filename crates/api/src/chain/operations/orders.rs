//! Operations on peers, on the node itself, and operators' orders.

use super::parts::*;

/// `GET /v1/chain/peers`.
pub const PEERS: Call<ChainPeers> = Call::new(Operation {
    path: "/v1/chain/peers",
    id: "peers",
    tag: "peers",
    summary: "The peers of this node, banned ones included.",
    answers: &[answer(200, "The peers.", json::<ChainPeers>(""))],
    codes: ANY,
    ..OPEN
});

/// `POST /v1/chain/peers/{peer}/ban`.
pub const BAN_PEER: Call<()> = Call::new(Operation {
    method: Method::Post,
    path: "/v1/chain/peers/{peer}/ban",
    id: "banPeer",
    tag: "peers",
    summary: "Bans a peer for some time, and ends all its connections.",
    segments: &[parameter("peer", Kind::Hex(64), "The peer's key.")],
    body: json::<NewBan>(r#"{"seconds":600,"reason":"too much"}"#),
    answers: &[answer(204, "The peer is banned.", None)],
    codes: &[
        &BAD_JSON,
        &BAD_REQUEST,
        &BODY_TIMEOUT,
        &BODY_TOO_LARGE,
        &BAD_PARAMETER,
        &codes::UNKNOWN_PEER,
    ],
    ..READ
});

/// `DELETE /v1/chain/peers/{peer}/ban`.
pub const UNBAN_PEER: Call<()> = Call::new(Operation {
    method: Method::Delete,
    path: "/v1/chain/peers/{peer}/ban",
    id: "unbanPeer",
    tag: "peers",
    summary: "Ends the ban of a peer.",
    segments: &[parameter("peer", Kind::Hex(64), "The peer's key.")],
    answers: &[answer(204, "The ban has ended.", None)],
    codes: &[&BAD_PARAMETER, &codes::UNKNOWN_PEER],
    ..READ
});

/// `POST /v1/chain/orders/pop-off`.
pub const POP_OFF: Call<RolledBack> = Call::new(Operation {
    path: "/v1/chain/orders/pop-off",
    id: "popOff",
    summary: "Rolls the chain back to a height. Transactions of the removed blocks return to the pool.",
    body: json::<PopOff>(r#"{"height":41}"#),
    answers: &[answer(
        200,
        "Done.",
        json::<RolledBack>(r#"{"blocks":2,"height":41}"#),
    )],
    ..ORDER
});

/// `POST /v1/chain/orders/clear-pool`.
pub const CLEAR_POOL: Call<PoolCleared> = Call::new(Operation {
    path: "/v1/chain/orders/clear-pool",
    id: "clearPool",
    summary: "Empties the pool.",
    answers: &[answer(
        200,
        "Done.",
        json::<PoolCleared>(r#"{"transactions":3}"#),
    )],
    codes: &[],
    ..ORDER
});

/// `POST /v1/chain/orders/prune`.
pub const PRUNE: Call<PruneBegun> = Call::new(Operation {
    path: "/v1/chain/orders/prune",
    id: "prune",
    summary: "Prunes the bodies of all but the newest blocks, in small steps. Headers stay.",
    body: json::<Prune>(r#"{"keep_blocks":10000}"#),
    answers: &[answer(
        200,
        "Begun.",
        json::<PruneBegun>(r#"{"blocks":12000,"until":12000}"#),
    )],
    ..ORDER
});

/// `POST /v1/chain/orders/trust`.
pub const TRUST: Call<Trusted> = Call::new(Operation {
    path: "/v1/chain/orders/trust",
    id: "trust",
    summary: "Allows a reorg beyond the rollback limit, to a branch with the given block.",
    body: json::<Trust>(r#"{"height":41,"hash":"00"}"#),
    answers: &[answer(
        200,
        "Done.",
        json::<Trusted>(r#"{"height":41,"hash":"00","rolled_back":0}"#),
    )],
    ..ORDER
});

/// `POST /v1/chain/orders/snapshot`.
pub const SNAPSHOT: Call<SnapshotMade> = Call::new(Operation {
    path: "/v1/chain/orders/snapshot",
    id: "snapshot",
    summary: "Makes a copy of the store while it runs.",
    body: json::<Snapshot>(r#"{"name":"before-upgrade"}"#),
    answers: &[answer(
        200,
        "Done.",
        json::<SnapshotMade>(r#"{"path":"net/server1/data/snapshots/before-upgrade"}"#),
    )],
    codes: &[
        &BAD_JSON,
        &BAD_REQUEST,
        &BODY_TIMEOUT,
        &BODY_TOO_LARGE,
        &codes::SNAPSHOT_FAILED,
    ],
    ..ORDER
});

/// `GET /metrics`.
pub const METRICS: Call<()> = Call::new(Operation {
    path: "/metrics",
    id: "metrics",
    tag: "node",
    summary: "Counters in Prometheus text format.",
    answers: &[answer(
        200,
        "The metrics.",
        text("text/plain", "tally_chain_height 42\n"),
    )],
    codes: ANY,
    ..OPEN
});

/// `GET /v1/chain/openapi.json`.
pub const OPENAPI: Call<()> = Call::new(Operation {
    path: "/v1/chain/openapi.json",
    id: "openapi",
    tag: "node",
    summary: "This description.",
    answers: &[answer(
        200,
        "OpenAPI 3.1.",
        json::<serde_json::Map<String, serde_json::Value>>(""),
    )],
    codes: ANY,
    ..OPEN
});

/// `GET /health`.
pub const HEALTH: Call<ChainHealth> = Call::new(Operation {
    path: "/health",
    id: "health",
    tag: "node",
    summary: "Whether the node is up and accepts transactions.",
    answers: &[
        answer(
            200,
            "It takes transactions.",
            json::<ChainHealth>(r#"{"live":true,"ready":true,"height":42,"sync":"synced"}"#),
        ),
        answer(
            503,
            "The node is up, but accepts no transactions.",
            json::<ChainHealth>(""),
        ),
    ],
    codes: &[],
    ..OPEN
});

/// `GET /chain`.
pub const PAGE: Call<()> = Call::new(Operation {
    path: "/chain",
    id: "page",
    tag: "node",
    summary: "The explorer: a page that shows blocks, transactions and accounts as the chain grows.",
    answers: &[answer(
        200,
        "The page.",
        text("text/html", "<!doctype html>"),
    )],
    codes: &[],
    ..OPEN
});

/// The operations, in the order of the description.
pub(super) const OPERATIONS: &[&Operation] = &[
    &PEERS.row,
    &BAN_PEER.row,
    &UNBAN_PEER.row,
    &POP_OFF.row,
    &CLEAR_POOL.row,
    &PRUNE.row,
    &TRUST.row,
    &SNAPSHOT.row,
    &METRICS.row,
    &OPENAPI.row,
    &HEALTH.row,
    &PAGE.row,
];
