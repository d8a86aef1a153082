//! Operators let code be upgraded, and notaries be changed, or do not.

use api::{StartFlow, Wait};
use perf::topology::{Network, NetworkOptions};
use serde_json::{Value, json};

use super::stage::command::{Ran, tally};
use super::stage::{self, A, B, C, client};
use super::wait_for;

/// Runs a flow at the first node to its end; its result, or the code it failed with.
fn run(network: &Network, flow: &str, args: &Value) -> Result<Value, String> {
    let start = StartFlow::new(flow, args).expect("arguments");
    let start = start.wait(Wait::Delivered).timeout_ms(60_000);
    let outcome = wait_for(async { client(network, A).start(&start).await });
    let outcome = outcome.or_else(client::ClientError::into_outcome);
    let outcome = outcome.expect("it is taken");
    match outcome.error {
        Some(error) => Err(error.code),
        None => {
            let result = outcome.result.expect("a result");
            Ok(serde_json::from_str(result.get()).expect("JSON"))
        }
    }
}

fn ok(ran: &Ran) -> Value {
    assert_eq!(ran.code, 0, "{} {}", ran.out, ran.err);
    ran.json()
}

/// A new deed between the first two nodes.
fn deed(network: &Network) -> Value {
    let made = run(network, "trial.make_deed", &json!(network.name(B)));
    json!([{ "tx": made.expect("made"), "index": 0 }])
}

