//! Operations on peers, on the node itself, and operators' orders.

use super::*;

/// The operations, in the order of the description.
pub(super) const OPERATIONS: &[Operation] = &[
    Operation {
        path: paths::PEERS,
        id: "peers",
        tag: "peers",
        summary: "The peers of this node, those kept away included.",
        answers: &[answer(200, "The peers.", json::<ChainPeers>(""))],
        codes: ANY,
        ..OPEN
    },
    Operation {
        method: "post",
        path: paths::PEER_BAN,
        id: "banPeer",
        tag: "peers",
        summary: "Ends all connections with a peer and keeps it away for a time.",
        segments: &[parameter("peer", Kind::Hex(64), "The peer's key.")],
        body: json::<NewBan>(r#"{"seconds":600,"reason":"too much"}"#),
        answers: &[answer(204, "It is kept away.", None)],
        codes: &[
            &BAD_JSON,
            &BAD_REQUEST,
            &BODY_TIMEOUT,
            &BODY_TOO_LARGE,
            &BAD_PARAMETER,
            &codes::UNKNOWN_PEER,
        ],
        ..READ
    },
    Operation {
        method: "delete",
        path: paths::PEER_BAN,
        id: "unbanPeer",
        tag: "peers",
        summary: "And no longer.",
        segments: &[parameter("peer", Kind::Hex(64), "The peer's key.")],
        answers: &[answer(204, "It may come back.", None)],
        codes: &[&BAD_PARAMETER, &codes::UNKNOWN_PEER],
        ..READ
    },
    Operation {
        path: paths::POP_OFF,
        id: "popOff",
        summary: "Rolls the chain back to a height; transactions of the blocks go back to the pool.",
        body: json::<PopOff>(r#"{"height":41}"#),
        answers: &[answer(200, "Done.", json::<Done>(r#"{"done":"2 blocks"}"#))],
        ..ORDER
    },
    Operation {
        path: paths::CLEAR_POOL,
        id: "clearPool",
        summary: "Empties the pool.",
        answers: &[answer(200, "Done.", json::<Done>(""))],
        codes: &[],
        ..ORDER
    },
    Operation {
        path: paths::PRUNE,
        id: "prune",
        summary: "Lets the bodies of all but the newest blocks go, a little at a time; headers stay.",
        body: json::<Prune>(r#"{"keep_blocks":10000}"#),
        answers: &[answer(200, "Begun.", json::<Done>(""))],
        ..ORDER
    },
    Operation {
        path: paths::TRUST,
        id: "trust",
        summary: "Accepts a branch beyond the rollback limit, by a block that must be on the chain.",
        body: json::<Trust>(r#"{"height":41,"hash":"00"}"#),
        answers: &[answer(200, "Done.", json::<Done>(""))],
        ..ORDER
    },
    Operation {
        path: paths::SNAPSHOT,
        id: "snapshot",
        summary: "Makes a copy of the store while it runs.",
        body: json::<Snapshot>(r#"{"name":"before-upgrade"}"#),
        answers: &[answer(200, "Done.", json::<Done>(""))],
        codes: &[
            &BAD_JSON,
            &BAD_REQUEST,
            &BODY_TIMEOUT,
            &BODY_TOO_LARGE,
            &codes::SNAPSHOT_FAILED,
        ],
        ..ORDER
    },
    Operation {
        path: crate::paths::METRICS,
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
    },
    Operation {
        path: paths::OPENAPI,
        id: "openapi",
        tag: "node",
        summary: "This description.",
        answers: &[answer(
            200,
            "OpenAPI 3.1.",
            json::<serde_json::Map<String, Value>>(""),
        )],
        codes: ANY,
        ..OPEN
    },
    Operation {
        path: crate::paths::HEALTH,
        id: "health",
        tag: "node",
        summary: "Whether the node is up and takes transactions.",
        answers: &[
            answer(
                200,
                "It takes transactions.",
                json::<ChainHealth>(r#"{"live":true,"ready":true,"height":42,"sync":"synced"}"#),
            ),
            answer(503, "It is up and takes none.", json::<ChainHealth>("")),
        ],
        codes: &[],
        ..OPEN
    },
    Operation {
        path: paths::PAGE,
        id: "page",
        tag: "node",
        summary: "A page that shows the chain as it grows.",
        answers: &[answer(
            200,
            "The page.",
            text("text/html", "<!doctype html>"),
        )],
        codes: &[],
        ..OPEN
    },
];
