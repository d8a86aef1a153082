//! Real processes: a state that its notary reports as consumed elsewhere counts as money nowhere, and every view says so.

use api::query::Quarantined;
use api::{VaultQuery, Wait};
use client::Client;
use perf::topology::Network;
use serde_json::Value;

use crate::stage::restore::{self, Backup};
use crate::stage::{self, A, B, cash};

/// States and their sum.
type Held = (u64, u128);

fn number(value: &Value) -> u128 {
    let text = value.as_str().map(str::to_owned);
    let text = text.unwrap_or_else(|| value.to_string());
    text.parse().unwrap_or_else(|_| panic!("a number: {value}"))
}

/// The states of a page, by API or command line, and their sum.
fn of_page(page: &Value) -> Held {
    let states = page["states"].as_array().expect("states");
    let sum = states
        .iter()
        .map(|state| number(&state["fungible"]["quantity"]));
    (states.len() as u64, sum.sum())
}

/// The only group of an answer.
fn of_groups(answer: &Value) -> Held {
    let group = &answer["groups"][0];
    match group.is_null() {
        true => (0, 0),
        false => (
            group["states"].as_u64().expect("a number"),
            number(&group["quantity"]),
        ),
    }
}

async fn query(client: &Client, quarantined: Quarantined, sums: bool) -> Value {
    let query = VaultQuery {
        quarantined,
        group_by: sums.then(Vec::new),
        count: !sums,
        ..VaultQuery::default()
    };
    let answer = client.query_vault(&query).await.expect("an answer");
    serde_json::to_value(answer).expect("JSON")
}

/// Asserts that all ways of asking agree on the states that can be spent and on those in quarantine.
async fn agree(network: &Network, free: Held, aside: Held) {
    let client = stage::client(network, A);
    let json = |line: &str| {
        let ran = restore::command(network, A, &format!("{line} --node % --json"));
        assert_eq!(ran.code, 0, "{line}: {}{}", ran.out, ran.err);
        ran.json()
    };
    let api = client.balances().await.expect("an answer");
    let api = serde_json::to_value(api).expect("JSON");
    for (way, balances) in [("API", api), ("command", json("vault balances"))] {
        let balance = &balances["balances"][0];
        let states = balance["states"].as_u64().expect("a number");
        assert_eq!((states, number(&balance["quantity"])), free, "{way}");
        let quarantined = &balance["quarantined"];
        let sum = (!quarantined.is_null()).then(|| number(quarantined));
        assert_eq!(sum.unwrap_or(0), aside.1, "{way}: {balance}");
    }
    let all = (free.0 + aside.0, free.1 + aside.1);
    for (which, expected) in [
        (Quarantined::Exclude, free),
        (Quarantined::Include, all),
        (Quarantined::Only, aside),
    ] {
        let word = which.word();
        let page = client.states_quarantined(which, None, 100).await;
        let page = serde_json::to_value(page.expect("an answer")).expect("JSON");
        let found = query(&client, which, false).await;
        assert_eq!(number(&found["count"]["states"]), u128::from(expected.0));
        for (way, held) in [
            ("page", of_page(&page)),
            ("query", of_page(&found)),
            ("sums", of_groups(&query(&client, which, true).await)),
            ("tally vault states", {
                of_page(&json(&format!("vault states --quarantined {word}")))
            }),
            ("tally vault query", {
                of_page(&json(&format!("vault query --quarantined {word}")))
            }),
            ("tally vault query --group-by", {
                let line = format!("vault query --quarantined {word} --group-by symbol");
                of_groups(&json(&line))
            }),
        ] {
            assert_eq!(held, expected, "{way}, {word}");
        }
        let marked = page["states"].as_array().expect("states").iter();
        let marked = marked.filter(|state| state["quarantined"] == true).count();
        let expected = u64::from(which != Quarantined::Exclude) * aside.0;
        assert_eq!(marked as u64, expected, "{word}: {page}");
    }
    assert_eq!(of_page(&json("vault states")), free, "without a word");
    let default = query(&client, Quarantined::default(), true).await;
    assert_eq!(of_groups(&default), free, "without a word");

    let warned = restore::warning(&client, "vault.quarantined").await;
    let message = warned.map(|warning| warning.message).unwrap_or_default();
    let doctor = restore::command(network, A, "doctor --node %");
    assert_eq!(message.starts_with(&aside.0.to_string()), aside.0 > 0);
    assert_eq!(doctor.out.contains("vault.quarantined"), aside.0 > 0);
}

/// Asserts that a payment fails for lack of funds, and that the error names the free quantity.
async fn cannot_pay(client: &Client, to: &str, quantity: u64, free: u128) {
    let pay = cash::pay("GBP", None, quantity, to, 1).expect("arguments");
    let outcome = client.start(&pay.wait(Wait::Finalised)).await;
    let error = outcome.expect_err("it fails");
    assert_eq!(error.code(), "vault.insufficient_funds", "{error:?}");
    let held = format!("{free} are held");
    assert!(error.to_string().contains(&held), "{error:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_state_in_quarantine_is_money_in_no_view() {
    let mut network = stage::network(&["A", "B"]);
    let [name_a, name_b] = [A, B].map(|who| network.name(who).to_owned());
    for quantity in [1_000, 200] {
        let issue = cash::issue("GBP", quantity).expect("arguments");
        stage::completes(&stage::client(&network, A), issue, Wait::Delivered).await;
    }
    agree(&network, (2, 1_200), (0, 0)).await;

    // A spends the larger state in a life that concerns no other node, and loses that life.
    let backup = Backup::of(&mut network, A);
    let lost = cash::pay("GBP", None, 900, &name_a, 1).expect("arguments");
    stage::completes(&stage::client(&network, A), lost, Wait::Finalised).await;
    backup.restore(&mut network, A);
    network.start(A).expect("it starts on the copy");
    let a = stage::client(&network, A);
    restore::rolled_back(&a).await;
    restore::recover(&network, A);
    agree(&network, (2, 1_200), (0, 0)).await;

    // The notary knows better.
    let pay = cash::pay("GBP", None, 900, &name_b, 1).expect("arguments");
    let outcome = a.start(&pay.wait(Wait::Finalised)).await;
    let error = outcome.expect_err("a conflict");
    assert_eq!(error.code(), "notary.conflict", "{error:?}");
    agree(&network, (1, 200), (1, 1_000)).await;
    cannot_pay(&a, &name_b, 201, 200).await;

    network.restart(A).expect("it starts again");
    agree(&network, (1, 200), (1, 1_000)).await;
    network.stop(A).expect("it stops");
    std::fs::remove_file(network.data(A).join("vault.sqlite")).expect("the view is there");
    network.start(A).expect("it fills a new view");
    agree(&network, (1, 200), (1, 1_000)).await;
    cannot_pay(&stage::client(&network, A), &name_b, 201, 200).await;

    let rest = cash::pay("GBP", None, 200, &name_b, 1).expect("arguments");
    stage::completes(&stage::client(&network, A), rest, Wait::Delivered).await;
    agree(&network, (0, 0), (1, 1_000)).await;
}