pub fn code_is_upgraded_with_consent_only() {
    let mut network = super::network(stage::options(&["A", "B"]));
    let b = network.folder(B).to_owned();
    let listed = ok(&tally(&b, "contract list --node % --json"));
    let listed = listed["contracts"].as_array().expect("a list");
    let hash = |version: u64| {
        let found = listed
            .iter()
            .find(|c| c["name"] == "trial.deed" && c["version"] == version);
        found.expect("registered")["descriptor"].clone()
    };
    let current: Vec<&Value> = listed
        .iter()
        .filter(|c| c["name"] == "trial.deed" && c["current"] == true)
        .collect();
    assert_eq!(current.len(), 1);
    assert_eq!(current[0]["version"], 2);
    let upgrade = |states: &Value| json!({ "states": states, "to": hash(2) });
    let states = deed(&network);
    let refused = run(&network, "ledger.upgrade", &upgrade(&states));
    assert_eq!(refused, Err("node.upgrade_not_authorised".to_owned()));

    let pair = "trial.deed@1 trial.deed@2";
    for (line, code) in [
        (
            format!(
                "contract authorise --node % trial.deed@1 {}",
                "0".repeat(64)
            ),
            "node.unknown_contract",
        ),
        (
            "contract authorise --node % trial.deed@1 trial.deed@3".to_owned(),
            "node.unknown_contract",
        ),
        (
            "contract authorise --node % trial.deed@1 zz".to_owned(),
            "api.bad_parameter",
        ),
        (
            format!("contract withdraw --node % {pair}"),
            "node.unknown_consent",
        ),
    ] {
        let ran = tally(&b, &line);
        assert!(
            ran.code != 0 && ran.err.contains(code),
            "{line}: {}",
            ran.err
        );
    }
    let authorise = format!("contract authorise --node % {pair} --json");
    for _ in 0..2 {
        let consents = ok(&tally(&b, &authorise));
        let upgrades = consents["upgrades"].as_array().expect("a list");
        assert_eq!(upgrades.len(), 1, "{consents}");
        assert_eq!(upgrades[0]["from"], hash(1));
        assert_eq!(upgrades[0]["configured"], false);
    }
    network.restart(B).expect("it comes back");
    let consents = tally(&b, "contract consents --node %");
    let shown = "trial.deed version 1  trial.deed version 2";
    assert!(consents.out.contains(shown), "{}", consents.out);
    let upgraded = run(&network, "ledger.upgrade", &upgrade(&states));
    let upgraded = upgraded.expect("B has consented");
    let query = "vault query --node % --contract trial.deed --json";
    for who in [A, B] {
        let found = ok(&tally(network.folder(who), query));
        let found = found["states"].as_array().expect("a list");
        assert_eq!(found.len(), 1, "{found:?}");
        let reference = found[0]["state_ref"].as_str().expect("a reference");
        let tx = upgraded["transaction"].as_str().expect("an id");
        assert!(reference.starts_with(tx), "{reference} {tx}");
    }

    // Withdrawn: the next one is refused again, and it is all in the audit log.
    let withdraw = format!("contract withdraw --node % {pair} --json");
    let consents = ok(&tally(&b, &withdraw));
    assert_eq!(consents["upgrades"], json!([]));
    let refused = run(&network, "ledger.upgrade", &upgrade(&deed(&network)));
    assert_eq!(refused, Err("node.upgrade_not_authorised".to_owned()));
    let audited = |action: &str| {
        let log = std::fs::read_to_string(b.join("audit.log")).expect("an audit log");
        let lines = log.lines().filter(|line| line.contains(action));
        lines.map(str::to_owned).collect::<Vec<String>>()
    };
    let lines = wait_for(stage::eventually("the log is written", async || {
        let withdrawn = audited("DELETE /v1/consents/upgrades/");
        (withdrawn.len() == 2).then(|| audited("POST /v1/consents/upgrades"))
    }));
    let refused = lines.iter().filter(|line| line.contains("\"refused\""));
    assert_eq!((lines.len(), refused.count()), (4, 2), "{lines:?}");
    let new = hash(2).as_str().expect("a hash").to_owned();
    let about = lines.iter().filter(|line| line.contains(&new));
    assert_eq!(about.count(), 2, "what was authorised: {lines:?}");

    // A consent of the configuration is withdrawn in the configuration.
    network.kill(B);
    let file = b.join("node.toml");
    let mut text = std::fs::read_to_string(&file).expect("a configuration");
    let (from, to) = (hash(1), hash(2));
    text.push_str(&format!(
        "\n[[transitions.accept_upgrades]]\nfrom = {from}\nto = {to}\n"
    ));
    std::fs::write(&file, text).expect("the folder is ours");
    network.start(B).expect("it comes back");
    let refused = tally(&b, &withdraw);
    assert!(
        refused.err.contains("node.consent_configured"),
        "{}",
        refused.err
    );
    let upgraded = run(&network, "ledger.upgrade", &upgrade(&deed(&network)));
    assert!(upgraded.is_ok(), "{upgraded:?}");
}

pub fn a_notary_is_changed_with_consent_only() {
    let network = super::network(NetworkOptions {
        second_notary: true,
        ..stage::options(&["A", "B", "C"])
    });
    let b = network.folder(B).to_owned();
    let change = json!({ "states": deed(&network), "to": network.name(C) });
    let said = |what: &str| {
        let line = format!("contract notary-changes --node % {what} --json");
        ok(&tally(&b, &line))["notary_changes"].clone()
    };
    let refusing = said("refuse");
    assert_eq!(
        (&refusing["accepted"], &refusing["configured"]),
        (&false.into(), &true.into())
    );
    assert!(refusing["by"].is_string(), "{refusing}");
    let refused = run(&network, "ledger.change_notary", &change);
    assert_eq!(refused, Err("node.notary_change_refused".to_owned()));
    let configured = said("configured");
    assert_eq!(configured["accepted"], true);
    assert!(configured.get("by").is_none(), "{configured}");
    // A deed has no owner, so the setting's default is not enough: the operator must accept the change.
    let refused = run(&network, "ledger.change_notary", &change);
    assert_eq!(refused, Err("node.notary_change_refused".to_owned()));
    assert_eq!(said("accept")["accepted"], true);
    let changed = run(&network, "ledger.change_notary", &change);
    assert!(changed.is_ok(), "{changed:?}");
}
