//! Real processes: the audit log names the author and the subject of each change of users. A missing list of users is an error.

use std::path::Path;

use serde_json::Value;

use crate::stage::command::tally;
use crate::stage::{self, A, client, eventually};

fn lines(folder: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(folder.join("audit.log")).unwrap_or_default();
    // The last line may be in the writing.
    text.lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect()
}

/// Action, subject and outcome of the lines of an actor.
fn noted(folder: &Path, is_of: impl Fn(&str) -> bool) -> Vec<String> {
    let text = |line: &Value, field: &str| line[field].as_str().unwrap_or("-").to_owned();
    let of = |line: &&Value| is_of(line["user"].as_str().unwrap_or_default());
    lines(folder)
        .iter()
        .filter(of)
        .map(|line| ["action", "subject", "outcome", "code"].map(|field| text(line, field)))
        .map(|fields| fields.join(" "))
        .collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn changes_of_users_are_noted_and_a_missing_list_is_an_error() {
    let mut network = stage::network(&["A"]);
    let folder = network.folder(A).to_owned();
    for (line, code) in [
        ("user add --node % ann --no-password --grant node.read", 0),
        ("user grant --node % ann network.read", 0),
        ("user disable --node % ann", 0),
        ("user enable --node % ann", 0),
        ("user limit --node % ann --starts-per-s 5", 0),
        ("user token --node % ann --days 1", 0),
        ("user revoke-tokens --node % ann", 0),
        ("user remove --node % bob", 5),
        ("user remove --node % ann", 0),
        ("user init --node %", 5),
    ] {
        let ran = tally(&folder, line);
        assert_eq!(ran.code, code, "{line}: {}", ran.err);
    }
    let expected = [
        "user.add ann accepted -",
        "user.permissions ann accepted -",
        "user.disable ann accepted -",
        "user.enable ann accepted -",
        "user.limit ann accepted -",
        "user.token ann accepted -",
        "user.revoke_tokens ann accepted -",
        "user.remove bob refused tally.unknown_user",
        "user.remove ann accepted -",
        "user.init - refused users.exists",
    ];
    assert_eq!(noted(&folder, |user| user.starts_with("os:")), expected);

    let api = network.endpoint(A).expect("bootstrapped").address;
    let at = format!("--url https://{api} --root %/root.pem --token-file %/api-token");
    for line in [
        format!("user add {at} eve --no-password"),
        format!("user disable {at} eve"),
    ] {
        let ran = tally(&folder, &line);
        assert_eq!(ran.code, 0, "{line}: {}", ran.err);
    }
    eventually("the node has noted both", async || {
        let noted = noted(&folder, |user| !user.starts_with("os:"));
        let expected = [
            "POST /v1/users eve accepted -",
            "PATCH /v1/users/eve eve accepted -",
        ];
        expected
            .iter()
            .all(|line| noted.iter().any(|noted| noted == line))
            .then_some(())
    })
    .await;

    // The file is removed while the node runs: known users remain valid, and the list cannot be changed.
    std::fs::remove_file(folder.join("users.toml")).expect("there");
    for (line, code, said) in [
        ("user list --node %".to_owned(), 5, "users.missing"),
        (
            "user add --node % zoe --no-password".to_owned(),
            5,
            "users.missing",
        ),
        (format!("user list {at}"), 4, "users.missing"),
        ("doctor --node % --json".to_owned(), 5, "tally user init"),
    ] {
        let ran = tally(&folder, &line);
        let shown = format!("{}{}", ran.out, ran.err);
        assert!(
            ran.code == code && shown.contains(said),
            "{line}: {} {shown}",
            ran.code
        );
    }
    network.stop(A).expect("stopped");
    let refused = network.start(A).expect_err("no list of users");
    let shown = format!(
        "{refused:?} {}",
        std::fs::read_to_string(network.log(A)).unwrap_or_default()
    );
    assert!(shown.contains("users.missing"), "{shown}");
    assert!(
        shown.contains("users.toml") && shown.contains("tally user init"),
        "{shown}"
    );
    assert_eq!(tally(&folder, "user init --node %").code, 0);
    network.start(A).expect("starts with no users");
    client(&network, A).health().await.expect("answered");
}
