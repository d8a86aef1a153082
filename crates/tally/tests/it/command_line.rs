//! The command line against a real network: its output on each stream and its exit codes.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use perf::topology::Who;

use crate::stage::command::tally;
use crate::stage::{self, A, B};

/// Arguments of a payment to Bank B, in the folder of a node.
fn pay_file(folder: &Path, quantity: u64) {
    let to = "O=Bank B, L=London, C=GB";
    let payments = serde_json::json!([{ "to": to, "quantity": quantity }]);
    let args = serde_json::json!({ "currency": "GBP", "payments": payments });
    std::fs::write(folder.join("pay.json"), args.to_string()).expect("the folder is ours");
}

/// Asks until it is so, or panics at the deadline.
fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + stage::DEADLINE;
    while !is_so() {
        assert!(Instant::now() < end, "not in time: {what}");
        std::thread::yield_now();
    }
}

#[test]
fn what_commands_print_and_their_exit_codes() {
    let network = stage::network(&["A", "B"]);
    let a = network.folder(A);
    let root = network.root();
    let api = network.endpoint(A).expect("it was bootstrapped").address;

    let issued = tally(
        a,
        r#"flow start --node % --flow cash.issue --args {"currency":"GBP","quantity":12345} --wait delivered --json"#,
    );
    assert_eq!(issued.code, 0, "{}", issued.err);
    let issued = issued.json();
    assert_eq!(issued["status"], "delivered");
    let flow = issued["flow_id"].as_str().expect("an id");
    let tx = issued["transactions"][0].as_str().expect("an id");

    let nobody = "0".repeat(64);
    // command, exit code, on standard output, on standard error
    let table: &[(&str, i32, &[&str], &[&str])] = &[
        (
            "node info --node %",
            0,
            &["O=Bank A, L=London, C=GB", "ready", "cash.pay"],
            &[],
        ),
        (
            &format!("node info --url https://{api} --root %/root.pem --token-file %/api-token"),
            0,
            &["ready"],
            &[],
        ),
        (
            "node info --node % --token-file %/api-token",
            0,
            &["ready"],
            &[],
        ),
        (
            "node info --node % --token-file %/none",
            5,
            &[],
            &["tally.file", "none"],
        ),
        (
            "doctor --node %",
            0,
            &[
                "durable commits a second",
                "the node runs",
                "good for",
                "disk use",
                "no state is in quarantine",
            ],
            &[],
        ),
        (
            "doctor --node % --json",
            0,
            &[r#"{"check":"clock","verdict":"ok""#],
            &[],
        ),
        (
            "doctor --node %/none",
            5,
            &["problem", "node.toml"],
            &["tally.unwell"],
        ),
        ("completions bash", 0, &["tally__subcmd__doctor"], &[]),
        ("man --out %/man", 0, &[], &[]),
        ("vault balances --node %", 0, &["GBP", "12,345"], &[]),
        (
            "vault balances --node % --json",
            0,
            &[r#""quantity":"12345""#],
            &[],
        ),
        ("vault states --node %", 0, &[tx, "tally.cash"], &[]),
        ("ledger list --node %", 0, &[tx], &[]),
        // The last page names no next one, even if it is full.
        (
            "ledger list --node % --limit 1 --json",
            0,
            &["\"}]}\n"],
            &[],
        ),
        (
            &format!("tx show --node % {tx}"),
            0,
            &[
                "recorded     20",
                "12,345 GBP of O=Bank A",
                "owned by O=Bank A",
                "commands     tally.cash issue, quantity 12345, token GBP of O=Bank A",
                "signatures   O=Bank A",
            ],
            &[],
        ),
        (
            &format!("tx show --node % {tx} --json"),
            0,
            &[
                r#""quantity":"12345""#,
                r#""name":"issue""#,
                r#""recorded_at_ms":"#,
            ],
            &[],
        ),
        (
            &format!("flow get --node % {flow} --wait delivered"),
            0,
            &["delivered"],
            &[],
        ),
        ("flow list --node %", 0, &["no flow is live"], &[]),
        (
            "flow list --node % --status done",
            2,
            &[],
            &["error: tally.no_flows:", "hint: Use running"],
        ),
        (
            "flow list --node % --failed --since 1d",
            0,
            &["the history has no such flow"],
            &[],
        ),
        (
            "flow list --node % --ended",
            0,
            &["counterparties", flow, "cash.issue", "finalised"],
            &[],
        ),
        (
            "flow list --node % --since 1d",
            2,
            &[],
            &["error: tally.no_flows:", "hint: Add --failed or --ended"],
        ),
        (
            &format!("flow get --node % {flow}"),
            0,
            &["started", "ended", "user"],
            &[],
        ),
        ("flow stuck --node %", 0, &["no flow has waited"], &[]),
        (
            "flow retry --node % --status parked",
            0,
            &["no flow meets this"],
            &[],
        ),
        (
            "flow kill --node % --all --yes --json",
            0,
            &[r#"{"matched":0,"done":0,"waiting":0,"flows":[]}"#],
            &[],
        ),
        (
            "flow pause --node %",
            2,
            &[],
            &["error: tally.no_flows:", "hint: Give a flow id"],
        ),
        (
            &format!("flow journal --node % {}", &nobody[..32]),
            1,
            &[],
            &["error: node.unknown_flow:"],
        ),
        (
            &format!("tx show --node % {nobody}"),
            1,
            &[],
            &["error: node.unknown_transaction:", "hint: Check the id"],
        ),
        (
            &format!("tx show --node % {nobody} --json"),
            1,
            &[],
            &[r#""code":"node.unknown_transaction""#],
        ),
        (
            "flow start --node % --flow cash.isue",
            1,
            &[],
            &[
                "error: flow.unknown:",
                "cash.issue",
                "'tally flow describe --node ",
            ],
        ),
        (
            "flow start --node % --flow cash.issue --args {",
            2,
            &[],
            &["error: tally.bad_json:", "@FILE"],
        ),
        (
            "flow start --node % --flow cash.issue --args @/none",
            5,
            &[],
            &["error: tally.file: /none"],
        ),
        (
            "flow start --node % --flow cash.issue --args {}",
            1,
            &[],
            &[
                "error: flow.bad_arguments:",
                "currency",
                "'tally flow describe cash.issue --node ",
            ],
        ),
        (
            "flow describe --node % paper.redeem",
            0,
            &["StateRef ", "The index of the output, from 0.", "tx "],
            &[],
        ),
        (
            &format!(r#"flow start --node % --flow paper.redeem --args {{"paper":"{nobody}(0)"}}"#),
            1,
            &[],
            &["error: ", "hint: "],
        ),
        ("help flow start", 0, &["--flow <NAME>"], &[]),
        (
            "flow start --json",
            2,
            &[],
            &[r#"{"error":{"code":"tally.usage""#],
        ),
        (
            "vault query --node % --status lost",
            2,
            &[],
            &["tally.query"],
        ),
        (
            "vault states --node % --limit 0",
            2,
            &[],
            &["0 is not in 1.."],
        ),
        (
            "api call --node % states limit=0",
            1,
            &[],
            &["a whole number from 1"],
        ),
        (
            "chain status --node %",
            5,
            &[],
            &[
                "tally.wrong_folder",
                "is the folder of a node",
                "'tally node info",
            ],
        ),
        (
            "chain run %",
            5,
            &[],
            &["tally.wrong_folder", "'tally node run"],
        ),
        ("user init --node /", 5, &[], &["tally.wrong_folder"]),
        (
            r#"flow start --node % --flow cash.pay --args {"currency":"USD","payments":[{"to":"O=Bank","quantity":1}]}"#,
            1,
            &[],
            &["error: ", "hint: "],
        ),
        (
            "flow cancel --node % 00",
            1,
            &[],
            &["error: api.bad_parameter:"],
        ),
        (
            "node info --node /none",
            5,
            &[],
            &["error: tally.file: /none: No such file"],
        ),
        (
            "node info --url http://x:1 --root r --token-file t",
            2,
            &[],
            &["error: tally.bad_url:", "https"],
        ),
        (
            &format!("node info --url https://{api} --root %/root.pem --token-file %/root.pem"),
            5,
            &[],
            &["error: client.bad_endpoint:"],
        ),
        (
            &format!("node info --url https://{api} --root %/root.pem --token-file %/identity.key"),
            1,
            &[],
            &["error: api.unauthorised:", "--token-file"],
        ),
        (
            &format!(
                "node info --url https://{api} --root %/root.pem --token-file %/api-token --server-name x.org"
            ),
            3,
            &[],
            &["error: client.not_trusted:"],
        ),
        (
            "node info --url https://127.0.0.1:1 --root %/root.pem --token-file %/api-token",
            3,
            &[],
            &["error: client.not_connected:"],
        ),
        ("node run /none", 5, &[], &["error: ", "/none", "hint: "]),
        (
            "network bootstrap /none --out /tmp",
            5,
            &[],
            &["error: config.unreadable: /none"],
        ),
        ("flow start", 2, &[], &["Usage"]),
        ("nonsense", 2, &[], &["unrecognized"]),
        ("--help", 0, &["Exit codes", "NO_COLOR"], &[]),
        ("--version", 0, &["tally "], &[]),
    ];
    let mut wrong = Vec::new();
    for (line, code, out, err) in table {
        let ran = tally(a, line);
        let printed = |text: &str| ran.out.contains(text) || ran.err.contains(text);
        let as_expected = ran.code == *code
            && out.iter().all(|part| ran.out.contains(part))
            && err.iter().all(|part| ran.err.contains(part))
            && !printed("\x1b")
            && ran.err.is_empty() == (*code == 0);
        if !as_expected {
            let expected = format!("expected {code}, {out:?} and {err:?}");
            let (out, err) = (&ran.out, &ran.err);
            wrong.push(format!(
                "{line}\n{expected}\nexit {}\n{out}\n{err}",
                ran.code
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));

    let again = tally(
        root,
        "network bootstrap %/NETWORK.toml --out %/nodes --json",
    );
    let nodes = again.json()["nodes"].as_array().expect("nodes").clone();
    assert!(
        nodes.len() == 3 && nodes.iter().all(|node| node["existed"] == true),
        "{}",
        again.out
    );
    let notaries = nodes
        .iter()
        .filter(|node| node["notary"]["validating"] == false);
    assert_eq!(notaries.count(), 1, "{}", again.out);
}

#[test]
fn a_flow_that_cannot_end_yet_and_a_node_that_drains() {
    let mut network = stage::network(&["A", "B"]);
    let a = network.folder(A).to_owned();
    let issue = r#"flow start --node % --flow cash.issue --args {"currency":"GBP","quantity":9}"#;
    assert_eq!(tally(&a, issue).code, 0);
    network.stop(Who::Notary).expect("it ends in good order");
    pay_file(&a, 4);
    let pay = "flow start --node % --flow cash.pay --args @%/pay.json --client-id once";
    let ran = tally(&a, &format!("{pay} --timeout 1"));
    assert!(
        ran.code == 4 && ran.err.contains("error: tally.not_yet:"),
        "{} {}",
        ran.code,
        ran.err
    );
    let list = tally(&a, "flow list --node % --json").json();
    let flow = list["flows"][0]["flow_id"]
        .as_str()
        .expect("it is live")
        .to_owned();
    assert_eq!(list["flows"].as_array().map(Vec::len), Some(1));

    let drain = tally(&a, "node drain --node % --json");
    assert_eq!(
        (drain.code, drain.json()["state"].clone()),
        (0, "draining".into()),
        "{}",
        drain.err
    );
    let refused = tally(&a, issue);
    assert!(
        refused.code == 4 && refused.err.contains("node.draining"),
        "{}",
        refused.err
    );
    assert_eq!(
        tally(&a, "node info --node % --json").json()["state"],
        "draining"
    );

    // The flow goes on when the notary is back; then the node has drained.
    network.start(Who::Notary).expect("it starts again");
    let got = tally(
        &a,
        &format!("flow get --node % {flow} --wait delivered --json"),
    );
    assert_eq!(
        (got.code, got.json()["status"].clone()),
        (0, "delivered".into()),
        "{}",
        got.err
    );
    network.restart(A).expect("a drained node stops at once");
    let again = tally(&a, &format!("{pay} --json"));
    assert!(
        again.code == 0 && again.json()["flow_id"] == flow.as_str(),
        "{} {}",
        again.out,
        again.err
    );
    assert_eq!(
        tally(network.folder(B), "vault balances --node % --json").json()["balances"][0]["quantity"],
        "4"
    );
}

#[test]
fn the_first_signal_drains_and_the_second_ends_at_once() {
    let mut network = stage::network(&["A", "B"]);
    let a = network.folder(A).to_owned();
    let issue = r#"flow start --node % --flow cash.issue --args {"currency":"GBP","quantity":9}"#;
    assert_eq!(tally(&a, issue).code, 0);
    // Nothing runs: it stops at once, and well.
    let status = network
        .process(B)
        .stop(Duration::from_secs(10))
        .expect("it ends");
    assert_eq!(status.code(), Some(0));
    // A payment to the bank that is away is finalised, and owed: that holds no drain up.
    pay_file(&a, 4);
    let paid = tally(&a, "flow start --node % --flow cash.pay --args @%/pay.json");
    assert_eq!(paid.code, 0, "{}", paid.err);
    // A flow that waits for the notary does.
    network.stop(Who::Notary).expect("it ends in good order");
    let waits = tally(
        &a,
        "flow start --node % --flow cash.pay --args @%/pay.json --wait none",
    );
    assert_eq!(waits.code, 0, "{}", waits.err);
    let pid = network.pid(A).expect("it runs").to_string();
    let signal = |name: &str| {
        let sent = Command::new("kill")
            .args([name, &pid])
            .status()
            .expect("kill runs");
        assert!(sent.success());
    };
    signal("-INT");
    until("it drains", || {
        tally(&a, "node info --node % --json")
            .out
            .contains("draining")
    });
    assert!(!network.process(A).has_ended());
    signal("-TERM");
    until("it ends", || network.process(A).has_ended());
    assert!(
        std::fs::read_to_string(network.log(A))
            .is_ok_and(|log| log.contains("the node ends at once"))
    );
}
