//! Operations on contracts, and on the proposals of other parties that the node signs.

use super::model::{Kind, Operation, Parameter};
use super::parts::{READ, answer, json, parameter};
use crate::{ConsentChange, ConsentList, ContractList, NewUpgrade, codes, paths};

const FROM: Parameter = parameter(
    "from",
    Kind::Hex(64),
    "The descriptor of the code that states are under.",
);
const TO: Parameter = parameter(
    "to",
    Kind::Hex(64),
    "The descriptor of the code that they come under.",
);
const CONSENTS: &str = r#"{"notary_changes":{"accepted":true,"configured":true},"upgrades":[]}"#;
const UPGRADE: &str = r#"{"from":"1f0c1f0c1f0c1f0c1f0c1f0c1f0c1f0c1f0c1f0c1f0c1f0c1f0c1f0c1f0c1f0c","to":"2f0c2f0c2f0c2f0c2f0c2f0c2f0c2f0c2f0c2f0c2f0c2f0c2f0c2f0c2f0c2f0c"}"#;

/// The operations, in the order of the description.
pub(super) const OPERATIONS: &[Operation] = &[
    Operation {
        path: paths::CONTRACTS,
        id: "contracts",
        tag: "contracts",
        summary: "The contracts that are registered in the node's binary, with the hashes of their descriptors.",
        answers: &[answer(
            200,
            "All of them.",
            json::<ContractList>(
                r#"{"contracts":[{"name":"tally.cash","version":1,"descriptor":"9a41","signer":"ed25519:00","current":true,"constraint":"version"}]}"#,
            ),
        )],
        ..READ
    },
    Operation {
        path: paths::CONSENTS,
        id: "consents",
        tag: "contracts",
        summary: "Which changes of notary and which upgrades the node signs when others propose them.",
        answers: &[answer(200, "All of it.", json::<ConsentList>(CONSENTS))],
        ..READ
    },
    Operation {
        method: "patch",
        path: paths::CONSENTS,
        id: "changeConsents",
        tag: "contracts",
        summary: "Says whether the node signs changes of notary; it holds over restarts.",
        body: json::<ConsentChange>(r#"{"notary_changes":"refuse"}"#),
        answers: &[answer(
            200,
            "What holds now, once it is durable.",
            json::<ConsentList>(CONSENTS),
        )],
        codes: &[
            &codes::BAD_JSON,
            &codes::BAD_REQUEST,
            &codes::BODY_TOO_LARGE,
            &codes::BODY_TIMEOUT,
        ],
        ..READ
    },
    Operation {
        method: "post",
        path: paths::UPGRADES,
        id: "authoriseUpgrade",
        tag: "contracts",
        summary: "Authorises an upgrade between two codes that are registered here; it holds over restarts. At most 1,000 at once.",
        body: json::<NewUpgrade>(UPGRADE),
        answers: &[answer(
            200,
            "What holds now, once it is durable.",
            json::<ConsentList>(CONSENTS),
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
    },
    Operation {
        method: "delete",
        path: paths::UPGRADE,
        id: "withdrawUpgrade",
        tag: "contracts",
        summary: "Withdraws an authorisation. One in the configuration is withdrawn there.",
        segments: &[FROM, TO],
        answers: &[answer(
            200,
            "What holds now, once it is durable.",
            json::<ConsentList>(CONSENTS),
        )],
        codes: &[
            &codes::BAD_PARAMETER,
            &codes::UNKNOWN_CONSENT,
            &codes::CONSENT_CONFIGURED,
        ],
        ..READ
    },
];
