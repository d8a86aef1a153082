//! Users, logins and permissions over real HTTP.

use std::path::Path;
use std::sync::Arc;

use api::operations;
use node::users::{
    AuditLog, PasswordHash, Sha256Text, TokenRecord, UserLimits, UserRecord, Users, UsersFile,
};
use primitives::Hash;

use crate::http_api::fixture::{Fixture, Reply, filled};

pub fn add(folder: &Path, name: &str, permissions: &[&str]) {
    let user = UserRecord {
        name: name.to_owned(),
        password: PasswordHash::new(b"good"),
        permissions: permissions
            .iter()
            .map(|text| text.parse().expect(text))
            .collect(),
        enabled: true,
        starts_per_s: None,
        start_bytes_max: None,
        tokens: vec![TokenRecord {
            sha256: Sha256Text(*Hash::plain(name.as_bytes()).as_bytes()),
            expires_s: u64::MAX >> 1,
        }],
    };
    if !folder.join("users.toml").exists() {
        UsersFile::init(folder).expect("there is none");
    }
    UsersFile::change(folder, |file| {
        file.users.push(user);
        Ok::<_, node::users::UsersError>(())
    })
    .expect("written");
}

pub async fn with_users(folder: &Path) -> Fixture {
    let users = Arc::new(Users::open(folder, UserLimits::default()).expect("users"));
    let audit = Arc::new(AuditLog::open(folder).expect("a log"));
    Fixture::with(|options| {
        options.users = Some(users);
        options.audit = Some(audit);
    })
    .await
}

pub async fn call(fixture: &Fixture, token: &str, method: &str, path: &str, body: &str) -> Reply {
    let header = format!("authorization: Bearer {token}\r\n");
    fixture.request(method, path, &header, body).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_described_call_is_refused_to_a_user_without_permissions() {
    let folder = tempfile::tempdir().expect("a folder");
    add(folder.path(), "nobody", &[]);
    let fixture = with_users(folder.path()).await;
    let document = fixture
        .authorised("GET", operations::OPENAPI.path, "")
        .await
        .json();
    for (path, methods) in document["paths"].as_object().expect("paths") {
        if [
            operations::OPENAPI.path,
            operations::HEALTH.path,
            operations::DOCS.path,
            operations::LOGIN.path,
            operations::LOGOUT.path,
        ]
        .contains(&path.as_str())
        {
            continue;
        }
        for method in methods.as_object().expect("methods").keys() {
            let path = filled(path, &"0".repeat(32));
            let reply = call(&fixture, "nobody", &method.to_uppercase(), &path, "").await;
            assert_eq!(reply.status, 403, "{method} {path}");
            let problem = reply.json();
            assert_eq!(problem["code"], "api.forbidden");
            let detail = problem["detail"].as_str().expect("a detail");
            // Every route has an entry of its own: none falls back to "ALL".
            assert!(
                detail.contains("permission ") && !detail.ends_with("ALL"),
                "{path}: {detail}"
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn users_log_in_start_what_they_may_and_see_their_own() {
    let folder = tempfile::tempdir().expect("a folder");
    add(folder.path(), "ann", &["flow.start:ec*", "flow.read"]);
    add(folder.path(), "eve", &["flow.read"]);
    let fixture = with_users(folder.path()).await;
    let login = |password: &str| format!(r#"{{"user":"ann","password":"{password}"}}"#);
    let wrong = fixture
        .request("POST", operations::LOGIN.path, "", &login("bad"))
        .await;
    assert_eq!(
        (wrong.status, &wrong.json()["code"]),
        (401, &"api.login_failed".into())
    );
    let reply = fixture
        .request("POST", operations::LOGIN.path, "", &login("good"))
        .await;
    assert_eq!(reply.status, 200);
    let reply = reply.json();
    let token = reply["token"].as_str().expect("a token");
    let started = call(
        &fixture,
        token,
        "POST",
        operations::START_FLOW.path,
        r#"{"flow":"echo","args":1}"#,
    )
    .await;
    assert_eq!(started.status, 200);
    let started = started.json();
    let path = operations::GET_FLOW.at(&[started["flow_id"].as_str().expect("an id")]);
    for (whose, method, path, body, status) in [
        (
            token,
            "POST",
            operations::START_FLOW.path,
            r#"{"flow":"fail"}"#,
            403,
        ),
        (
            "ann",
            "POST",
            operations::START_FLOW.path,
            r#"{"flow":"echo","args":1}"#,
            200,
        ),
        ("eve", "GET", &path, "", 403),
        (token, "POST", operations::LOGOUT.path, "", 204),
        (token, "GET", &path, "", 401),
        ("ann", "POST", operations::LOGOUT.path, "", 422),
    ] {
        let reply = call(&fixture, whose, method, path, body).await;
        assert_eq!(reply.status, status, "{whose} {method} {path} {reply:?}");
    }
    let batch = r#"{"starts":[{"flow":"fail"},{"flow":"echo","args":1}]}"#;
    let batch = call(&fixture, "ann", "POST", operations::START_FLOWS.path, batch)
        .await
        .json();
    assert_eq!(
        (
            &batch["answers"][0]["status"],
            &batch["answers"][1]["status"]
        ),
        (&403.into(), &200.into())
    );
    // On a slow machine waits pass between two attempts. Each further attempt makes them longer.
    for attempt in 0..20 {
        let path = operations::LOGIN.path;
        let bad = fixture.request("POST", path, "", &login("bad")).await;
        if attempt >= 5 && bad.status == 429 {
            break;
        }
    }
    let limited = fixture
        .request("POST", operations::LOGIN.path, "", &login("good"))
        .await;
    assert_eq!(
        (limited.status, &limited.json()["code"]),
        (429, &"api.login_limited".into())
    );
    assert!(limited.head.contains("retry-after") && limited.json()["retry_after_ms"].is_u64());
    // A token of the user has a wait of its own, even if its login has ended. Another user's token does not.
    for (shown, status) in [(token, 200), ("ann", 200), ("eve", 429), ("x", 429)] {
        let path = operations::LOGIN.path;
        let reply = call(&fixture, shown, "POST", path, &login("good")).await;
        assert_eq!(reply.status, status, "{shown}: {reply:?}");
    }
}
