//! Operations on users.

use super::model::{Answer, Kind, Operation, Parameter};
use super::parts::{LIMIT, READ, answer, json, parameter};
use crate::codes::{self, ErrorInfo};
use crate::{LoggedIn, NewToken, NewUser, UserChange, UserPage, UserView, paths};

const USER: &str = r#"{"name":"ann","enabled":true,"password":true,"permissions":["flow.start:cash.*"],"tokens_expire_ms":[]}"#;
const NAME: Parameter = parameter(
    "user",
    Kind::Form("^[A-Za-z0-9._@-]{1,64}$"),
    "The user's name.",
);
const THE_USER: Answer = answer(200, "The user.", json::<UserView>(USER));
const BODY: &[&ErrorInfo] = &[
    &codes::BAD_JSON,
    &codes::BAD_REQUEST,
    &codes::BODY_TOO_LARGE,
    &codes::BODY_TIMEOUT,
    &codes::BAD_PARAMETER,
    &codes::BAD_USER,
    &codes::UNKNOWN_USER,
    &codes::USERS_FILE,
];

/// The operations, in the order of the description.
pub(super) const OPERATIONS: &[Operation] = &[
    Operation {
        path: paths::USERS,
        id: "users",
        tag: "users",
        summary: "The users of the node's folder, by name.",
        query: &[
            parameter(
                "after",
                Kind::Text(64),
                "What `next` of the page before said.",
            ),
            LIMIT,
        ],
        answers: &[answer(200, "A page.", json::<UserPage>(r#"{"users":[]}"#))],
        codes: &[&codes::BAD_PARAMETER, &codes::USERS_FILE],
        ..READ
    },
    Operation {
        method: "post",
        path: paths::USERS,
        id: "addUser",
        tag: "users",
        summary: "Adds a user. A user can grant only permissions that they have themselves.",
        body: json::<NewUser>(
            r#"{"name":"ann","password":"secret","permissions":["flow.start:cash.*","flow.read"]}"#,
        ),
        answers: &[answer(201, "The user.", json::<UserView>(USER))],
        codes: &[
            &codes::BAD_JSON,
            &codes::BAD_REQUEST,
            &codes::BODY_TOO_LARGE,
            &codes::BODY_TIMEOUT,
            &codes::BAD_USER,
            &codes::USER_EXISTS,
            &codes::USERS_FILE,
        ],
        ..READ
    },
    Operation {
        path: paths::USER,
        id: "user",
        tag: "users",
        summary: "One user.",
        segments: &[NAME],
        answers: &[THE_USER],
        codes: &[
            &codes::BAD_PARAMETER,
            &codes::UNKNOWN_USER,
            &codes::USERS_FILE,
        ],
        ..READ
    },
    Operation {
        method: "patch",
        path: paths::USER,
        id: "changeUser",
        tag: "users",
        summary: "Enables or disables a user, sets permissions or a password. A user cannot change another user with permissions that they lack themselves.",
        segments: &[NAME],
        body: json::<UserChange>(r#"{"enabled":false}"#),
        answers: &[THE_USER],
        codes: BODY,
        ..READ
    },
    Operation {
        method: "delete",
        path: paths::USER,
        id: "removeUser",
        tag: "users",
        summary: "Removes a user; tokens and logins end.",
        segments: &[NAME],
        answers: &[answer(204, "Removed.", None)],
        codes: &[
            &codes::BAD_PARAMETER,
            &codes::UNKNOWN_USER,
            &codes::USERS_FILE,
        ],
        ..READ
    },
    Operation {
        method: "post",
        path: paths::USER_TOKENS,
        id: "addToken",
        tag: "users",
        summary: "A long-lived token for a user; it is shown this once.",
        segments: &[NAME],
        body: json::<NewToken>(r#"{"days":90}"#),
        answers: &[answer(
            201,
            "The token.",
            json::<LoggedIn>(r#"{"token":"ab12","expires_ms":1767225600000}"#),
        )],
        codes: BODY,
        ..READ
    },
    Operation {
        method: "delete",
        path: paths::USER_TOKENS,
        id: "revokeTokens",
        tag: "users",
        summary: "Ends all tokens and logins of a user.",
        segments: &[NAME],
        answers: &[THE_USER],
        codes: &[
            &codes::BAD_PARAMETER,
            &codes::UNKNOWN_USER,
            &codes::USERS_FILE,
        ],
        ..READ
    },
];
