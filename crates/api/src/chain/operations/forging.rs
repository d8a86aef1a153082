//! Operations on forgers and bundlers.

use super::parts::*;

/// `GET /v1/chain/forging`.
pub const FORGING: Call<ForgingView> = Call::new(Operation {
    path: "/v1/chain/forging",
    id: "forging",
    tag: "forging",
    summary: "Accounts that forge on this node, and when each may forge the next block.",
    answers: &[answer(200, "The forgers.", json::<ForgingView>(""))],
    codes: ANY,
    ..OPEN
});

/// `POST /v1/chain/forging`.
pub const START_FORGING: Call<ForgingAccount> = Call::new(Operation {
    method: Method::Post,
    path: "/v1/chain/forging",
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
});

/// `DELETE /v1/chain/forging/{account}`.
pub const STOP_FORGING: Call<()> = Call::new(Operation {
    method: Method::Delete,
    path: "/v1/chain/forging/{account}",
    id: "stopForging",
    tag: "forging",
    summary: "Stops forging with an account.",
    segments: &[THE_ACCOUNT],
    answers: &[answer(204, "It does not.", None)],
    codes: &[&BAD_PARAMETER, &codes::NOT_RUNNING],
    ..READ
});

/// `GET /v1/chain/forgers`.
pub const FORGERS: Call<ForgersView> = Call::new(Operation {
    path: "/v1/chain/forgers",
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
});

/// `GET /v1/chain/bundlers`.
pub const BUNDLERS: Call<BundlerList> = Call::new(Operation {
    path: "/v1/chain/bundlers",
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
});

/// `POST /v1/chain/bundlers`.
pub const START_BUNDLER: Call<BundlerView> = Call::new(Operation {
    method: Method::Post,
    path: "/v1/chain/bundlers",
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
});

/// `DELETE /v1/chain/bundlers/{account}/{chain}`.
pub const STOP_BUNDLER: Call<()> = Call::new(Operation {
    method: Method::Delete,
    path: "/v1/chain/bundlers/{account}/{chain}",
    id: "stopBundler",
    tag: "forging",
    summary: "Stops a bundler.",
    segments: &[
        THE_ACCOUNT,
        parameter("chain", Kind::Byte, "The child chain."),
    ],
    answers: &[answer(204, "It does not.", None)],
    codes: &[&BAD_PARAMETER, &codes::NOT_RUNNING],
    ..READ
});

/// `GET /v1/chain/rates`.
pub const RATES: Call<RatesView> = Call::new(Operation {
    path: "/v1/chain/rates",
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
});

/// The operations, in the order of the description.
pub(super) const OPERATIONS: &[&Operation] = &[
    &FORGING.row,
    &START_FORGING.row,
    &STOP_FORGING.row,
    &FORGERS.row,
    &BUNDLERS.row,
    &START_BUNDLER.row,
    &STOP_BUNDLER.row,
    &RATES.row,
];
