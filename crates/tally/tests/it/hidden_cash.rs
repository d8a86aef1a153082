//! Cash owned by fresh keys among real processes: issued, paid, paid on and exited while nodes are killed. Each node names the
//! owners that it knows. The transactions themselves name none of them.

use api::query::{Criterion, Datum, Is, VaultQuery};
use api::{StartFlow, Wait};
use client::Client;
use serde_json::{Value, json};

use crate::stage::{self, A, B, C, client, completes, eventually, holds};

fn start(flow: &str, args: &Value) -> StartFlow {
    StartFlow::new(flow, args).expect("arguments")
}

/// States of an owner, by its name, as a node finds them.
async fn owned_by(client: &Client, name: &str) -> usize {
    let query = VaultQuery {
        criterion: Some(Criterion::Is(Is {
            field: "owner".to_owned(),
            value: Datum::Text(name.to_owned()),
        })),
        ..VaultQuery::default()
    };
    client
        .query_vault(&query)
        .await
        .expect("found")
        .states
        .len()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hidden_cash_survives_kills_and_names_nobody_to_third_parties() {
    let mut network = stage::network(&["A", "B", "C"]);
    let mut banks = [A, B, C].map(|who| client(&network, who));
    let names = [A, B, C].map(|who| network.name(who).to_owned());
    let issue = json!({"currency": "GBP", "quantity": 1000, "anonymous": true});
    completes(&banks[0], start("cash.issue", &issue), Wait::Delivered).await;

    // The payer and the payee are killed while they talk, one after the other.
    for (round, victim) in [B, A, B, A].into_iter().enumerate() {
        let pay = json!({
            "currency": "GBP", "anonymous": true,
            "payments": [{"to": names[1], "quantity": 50}],
        });
        let pay = start("cash.pay", &pay).client_id(format!("pay-{round}"));
        let accepted = pay.clone().wait(Wait::None);
        banks[0].start(&accepted).await.expect("taken");
        network.kill(victim);
        network.start(victim).expect("starts");
        banks = [A, B, C].map(|who| client(&network, who));
        completes(&banks[0], pay, Wait::Delivered).await;
    }
    let on = json!({
        "currency": "GBP", "issuer": names[0], "anonymous": true,
        "payments": [{"to": names[2], "quantity": 120}],
    });
    let paid_on = completes(&banks[1], start("cash.pay", &on), Wait::Delivered).await;
    let exit = json!({"currency": "GBP", "quantity": 300, "anonymous": true});
    completes(&banks[0], start("cash.exit", &exit), Wait::Delivered).await;

    network.kill(B);
    network.start(B).expect("starts");
    banks[1] = client(&network, B);
    for (bank, expected) in banks.iter().zip([500, 80, 120]) {
        eventually("the balances", || async {
            (holds(bank, "GBP").await.ok()? == expected).then_some(())
        })
        .await;
    }

    // Only the owner and the nodes that were told know the owner of a key.
    let id = &paid_on.transactions[0];
    let mut seen = Vec::new();
    for bank in &banks[1..] {
        let view = bank.transaction(id).await.expect("recorded");
        let owners = view.outputs.iter().map(|output| output.owner.clone());
        let parties = owners.map(|owner| owner.expect("cash has an owner").party);
        seen.push(parties.collect::<Vec<_>>());
    }
    let [b, c] = [1, 2].map(|place| Some(names[place].clone()));
    assert_eq!(seen, [vec![c.clone(), b], vec![c, None]]);
    for (bank, name) in banks.iter().zip(&names) {
        assert!(owned_by(bank, name).await > 0, "its own states, by name");
    }
    assert_eq!(owned_by(&banks[2], &names[1]).await, 0);

    // None of the transactions that node C received contains the name or the key of B.
    let key = banks[1].node().await.expect("readable").key;
    let key = key
        .split_once(':')
        .expect("a scheme and digits")
        .1
        .to_owned();
    let name = primitives::hex::encode(names[1].as_bytes());
    let ledger = banks[2].ledger(None, 100).await.expect("readable");
    assert!(
        ledger.entries.len() >= 5,
        "the back chain of what it was paid"
    );
    for entry in &ledger.entries {
        let view = banks[2].transaction(&entry.id).await.expect("recorded");
        assert!(!view.bytes.contains(&key), "B's key in {}", entry.id);
        assert!(!view.bytes.contains(&name), "B's name in {}", entry.id);
    }
}
