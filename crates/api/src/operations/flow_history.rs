//! The operation on the history of flows.

use super::kind::Kind;
use super::parts::{LIMIT, READ, answer, json, parameter};
use super::row::{Call, Operation, Permission};
use crate::{FlowHistory, codes};

/// `GET /v1/flows/history`.
pub const LIST_FLOW_HISTORY: Call<FlowHistory> = Call::new(Operation {
    path: "/v1/flows/history",
    id: "listFlowHistory",
    tag: "flows",
    permission: Permission::Own("flow.read"),
    summary: "Flows that have ended and match the filters, the last one that ended first. The node keeps them for a configured time. Successful flows that counterparties started are not kept.",
    query: &[
        parameter(
            "status",
            Kind::Words(&["finalised", "failed", "killed"]),
            "How they ended.",
        ),
        parameter(
            "failed",
            Kind::Bool,
            "If true, only flows that failed or were killed. No successful flow is read, so this is the fastest filter.",
        ),
        parameter("flow", Kind::Text(256), "The registered name."),
        parameter("code", Kind::Text(256), "The code of their failure."),
        parameter(
            "user",
            Kind::Text(256),
            "The user who started them on this node.",
        ),
        parameter(
            "peer",
            Kind::Text(1_024),
            "The legal name of a counterparty: the one that started them, or the other side of a session.",
        ),
        parameter(
            "since_ms",
            Kind::Number,
            "The earliest end, in milliseconds since the Unix epoch.",
        ),
        parameter(
            "until_ms",
            Kind::Number,
            "The time before which they ended, in milliseconds since the Unix epoch.",
        ),
        parameter(
            "after",
            Kind::Hex(48),
            "The value of `next` on the previous page.",
        ),
        LIMIT,
    ],
    answers: &[answer(
        200,
        "A page.",
        json::<FlowHistory>(
            r#"{"flows":[{"flow_id":"5f0c5f0c5f0c5f0c5f0c5f0c5f0c5f0c","status":"failed","flow":"cash.pay","version":1,"started_here":true,"user":"alice","started_at_ms":1790000000000,"ended_at_ms":1790000000450,"error":{"code":"vault.insufficient_funds","message":"100.00 GBP are needed, 40.00 GBP are free","hint":"Issue or receive more, or pay less."}}]}"#,
        ),
    )],
    codes: &[&codes::BAD_PARAMETER],
    others: true,
    ..READ
});

/// The operations, in the order of the description.
pub(super) const OPERATIONS: &[&Operation] = &[&LIST_FLOW_HISTORY.row];
