//! Operations on flows that do not finish.

use super::model::{Answer, Kind, Operation, Parameter};
use super::parts::{LIMIT, READ, answer, json, parameter};
use crate::codes::ErrorInfo;
use crate::{FlowJournal, FlowOrder, FlowOrdered, Outcome, codes, paths};

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
    summary: &'static str,
    codes: &'static [&'static ErrorInfo],
) -> Operation {
    Operation {
        method: "post",
        path,
        id,
        tag: "flows",
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
    summary: &'static str,
    codes: &'static [&'static ErrorInfo],
) -> Operation {
    Operation {
        method: "post",
        path,
        id,
        tag: "flows",
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

/// The operations, in the order of the description.
pub(super) const OPERATIONS: &[Operation] = &[
    for_one(
        paths::FLOW_RETRY,
        "retryFlow",
        "Tries a parked flow again, or one that waits for its next try, from its journal.",
        OF_ONE_RUNNING,
    ),
    for_one(
        paths::FLOW_PAUSE,
        "pauseFlow",
        "Lets a flow take no step until it is resumed, also after a restart. One that has asked the notary goes on until it has dealt with the answer.",
        OF_ONE,
    ),
    for_one(
        paths::FLOW_RESUME,
        "resumeFlow",
        "Lets a paused flow go on.",
        OF_ONE_RUNNING,
    ),
    Operation {
        path: paths::FLOW_JOURNAL,
        id: "getFlowJournal",
        tag: "flows",
        summary: "A live flow's journal for support: the entries in order, large values by their size and hash only, no secrets.",
        segments: &[FLOW_ID],
        query: &[
            parameter("after", Kind::Count, "What `next` of the page before said."),
            LIMIT,
        ],
        answers: &[answer(200, "A page of rows.", json::<FlowJournal>(JOURNAL))],
        codes: &[&codes::BAD_PARAMETER, &codes::UNKNOWN_FLOW],
        others: true,
        ..READ
    },
    for_many(
        paths::FLOWS_RETRY,
        "retryFlows",
        "Tries flows again that meet a query, or counts them. At most 1,000 in one request; `next` says where to go on.",
        OF_MANY_RUNNING,
    ),
    for_many(
        paths::FLOWS_PAUSE,
        "pauseFlows",
        "Pauses flows that meet a query, or counts them. At most 1,000 in one request; `next` says where to go on.",
        OF_MANY,
    ),
    for_many(
        paths::FLOWS_RESUME,
        "resumeFlows",
        "Resumes paused flows that meet a query, or counts them. At most 1,000 in one request; `next` says where to go on.",
        OF_MANY_RUNNING,
    ),
    for_many(
        paths::FLOWS_KILL,
        "killFlows",
        "Kills flows that meet a query, or counts them. At most 1,000 in one request; `next` says where to go on.",
        OF_MANY,
    ),
];
