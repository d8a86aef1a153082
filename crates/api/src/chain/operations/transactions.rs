//! Operations on transactions.

use super::parts::*;

/// `GET /v1/chain/transactions/{transaction_id}`.
pub const TRANSACTION: Call<TransactionAnswer> = Call::new(Operation {
    path: "/v1/chain/transactions/{transaction_id}",
    id: "transaction",
    tag: "transactions",
    summary: "A transaction: in a block, with its confirmations; in the pool; or why it left.",
    segments: &[ID],
    answers: &[answer(200, "What is known.", json::<TransactionAnswer>(""))],
    codes: &[
        &INTERNAL,
        &NODE_BUSY,
        &BAD_PARAMETER,
        &codes::UNKNOWN_TRANSACTION,
    ],
    ..OPEN
});

/// `GET /v1/chain/unconfirmed`.
pub const UNCONFIRMED: Call<UnconfirmedPage> = Call::new(Operation {
    path: "/v1/chain/unconfirmed",
    id: "unconfirmed",
    tag: "transactions",
    summary: "Transactions that are in no block yet.",
    query: &[
        parameter(
            "account",
            Kind::Text(64),
            "Only transactions that this account has sent or receives.",
        ),
        OF_CHAIN,
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
        json::<UnconfirmedPage>(r#"{"transactions":[],"count":0,"bytes":0}"#),
    )],
    ..OPEN
});

/// `POST /v1/chain/transactions`.
pub const SUBMIT: Call<Submitted> = Call::new(Operation {
    method: Method::Post,
    path: "/v1/chain/transactions",
    id: "submit",
    tag: "transactions",
    summary: "Submits a signed transaction to the pool. The answer comes once the transaction is durable. A repeated submission does no harm.",
    body: json::<Submit>(r#"{"transaction":"0101"}"#),
    answers: &[answer(200, "It is in the pool.", json::<Submitted>(""))],
    codes: SENT,
    others: true,
    ..OPEN
});

/// `POST /v1/chain/transactions/batch`.
pub const SUBMIT_BATCH: Call<SubmitBatchAnswer> = Call::new(Operation {
    method: Method::Post,
    path: "/v1/chain/transactions/batch",
    id: "submitBatch",
    tag: "transactions",
    summary: "Submits 1 to 1,000 signed transactions, each with an answer of its own. With the media type application/octet-stream the body is their bytes, one after another.",
    body: json::<SubmitBatch>(r#"{"transactions":["0101"]}"#),
    answers: &[answer(
        200,
        "An answer for each, in order.",
        json::<SubmitBatchAnswer>(
            r#"{"answers":[{"error":{"code":"chain_tx.malformed","detail":"the transaction is cut off after 2 bytes"}}]}"#,
        ),
    )],
    codes: &[
        &INTERNAL,
        &NODE_BUSY,
        &NODE_STOPPING,
        &STORE_FAILED,
        &BAD_JSON,
        &BAD_REQUEST,
        &BODY_TIMEOUT,
        &BODY_TOO_LARGE,
        &codes::BAD_BATCH,
    ],
    ..OPEN
});

/// `POST /v1/chain/prepare`.
pub const PREPARE: Call<Prepared> = Call::new(Operation {
    method: Method::Post,
    path: "/v1/chain/prepare",
    id: "prepare",
    tag: "transactions",
    summary: "The bytes of a payment or a lease for its sender to sign: reference, fee and deadline are filled in. The node learns no secret.",
    body: json::<Prepare>(r#"{"sender":"00","recipient":"TLY-","amount":100}"#),
    answers: &[answer(200, "To be signed.", json::<Prepared>(""))],
    codes: SENT,
    others: true,
    ..OPEN
});

/// `POST /v1/chain/sign-and-send`.
pub const SIGN_AND_SEND: Call<Submitted> = Call::new(Operation {
    method: Method::Post,
    path: "/v1/chain/sign-and-send",
    id: "signAndSend",
    tag: "transactions",
    summary: "For test networks: the node signs with a passphrase from the request, and submits. Refused unless the node's settings allow it, because the operator of the node can learn the passphrase.",
    body: json::<SignAndSend>(r#"{"passphrase":"0","recipient":"TLY-","amount":100}"#),
    answers: &[answer(200, "It is in the pool.", json::<Submitted>(""))],
    codes: &[
        &INTERNAL,
        &NODE_BUSY,
        &NODE_STOPPING,
        &STORE_FAILED,
        &BAD_JSON,
        &BAD_REQUEST,
        &BODY_TIMEOUT,
        &BODY_TOO_LARGE,
        &codes::UNKNOWN_CHAIN,
        &codes::BAD_KEY,
        &codes::BAD_PREPARE,
        &codes::PASSPHRASE_REFUSED,
        &codes::SIGNING_OFF,
    ],
    others: true,
    ..OPEN
});

/// The operations, in the order of the description.
pub(super) const OPERATIONS: &[&Operation] = &[
    &TRANSACTION.row,
    &UNCONFIRMED.row,
    &SUBMIT.row,
    &SUBMIT_BATCH.row,
    &PREPARE.row,
    &SIGN_AND_SEND.row,
];
