//! Queries of the vaults of real nodes, from the command line and over HTTP, and the queries of users with few permissions.

use std::path::Path;

use api::query::FoundState;
use api::{StartFlow, VaultChange, VaultQuery, Wait};
use client::{Client, Endpoint};
use perf::topology::{Network, Who};
use serde_json::{Value, json};

use crate::stage::command::{Ran, tally};
use crate::stage::{self, A, B};

/// When the papers mature: some time in the year 2100.
const MATURITY: u64 = 4_102_444_800_000;

async fn run(client: &Client, flow: &str, arguments: &Value) -> Value {
    let start = StartFlow::new(flow, arguments).expect("JSON");
    let outcome = stage::completes(client, start, Wait::Delivered).await;
    let result = outcome.result.expect("a result");
    serde_json::from_str(result.get()).expect("JSON")
}

/// Prepares at A coins of 100 (spent), 200, 300 and 400 GBP, and 50 EUR. B holds papers of A, of 1,000 and 2,000. A has
/// an obligation to B.
async fn some_business(network: &Network) {
    let a = stage::client(network, A);
    let name_b = network.name(B).to_owned();
    for quantity in [100, 200, 300, 400] {
        let issue = json!({ "currency": "GBP", "quantity": quantity });
        run(&a, "cash.issue", &issue).await;
    }
    run(
        &a,
        "cash.issue",
        &json!({ "currency": "EUR", "quantity": 50 }),
    )
    .await;
    run(
        &a,
        "cash.exit",
        &json!({ "currency": "GBP", "quantity": 100 }),
    )
    .await;
    let token = json!({ "currency": "GBP", "issuer": network.name(A) });
    for face in [1_000, 2_000] {
        let paper = json!({ "face": face, "token": token, "maturity": MATURITY + face, "recipient": name_b });
        run(&a, "paper.issue", &paper).await;
    }
    let owed = json!({ "to": name_b, "quantity": 30, "tokens": [token], "due": MATURITY });
    run(&a, "obligation.issue", &owed).await;
}

/// Returns the quantity or face value, which identifies a state of `some_business`.
fn worth(state: &FoundState) -> u64 {
    match (&state.fungible, state.columns.get("face")) {
        (Some(fungible), _) => fungible.quantity,
        (None, Some(face)) => face.parse().expect("a number"),
        _ => 0,
    }
}

/// Runs a command whose words are given one by one: `%` stands for the node's folder.
fn words(folder: &Path, words: &[&str]) -> Ran {
    let output = std::process::Command::new(stage::binary())
        .args(
            words
                .iter()
                .map(|word| word.replace('%', &folder.to_string_lossy())),
        )
        .env_remove("TALLY_NODE")
        .output()
        .expect("tally runs");
    Ran {
        code: output.status.code().unwrap_or(-1),
        out: String::from_utf8(output.stdout).expect("text"),
        err: String::from_utf8(output.stderr).expect("text"),
    }
}

