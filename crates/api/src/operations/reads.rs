//! Operations that read, and operations on the node itself.

use super::kind::Kind;
use super::parts::{AFTER, LAST_EVENT_ID, LIMIT, READ, TIMEOUT, answer, json, parameter, text};
use super::row::{Call, Method, Operation, Permission};
use crate::{
    Balances, ClockView, ConsumedPage, DeliveryPage, Drain, EquivocationPage, Health, LedgerPage,
    LoggedIn, Login, NetworkView, NodeView, PeerHistory, PeersView, RequestPage, StatesPage,
    TransactionView, VaultAnswer, VaultQuery, codes,
};

/// `GET /v1/balances`.
pub const BALANCES: Call<Balances> = Call::new(Operation {
    path: "/v1/balances",
    id: "balances",
    tag: "vault",
    permission: Permission::Balances,
    summary: "Sums of unconsumed fungible states. Waits until the vault's view shows everything acknowledged before the request.",
    query: &[TIMEOUT],
    answers: &[answer(
        200,
        "A sum for each token.",
        json::<Balances>(r#"{"view_seq":42,"balances":[]}"#),
    )],
    codes: &[
        &codes::BAD_PARAMETER,
        &codes::VIEW_BEHIND,
        &codes::files::VIEW_FAILED,
    ],
    others: true,
    ..READ
});

/// `GET /v1/states`.
pub const STATES: Call<StatesPage> = Call::new(Operation {
    path: "/v1/states",
    id: "states",
    tag: "vault",
    permission: Permission::Some("vault.query"),
    summary: "Unconsumed states, in order of recording. Waits until the vault's view shows everything acknowledged before the request.",
    query: &[
        AFTER,
        LIMIT,
        TIMEOUT,
        parameter(
            "quarantined",
            Kind::Words(&["exclude", "include", "only"]),
            "Whether states in quarantine are listed; exclude when absent.",
        ),
    ],
    answers: &[answer(
        200,
        "A page.",
        json::<StatesPage>(r#"{"view_seq":42,"states":[]}"#),
    )],
    codes: &[
        &codes::BAD_PARAMETER,
        &codes::VIEW_BEHIND,
        &codes::files::VIEW_FAILED,
    ],
    others: true,
    ..READ
});

/// `POST /v1/vault/query`.
pub const QUERY_VAULT: Call<VaultAnswer> = Call::new(Operation {
    method: Method::Post,
    path: "/v1/vault/query",
    id: "queryVault",
    tag: "vault",
    permission: Permission::Some("vault.query"),
    summary: "Unconsumed and consumed states that match criteria, or counts and sums of them. Waits until the vault's view shows everything acknowledged before the request.",
    body: json::<VaultQuery>(
        r#"{"where":{"and":[{"is":{"field":"symbol","value":"GBP"}},{"between":{"field":"quantity","from":100}}]},"sort":[{"field":"quantity","descending":true}]}"#,
    ),
    answers: &[answer(
        200,
        "A page of states, or groups.",
        json::<VaultAnswer>(r#"{"view_seq":42,"states":[]}"#),
    )],
    codes: &[
        &codes::BAD_JSON,
        &codes::BAD_REQUEST,
        &codes::BODY_TOO_LARGE,
        &codes::BODY_TIMEOUT,
        &codes::BAD_QUERY,
        &codes::QUERY_TIMEOUT,
        &codes::VIEW_BEHIND,
        &codes::files::VIEW_FAILED,
    ],
    others: true,
    ..READ
});

/// `GET /v1/vault/events`.
pub const FOLLOW_VAULT: Call<()> = Call::new(Operation {
    path: "/v1/vault/events",
    id: "followVault",
    tag: "vault",
    permission: Permission::Some("vault.query"),
    summary: "Server-sent events: `start` (a VaultStart) at once, then `change` (a VaultChange) for each transaction that changes the vault, once the vault's view shows it; and, if the node ends the stream, `cut` (a Problem). Without `after` or Last-Event-ID only new changes. A user who may query only some contracts gets only their states; a change without such states advances the id without an event.",
    query: &[
        parameter(
            "after",
            Kind::Number,
            "Changes after this ledger position; 0 for all.",
        ),
        LAST_EVENT_ID,
    ],
    answers: &[answer(
        200,
        "Events without end.",
        text(
            "text/event-stream",
            "event: start\nid: 42\ndata: {\"after\":42}\n\n",
        ),
    )],
    codes: &[&codes::BAD_PARAMETER],
    ..READ
});

/// `GET /v1/transactions/{transaction_id}`.
pub const TRANSACTION: Call<TransactionView> = Call::new(Operation {
    path: "/v1/transactions/{transaction_id}",
    id: "transaction",
    tag: "ledger",
    permission: Permission::Whole("tx.read"),
    summary: "A recorded transaction in decoded form, with its bytes.",
    segments: &[parameter(
        "transaction_id",
        Kind::Hex(64),
        "The transaction.",
    )],
    answers: &[answer(200, "The transaction.", json::<TransactionView>(""))],
    codes: &[&codes::BAD_PARAMETER, &codes::UNKNOWN_TRANSACTION],
    others: true,
    ..READ
});

/// `GET /v1/ledger`.
pub const LEDGER: Call<LedgerPage> = Call::new(Operation {
    path: "/v1/ledger",
    id: "ledger",
    tag: "ledger",
    permission: Permission::Whole("ledger.read"),
    summary: "Ids of recorded transactions, in order.",
    query: &[AFTER, LIMIT, TIMEOUT],
    answers: &[answer(
        200,
        "A page.",
        json::<LedgerPage>(r#"{"entries":[{"seq":1,"id":"9a41"}],"next":1}"#),
    )],
    codes: &[&codes::BAD_PARAMETER],
    others: true,
    ..READ
});

/// `GET /v1/notary/consumed`.
pub const CONSUMED: Call<ConsumedPage> = Call::new(Operation {
    path: "/v1/notary/consumed",
    id: "consumed",
    tag: "notary",
    permission: Permission::Whole("notary.read"),
    summary: "Consumed states and the transactions that consumed them; notaries only.",
    query: &[
        parameter(
            "after",
            Kind::Form(r"^[0-9a-fA-F]{64}\([0-9]{1,9}\)$"),
            "The value of `next` on the previous page.",
        ),
        LIMIT,
        TIMEOUT,
    ],
    answers: &[answer(
        200,
        "A page.",
        json::<ConsumedPage>(r#"{"entries":[]}"#),
    )],
    codes: &[&codes::BAD_PARAMETER, &codes::NOT_A_NOTARY],
    others: true,
    ..READ
});

/// `GET /v1/notary/requests`.
pub const NOTARY_REQUESTS: Call<RequestPage> = Call::new(Operation {
    path: "/v1/notary/requests",
    id: "notaryRequests",
    tag: "notary",
    permission: Permission::Whole("notary.requests"),
    summary: "Transactions that the notary has signed, with requester and time; notaries only.",
    query: &[
        parameter(
            "after",
            Kind::Hex(64),
            "The value of `next` on the previous page.",
        ),
        LIMIT,
    ],
    answers: &[answer(
        200,
        "A page.",
        json::<RequestPage>(r#"{"entries":[]}"#),
    )],
    codes: &[&codes::BAD_PARAMETER, &codes::NOT_A_NOTARY],
    others: true,
    ..READ
});

/// `GET /v1/equivocations`.
pub const EQUIVOCATIONS: Call<EquivocationPage> = Call::new(Operation {
    path: "/v1/equivocations",
    id: "equivocations",
    tag: "notary",
    permission: Permission::Whole("ledger.read"),
    summary: "Transactions that were refused because this node's ledger records another consumer of a state, although the notary signed both, with the proof.",
    query: &[
        parameter(
            "after",
            Kind::Hex(64),
            "The value of `next` on the previous page.",
        ),
        LIMIT,
    ],
    answers: &[answer(
        200,
        "A page.",
        json::<EquivocationPage>(r#"{"entries":[]}"#),
    )],
    codes: &[&codes::BAD_PARAMETER],
    others: true,
    ..READ
});

/// `POST /v1/login`.
pub const LOGIN: Call<LoggedIn> = Call::new(Operation {
    method: Method::Post,
    path: "/v1/login",
    id: "login",
    tag: "node",
    summary: "A token for a user's name and password. Needs no token. If it carries a token of the user, failed logins from elsewhere do not delay it.",
    permission: Permission::Anyone,
    token_optional: true,
    body: json::<Login>(r#"{"user":"ann","password":"secret","ttl_s":3600}"#),
    answers: &[answer(
        200,
        "A token.",
        json::<LoggedIn>(r#"{"token":"9a41","expires_ms":1790000000000}"#),
    )],
    codes: &[
        &codes::BAD_JSON,
        &codes::BAD_REQUEST,
        &codes::BODY_TOO_LARGE,
        &codes::BODY_TIMEOUT,
        &codes::LOGIN_FAILED,
        &codes::LOGIN_LIMITED,
        &codes::INTERNAL,
        &codes::NODE_BUSY,
    ],
    ..READ
});

/// `POST /v1/logout`.
pub const LOGOUT: Call<()> = Call::new(Operation {
    method: Method::Post,
    path: "/v1/logout",
    id: "logout",
    tag: "node",
    audited: true,
    summary: "Ends the login whose token the request carries.",
    answers: &[answer(204, "Ended.", None)],
    codes: &[&codes::NOT_A_LOGIN],
    ..READ
});

/// `GET /v1/node`.
pub const NODE: Call<NodeView> = Call::new(Operation {
    path: "/v1/node",
    id: "node",
    tag: "node",
    permission: Permission::Whole("node.read"),
    summary: "The node: identity, state, flows that can be started.",
    answers: &[answer(200, "The node.", json::<NodeView>(""))],
    ..READ
});

/// `GET /v1/peers`.
pub const PEERS: Call<PeersView> = Call::new(Operation {
    path: "/v1/peers",
    id: "peers",
    tag: "node",
    permission: Permission::Whole("node.read"),
    summary: "The other nodes of the network: connections, software and clocks.",
    answers: &[answer(
        200,
        "The peers.",
        json::<PeersView>(
            r#"{"software":"tally/0.1.0","peers":[{"name":"O=B, L=London, C=GB","party_id":"00","connected":false,"queued_bytes":0}]}"#,
        ),
    )],
    ..READ
});

/// `GET /v1/peers/history`.
pub const PEER_HISTORY: Call<PeerHistory> = Call::new(Operation {
    path: "/v1/peers/history",
    id: "peerHistory",
    tag: "node",
    permission: Permission::Whole("node.read"),
    summary: "The last events of the connections with the peers since the node's start, newest first. The node keeps the last 16 of each kind and peer. Of two nodes one connects to the other, and only that one knows of failed attempts.",
    query: &[
        parameter(
            "peer",
            Kind::Text(1_024),
            "The legal name of a peer; all peers if left out.",
        ),
        LIMIT,
    ],
    answers: &[answer(
        200,
        "The events.",
        json::<PeerHistory>(
            r#"{"events":[{"at_ms":1700000000000,"peer":"O=B, L=London, C=GB","party_id":"00","event":"connected","count":1,"last_ms":1700000000000,"address":"127.0.0.1:10002"}]}"#,
        ),
    )],
    codes: &[&codes::BAD_PARAMETER],
    ..READ
});

/// `GET /v1/deliveries`.
pub const DELIVERIES: Call<DeliveryPage> = Call::new(Operation {
    path: "/v1/deliveries",
    id: "deliveries",
    tag: "node",
    permission: Permission::Whole("node.read"),
    summary: "Delivered transactions that the recipients have not acknowledged, with their reasons.",
    query: &[
        parameter(
            "after",
            Kind::Hex(80),
            "The value of `next` on the previous page.",
        ),
        LIMIT,
    ],
    answers: &[answer(
        200,
        "A page.",
        json::<DeliveryPage>(
            r#"{"entries":[{"peer":"O=B, L=London, C=GB","party_id":"00","tx":"9a41","bytes":900,"status":"away"}]}"#,
        ),
    )],
    codes: &[&codes::BAD_PARAMETER],
    others: true,
    ..READ
});

/// `GET /v1/network`.
pub const NETWORK: Call<NetworkView> = Call::new(Operation {
    path: "/v1/network",
    id: "network",
    tag: "node",
    permission: Permission::Whole("network.read"),
    summary: "The network map and its parameters.",
    answers: &[answer(200, "The network.", json::<NetworkView>(""))],
    ..READ
});

/// `POST /v1/drain`.
pub const DRAIN: Call<Drain> = Call::new(Operation {
    method: Method::Post,
    path: "/v1/drain",
    id: "drain",
    tag: "node",
    permission: Permission::Whole("admin.drain"),
    audited: true,
    summary: "Accepts no new starts and finishes the running flows. It does not wait for parked and paused flows: they stay as they are, also over a restart.",
    answers: &[answer(
        202,
        "Draining.",
        json::<Drain>(
            r#"{"state":"draining","flows_in_flight":3,"flows_retrying":0,"flows_parked":1,"flows_paused":0}"#,
        ),
    )],
    ..READ
});

/// `POST /v1/clock/confirm`.
pub const CONFIRM_CLOCK: Call<ClockView> = Call::new(Operation {
    method: Method::Post,
    path: "/v1/clock/confirm",
    id: "confirmClock",
    tag: "node",
    permission: Permission::Whole("admin.clock"),
    audited: true,
    summary: "Confirms the current time of the node's clock after it was set. A notary then judges time windows again, even if it judged some at a later time before.",
    answers: &[answer(
        200,
        "The clock.",
        json::<ClockView>(
            r#"{"in_doubt":false,"jumps":1,"last_jump_ms":3600000,"notary_behind_ms":0}"#,
        ),
    )],
    ..READ
});

/// `GET /metrics`.
pub const METRICS: Call<()> = Call::new(Operation {
    path: "/metrics",
    id: "metrics",
    tag: "node",
    permission: Permission::Whole("metrics.read"),
    summary: "Counters in Prometheus text format.",
    answers: &[answer(
        200,
        "The metrics.",
        text("text/plain", "tally_flows_started_total 1\n"),
    )],
    ..READ
});

/// `GET /v1/openapi.json`.
pub const OPENAPI: Call<()> = Call::new(Operation {
    path: "/v1/openapi.json",
    id: "openapi",
    tag: "node",
    summary: "This description, with the flows of this node.",
    answers: &[answer(
        200,
        "OpenAPI 3.1.",
        json::<serde_json::Map<String, serde_json::Value>>(""),
    )],
    ..READ
});

/// `GET /health`.
pub const HEALTH: Call<Health> = Call::new(Operation {
    path: "/health",
    id: "health",
    tag: "node",
    summary: "Whether the node is up and accepts work. Needs no token.",
    permission: Permission::Anyone,
    answers: &[
        answer(
            200,
            "It takes work.",
            json::<Health>(
                r#"{"live":true,"ready":true,"state":"ready","ledger_seq":42,"view_seq":42,"view_lag":0}"#,
            ),
        ),
        answer(
            503,
            "The node is up, but accepts no work.",
            json::<Health>(
                r#"{"live":true,"ready":false,"state":"draining","ledger_seq":42,"view_seq":42,"view_lag":0}"#,
            ),
        ),
    ],
    ..READ
});

/// `GET /docs`.
pub const DOCS: Call<()> = Call::new(Operation {
    path: "/docs",
    id: "docs",
    tag: "node",
    summary: "A page that shows this description and tries its calls. Needs no token.",
    permission: Permission::Anyone,
    answers: &[answer(
        200,
        "The page.",
        text("text/html", "<!doctype html>"),
    )],
    ..READ
});

/// The operations, in the order of the description.
pub(super) const OPERATIONS: &[&Operation] = &[
    &BALANCES.row,
    &STATES.row,
    &QUERY_VAULT.row,
    &FOLLOW_VAULT.row,
    &TRANSACTION.row,
    &LEDGER.row,
    &CONSUMED.row,
    &NOTARY_REQUESTS.row,
    &EQUIVOCATIONS.row,
    &LOGIN.row,
    &LOGOUT.row,
    &NODE.row,
    &PEERS.row,
    &PEER_HISTORY.row,
    &DELIVERIES.row,
    &NETWORK.row,
    &DRAIN.row,
    &CONFIRM_CLOCK.row,
    &METRICS.row,
    &OPENAPI.row,
    &HEALTH.row,
    &DOCS.row,
];
