//! Operations that read, and operations on the node itself.

use super::model::{Kind, Operation};
use super::parts::{AFTER, LAST_EVENT_ID, LIMIT, READ, TIMEOUT, answer, json, parameter, text};
use crate::{
    Balances, ClockView, ConsumedPage, Drain, EquivocationPage, Health, LedgerPage, LoggedIn,
    Login, NetworkView, NodeView, PeersView, RequestPage, StatesPage, TransactionView, VaultAnswer,
    VaultQuery, codes, paths,
};

/// The operations, in the order of the description.
pub(super) const OPERATIONS: &[Operation] = &[
    Operation {
        path: paths::BALANCES,
        id: "balances",
        tag: "vault",
        summary: "Sums of unconsumed fungible states, once the vault's view shows everything acknowledged before.",
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
    },
    Operation {
        path: paths::STATES,
        id: "states",
        tag: "vault",
        summary: "Unconsumed states, in order of recording, once the vault's view shows what was acknowledged before.",
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
    },
    Operation {
        method: "post",
        path: paths::VAULT_QUERY,
        id: "queryVault",
        tag: "vault",
        summary: "States by criteria, consumed ones as well, or counts and sums of them, once the vault's view shows everything acknowledged before.",
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
    },
    Operation {
        path: paths::VAULT_EVENTS,
        id: "followVault",
        tag: "vault",
        summary: "Server-sent events: `start` (a VaultStart) at once, then `change` (a VaultChange) for each transaction that changes the vault, once the vault's view shows it; at last, if the node ends them, `cut` (a Problem). Without `after` or Last-Event-ID only new changes. A user who may query only some contracts gets only their states; a change without such states advances the id without an event.",
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
    },
    Operation {
        path: paths::TRANSACTION,
        id: "transaction",
        tag: "ledger",
        summary: "A recorded transaction, readable, with its bytes.",
        segments: &[parameter(
            "transaction_id",
            Kind::Hex(64),
            "The transaction.",
        )],
        answers: &[answer(200, "The transaction.", json::<TransactionView>(""))],
        codes: &[&codes::BAD_PARAMETER, &codes::UNKNOWN_TRANSACTION],
        others: true,
        ..READ
    },
    Operation {
        path: paths::LEDGER,
        id: "ledger",
        tag: "ledger",
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
    },
    Operation {
        path: paths::CONSUMED,
        id: "consumed",
        tag: "notary",
        summary: "Consumed states and the transactions that consumed them; notaries only.",
        query: &[
            parameter(
                "after",
                Kind::Form(r"^[0-9a-f]{64}\([0-9]{1,9}\)$"),
                "What `next` of the page before said.",
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
    },
    Operation {
        path: paths::NOTARY_REQUESTS,
        id: "notaryRequests",
        tag: "notary",
        summary: "Transactions that the notary has signed, who asked for that, and when; notaries only.",
        query: &[
            parameter(
                "after",
                Kind::Hex(64),
                "What `next` of the page before said.",
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
    },
    Operation {
        path: paths::EQUIVOCATIONS,
        id: "equivocations",
        tag: "notary",
        summary: "Transactions that were refused because this node's ledger records another consumer of a state, although the notary signed both, with the proof.",
        query: &[
            parameter(
                "after",
                Kind::Hex(64),
                "What `next` of the page before said.",
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
    },
    Operation {
        method: "post",
        path: paths::LOGIN,
        id: "login",
        tag: "node",
        summary: "A token for a user's name and password. Needs no token.",
        token: false,
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
    },
    Operation {
        method: "post",
        path: paths::LOGOUT,
        id: "logout",
        tag: "node",
        summary: "Ends the login whose token the request carries.",
        answers: &[answer(204, "Ended.", None)],
        codes: &[&codes::NOT_A_LOGIN],
        ..READ
    },
    Operation {
        path: paths::NODE,
        id: "node",
        tag: "node",
        summary: "The node: identity, state, flows that can be started.",
        answers: &[answer(200, "The node.", json::<NodeView>(""))],
        ..READ
    },
    Operation {
        path: paths::PEERS,
        id: "peers",
        tag: "node",
        summary: "The other nodes of the network: connections, software and clocks.",
        answers: &[answer(
            200,
            "The peers.",
            json::<PeersView>(
                r#"{"software":"tally/0.1.0","peers":[{"name":"O=B, L=London, C=GB","party_id":"00","connected":false,"queued_bytes":0}]}"#,
            ),
        )],
        ..READ
    },
    Operation {
        path: paths::NETWORK,
        id: "network",
        tag: "node",
        summary: "The network map and its parameters.",
        answers: &[answer(200, "The network.", json::<NetworkView>(""))],
        ..READ
    },
    Operation {
        method: "post",
        path: paths::DRAIN,
        id: "drain",
        tag: "node",
        summary: "Accepts no new starts and finishes the running flows. It does not wait for parked and paused flows: they stay as they are, also over a restart.",
        answers: &[answer(
            202,
            "Draining.",
            json::<Drain>(
                r#"{"state":"draining","flows_in_flight":3,"flows_retrying":0,"flows_parked":1,"flows_paused":0}"#,
            ),
        )],
        ..READ
    },
    Operation {
        method: "post",
        path: paths::CLOCK_CONFIRM,
        id: "confirm_clock",
        tag: "node",
        summary: "Vouches for the node's clock as it is, after it was set. A notary judges time windows again.",
        answers: &[answer(
            200,
            "The clock.",
            json::<ClockView>(
                r#"{"in_doubt":false,"jumps":1,"last_jump_ms":3600000,"notary_behind_ms":0}"#,
            ),
        )],
        ..READ
    },
    Operation {
        path: paths::METRICS,
        id: "metrics",
        tag: "node",
        summary: "Counters in Prometheus text format.",
        answers: &[answer(
            200,
            "The metrics.",
            text("text/plain", "tally_flows_started_total 1\n"),
        )],
        ..READ
    },
    Operation {
        path: paths::OPENAPI,
        id: "openapi",
        tag: "node",
        summary: "This description, with the flows of this node.",
        answers: &[answer(
            200,
            "OpenAPI 3.1.",
            json::<serde_json::Map<String, serde_json::Value>>(""),
        )],
        ..READ
    },
    Operation {
        path: paths::HEALTH,
        id: "health",
        tag: "node",
        summary: "Whether the node is up and takes work. Needs no token.",
        token: false,
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
                "It is up and takes no work.",
                json::<Health>(
                    r#"{"live":true,"ready":false,"state":"draining","ledger_seq":42,"view_seq":42,"view_lag":0}"#,
                ),
            ),
        ],
        ..READ
    },
    Operation {
        path: paths::DOCS,
        id: "docs",
        tag: "node",
        summary: "A page that shows this description and tries its calls. Needs no token.",
        token: false,
        answers: &[answer(
            200,
            "The page.",
            text("text/html", "<!doctype html>"),
        )],
        ..READ
    },
];
