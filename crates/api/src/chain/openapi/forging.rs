//! Operations on forgers and bundlers.

use super::*;

/// The operations, in the order of the description.
pub(super) const OPERATIONS: &[Operation] = &[
    Operation {
        path: paths::FORGING,
        id: "forging",
        tag: "forging",
        summary: "Who forges on this node, and when each may forge the next block.",
        answers: &[answer(200, "The forgers.", json::<ForgingView>(""))],
        codes: ANY,
        ..OPEN
    },
    Operation {
        method: "post",
        path: paths::FORGING,
        id: "startForging",
        tag: "forging",
        summary: "Lets an account forge on this node until it stops.",
        body: json::<StartForging>(r#"{"passphrase":"0"}"#),
        answers: &[answer(200, "It forges.", json::<ForgingAccount>(""))],
        codes: &[
            &BAD_JSON,
            &BAD_REQUEST,
            &BODY_TIMEOUT,
            &BODY_TOO_LARGE,
            &codes::BAD_KEY,
            &codes::PASSPHRASE_REFUSED,
        ],
        ..READ
    },
    Operation {
        method: "delete",
        path: paths::FORGING_ACCOUNT,
        id: "stopForging",
        tag: "forging",
        summary: "And no longer.",
        segments: &[ACCOUNT],
        answers: &[answer(204, "It does not.", None)],
        codes: &[&BAD_PARAMETER, &codes::NOT_RUNNING],
        ..READ
    },
    Operation {
        path: paths::FORGERS,
        id: "forgers",
        tag: "forging",
        summary: "The candidates for the next block: accounts that forged lately and those of this node.",
        query: &[LIMIT],
        answers: &[answer(
            200,
            "The next one first.",
            json::<ForgersView>(r#"{"height":1,"now":0,"forgers":[]}"#),
        )],
        ..OPEN
    },
    Operation {
        path: paths::BUNDLERS,
        id: "bundlers",
        tag: "forging",
        summary: "Who bundles on this node.",
        answers: &[answer(
            200,
            "The bundlers.",
            json::<BundlerList>(r#"{"bundlers":[]}"#),
        )],
        codes: ANY,
        ..OPEN
    },
    Operation {
        method: "post",
        path: paths::BUNDLERS,
        id: "startBundler",
        tag: "forging",
        summary: "Lets an account bundle a child chain's transactions on this node until it stops.",
        body: json::<StartBundler>(r#"{"chain":2,"passphrase":"0","rate_min":1000000}"#),
        answers: &[answer(200, "It bundles.", json::<BundlerView>(""))],
        codes: &[
            &BAD_JSON,
            &BAD_REQUEST,
            &BODY_TIMEOUT,
            &BODY_TOO_LARGE,
            &codes::BAD_KEY,
            &codes::PASSPHRASE_REFUSED,
            &codes::UNKNOWN_CHAIN,
        ],
        ..READ
    },
    Operation {
        method: "delete",
        path: paths::BUNDLER,
        id: "stopBundler",
        tag: "forging",
        summary: "And no longer.",
        segments: &[ACCOUNT, parameter("chain", Kind::Count, "The child chain.")],
        answers: &[answer(204, "It does not.", None)],
        codes: &[&BAD_PARAMETER, &codes::NOT_RUNNING],
        ..READ
    },
    Operation {
        path: paths::RATES,
        id: "rates",
        tag: "forging",
        summary: "The signed offers of the bundlers of the whole network.",
        answers: &[answer(
            200,
            "The rates.",
            json::<RatesView>(r#"{"rates":[]}"#),
        )],
        codes: ANY,
        ..OPEN
    },
];
