//! Operations on the recovery from a rollback.

use super::model::Operation;
use super::parts::{READ, answer, json};
use crate::{FinishRecovery, RecoveryView, codes, paths};

const VIEW: &str = r#"{"life":3,"number":120,"links":[]}"#;

/// The operations, in the order of the description.
pub(super) const OPERATIONS: &[Operation] = &[
    Operation {
        path: paths::RECOVERY,
        id: "recovery",
        tag: "node",
        summary: "Contradictions between the node's data and the data that others have seen of it: proof of a rollback, findings of peers, and the progress of a recovery.",
        answers: &[answer(200, "All of it.", json::<RecoveryView>(VIEW))],
        ..READ
    },
    Operation {
        method: "post",
        path: paths::RECOVERY,
        id: "beginRecovery",
        tag: "node",
        summary: "Fetches all transactions that concern this node from the other nodes. A running recovery continues.",
        answers: &[answer(200, "How it stands.", json::<RecoveryView>(VIEW))],
        ..READ
    },
    Operation {
        method: "post",
        path: paths::RECOVERY_FINISH,
        id: "finishRecovery",
        tag: "node",
        summary: "Ends a rollback: the node accepts starts again, and a notary signs again.",
        body: json::<FinishRecovery>(r#"{"accept_missing":false}"#),
        answers: &[answer(200, "How it stands.", json::<RecoveryView>(VIEW))],
        codes: &[
            &codes::BAD_JSON,
            &codes::BAD_REQUEST,
            &codes::BODY_TOO_LARGE,
            &codes::BODY_TIMEOUT,
        ],
        others: true,
        ..READ
    },
];
