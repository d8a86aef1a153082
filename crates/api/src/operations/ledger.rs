//! Operations on recorded data: bytes, back chains and notes; and on flows scheduled by states.

use super::kind::Kind;
use super::parts::{AFTER, LIMIT, READ, TIMEOUT, answer, json, parameter};
use super::row::{Call, Content, Method, Operation, Parameter, Permission, schema_of};
use crate::{ChainPage, NewNote, NoteList, NoteView, SchedulePage, codes};

const ID: Parameter = parameter("transaction_id", Kind::Hex(64), "The transaction.");
const NOTE_ID: Parameter = parameter("note_id", Kind::Hex(24), "The note.");

/// `GET /v1/transactions/{transaction_id}/bytes`.
pub const TRANSACTION_BYTES: Call<()> = Call::new(Operation {
    path: "/v1/transactions/{transaction_id}/bytes",
    id: "transactionBytes",
    tag: "ledger",
    permission: Permission::Whole("tx.read"),
    summary: "A recorded transaction's bytes, in the form that nodes exchange.",
    segments: &[ID],
    answers: &[answer(
        200,
        "The bytes.",
        Some(Content {
            media: "application/octet-stream",
            schema: schema_of::<String>,
            example: "",
        }),
    )],
    codes: &[&codes::BAD_PARAMETER, &codes::UNKNOWN_TRANSACTION],
    others: true,
    ..READ
});

/// `GET /v1/transactions/{transaction_id}/chain`.
pub const TRANSACTION_CHAIN: Call<ChainPage> = Call::new(Operation {
    path: "/v1/transactions/{transaction_id}/chain",
    id: "transactionChain",
    tag: "ledger",
    permission: Permission::Whole("tx.read"),
    summary: "A recorded transaction and its back chain, the last recorded first. Refused with `node.chain_too_wide` if a page would need a visit to more than 20,000 transactions.",
    segments: &[ID],
    query: &[AFTER, LIMIT, TIMEOUT],
    answers: &[answer(
        200,
        "A page.",
        json::<ChainPage>(r#"{"entries":[{"seq":2,"id":"9a41","depends_on":["77b0"]}],"next":2}"#),
    )],
    codes: &[
        &codes::BAD_PARAMETER,
        &codes::UNKNOWN_TRANSACTION,
        &codes::CHAIN_TOO_WIDE,
    ],
    others: true,
    ..READ
});

/// `GET /v1/transactions/{transaction_id}/notes`.
pub const NOTES: Call<NoteList> = Call::new(Operation {
    path: "/v1/transactions/{transaction_id}/notes",
    id: "notes",
    tag: "ledger",
    permission: Permission::Whole("tx.read"),
    summary: "Notes of this node's users on a transaction, the oldest first.",
    segments: &[ID],
    answers: &[answer(
        200,
        "All of them, at most 100.",
        json::<NoteList>(r#"{"notes":[]}"#),
    )],
    codes: &[&codes::BAD_PARAMETER, &codes::UNKNOWN_TRANSACTION],
    others: true,
    ..READ
});

/// `POST /v1/transactions/{transaction_id}/notes`.
pub const ADD_NOTE: Call<NoteView> = Call::new(Operation {
    method: Method::Post,
    path: "/v1/transactions/{transaction_id}/notes",
    id: "addNote",
    tag: "ledger",
    permission: Permission::Whole("tx.note"),
    audited: true,
    summary: "Adds a note to a recorded transaction. It stays on this node and is never sent to a peer.",
    segments: &[ID],
    body: json::<NewNote>(r#"{"text":"invoice 4711"}"#),
    answers: &[answer(
        201,
        "The note, once it is durable.",
        json::<NoteView>(
            r#"{"id":"0000019b6f2a1c0007d3a5e1","user":"ann","at_ms":1767225600000,"text":"invoice 4711"}"#,
        ),
    )],
    codes: &[
        &codes::BAD_PARAMETER,
        &codes::BAD_JSON,
        &codes::BAD_REQUEST,
        &codes::BODY_TOO_LARGE,
        &codes::BODY_TIMEOUT,
        &codes::UNKNOWN_TRANSACTION,
        &codes::NOTE_REFUSED,
    ],
    others: true,
    ..READ
});

/// `DELETE /v1/transactions/{transaction_id}/notes/{note_id}`.
pub const REMOVE_NOTE: Call<()> = Call::new(Operation {
    method: Method::Delete,
    path: "/v1/transactions/{transaction_id}/notes/{note_id}",
    id: "removeNote",
    tag: "ledger",
    permission: Permission::Whole("tx.note"),
    audited: true,
    summary: "Removes a note.",
    segments: &[ID, NOTE_ID],
    answers: &[answer(204, "It is gone.", None)],
    codes: &[&codes::BAD_PARAMETER, &codes::UNKNOWN_NOTE],
    others: true,
    ..READ
});

/// `GET /v1/schedule`.
pub const SCHEDULE: Call<SchedulePage> = Call::new(Operation {
    path: "/v1/schedule",
    id: "schedule",
    tag: "flows",
    permission: Permission::Whole("flow.read.all"),
    summary: "Flows that states have scheduled: first those that are due in the future, in order of time, then those that could not be started.",
    query: &[
        parameter(
            "after",
            Kind::Hex(90),
            "The value of `next` on the previous page.",
        ),
        LIMIT,
        TIMEOUT,
    ],
    answers: &[answer(
        200,
        "A page.",
        json::<SchedulePage>(
            r#"{"entries":[{"state_ref":"9a41(0)","flow":"iou.settle_due","at_ms":1767225600000,"status":"waiting"}]}"#,
        ),
    )],
    codes: &[&codes::BAD_PARAMETER],
    others: true,
    ..READ
});

/// The operations, in the order of the description.
pub(super) const OPERATIONS: &[&Operation] = &[
    &TRANSACTION_BYTES.row,
    &TRANSACTION_CHAIN.row,
    &NOTES.row,
    &ADD_NOTE.row,
    &REMOVE_NOTE.row,
    &SCHEDULE.row,
];
