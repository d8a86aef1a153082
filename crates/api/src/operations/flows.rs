//! Operations on flows.

use super::kind::Kind;
use super::parts::{LIMIT, READ, TIMEOUT, WAIT, WAIT_IF_TOLD, answer, json, parameter, text};
use super::row::{Call, Content, Method, Operation, Parameter, Permission, schema_of};
use crate::{
    BatchAnswers, FlowList, Outcome, StartBatch, StartFlow, StreamAnswer, StreamStart, codes,
};

const FLOW_ID: Parameter = parameter("flow_id", Kind::Hex(32), "The flow.");
const STARTED: &str = r#"{"flow_id":"5f0c5f0c5f0c5f0c5f0c5f0c5f0c5f0c","status":"accepted"}"#;
const RUNNING: &str =
    r#"{"flow_id":"5f0c5f0c5f0c5f0c5f0c5f0c5f0c5f0c","status":"running","step":"notarising"}"#;
const ENDED: &str = r#"{"flow_id":"5f0c5f0c5f0c5f0c5f0c5f0c5f0c5f0c","status":"delivered","result":{},"transactions":["9a41"]}"#;
const START: &str = r#"{"flow":"cash.pay","args":{"currency":"GBP","payments":[{"to":"O=Bank B, L=Paris, C=FR","quantity":100}]},"client_id":"order-17","wait":"delivered","timeout_ms":30000}"#;

/// `POST /v1/flows`.
pub const START_FLOW: Call<Outcome> = Call::new(Operation {
    method: Method::Post,
    path: "/v1/flows",
    id: "startFlow",
    tag: "flows",
    permission: Permission::Some("flow.start"),
    summary: "Starts a flow and waits for the requested event. A flow that fails is a problem that names the flow, with status 422. A repeated start with the same client id gives the outcome of the same flow.",
    body: json::<StartFlow>(START),
    answers: &[
        answer(
            200,
            "The flow has succeeded: it is finalised or delivered.",
            json::<Outcome>(ENDED),
        ),
        answer(
            202,
            "The flow has not ended. Location is its URL.",
            json::<Outcome>(STARTED),
        ),
    ],
    codes: &[
        &codes::BAD_JSON,
        &codes::BAD_REQUEST,
        &codes::BAD_CLIENT_ID,
        &codes::BODY_TOO_LARGE,
        &codes::BODY_TIMEOUT,
        &codes::RATE_LIMITED,
        &codes::NODE_DRAINING,
        &codes::NODE_STARTING,
        &codes::OUTCOME_UNKNOWN,
        &codes::UNKNOWN_FLOW,
    ],
    others: true,
    ..READ
});

