//! Operations on flows that do not finish.

use super::model::{Kind, Operation, Parameter};
use super::parts::{LIMIT, READ, answer, json, parameter};
use crate::{FlowJournal, FlowOrder, FlowOrdered, Outcome, codes, paths};

const FLOW_ID: Parameter = parameter("flow_id", Kind::Hex(32), "The flow.");
const STARTED: &str = r#"{"flow_id":"5f0c5f0c5f0c5f0c5f0c5f0c5f0c5f0c","status":"running"}"#;
const ORDER: &str = r#"{"where":{"status":"parked","code":"flow.panicked"},"dry_run":true}"#;
const ORDERED: &str =
    r#"{"matched":1,"done":0,"waiting":0,"flows":["5f0c5f0c5f0c5f0c5f0c5f0c5f0c5f0c"]}"#;
const JOURNAL: &str = r#"{"flow":{"flow_id":"5f0c5f0c5f0c5f0c5f0c5f0c5f0c5f0c","status":"running","step":"running","started_here":true},"entries":[]}"#;

/// In the order in which they are shown.
pub(super) const OPERATIONS: &[Operation] = &[
    Operation {
        method: "post",
        path: paths::FLOW_RETRY,
        id: "retryFlow",
        tag: "flows",
        summary: "Tries a parked flow again, or one that waits for its next try, from its journal.",
        segments: &[FLOW_ID],
        answers: &[answer(200, "Where it stands.", json::<Outcome>(STARTED))],
        codes: &[
            &codes::NODE_DRAINING,
            &codes::BAD_PARAMETER,
            &codes::UNKNOWN_FLOW,
            &codes::FLOW_STANDS_OTHERWISE,
        ],
        others: true,
        ..READ
    },
    Operation {
        method: "post",
        path: paths::FLOW_PAUSE,
        id: "pauseFlow",
        tag: "flows",
        summary: "Lets a flow take no step until it is resumed, also after a restart. One that has asked the notary goes on until it has dealt with the answer.",
        segments: &[FLOW_ID],
        answers: &[answer(200, "Where it stands.", json::<Outcome>(STARTED))],
        codes: &[
            &codes::BAD_PARAMETER,
            &codes::UNKNOWN_FLOW,
            &codes::FLOW_STANDS_OTHERWISE,
        ],
        others: true,
        ..READ
    },
    Operation {
        method: "post",
        path: paths::FLOW_RESUME,
        id: "resumeFlow",
        tag: "flows",
        summary: "Lets a paused flow go on.",
        segments: &[FLOW_ID],
        answers: &[answer(200, "Where it stands.", json::<Outcome>(STARTED))],
        codes: &[
            &codes::NODE_DRAINING,
            &codes::BAD_PARAMETER,
            &codes::UNKNOWN_FLOW,
            &codes::FLOW_STANDS_OTHERWISE,
        ],
        others: true,
        ..READ
    },
    Operation {
        path: paths::FLOW_JOURNAL,
        id: "getFlowJournal",
        tag: "flows",
        summary: "A live flow's journal for support: what came in which order, large values by their size and hash only, no secrets.",
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
    Operation {
        method: "post",
        path: paths::FLOWS_RETRY,
        id: "retryFlows",
        tag: "flows",
        summary: "Tries flows again that meet a query, or counts them. At most 1,000 in one request; `next` says where to go on.",
        body: json::<FlowOrder>(ORDER),
        answers: &[answer(200, "How many.", json::<FlowOrdered>(ORDERED))],
        codes: &[
            &codes::NODE_DRAINING,
            &codes::BAD_JSON,
            &codes::BAD_REQUEST,
            &codes::BAD_PARAMETER,
            &codes::BODY_TOO_LARGE,
            &codes::BODY_TIMEOUT,
        ],
        ..READ
    },
    Operation {
        method: "post",
        path: paths::FLOWS_PAUSE,
        id: "pauseFlows",
        tag: "flows",
        summary: "Pauses flows that meet a query, or counts them. At most 1,000 in one request; `next` says where to go on.",
        body: json::<FlowOrder>(ORDER),
        answers: &[answer(200, "How many.", json::<FlowOrdered>(ORDERED))],
        codes: &[
            &codes::BAD_JSON,
            &codes::BAD_REQUEST,
            &codes::BAD_PARAMETER,
            &codes::BODY_TOO_LARGE,
            &codes::BODY_TIMEOUT,
        ],
        ..READ
    },
    Operation {
        method: "post",
        path: paths::FLOWS_RESUME,
        id: "resumeFlows",
        tag: "flows",
        summary: "Resumes paused flows that meet a query, or counts them. At most 1,000 in one request; `next` says where to go on.",
        body: json::<FlowOrder>(ORDER),
        answers: &[answer(200, "How many.", json::<FlowOrdered>(ORDERED))],
        codes: &[
            &codes::NODE_DRAINING,
            &codes::BAD_JSON,
            &codes::BAD_REQUEST,
            &codes::BAD_PARAMETER,
            &codes::BODY_TOO_LARGE,
            &codes::BODY_TIMEOUT,
        ],
        ..READ
    },
    Operation {
        method: "post",
        path: paths::FLOWS_KILL,
        id: "killFlows",
        tag: "flows",
        summary: "Kills flows that meet a query, or counts them. At most 1,000 in one request; `next` says where to go on.",
        body: json::<FlowOrder>(ORDER),
        answers: &[answer(200, "How many.", json::<FlowOrdered>(ORDERED))],
        codes: &[
            &codes::BAD_JSON,
            &codes::BAD_REQUEST,
            &codes::BAD_PARAMETER,
            &codes::BODY_TOO_LARGE,
            &codes::BODY_TIMEOUT,
        ],
        ..READ
    },
];
