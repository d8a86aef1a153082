//! Operations on users.

use super::kind::Kind;
use super::parts::{LIMIT, READ, answer, json, parameter};
use super::row::{Answer, Call, Method, Operation, Parameter, Permission};
use crate::codes::{self, ErrorInfo};
use crate::{LoggedIn, NewToken, NewUser, UserChange, UserPage, UserView};

const VIEW: &str = r#"{"name":"ann","enabled":true,"password":true,"permissions":["flow.start:cash.*"],"tokens_expire_ms":[]}"#;
const NAME: Parameter = parameter(
    "user",
    Kind::Form("^[A-Za-z0-9._@-]{1,64}$"),
    "The user's name.",
);
const THE_USER: Answer = answer(200, "The user.", json::<UserView>(VIEW));
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

/// `GET /v1/users`.
pub const USERS: Call<UserPage> = Call::new(Operation {
    path: "/v1/users",
    id: "users",
    tag: "users",
    permission: Permission::Whole("admin.users"),
    summary: "The users of the node's folder, by name.",
    query: &[
        parameter(
            "after",
            Kind::Text(64),
            "The value of `next` on the previous page.",
        ),
        LIMIT,
    ],
    answers: &[answer(200, "A page.", json::<UserPage>(r#"{"users":[]}"#))],
    codes: &[&codes::BAD_PARAMETER, &codes::USERS_FILE],
    ..READ
});

/// `POST /v1/users`.
pub const ADD_USER: Call<UserView> = Call::new(Operation {
    method: Method::Post,
    path: "/v1/users",
    id: "addUser",
    tag: "users",
    permission: Permission::Whole("admin.users"),
    audited: true,
    summary: "Adds a user. A user can grant only permissions that they have themselves.",
    body: json::<NewUser>(
        r#"{"name":"ann","password":"secret","permissions":["flow.start:cash.*","flow.read"]}"#,
    ),
    answers: &[answer(201, "The user.", json::<UserView>(VIEW))],
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
});

/// `GET /v1/users/{user}`.
pub const USER: Call<UserView> = Call::new(Operation {
    path: "/v1/users/{user}",
    id: "user",
    tag: "users",
    permission: Permission::Whole("admin.users"),
    summary: "One user.",
    segments: &[NAME],
    answers: &[THE_USER],
    codes: &[
        &codes::BAD_PARAMETER,
        &codes::UNKNOWN_USER,
        &codes::USERS_FILE,
    ],
    ..READ
});

/// `PATCH /v1/users/{user}`.
pub const CHANGE_USER: Call<UserView> = Call::new(Operation {
    method: Method::Patch,
    path: "/v1/users/{user}",
    id: "changeUser",
    tag: "users",
    permission: Permission::Whole("admin.users"),
    audited: true,
    summary: "Enables or disables a user, sets permissions or a password. A user cannot change another user with permissions that they lack themselves.",
    segments: &[NAME],
    body: json::<UserChange>(r#"{"enabled":false}"#),
    answers: &[THE_USER],
    codes: BODY,
    ..READ
});

/// `DELETE /v1/users/{user}`.
pub const REMOVE_USER: Call<()> = Call::new(Operation {
    method: Method::Delete,
    path: "/v1/users/{user}",
    id: "removeUser",
    tag: "users",
    permission: Permission::Whole("admin.users"),
    audited: true,
    summary: "Removes a user, and ends all tokens and logins of the user.",
    segments: &[NAME],
    answers: &[answer(204, "Removed.", None)],
    codes: &[
        &codes::BAD_PARAMETER,
        &codes::UNKNOWN_USER,
        &codes::USERS_FILE,
    ],
    ..READ
});

/// `POST /v1/users/{user}/tokens`.
pub const ADD_TOKEN: Call<LoggedIn> = Call::new(Operation {
    method: Method::Post,
    path: "/v1/users/{user}/tokens",
    id: "addToken",
    tag: "users",
    permission: Permission::Whole("admin.users"),
    audited: true,
    summary: "Makes a long-lived token for a user. It is shown only once.",
    segments: &[NAME],
    body: json::<NewToken>(r#"{"days":90}"#),
    answers: &[answer(
        201,
        "The token.",
        json::<LoggedIn>(r#"{"token":"ab12","expires_ms":1767225600000}"#),
    )],
    codes: BODY,
    ..READ
});

/// `DELETE /v1/users/{user}/tokens`.
pub const REVOKE_TOKENS: Call<UserView> = Call::new(Operation {
    method: Method::Delete,
    path: "/v1/users/{user}/tokens",
    id: "revokeTokens",
    tag: "users",
    permission: Permission::Whole("admin.users"),
    audited: true,
    summary: "Ends all tokens and logins of a user.",
    segments: &[NAME],
    answers: &[THE_USER],
    codes: &[
        &codes::BAD_PARAMETER,
        &codes::UNKNOWN_USER,
        &codes::USERS_FILE,
    ],
    ..READ
});

/// The operations, in the order of the description.
pub(super) const OPERATIONS: &[&Operation] = &[
    &USERS.row,
    &ADD_USER.row,
    &USER.row,
    &CHANGE_USER.row,
    &REMOVE_USER.row,
    &ADD_TOKEN.row,
    &REVOKE_TOKENS.row,
];