#[tokio::test]
async fn the_command_line_and_http_find_the_same_states() {
    let network = stage::network(&["A", "B"]);
    some_business(&network).await;
    let clients = [A, B].map(|who| stage::client(&network, who));
    let everything = json!({ "status": "all", "sort": [{ "field": "number" }] });
    let everything: VaultQuery = serde_json::from_value(everything).expect("a query");
    let held = clients[0].query_vault(&everything).await.expect("states");
    let papers = clients[1].query_vault(&everything).await.expect("states");
    assert_eq!((held.states.len(), papers.states.len()), (8, 3));
    let coin = |worth_it: u64| {
        let found = held.states.iter().find(|state| worth(state) == worth_it);
        found.expect("it is there")
    };
    let (token, spent_at) = (
        coin(200).fungible.as_ref().expect("cash").token.clone(),
        coin(100).consumed_at_ms.expect("consumed"),
    );
    let debt = held.states.iter().find_map(|state| state.linear_id.clone());
    let debt = debt.expect("an obligation");
    let (name_a, name_b) = (network.name(A), network.name(B));
    let notary = network.name(Who::Notary);
    let is = |field: &str, value: Value| json!({ "is": { "field": field, "value": value } });
    let later = coin(300).recorded_at_ms;

    // Vault; flags (none if only --query can express it); the same query as JSON; expected numbers, in ascending order.
    #[rustfmt::skip]
    let table: Vec<(Who, Vec<&str>, Value, Vec<u64>)> = vec![
        (A, vec!["--symbol", "GBP"], json!({ "where": is("symbol", json!("GBP")) }), vec![200, 300, 400]),
        (A, vec!["--status", "consumed"], json!({ "status": "consumed" }), vec![100]),
        (A, vec!["--status", "all", "--contract", "tally.cash"],
            json!({ "status": "all", "where": is("contract", json!("tally.cash")) }), vec![100, 200, 300, 400, 50]),
        (A, vec!["--owner", name_a], json!({ "where": is("owner", json!(name_a)) }), vec![200, 300, 400, 50]),
        (A, vec!["--participant", name_b], json!({ "where": is("participant", json!(name_b)) }), vec![1000, 2000, 0]),
        (A, vec!["--issuer", name_a, "--min", "250"], json!({ "where": { "and": [is("issuer", json!(name_a)),
            { "between": { "field": "quantity", "from": 250 } }] } }), vec![300, 400]),
        (A, vec!["--min", "200", "--max", "300"],
            json!({ "where": { "between": { "field": "quantity", "from": 200, "to": 300 } } }), vec![200, 300]),
        (A, vec!["--linear-id", &debt], json!({ "where": is("linear_id", json!(debt)) }), vec![0]),
        (B, vec!["--column", "tally.paper.face>1000"],
            json!({ "where": { "greater": { "field": "tally.paper.face", "value": 1000 } } }), vec![2000]),
        (B, vec!["--column", "tally.paper.face<2000"],
            json!({ "where": { "less": { "field": "tally.paper.face", "value": 2000 } } }), vec![1000]),
        (B, vec!["--column", "tally.paper.face=2000"], json!({ "where": is("tally.paper.face", json!(2000)) }), vec![2000]),
        (B, vec!["--column", "tally.paper.issuer^=O=Bank A"],
            json!({ "where": { "prefix": { "field": "tally.paper.issuer", "value": "O=Bank A" } } }), vec![1000, 2000]),
        (A, vec!["--locked"], json!({ "where": { "locked": true } }), vec![]),
        (A, vec!["--unlocked", "--symbol", "EUR"],
            json!({ "where": { "and": [{ "locked": false }, is("symbol", json!("EUR"))] } }), vec![50]),
        (A, vec!["--locked-by", "00000000000000000000000000000000"],
            json!({ "where": is("locked_by", json!("00000000000000000000000000000000")) }), vec![]),
        (A, vec![], json!({ "where": is("token", json!(token)) }), vec![200, 300, 400]),
        (A, vec![], json!({ "where": is("notary", json!(notary)) }), vec![200, 300, 400, 50, 1000, 2000, 0]),
        (A, vec![], json!({ "where": { "in": { "field": "quantity", "values": [50, 400] } } }), vec![400, 50]),
        (A, vec![], json!({ "where": { "in": { "field": "state_ref", "values": [coin(300).state_ref, coin(50).state_ref] } } }), vec![300, 50]),
        (A, vec![], json!({ "where": { "less": { "field": "number", "value": coin(400).number } } }), vec![200, 300]),
        (A, vec![], json!({ "where": { "not": is("contract", json!("tally.cash")) } }), vec![1000, 2000, 0]),
        (A, vec![], json!({ "where": { "or": [is("symbol", json!("EUR")), is("quantity", json!(200))] } }), vec![200, 50]),
        (A, vec![], json!({ "status": "all", "where": { "status": "consumed" } }), vec![100]),
        (A, vec![], json!({ "status": "all", "where": { "between": { "field": "consumed_at_ms", "from": spent_at, "to": spent_at } } }), vec![100]),
        (A, vec![], json!({ "where": { "and": [{ "less": { "field": "recorded_at_ms", "value": later + 1 } },
            { "greater": { "field": "recorded_at_ms", "value": later - 1 } }, is("quantity", json!(300))] } }), vec![300]),
        (A, vec![], json!({ "where": { "prefix": { "field": "contract", "value": "tally.pa" } } }), vec![1000, 2000]),
        (A, vec![], json!({ "where": { "and": [] } }), vec![200, 300, 400, 50, 1000, 2000, 0]),
        (A, vec![], json!({ "where": { "or": [] } }), vec![]),
    ];
    for (who, flags, query, expected) in table {
        let client = &clients[usize::from(who == B)];
        let folder = network.folder(who);
        let shown = query.to_string();
        let asked: VaultQuery = serde_json::from_value(query).expect("a query");
        let answer = client.query_vault(&asked).await;
        let answer = answer.unwrap_or_else(|error| panic!("{shown}: {error}"));
        let found: Vec<u64> = answer.states.iter().map(worth).collect();
        assert_eq!(found, expected, "{shown}");
        let mut lines = vec![vec!["--query", &shown]];
        if !flags.is_empty() {
            lines.push(flags);
        }
        for flags in lines {
            let line = [&["vault", "query", "--node", "%", "--json"][..], &flags].concat();
            let ran = words(folder, &line);
            assert_eq!(ran.code, 0, "{flags:?}: {}", ran.err);
            let states = ran.json()["states"].clone();
            let states: Vec<FoundState> = serde_json::from_value(states).expect("states");
            assert_eq!(states, answer.states, "{flags:?}");
        }
    }
}

