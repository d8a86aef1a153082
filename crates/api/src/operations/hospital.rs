//! Operations on flows that do not finish.

use super::kind::Kind;
use super::parts::{LIMIT, READ, answer, json, parameter};
use super::row::{Answer, Call, Method, Operation, Parameter, Permission};
use crate::codes::ErrorInfo;
use crate::{FlowJournal, FlowOrder, FlowOrdered, Outcome, codes};

const FLOW_ID: Parameter = parameter("flow_id", Kind::Hex(32), "The flow.");
const STARTED: &str = r#"{"flow_id":"5f0c5f0c5f0c5f0c5f0c5f0c5f0c5f0c","status":"running"}"#;
const ORDER: &str = r#"{"where":{"status":"parked","code":"flow.panicked"},"dry_run":true}"#;
const ORDERED: &str =
    r#"{"matched":1,"done":0,"waiting":0,"flows":["5f0c5f0c5f0c5f0c5f0c5f0c5f0c5f0c"]}"#;
const JOURNAL: &str = r#"{"flow":{"flow_id":"5f0c5f0c5f0c5f0c5f0c5f0c5f0c5f0c","status":"running","step":"running","started_here":true},"entries":[]}"#;

const STANDS: &[Answer] = &[answer(200, "Where it stands.", json::<Outcome>(STARTED))];
const HOW_MANY: &[Answer] = &[answer(200, "How many.", json::<FlowOrdered>(ORDERED))];

/// Returns an order for one flow; some orders are refused while the node drains.
const fn for_one(
    path: &'static str,
    id: &'static str,
    permission: Permission,
    summary: &'static str,
    codes: &'static [&'static ErrorInfo],
) -> Operation {
    Operation {
        method: Method::Post,
        path,
        id,
        tag: "flows",
        permission,
        audited: true,
        summary,
        segments: &[FLOW_ID],
        answers: STANDS,
        codes,
        others: true,
        ..READ
    }
}

const OF_ONE: &[&ErrorInfo] = &[
    &codes::BAD_PARAMETER,
    &codes::UNKNOWN_FLOW,
    &codes::FLOW_STANDS_OTHERWISE,
];
const OF_ONE_RUNNING: &[&ErrorInfo] = &[
    &codes::NODE_DRAINING,
    &codes::BAD_PARAMETER,
    &codes::UNKNOWN_FLOW,
    &codes::FLOW_STANDS_OTHERWISE,
];

/// Returns an order for all flows that match a query.
const fn for_many(
    path: &'static str,
    id: &'static str,
    permission: Permission,
    summary: &'static str,
    codes: &'static [&'static ErrorInfo],
) -> Operation {
    Operation {
        method: Method::Post,
        path,
        id,
        tag: "flows",
        permission,
        audited: true,
        summary,
        body: json::<FlowOrder>(ORDER),
        answers: HOW_MANY,
        codes,
        ..READ
    }
}

const OF_MANY: &[&ErrorInfo] = &[
    &codes::BAD_JSON,
    &codes::BAD_REQUEST,
    &codes::BAD_PARAMETER,
    &codes::BODY_TOO_LARGE,
    &codes::BODY_TIMEOUT,
];
const OF_MANY_RUNNING: &[&ErrorInfo] = &[
    &codes::NODE_DRAINING,
    &codes::BAD_JSON,
    &codes::BAD_REQUEST,
    &codes::BAD_PARAMETER,
    &codes::BODY_TOO_LARGE,
    &codes::BODY_TIMEOUT,
];

/// `POST /v1/flows/{flow_id}/retry`.
pub const RETRY_FLOW: Call<Outcome> = Call::new(for_one(
    "/v1/flows/{flow_id}/retry",
    "retryFlow",
    Permission::Own("flow.retry"),
    "Retries a parked or retrying flow from its journal at once.",
    OF_ONE_RUNNING,
));

/// `POST /v1/flows/{flow_id}/pause`.
pub const PAUSE_FLOW: Call<Outcome> = Call::new(for_one(
    "/v1/flows/{flow_id}/pause",
    "pauseFlow",
    Permission::Own("flow.pause"),
    "Pauses a flow until it is resumed, also over a restart. A flow that waits for the notary first handles the answer.",
    OF_ONE,
));

/// `POST /v1/flows/{flow_id}/resume`.
pub const RESUME_FLOW: Call<Outcome> = Call::new(for_one(
    "/v1/flows/{flow_id}/resume",
    "resumeFlow",
    Permission::Own("flow.pause"),
    "Resumes a paused flow.",
    OF_ONE_RUNNING,
));

/// `GET /v1/flows/{flow_id}/journal`.
pub const GET_FLOW_JOURNAL: Call<FlowJournal> = Call::new(Operation {
    path: "/v1/flows/{flow_id}/journal",
    id: "getFlowJournal",
    tag: "flows",
    permission: Permission::Own("flow.journal"),
    summary: "A live flow's journal for support: the entries in order, large values by their size and hash only, no secrets.",
    segments: &[FLOW_ID],
    query: &[
        parameter(
            "after",
            Kind::Count,
            "The value of `next` on the previous page.",
        ),
        LIMIT,
    ],
    answers: &[answer(200, "A page of rows.", json::<FlowJournal>(JOURNAL))],
    codes: &[&codes::BAD_PARAMETER, &codes::UNKNOWN_FLOW],
    others: true,
    ..READ
});

/// `POST /v1/flows/retry`.
pub const RETRY_FLOWS: Call<FlowOrdered> = Call::new(for_many(
    "/v1/flows/retry",
    "retryFlows",
    Permission::Whole("flow.retry"),
    "Retries the flows that match a query, or counts them. At most 1,000 in one request; `next` is the cursor for the following request.",
    OF_MANY_RUNNING,
));

/// `POST /v1/flows/pause`.
pub const PAUSE_FLOWS: Call<FlowOrdered> = Call::new(for_many(
    "/v1/flows/pause",
    "pauseFlows",
    Permission::Whole("flow.pause"),
    "Pauses the flows that match a query, or counts them. At most 1,000 in one request; `next` is the cursor for the following request.",
    OF_MANY,
));

/// `POST /v1/flows/resume`.
pub const RESUME_FLOWS: Call<FlowOrdered> = Call::new(for_many(
    "/v1/flows/resume",
    "resumeFlows",
    Permission::Whole("flow.pause"),
    "Resumes the paused flows that match a query, or counts them. At most 1,000 in one request; `next` is the cursor for the following request.",
    OF_MANY_RUNNING,
));

/// `POST /v1/flows/kill`.
pub const KILL_FLOWS: Call<FlowOrdered> = Call::new(for_many(
    "/v1/flows/kill",
    "killFlows",
    Permission::Whole("flow.cancel"),
    "Kills the flows that match a query, or counts them. At most 1,000 in one request; `next` is the cursor for the following request.",
    OF_MANY,
));

/// The operations, in the order of the description.
pub(super) const OPERATIONS: &[&Operation] = &[
    &RETRY_FLOW.row,
    &PAUSE_FLOW.row,
    &RESUME_FLOW.row,
    &GET_FLOW_JOURNAL.row,
    &RETRY_FLOWS.row,
    &PAUSE_FLOWS.row,
    &RESUME_FLOWS.row,
    &KILL_FLOWS.row,
];
