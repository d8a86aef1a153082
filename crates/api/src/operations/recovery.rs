//! Operations on the recovery from a rollback.

use super::parts::{READ, answer, json};
use super::row::{Call, Method, Operation, Permission};
use crate::{FinishRecovery, RecoveryView, codes};

const VIEW: &str = r#"{"life":3,"number":120,"links":[]}"#;

/// `GET /v1/recovery`.
pub const RECOVERY: Call<RecoveryView> = Call::new(Operation {
    path: "/v1/recovery",
    id: "recovery",
    tag: "node",
    permission: Permission::Whole("node.read"),
    summary: "Contradictions between the node's data and the data that others have seen of it: proof of a rollback, findings of peers, and the progress of a recovery.",
    answers: &[answer(200, "All of it.", json::<RecoveryView>(VIEW))],
    ..READ
});

/// `POST /v1/recovery`.
pub const BEGIN_RECOVERY: Call<RecoveryView> = Call::new(Operation {
    method: Method::Post,
    path: "/v1/recovery",
    id: "beginRecovery",
    tag: "node",
    permission: Permission::Whole("admin.recover"),
    audited: true,
    summary: "Fetches all transactions that concern this node from the other nodes. A running recovery continues.",
    answers: &[answer(200, "How it stands.", json::<RecoveryView>(VIEW))],
    ..READ
});

/// `POST /v1/recovery/finish`.
pub const FINISH_RECOVERY: Call<RecoveryView> = Call::new(Operation {
    method: Method::Post,
    path: "/v1/recovery/finish",
    id: "finishRecovery",
    tag: "node",
    permission: Permission::Whole("admin.recover"),
    audited: true,
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
});

/// The operations, in the order of the description.
pub(super) const OPERATIONS: &[&Operation] =
    &[&RECOVERY.row, &BEGIN_RECOVERY.row, &FINISH_RECOVERY.row];