/// Folder, flags, texts that are printed in this order, texts that are not printed.
type Line<'a> = (&'a Path, &'a [&'a str], &'a [&'a str], &'a [&'a str]);

#[tokio::test]
async fn orders_pages_counts_and_groups_on_the_command_line() {
    let network = stage::network(&["A", "B"]);
    some_business(&network).await;
    let (a, b) = (network.folder(A), network.folder(B));
    #[rustfmt::skip]
    let table: [Line; 9] = [
        (a, &["--symbol", "GBP", "--sort", "-quantity"], &["quantity", "status", "400", "300", "200", "unconsumed"], &["more:", "columns", "locked by"]),
        (a, &["--symbol", "GBP", "--sort", "symbol,quantity", "--limit", "2"], &["200", "300", "more: --after "], &["400"]),
        (a, &["--symbol", "GBP", "--limit", "1", "--count"], &["3 in all", "more: --after "], &[]),
        (a, &["--group-by", "symbol"], &["-", "EUR", "50", "GBP", "3", "900"], &["more:"]),
        (a, &["--group-by", "contract,symbol", "--status", "all"], &["tally.cash | EUR", "tally.cash | GBP", "1,000", "tally.paper | -"], &[]),
        (b, &["--sort", "-tally.paper.maturity"], &["columns", "face=2000", "face=1000"], &["tally.obligation"]),
        (a, &["--symbol", "CHF"], &["nothing"], &["contract"]),
        (a, &["--status", "consumed"], &["consumed"], &["unconsumed"]),
        (a, &["--locks", "--symbol", "GBP"], &["200"], &["locked by"]),
    ];
    for (folder, flags, printed, not_printed) in table {
        let line = [&["vault", "query", "--node", "%"][..], flags].concat();
        let ran = words(folder, &line);
        assert_eq!(ran.code, 0, "{flags:?}: {}", ran.err);
        let mut rest = ran.out.as_str();
        for text in printed {
            let at = rest.find(text);
            let at = at.unwrap_or_else(|| panic!("{flags:?}: no '{text}' in\n{}", ran.out));
            rest = &rest[at + text.len()..];
        }
        // Whole words: references and cursors are hexadecimal and may contain any number.
        let all_words = format!(
            " {} ",
            ran.out.split_whitespace().collect::<Vec<_>>().join(" ")
        );
        for text in not_printed {
            assert!(
                !all_words.contains(&format!(" {text} ")),
                "{flags:?}: '{text}' in\n{}",
                ran.out
            );
        }
    }

    // Reads page by page, with the printed cursors.
    let mut seen = Vec::new();
    let mut after: Option<String> = None;
    loop {
        let mut line = vec![
            "vault",
            "query",
            "--node",
            "%",
            "--json",
            "--limit",
            "2",
            "--sort",
            "-quantity",
            "--contract",
            "tally.cash",
        ];
        if let Some(after) = &after {
            line.extend(["--after", after]);
        }
        let page = words(a, &line).json();
        let states: Vec<FoundState> =
            serde_json::from_value(page["states"].clone()).expect("states");
        seen.extend(states.iter().map(worth));
        match page["next"].as_str() {
            Some(next) => after = Some(next.to_owned()),
            None => break,
        }
    }
    assert_eq!(seen, [400, 300, 200, 50]);

    // Flags, exit code, on standard error.
    for (flags, code, told) in [
        (&["--status", "lost"][..], 2, "tally.query"),
        (&["--column", "tally.paper.face"], 2, "tally.query"),
        (&["--query", "{"], 2, "tally.query"),
        (&["--query", "{}", "--count"], 2, "cannot be used with"),
        (&["--query", "{}", "--unlocked"], 2, "cannot be used with"),
        (&["--locked", "--unlocked"], 2, "cannot be used with"),
        (&["--locked-by", "me"], 1, "api.bad_query"),
        (&["--column", "tally.paper.colour=1"], 1, "api.bad_query"),
        (&["--sort", "participant"], 1, "api.bad_query"),
        (&["--after", "00"], 1, "api.bad_query"),
        (&["--limit", "1001"], 1, "api.bad_query"),
    ] {
        let line = [&["vault", "query", "--node", "%"][..], flags].concat();
        let ran = words(a, &line);
        assert_eq!(ran.code, code, "{flags:?}: {}", ran.err);
        assert!(ran.err.contains(told), "{flags:?}: {}", ran.err);
    }
}

