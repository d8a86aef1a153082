//! An operator's requests to a running network: peers, the map, the notary, the doctor, and users over the API.

use perf::topology::Who;
use serde_json::Value;

use crate::stage::command::tally;
use crate::stage::{self, A, DEADLINE};

#[test]
fn an_operator_looks_at_the_network_and_lets_users_in() {
    let network = stage::network(&["A", "B"]);
    let a = network.folder(A);
    let notary = network.folder(Who::Notary);
    let end = std::time::Instant::now() + DEADLINE;
    let peers = loop {
        let peers = tally(a, "node peers --node % --json").json();
        let all = peers["peers"].as_array().expect("a list");
        if all.len() == 2 && all.iter().all(|peer| peer["connected"] == true) {
            break peers;
        }
        assert!(std::time::Instant::now() < end, "{peers}");
    };
    for peer in peers["peers"].as_array().expect("a list") {
        assert_eq!(peer["software"], peers["software"]);
        let offset = peer["clock_offset_ms"].as_i64().expect("it was met");
        assert!(offset.abs() < 60_000, "one machine, one clock: {offset}");
    }
    let doctor = tally(a, "doctor --node % --json");
    let findings = doctor.json();
    for check in [
        "state",
        "vault's view",
        "peers",
        "peers' versions",
        "clock and peers",
    ] {
        let found = findings.as_array().into_iter().flatten();
        let found: Vec<&Value> = found.filter(|f| f["check"] == check).collect();
        assert_eq!(found.len(), 1, "{check} {findings}");
        assert_ne!(found[0]["verdict"], "problem", "{findings}");
    }

    // Who consumed a state: only the notary knows of all.
    let issue =
        r#"flow start --node % --flow cash.issue --args {"currency":"GBP","quantity":9} --json"#;
    let issued = tally(a, issue).json();
    let issued = issued["transactions"][0]
        .as_str()
        .expect("an id")
        .to_owned();
    let spend =
        r#"flow start --node % --flow cash.exit --args {"currency":"GBP","quantity":9} --json"#;
    let spent = tally(a, spend).json();
    let spent = spent["transactions"][0].as_str().expect("an id");
    for (folder, line, code, shown) in [
        (
            notary,
            format!("notary consumed --node % {issued}(0)"),
            0,
            spent,
        ),
        (
            notary,
            format!("notary consumed --node % {issued}(1)"),
            5,
            "tally.not_consumed",
        ),
        (
            notary,
            "notary consumed --node % x".to_owned(),
            2,
            "tally.bad_state",
        ),
        (notary, "notary consumed --node %".to_owned(), 0, spent),
        (
            notary,
            format!("notary requests --node % {spent}"),
            0,
            "O=Bank A, L=London",
        ),
        (notary, "notary requests --node %".to_owned(), 0, spent),
        (
            notary,
            format!("notary requests --node % {}", "0".repeat(64)),
            5,
            "tally.not_consumed",
        ),
        (
            notary,
            "notary requests --node % --after x".to_owned(),
            1,
            "api.bad_parameter",
        ),
        (a, "notary requests --node %".to_owned(), 1, "not_a_notary"),
        (
            notary,
            "notary info --node %".to_owned(),
            0,
            "not validating",
        ),
        (a, "notary info --node %".to_owned(), 0, "no notary"),
        (a, "notary consumed --node %".to_owned(), 1, "not_a_notary"),
        (
            a,
            "network map --node %".to_owned(),
            0,
            "O=Bank B, L=London",
        ),
        (a, "network show --node %".to_owned(), 0, "largest message"),
    ] {
        let ran = tally(folder, &line);
        let said = format!("{}{}", ran.out, ran.err);
        assert!(
            ran.code == code && said.contains(shown),
            "{line}: {} {said}",
            ran.code
        );
    }

    // Users, over the API; the folder shows the same.
    let api = network.endpoint(A).expect("it was bootstrapped").address;
    let at = format!("--url https://{api} --root %/root.pem --token-file %/api-token");
    let added = tally(
        a,
        &format!("user add {at} ann --no-password --grant node.read"),
    );
    assert_eq!(added.code, 0, "{}", added.err);
    let token = tally(a, &format!("user token {at} ann --days 1"));
    std::fs::write(a.join("ann"), token.out).expect("the folder is ours");
    let as_ann = format!("--url https://{api} --root %/root.pem --token-file %/ann");
    for (line, code) in [
        (format!("node info {as_ann}"), 0),
        (format!("network map {as_ann}"), 1),
        (format!("user grant {at} ann network.read"), 0),
        (format!("network map {as_ann}"), 0),
        (format!("user list {as_ann}"), 1),
        (format!("user disable {at} ann"), 0),
        (format!("node info {as_ann}"), 1),
        (format!("user enable {at} ann"), 0),
        (format!("node info {as_ann}"), 0),
        (format!("user revoke-tokens {at} ann"), 0),
        (format!("node info {as_ann}"), 1),
    ] {
        let ran = tally(a, &line);
        assert_eq!(ran.code, code, "{line}: {} {}", ran.out, ran.err);
    }
    for (line, bounds) in [
        ("limit % ann --starts-per-s 5 --start-bytes-max 64", "5 64"),
        ("limit % ann --default --starts-per-s 7", "7 null"),
        ("limit % ann --default", "null null"),
    ] {
        // Over the API and in the folder alike.
        for place in [at.as_str(), "--node %"] {
            let line = format!("user {} --json", line.replace('%', place));
            let ran = tally(a, &line).json();
            let shown = format!("{} {}", ran["starts_per_s"], ran["start_bytes_max"]);
            assert_eq!(shown, bounds, "{line}");
        }
    }
    let shown = tally(a, "user show --node % ann --json").json();
    let permissions = shown["permissions"].as_array().expect("a list");
    assert_eq!(permissions.len(), 2, "{shown}");
}
