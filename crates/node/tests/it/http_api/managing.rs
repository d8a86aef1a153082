//! Users are managed over the API: changes are in the file and in force before the answer, and no user gains permissions that the manager lacks.

use std::time::{Duration, Instant};

use api::operations;
use node::users::UsersFile;

use crate::http_api::users::{add, call, with_users};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn users_are_managed_within_the_caller_s_own_permissions() {
    let folder = tempfile::tempdir().expect("a folder");
    add(folder.path(), "root", &["ALL"]);
    add(
        folder.path(),
        "boss",
        &["admin.users", "flow.start:ec*", "flow.read"],
    );
    add(folder.path(), "ann", &["flow.read"]);
    let fixture = with_users(folder.path()).await;
    let user = |name: &str| operations::USER.at(&[name]);
    let tokens = |name: &str| operations::ADD_TOKEN.at(&[name]);
    let bea = r#"{"name":"bea","password":"longer","permissions":["flow.start:echo"]}"#;
    for (whose, method, path, body, status, code) in [
        (
            "ann",
            "GET",
            operations::USERS.path,
            "",
            403,
            "api.forbidden",
        ),
        (
            "ann",
            "POST",
            operations::USERS.path,
            bea,
            403,
            "api.forbidden",
        ),
        ("boss", "POST", operations::USERS.path, bea, 201, ""),
        (
            "boss",
            "POST",
            operations::USERS.path,
            bea,
            409,
            "api.user_exists",
        ),
        // An administrator's token is of this name: its flows are no user's.
        (
            "boss",
            "POST",
            operations::USERS.path,
            r#"{"name":"bob"}"#,
            409,
            "api.user_exists",
        ),
        (
            "boss",
            "POST",
            operations::USERS.path,
            r#"{"name":"eve","permissions":["ALL"]}"#,
            403,
            "api.forbidden",
        ),
        (
            "boss",
            "POST",
            operations::USERS.path,
            r#"{"name":"e e"}"#,
            422,
            "api.bad_user",
        ),
        (
            "boss",
            "POST",
            operations::USERS.path,
            r#"{"name":"schedule"}"#,
            422,
            "api.bad_user",
        ),
        (
            "boss",
            "POST",
            operations::USERS.path,
            r#"{"name":"eve","permissions":["flow.strat"]}"#,
            422,
            "api.bad_user",
        ),
        (
            "boss",
            "POST",
            operations::USERS.path,
            r#"{"name":"eve","password":""}"#,
            422,
            "api.bad_user",
        ),
        (
            "boss",
            "PATCH",
            &user("bea"),
            r#"{"permissions":["flow.start"]}"#,
            403,
            "api.forbidden",
        ),
        (
            "boss",
            "PATCH",
            &user("root"),
            r#"{"password":"mine now"}"#,
            403,
            "api.forbidden",
        ),
        ("boss", "DELETE", &user("root"), "", 403, "api.forbidden"),
        (
            "boss",
            "POST",
            &tokens("root"),
            r#"{"days":1}"#,
            403,
            "api.forbidden",
        ),
        ("boss", "DELETE", &user("x"), "", 404, "api.unknown_user"),
        ("boss", "GET", &user("x"), "", 404, "api.unknown_user"),
        (
            "boss",
            "POST",
            &tokens("bea"),
            r#"{"days":0}"#,
            422,
            "api.bad_user",
        ),
        ("boss", "GET", "/v1/users?limit=1", "", 200, ""),
        ("ann", "GET", "/v1/flows", "", 200, ""),
        (
            "boss",
            "PATCH",
            &user("ann"),
            r#"{"enabled":false}"#,
            200,
            "",
        ),
        ("ann", "GET", "/v1/flows", "", 401, "api.unauthorised"),
        (
            "boss",
            "PATCH",
            &user("ann"),
            r#"{"enabled":true}"#,
            200,
            "",
        ),
        ("ann", "GET", "/v1/flows", "", 200, ""),
        ("boss", "DELETE", &tokens("ann"), "", 200, ""),
        ("ann", "GET", "/v1/flows", "", 401, "api.unauthorised"),
        ("boss", "DELETE", &user("ann"), "", 204, ""),
    ] {
        let reply = call(&fixture, whose, method, path, body).await;
        assert_eq!(
            reply.status, status,
            "{whose} {method} {path} {body} {reply:?}"
        );
        if !code.is_empty() {
            assert_eq!(reply.json()["code"], code, "{whose} {method} {path}");
        }
    }

    let log = folder.path().join("audit.log");
    let written = || {
        let text = std::fs::read_to_string(&log).unwrap_or_default();
        let lines = text.lines().map(serde_json::from_str);
        let lines: Result<Vec<serde_json::Value>, _> = lines.collect();
        // A line that is being written is read again.
        lines.unwrap_or_default()
    };
    let end = Instant::now() + Duration::from_secs(20);
    let is_last = |line: &serde_json::Value| {
        line["action"] == "DELETE /v1/users/ann" && line["outcome"] == "accepted"
    };
    while !written().iter().any(is_last) {
        assert!(Instant::now() < end, "{:?}", written());
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let outcomes = |action: &str| -> Vec<String> {
        let lines = written()
            .into_iter()
            .filter(|line| line["action"] == action);
        let shown = lines.map(|line| match line["code"].as_str() {
            Some(code) => format!("{} {code}", line["outcome"].as_str().unwrap_or("?")),
            None => line["outcome"].as_str().unwrap_or("?").to_owned(),
        });
        shown.collect()
    };
    for (action, expected) in [
        (
            "POST /v1/users",
            "refused api.forbidden, begun, accepted, refused api.user_exists, refused api.user_exists, \
             refused api.forbidden, refused api.bad_user, refused api.bad_user, refused api.bad_user, refused api.bad_user",
        ),
        ("PATCH /v1/users/bea", "refused api.forbidden"),
        ("PATCH /v1/users/ann", "begun, accepted, begun, accepted"),
        ("DELETE /v1/users/x", "refused api.unknown_user"),
        ("DELETE /v1/users/ann", "begun, accepted"),
    ] {
        assert_eq!(outcomes(action).join(", "), expected, "{action}");
    }

    // Each line names the user that it is about.
    for line in written() {
        let action = line["action"].as_str().unwrap_or_default();
        if let Some((_, path)) = action.split_once(" /v1/users") {
            let subject = line["subject"].as_str().unwrap_or_default();
            let named = path.split('/').nth(1).unwrap_or(subject);
            assert_eq!(subject, named, "{line}");
            let is_known = !subject.is_empty() || line["code"] == "api.forbidden";
            assert!(is_known, "{line}");
        }
    }

    // A login works at once, and ends with the tokens.
    let login = r#"{"user":"bea","password":"longer"}"#;
    let reply = fixture
        .request("POST", operations::LOGIN.path, "", login)
        .await;
    let reply = reply.json();
    let token = reply["token"].as_str().expect("a token");
    let start = r#"{"flow":"echo","args":1}"#;
    let started = call(&fixture, token, "POST", operations::START_FLOW.path, start).await;
    assert_eq!(started.status, 200);
    let given = call(&fixture, "boss", "POST", &tokens("bea"), r#"{"days":1}"#).await;
    let given = given.json();
    let long = given["token"].as_str().expect("a token");
    let started = call(&fixture, long, "POST", operations::START_FLOW.path, start).await;
    assert_eq!(started.status, 200);
    call(&fixture, "boss", "DELETE", &tokens("bea"), "").await;
    for ended in [token, long] {
        let refused = call(&fixture, ended, "POST", operations::START_FLOW.path, start).await;
        assert_eq!(refused.status, 401);
    }

    let file = UsersFile::read(folder.path()).expect("good");
    let names: Vec<&str> = file.users.iter().map(|user| user.name.as_str()).collect();
    assert_eq!(names, ["root", "boss", "bea"]);
    let page = call(&fixture, "boss", "GET", "/v1/users?limit=2", "").await;
    let page = page.json();
    assert_eq!(
        (&page["users"][1]["name"], &page["next"]),
        (&"boss".into(), &"boss".into())
    );
    assert!(!page.to_string().contains("argon2"), "no hashes: {page}");
    let rest = call(&fixture, "boss", "GET", "/v1/users?after=boss", "").await;
    let rest = rest.json();
    assert_eq!(rest["users"].as_array().map(Vec::len), Some(1));
    assert!(rest.get("next").is_none());
}