#[tokio::test]
async fn a_flow_that_waits_for_its_notary_holds_its_coins() {
    let mut network = stage::network(&["A", "B"]);
    some_business(&network).await;
    let a = stage::client(&network, A);
    network.kill(Who::Notary);
    let payment =
        json!({ "currency": "GBP", "payments": [{ "to": network.name(B), "quantity": 400 }] });
    let start = StartFlow::new("cash.pay", &payment).expect("JSON");
    let flow = a
        .start(&start.wait(Wait::None))
        .await
        .expect("accepted")
        .flow_id;
    let held = stage::eventually("it holds a coin", async || {
        let ran = tally(network.folder(A), "vault query --node % --locked --json");
        ran.json()["states"]
            .as_array()
            .filter(|states| !states.is_empty())
            .cloned()
    })
    .await;
    assert_eq!(held.len(), 1);
    assert_eq!(
        (&held[0]["locked_by"], &held[0]["fungible"]["quantity"]),
        (&json!(flow), &json!("400"))
    );
    let shown = tally(
        network.folder(A),
        "vault query --node % --locks --symbol GBP --sort quantity",
    );
    let lines: Vec<&str> = shown.out.lines().collect();
    assert!(lines[0].contains("locked by"), "{}", shown.out);
    let holders = lines.iter().filter(|line| line.contains(&flow)).count();
    assert_eq!((lines.len(), holders), (4, 1), "{}", shown.out);
    let free = tally(
        network.folder(A),
        "vault query --node % --unlocked --symbol GBP --group-by symbol --json",
    );
    assert_eq!(free.json()["groups"][0]["quantity"], "500");
    // Over a restart, and until it is spent.
    network.kill(A);
    network.start(A).expect("starts");
    let held = tally(
        network.folder(A),
        &format!("vault query --node % --locked-by {flow} --json"),
    );
    assert_eq!(held.json()["states"][0]["fungible"]["quantity"], "400");
    network.start(Who::Notary).expect("starts");
    let a = stage::client(&network, A);
    a.flow(&flow, Wait::Delivered, Some(60_000))
        .await
        .expect("it ends");
    let held = tally(
        network.folder(A),
        "vault query --node % --locked --status all --json",
    );
    assert_eq!(held.json()["states"], json!([]));
}