/// `GET /v1/flows`.
pub const LIST_FLOWS: Call<FlowList> = Call::new(Operation {
    path: "/v1/flows",
    id: "listFlows",
    tag: "flows",
    permission: Permission::Own("flow.read"),
    summary: "Flows that have not ended and match the filters, in order of id.",
    query: &[
        parameter(
            "status",
            Kind::Words(&["running", "retrying", "parked", "paused"]),
            "Where they stand.",
        ),
        parameter("flow", Kind::Text(256), "The registered name."),
        parameter(
            "code",
            Kind::Text(256),
            "The code of one of their failures.",
        ),
        parameter(
            "user",
            Kind::Text(256),
            "The user who started them on this node.",
        ),
        parameter(
            "peer",
            Kind::Text(1_024),
            "The legal name of a counterparty.",
        ),
        parameter(
            "older_than_ms",
            Kind::Number,
            "Minimum time since the start.",
        ),
        parameter(
            "stuck_ms",
            Kind::Number,
            "Minimum time without a step. Flows that only wait for a point in time are left out.",
        ),
        parameter(
            "after",
            Kind::Hex(32),
            "The value of `next` on the previous page.",
        ),
        LIMIT,
        TIMEOUT,
    ],
    answers: &[answer(200, "A page.", json::<FlowList>(r#"{"flows":[]}"#))],
    codes: &[&codes::BAD_PARAMETER],
    ..READ
});

/// `POST /v1/flows/batch`.
pub const START_FLOWS: Call<BatchAnswers> = Call::new(Operation {
    method: Method::Post,
    path: "/v1/flows/batch",
    id: "startFlows",
    tag: "flows",
    permission: Permission::Some("flow.start"),
    summary: "Starts up to 256 flows in order and waits for each as its start says. Every start is answered by itself, in the order of the starts.",
    body: json::<StartBatch>(
        r#"{"starts":[{"flow":"cash.pay","args":{"currency":"GBP","payments":[{"to":"O=Bank B, L=Paris, C=FR","quantity":100}]}}]}"#,
    ),
    answers: &[answer(
        200,
        "One outcome for each start.",
        json::<BatchAnswers>(
            r#"{"answers":[{"status":200,"outcome":{"flow_id":"5f0c5f0c5f0c5f0c5f0c5f0c5f0c5f0c","status":"finalised","result":{}}}]}"#,
        ),
    )],
    codes: &[
        &codes::BAD_JSON,
        &codes::BAD_REQUEST,
        &codes::BAD_BATCH,
        &codes::BODY_TOO_LARGE,
        &codes::BODY_TIMEOUT,
    ],
    ..READ
});

/// `GET /v1/flows/{flow_id}`.
pub const GET_FLOW: Call<Outcome> = Call::new(Operation {
    path: "/v1/flows/{flow_id}",
    id: "getFlow",
    tag: "flows",
    permission: Permission::Own("flow.read"),
    summary: "The state of a flow, live or ended. Ended flows are known while the history keeps them. Does not wait unless told to. With `wait`, a flow that fails is a problem with status 422; without, its status is `failed` or `killed`.",
    segments: &[FLOW_ID],
    query: &[WAIT_IF_TOLD, TIMEOUT],
    answers: &[answer(200, "Where it stands.", json::<Outcome>(ENDED))],
    codes: &[
        &codes::BAD_PARAMETER,
        &codes::UNKNOWN_FLOW,
        &codes::RESULT_NOT_KEPT,
    ],
    others: true,
    ..READ
});

/// `GET /v1/flows/{flow_id}/events`.
pub const FOLLOW_FLOW: Call<()> = Call::new(Operation {
    path: "/v1/flows/{flow_id}/events",
    id: "followFlow",
    tag: "flows",
    permission: Permission::Own("flow.read"),
    summary: "Server-sent events: `state` (an Outcome) at once, `step` (a FlowStep) for each step of its progress, and at last `end`, `parked` (an Outcome), `failed` or `cut` (a Problem).",
    segments: &[FLOW_ID],
    query: &[parameter(
        "wait",
        Kind::WordsOr(&["finalised", "delivered"], "finalised"),
        "The event that ends the stream; `finalised` if left out.",
    )],
    answers: &[answer(
        200,
        "Events until the flow's end.",
        text(
            "text/event-stream",
            "event: step\nid: 1\ndata: {\"step\":\"notarising\"}\n\n",
        ),
    )],
    codes: &[&codes::BAD_PARAMETER, &codes::UNKNOWN_FLOW],
    others: true,
    ..READ
});

/// `POST /v1/flows/{flow_id}/cancel`.
pub const CANCEL_FLOW: Call<Outcome> = Call::new(Operation {
    method: Method::Post,
    path: "/v1/flows/{flow_id}/cancel",
    id: "cancelFlow",
    tag: "flows",
    permission: Permission::Own("flow.cancel"),
    audited: true,
    summary: "Cancels a flow. One that has asked the notary waits for its answer first.",
    segments: &[FLOW_ID],
    answers: &[answer(200, "Where it stands.", json::<Outcome>(RUNNING))],
    codes: &[&codes::BAD_PARAMETER, &codes::UNKNOWN_FLOW],
    others: true,
    ..READ
});

/// `DELETE /v1/clients/{client_id}`.
pub const FORGET_CLIENT_ID: Call<()> = Call::new(Operation {
    method: Method::Delete,
    path: "/v1/clients/{client_id}",
    id: "forgetClientId",
    tag: "flows",
    permission: Permission::Some("flow.start"),
    audited: true,
    summary: "Deletes a client id of the token's user, and the outcome stored for it.",
    segments: &[parameter("client_id", Kind::Text(128), "The client id.")],
    answers: &[answer(204, "Forgotten.", None)],
    codes: &[
        &codes::BAD_PARAMETER,
        &codes::BAD_CLIENT_ID,
        &codes::UNKNOWN_CLIENT_ID,
    ],
    others: true,
    ..READ
});

/// `POST /v1/stream`.
pub const STREAM: Call<()> = Call::new(Operation {
    method: Method::Post,
    path: "/v1/stream",
    id: "stream",
    tag: "flows",
    permission: Permission::Some("flow.start"),
    summary: "Starts many flows over one long request. Each line of the request is a start (StreamStart), and each line of the answer is an answer to one start (StreamAnswer). Answers come in any order.",
    body: Some(Content {
        media: "application/x-ndjson",
        schema: schema_of::<StreamStart<'static>>,
        example: "{\"n\":1,\"flow\":\"cash.pay\",\"args\":{}}\n",
    }),
    answers: &[answer(
        200,
        "A line for each start.",
        Some(Content {
            media: "application/x-ndjson",
            schema: schema_of::<StreamAnswer>,
            example: "{\"n\":1,\"flow_id\":\"5f0c5f0c5f0c5f0c5f0c5f0c5f0c5f0c\",\"status\":\"finalised\"}\n",
        }),
    )],
    ..READ
});

/// `POST /v1/flows/{flow_id}`: the endpoint of one flow, with its name instead of an id. The description has an operation for
/// each flow instead of this row.
pub const START_FLOW_AT_ENDPOINT: Call<Outcome> = Call::new(Operation {
    method: Method::Post,
    path: "/v1/flows/{flow_id}",
    id: "startFlowAtEndpoint",
    tag: "flows",
    permission: Permission::Some("flow.start"),
    summary: "Starts a flow with the body as its arguments.",
    segments: &[FLOW_ID],
    query: &[
        WAIT,
        TIMEOUT,
        parameter(
            "client_id",
            Kind::Text(128),
            "Makes the start idempotent: a repeated start with the same id returns the outcome of the first.",
        ),
        parameter("version", Kind::Count, "A version; the newest if left out."),
        parameter(
            "Idempotency-Key",
            Kind::HeaderText("^[!-~]{1,128}$"),
            "The same as `client_id`, for clients that send this header.",
        ),
    ],
    answers: &[
        answer(
            200,
            "The flow has succeeded: it is finalised or delivered.",
            json::<Outcome>(ENDED),
        ),
        answer(202, "The flow has not ended.", json::<Outcome>(STARTED)),
    ],
    codes: &[
        &codes::BAD_JSON,
        &codes::BAD_PARAMETER,
        &codes::BAD_CLIENT_ID,
        &codes::BODY_TOO_LARGE,
        &codes::BODY_TIMEOUT,
        &codes::RATE_LIMITED,
        &codes::NODE_DRAINING,
        &codes::NODE_STARTING,
        &codes::OUTCOME_UNKNOWN,
        &codes::UNKNOWN_FLOW,
    ],
    others: true,
    ..READ
});

/// The operations, in the order of the description.
pub(super) const OPERATIONS: &[&Operation] = &[
    &START_FLOW.row,
    &LIST_FLOWS.row,
    &START_FLOWS.row,
    &GET_FLOW.row,
    &FOLLOW_FLOW.row,
    &CANCEL_FLOW.row,
    &FORGET_CLIENT_ID.row,
    &STREAM.row,
];
