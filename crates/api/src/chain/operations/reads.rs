//! Operations on the chain and on accounts.

use super::parts::*;

/// `GET /v1/chain/constants`.
pub const CONSTANTS: Call<Constants> = Call::new(Operation {
    path: "/v1/chain/constants",
    id: "constants",
    tag: "chain",
    summary: "The network's constants: genesis, parameters, chains.",
    answers: &[answer(200, "The constants.", json::<Constants>(""))],
    codes: ANY,
    ..OPEN
});

/// `GET /v1/chain/status`.
pub const STATUS: Call<ChainStatus> = Call::new(Operation {
    path: "/v1/chain/status",
    id: "status",
    tag: "chain",
    summary: "The node: height, tip, pool, peers, forging and the progress of its synchronisation.",
    answers: &[answer(200, "The status.", json::<ChainStatus>(""))],
    codes: ANY,
    ..OPEN
});

/// `GET /v1/chain/blocks`.
pub const BLOCKS: Call<BlockPage> = Call::new(Operation {
    path: "/v1/chain/blocks",
    id: "blocks",
    tag: "chain",
    summary: "Blocks, the newest first, or from a height upwards.",
    query: &[
        parameter(
            "before",
            Kind::Count,
            "Blocks below this height, downwards.",
        ),
        parameter("from", Kind::Count, "Blocks from this height on, upwards."),
        LIMIT,
        DETAIL,
    ],
    answers: &[answer(
        200,
        "A page.",
        json::<BlockPage>(r#"{"blocks":[]}"#),
    )],
    ..OPEN
});

/// `GET /v1/chain/blocks/{block}`.
pub const BLOCK: Call<BlockView> = Call::new(Operation {
    path: "/v1/chain/blocks/{block}",
    id: "block",
    tag: "chain",
    summary: "A block of the main chain.",
    segments: &[THE_BLOCK],
    query: &[DETAIL],
    answers: &[answer(200, "The block.", json::<BlockView>(""))],
    codes: ASKED_BLOCK,
    ..OPEN
});

/// `GET /v1/chain/blocks/{block}/transactions`.
pub const BLOCK_TRANSACTIONS: Call<TransactionPage> = Call::new(Operation {
    path: "/v1/chain/blocks/{block}/transactions",
    id: "blockTransactions",
    tag: "chain",
    summary: "A block's transactions of all chains, in their order.",
    segments: &[THE_BLOCK],
    query: &[
        OF_CHAIN,
        parameter(
            "after",
            Kind::Count,
            "The value of `next` on the previous page.",
        ),
        LIMIT,
    ],
    answers: &[answer(
        200,
        "A page.",
        json::<TransactionPage>(r#"{"transactions":[]}"#),
    )],
    codes: ASKED_BLOCK,
    ..OPEN
});

/// `GET /v1/chain/balances`.
pub const BALANCES: Call<BalancesView> = Call::new(Operation {
    path: "/v1/chain/balances",
    id: "balances",
    tag: "accounts",
    summary: "Balances of up to 100 accounts on all chains, all at one height.",
    query: &[parameter(
        "accounts",
        Kind::Text(6_400),
        "Accounts, separated by commas.",
    )],
    answers: &[answer(
        200,
        "The balances.",
        json::<BalancesView>(r#"{"height":1,"accounts":[]}"#),
    )],
    codes: &[
        &INTERNAL,
        &NODE_BUSY,
        &BAD_PARAMETER,
        &codes::TOO_MANY_ACCOUNTS,
    ],
    ..OPEN
});

/// `GET /v1/chain/accounts/{account}`.
pub const ACCOUNT: Call<AccountView> = Call::new(Operation {
    path: "/v1/chain/accounts/{account}",
    id: "account",
    tag: "accounts",
    summary: "An account: balances, forging balance, leases. They are zero for an account that was never paid.",
    segments: &[THE_ACCOUNT],
    answers: &[answer(200, "The account.", json::<AccountView>(""))],
    ..OPEN
});

/// `GET /v1/chain/accounts/{account}/transactions`.
pub const ACCOUNT_TRANSACTIONS: Call<TransactionPage> = Call::new(Operation {
    path: "/v1/chain/accounts/{account}/transactions",
    id: "accountTransactions",
    tag: "accounts",
    summary: "An account's transactions in blocks, the newest first.",
    segments: &[THE_ACCOUNT],
    query: &[
        OF_CHAIN,
        parameter(
            "before",
            Kind::Form("^[0-9]{1,10}-[0-9]{1,10}$"),
            "The value of `next` on the previous page.",
        ),
        LIMIT,
    ],
    answers: &[answer(
        200,
        "A page.",
        json::<TransactionPage>(r#"{"transactions":[]}"#),
    )],
    ..OPEN
});

/// `GET /v1/chain/equivocations`.
pub const EQUIVOCATIONS: Call<EquivocationPage> = Call::new(Operation {
    path: "/v1/chain/equivocations",
    id: "equivocations",
    tag: "forging",
    summary: "Evidence against forgers that signed two blocks on one parent, verified again for each answer.",
    query: &[
        parameter(
            "after",
            Kind::Hex(136),
            "The value of `next` on the previous page.",
        ),
        LIMIT,
    ],
    answers: &[answer(
        200,
        "A page.",
        json::<EquivocationPage>(r#"{"equivocations":[]}"#),
    )],
    codes: &[&INTERNAL, &NODE_BUSY, &BAD_PARAMETER, &STORE_FAILED],
    ..OPEN
});

/// `GET /v1/chain/events`.
pub const FOLLOW: Call<()> = Call::new(Operation {
    path: "/v1/chain/events",
    id: "follow",
    tag: "chain",
    summary: "Server-sent events: `status` (a ChainStatus) at once, then `added` (a BlockAdded), `popped` (a BlockPopped), `forked` (a Forked), `left` (a TransactionLeft) and `stuck` (a Stuck) as they happen; and, if the node ends the stream, `cut` (a Problem). They start with the present and ignore Last-Event-ID.",
    answers: &[answer(
        200,
        "Events without end.",
        text(
            "text/event-stream",
            "event: forked\ndata: {\"common\":41,\"depth\":2}\n\n",
        ),
    )],
    codes: ANY,
    ..OPEN
});

/// `GET /v1/chain/state-hash`.
pub const STATE_HASH: Call<StateHash> = Call::new(Operation {
    path: "/v1/chain/state-hash",
    id: "stateHash",
    tag: "chain",
    summary: "A hash over the whole state at the tip: nodes with the same tip have the same. It reads every balance.",
    query: &[parameter("height", Kind::Count, "The tip's, or nothing.")],
    answers: &[answer(200, "The hash.", json::<StateHash>(""))],
    codes: &[&INTERNAL, &NODE_BUSY, &BAD_PARAMETER, &codes::NOT_THE_TIP],
    ..OPEN
});

/// The operations, in the order of the description.
pub(super) const OPERATIONS: &[&Operation] = &[
    &CONSTANTS.row,
    &STATUS.row,
    &BLOCKS.row,
    &BLOCK.row,
    &BLOCK_TRANSACTIONS.row,
    &BALANCES.row,
    &ACCOUNT.row,
    &ACCOUNT_TRANSACTIONS.row,
    &EQUIVOCATIONS.row,
    &FOLLOW.row,
    &STATE_HASH.row,
];