#[tokio::test]
async fn users_see_what_they_may_query_and_nothing_else() {
    let network = stage::network(&["A", "B"]);
    some_business(&network).await;
    let folder = network.folder(A);
    let all = network.endpoint(A).expect("bootstrapped");
    let mut users = Vec::new();
    for (name, grants) in [
        ("none", "flow.read"),
        ("cash", "vault.query:tally.cash"),
        (
            "both",
            "vault.query:tally.pa* --grant vault.query:tally.cash",
        ),
        ("every", "vault.query"),
    ] {
        // Over the API, so that the node knows them at once.
        let at = format!(
            "--url https://{} --root %/root.pem --token-file %/api-token",
            all.address
        );
        let line = format!("user add {at} {name} --no-password --grant {grants}");
        let added = tally(folder, &line);
        assert_eq!(added.code, 0, "{}", added.err);
        let token = tally(folder, &format!("user token {at} {name} --json")).json();
        let token = token["token"].as_str().expect("a token").to_owned();
        std::fs::write(folder.join(name), &token).expect("written");
        users.push((name, token));
    }
    let line = |name: &str, flags: &str| {
        let api = &all.address;
        format!(
            "vault query --url https://{api} --root %/root.pem --token-file %/{name} --json {flags}"
        )
    };
    // User, flags, how many states; none where it is refused.
    for (name, flags, states) in [
        ("none", "", None),
        ("none", "--contract tally.cash", None),
        ("cash", "", None),
        ("cash", "--contract tally.cash", Some(4)),
        ("cash", "--contract tally.cash --status all", Some(5)),
        ("cash", "--contract tally.paper", None),
        ("cash", "--symbol GBP", None),
        (
            "cash",
            "--contract tally.cash --symbol GBP --locks",
            Some(3),
        ),
        ("cash", "--locked", None),
        ("cash", "--column tally.paper.face>1", None),
        ("cash", "--group-by contract", None),
        ("both", "--contract tally.paper", Some(2)),
        ("both", "--contract tally.cash", Some(4)),
        ("both", "--contract tally.obligation", None),
        ("every", "", Some(7)),
        ("every", "--status all", Some(8)),
    ] {
        let ran = tally(folder, line(name, flags).trim_end());
        match states {
            Some(states) => {
                assert_eq!(ran.code, 0, "{name} {flags}: {}", ran.err);
                let found = ran.json()["states"].as_array().map(Vec::len);
                assert_eq!(found, Some(states), "{name} {flags}");
            }
            None => {
                assert_eq!(ran.code, 1, "{name} {flags}: {}", ran.out);
                assert!(
                    ran.err.contains("api.forbidden"),
                    "{name} {flags}: {}",
                    ran.err
                );
            }
        }
    }

    // The changes that each user receives, with the contracts of the created states.
    let end = stage::client(&network, A)
        .ledger(None, 1_000)
        .await
        .expect("readable");
    let end = end.entries.last().expect("recorded").seq;
    for (name, token) in users {
        let client = Client::new(Endpoint {
            token: token.into(),
            ..network.endpoint(A).expect("bootstrapped")
        });
        let client = client.expect("a good endpoint");
        let followed = client.follow_vault(Some(0)).await;
        let expected: &[&str] = match name {
            "none" => {
                assert_eq!(followed.err().expect("refused").code(), "api.forbidden");
                continue;
            }
            "cash" => &["tally.cash"],
            "both" => &["tally.cash", "tally.paper"],
            _ => &["tally.cash", "tally.obligation", "tally.paper"],
        };
        // The last coin marks the end of the stream, because every user may see it.
        let last = json!({ "currency": "CHF", "quantity": end });
        run(&stage::client(&network, A), "cash.issue", &last).await;
        let mut events = followed.expect("allowed");
        let mut seen = std::collections::BTreeSet::new();
        let mut consumed = 0;
        loop {
            let event = tokio::time::timeout(stage::DEADLINE, events.next()).await;
            let event = event
                .expect("in time")
                .expect("an event")
                .expect("one more");
            if event.kind != api::events::CHANGE {
                continue;
            }
            let change: VaultChange = event.read().expect("a change");
            consumed += change.consumed.len();
            seen.extend(change.produced.iter().map(|state| state.contract.clone()));
            if change.seq > end {
                break;
            }
        }
        assert_eq!(
            seen.iter().map(String::as_str).collect::<Vec<_>>(),
            expected,
            "{name}"
        );
        assert_eq!(consumed, 1, "{name}: the coin that was spent");
    }
}
