//! Real processes: the audit log names the author and the subject of each change of users. A missing list of users is an error.

use std::path::Path;
use std::process::Command;

use perf::topology::Network;
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
        "user.add ann begun -",
        "user.add ann accepted -",
        "user.permissions ann begun -",
        "user.permissions ann accepted -",
        "user.disable ann begun -",
        "user.disable ann accepted -",
        "user.enable ann begun -",
        "user.enable ann accepted -",
        "user.limit ann begun -",
        "user.limit ann accepted -",
        "user.token ann begun -",
        "user.token ann accepted -",
        "user.revoke_tokens ann begun -",
        "user.revoke_tokens ann accepted -",
        "user.remove bob begun -",
        "user.remove bob refused tally.unknown_user",
        "user.remove ann begun -",
        "user.remove ann accepted -",
        "user.init - begun -",
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
            "POST /v1/users eve begun -",
            "POST /v1/users eve accepted -",
            "PATCH /v1/users/eve eve begun -",
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

/// The limit of file sizes stands for a full disk: the padded audit log is beyond it, and no other file of the node is.
const FILE_BYTES_MAX: u64 = 1_300_000;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_changes_without_its_line_in_the_audit_log() {
    let mut options = stage::options(&["A"]);
    options.settings = vec!["store.log_bytes = 1048576".into()];
    let network = Network::bring_up(&options).expect("the network comes up");
    let folder = network.folder(A).to_owned();
    assert_eq!(
        tally(&folder, "user add --node % ann --no-password").code,
        0
    );
    let audit = folder.join("audit.log");
    let mut padded = std::fs::read_to_string(&audit).expect("there");
    padded.push_str(&"{\"action\":\"padding\"}\n".repeat(100_000));
    std::fs::write(&audit, padded).expect("written");
    let users = || std::fs::read_to_string(folder.join("users.toml")).expect("there");
    let before = users();

    let bound = format!("--fsize={FILE_BYTES_MAX}:{FILE_BYTES_MAX}");
    let at = folder.display().to_string();
    let words = ["user", "add", "--node", &at, "zoe", "--no-password"];
    let mut command = Command::new("prlimit");
    command.arg(bound).arg(stage::binary()).args(words);
    let ran = command.output().expect("util-linux is installed");
    assert!(!ran.status.success() && users() == before, "{ran:?}");

    let pid = network.pid(A).expect("it runs").to_string();
    let bound_node = |bytes: &str| {
        // The soft limit alone, so that it can be lifted again.
        let bound = format!("--fsize={bytes}:");
        let done = Command::new("prlimit")
            .args(["--pid", &pid, &bound])
            .status();
        assert!(done.expect("util-linux is installed").success());
    };
    let api = network.endpoint(A).expect("bootstrapped").address;
    let at = format!("--url https://{api} --root %/root.pem --token-file %/api-token");
    bound_node(&FILE_BYTES_MAX.to_string());
    for line in [
        format!("user add {at} zoe --no-password"),
        format!("user disable {at} ann"),
        format!("user token {at} ann --days 1"),
        format!("user remove {at} ann"),
    ] {
        let ran = tally(&folder, &line);
        assert!(ran.code != 0 && users() == before, "{line}: {}", ran.err);
        assert!(ran.err.contains("users_file"), "{line}: {}", ran.err);
    }
    bound_node("unlimited");
    let ran = tally(&folder, &format!("user add {at} zoe --no-password"));
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(users().contains("zoe"));
    // The line is durable before the answer.
    let noted = noted(&folder, |user| !user.starts_with("os:"));
    assert!(
        noted
            .iter()
            .any(|line| line == "POST /v1/users zoe begun -"),
        "{noted:?}"
    );
}
