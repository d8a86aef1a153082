//! A real flow followed by its events, together with the vault.

use api::events::{CHANGE, END, START, STATE, STEP};
use api::{FlowStatus, FlowStep, Outcome, StartFlow, VaultChange, VaultStart, Wait};
use node::bootstrap::{NetworkSpec, bootstrap};
use serde_json::json;

use crate::running::{run, start};

/// The notary is away at first: a flow that needs it stands still until it comes.
const TWO: &str = r#"
    [[node]]
    name = "O=Bank, L=London, C=GB"

    [[node]]
    name = "O=Notary, L=London, C=GB"
    notary = true
"#;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flow_tells_its_steps_and_the_vault_its_changes() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let description = folder.path().join("NETWORK.toml");
    std::fs::write(&description, TWO).expect("written");
    let out = folder.path().join("out");
    let spec = NetworkSpec::read(&description).expect("a description");
    bootstrap(&spec, &out).expect("bootstrapped");
    let (bank, client) = start(&out.join("bank")).await;
    let issued = run(&client, "cash.issue", 100).await;
    client.balances().await.expect("the view has it");

    let mut vault = client.follow_vault(Some(0)).await.expect("events");
    let first = vault.next().await.expect("readable").expect("an event");
    assert_eq!(
        (
            first.kind.as_str(),
            first.read::<VaultStart>().expect("a start").after
        ),
        (START, 0)
    );
    let issue = vault.next().await.expect("readable").expect("an event");
    let change: VaultChange = issue.read().expect("a change");
    assert_eq!(
        (issue.kind.as_str(), issue.id, change.seq),
        (CHANGE, Some(1), 1)
    );
    assert_eq!(
        (&change.transaction, change.consumed.len()),
        (&issued.transactions[0], 0)
    );
    let made = &change.produced[0];
    assert_eq!(
        made.fungible
            .as_ref()
            .map(|f| (f.symbol.as_str(), f.quantity)),
        Some(("GBP", 100))
    );

    let exit = StartFlow::new("cash.exit", &json!({ "currency": "GBP", "quantity": 40 }));
    let exit = exit.expect("arguments").wait(Wait::None);
    let started = client.start(&exit).await.expect("taken");
    let mut events = client
        .follow_flow(&started.flow_id, Wait::Delivered)
        .await
        .expect("events");
    let state = events.next().await.expect("readable").expect("an event");
    let now: Outcome = state.read().expect("an outcome");
    assert_eq!(
        (state.kind.as_str(), now.status),
        (STATE, FlowStatus::Running)
    );
    let (notary, _) = start(&out.join("notary")).await;
    let mut steps = Vec::new();
    let end: Outcome = loop {
        let event = events.next().await.expect("readable").expect("an end");
        match event.kind.as_str() {
            STEP => steps.push(event.read::<FlowStep>().expect("a step").step),
            END => break event.read().expect("an outcome"),
            other => panic!("{other}: {event:?}"),
        }
    };
    assert_eq!(
        (end.status, end.flow_id),
        (FlowStatus::Delivered, started.flow_id)
    );
    assert_eq!(steps.last().map(String::as_str), Some("recording"));
    assert_eq!(events.next().await.expect("readable"), None);

    let change: VaultChange = vault
        .next()
        .await
        .expect("readable")
        .expect("an event")
        .read()
        .expect("a change");
    assert_eq!((change.seq, &change.transaction), (2, &end.transactions[0]));
    assert_eq!(
        (change.consumed, change.produced.len()),
        (vec![made.state_ref.clone()], 1)
    );
    let known = client.openapi().await.expect("readable");
    let flows =
        known["components"]["schemas"]["StartFlow"]["properties"]["flow"]["enum"].as_array();
    assert!(flows.expect("flows").contains(&json!("cash.exit")));
    notary.stop().await;
    bank.stop().await;
}
