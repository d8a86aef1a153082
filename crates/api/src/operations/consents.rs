//! Operations on contracts, and on the proposals of other parties that the node signs.

use super::kind::Kind;
use super::parts::{READ, answer, json, parameter};
use super::row::{Call, Method, Operation, Parameter, Permission};
use crate::{ConsentChange, ConsentList, ContractList, NewUpgrade, codes};

const FROM: Parameter = parameter(
    "from",
    Kind::Hex(64),
    "The descriptor of the current code of the states.",
);
const TO: Parameter = parameter("to", Kind::Hex(64), "The descriptor of the new code.");
const LIST: &str = r#"{"notary_changes":{"accepted":true,"configured":true},"upgrades":[]}"#;
const NEW_UPGRADE: &str = r#"{"from":"1f0c1f0c1f0c1f0c1f0c1f0c1f0c1f0c1f0c1f0c1f0c1f0c1f0c1f0c1f0c1f0c","to":"2f0c2f0c2f0c2f0c2f0c2f0c2f0c2f0c2f0c2f0c2f0c2f0c2f0c2f0c2f0c2f0c"}"#;

/// `GET /v1/contracts`.
pub const CONTRACTS: Call<ContractList> = Call::new(Operation {
    path: "/v1/contracts",
    id: "contracts",
    tag: "contracts",
    permission: Permission::Whole("node.read"),
    summary: "The contracts that are registered in the node's binary, with the hashes of their descriptors.",
    answers: &[answer(
        200,
        "All of them.",
        json::<ContractList>(
            r#"{"contracts":[{"name":"tally.cash","version":1,"descriptor":"9a41","signer":"ed25519:00","current":true,"constraint":"version"}]}"#,
        ),
    )],
    ..READ
});

/// `GET /v1/consents`.
pub const CONSENTS: Call<ConsentList> = Call::new(Operation {
    path: "/v1/consents",
    id: "consents",
    tag: "contracts",
    permission: Permission::Whole("node.read"),
    summary: "Which changes of notary and which upgrades the node signs when others propose them.",
    answers: &[answer(200, "All of it.", json::<ConsentList>(LIST))],
    ..READ
});

/// `PATCH /v1/consents`.
pub const CHANGE_CONSENTS: Call<ConsentList> = Call::new(Operation {
    method: Method::Patch,
    path: "/v1/consents",
    id: "changeConsents",
    tag: "contracts",
    permission: Permission::Whole("admin.consents"),
    audited: true,
    summary: "Sets whether the node signs changes of notary. The setting survives restarts.",
    body: json::<ConsentChange>(r#"{"notary_changes":"refuse"}"#),
    answers: &[answer(
        200,
        "The new settings, once they are durable.",
        json::<ConsentList>(LIST),
    )],
    codes: &[
        &codes::BAD_JSON,
        &codes::BAD_REQUEST,
        &codes::BODY_TOO_LARGE,
        &codes::BODY_TIMEOUT,
    ],
    ..READ
});

/// `POST /v1/consents/upgrades`.
pub const AUTHORISE_UPGRADE: Call<ConsentList> = Call::new(Operation {
    method: Method::Post,
    path: "/v1/consents/upgrades",
    id: "authoriseUpgrade",
    tag: "contracts",
    permission: Permission::Whole("admin.consents"),
    audited: true,
    summary: "Authorises an upgrade between two versions of code that are registered on this node. The authorisation survives restarts. At most 1,000 at once.",
    body: json::<NewUpgrade>(NEW_UPGRADE),
    answers: &[answer(
        200,
        "The new settings, once they are durable.",
        json::<ConsentList>(LIST),
    )],
    codes: &[
        &codes::BAD_JSON,
        &codes::BAD_REQUEST,
        &codes::BAD_PARAMETER,
        &codes::BODY_TOO_LARGE,
        &codes::BODY_TIMEOUT,
        &codes::UNKNOWN_CONTRACT,
        &codes::TOO_MANY_CONSENTS,
    ],
    ..READ
});

/// `DELETE /v1/consents/upgrades/{from}/{to}`.
pub const WITHDRAW_UPGRADE: Call<ConsentList> = Call::new(Operation {
    method: Method::Delete,
    path: "/v1/consents/upgrades/{from}/{to}",
    id: "withdrawUpgrade",
    tag: "contracts",
    permission: Permission::Whole("admin.consents"),
    audited: true,
    summary: "Withdraws an authorisation. To withdraw one that the configuration gives, edit the configuration.",
    segments: &[FROM, TO],
    answers: &[answer(
        200,
        "The new settings, once they are durable.",
        json::<ConsentList>(LIST),
    )],
    codes: &[
        &codes::BAD_PARAMETER,
        &codes::UNKNOWN_CONSENT,
        &codes::CONSENT_CONFIGURED,
    ],
    ..READ
});

/// The operations, in the order of the description.
pub(super) const OPERATIONS: &[&Operation] = &[
    &CONTRACTS.row,
    &CONSENTS.row,
    &CHANGE_CONSENTS.row,
    &AUTHORISE_UPGRADE.row,
    &WITHDRAW_UPGRADE.row,
];
