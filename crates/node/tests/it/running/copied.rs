//! A bank put back on a copy of its folder that has a live issue in its journal, all of them real nodes: the issue goes on after
//! a plain restart, and happens once although the copy has forgotten it.

use std::fs;
use std::path::Path;

use api::{FlowOrder, FlowQuery, FlowStatus, FlowSummary, StartFlow, Wait};
use client::{Client, FlowAction};
use finance::flows::{IssueArgs, IssueCash};
use finance::{Currency, Reference};
use flow::{Flow, FlowContext, FlowError};
use node::bootstrap::{NetworkSpec, bootstrap};
use node::{Apps, Node};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::running::{run, start, start_with, until};

const THREE: &str = r#"
    [[node]]
    name = "O=Bank, L=London, C=GB"

    [[node]]
    name = "O=Other, L=London, C=GB"

    [[node]]
    name = "O=Notary, L=London, C=GB"
    notary = true
"#;

/// How long the issue sleeps: long enough for the bank to be stopped before.
const LATE_MS: u64 = 5_000;

/// Arguments of [`LateIssue`].
#[derive(Serialize, Deserialize, JsonSchema)]
struct LateArgs {
    ms: u64,
}

primitives::record!(LateArgs { ms });

/// Sleeps, then issues 100 to the other bank under a reference that is the time: each run of it makes another issue.
struct LateIssue;

impl Flow for LateIssue {
    const NAME: &'static str = "test.late_issue";
    const VERSION: u32 = 1;
    type Args = LateArgs;
    type Output = u64;

    async fn run(ctx: FlowContext, args: LateArgs) -> Result<u64, FlowError> {
        ctx.sleep_ms(args.ms).await?;
        let at = ctx.now().as_ms();
        let reference = Reference::new(at.to_be_bytes().to_vec()).expect("8 bytes");
        let issue = IssueArgs {
            currency: "GBP".parse::<Currency>().expect("a currency"),
            quantity: 100,
            reference: Some(reference),
            outputs: None,
            recipient: Some("O=Other, L=London, C=GB".parse().expect("a name")),
            notary: None,
            anonymous: None,
        };
        ctx.sub_flow::<IssueCash>(issue).await?;
        Ok(at)
    }
}

async fn start_bank(folder: &Path) -> (Node, Client) {
    let mut apps = Apps::built_in().expect("cash");
    apps.flows.register::<LateIssue>();
    start_with(folder, apps).await
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("readable") {
        let entry = entry.expect("readable");
        let target = to.join(entry.file_name());
        match entry.file_type().expect("known").is_dir() {
            true => copy(&entry.path(), &target),
            false => drop(fs::copy(entry.path(), &target).expect("copied")),
        }
    }
}

async fn balance(client: &Client) -> u64 {
    let balances = client.balances().await.expect("readable").balances;
    let sums = balances
        .iter()
        .map(|balance| balance.quantity.parse::<u64>());
    sums.map(|sum| sum.expect("a number")).sum()
}

/// The late issue, while it has not ended.
async fn live(client: &Client) -> Option<FlowSummary> {
    let flows = client.flows(None, 100).await.expect("readable").flows;
    let mut flows = flows.into_iter();
    flows.find(|flow| flow.flow.as_deref() == Some("test.late_issue"))
}

async fn is_warned(client: &Client, code: &str) -> bool {
    let health = client.health().await.expect("it answers");
    health.warnings.iter().any(|warning| warning.code == code)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_live_issue_goes_on_after_a_restart_and_never_in_a_copy() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let description = folder.path().join("NETWORK.toml");
    fs::write(&description, THREE).expect("written");
    let out = folder.path().join("out");
    let spec = NetworkSpec::read(&description).expect("a description");
    bootstrap(&spec, &out).expect("bootstrapped");
    let (home, spare) = (out.join("bank"), folder.path().join("copy"));
    let (other, other_client) = start(&out.join("other")).await;
    let (notary, _) = start(&out.join("notary")).await;
    let (bank, client) = start_bank(&home).await;
    run(&client, "cash.issue", 10).await;
    // The delivery's answer comes after the marks of both peers.
    let payment = json!({ "to": "O=Other, L=London, C=GB", "quantity": 1 });
    let pay = json!({ "currency": "GBP", "payments": [payment] });
    let pay = StartFlow::new("cash.pay", &pay).expect("JSON");
    let paid = client.start(&pay.wait(Wait::Delivered)).await;
    assert_eq!(paid.expect("taken").status, FlowStatus::Delivered);
    let late = StartFlow::new("test.late_issue", &json!({ "ms": LATE_MS })).expect("JSON");
    client.start(&late.wait(Wait::None)).await.expect("taken");
    bank.stop().await;
    copy(&home, &spare);

    let (bank, client) = start_bank(&home).await;
    until("the issue has gone on", async || {
        (balance(&other_client).await == 101).then_some(())
    })
    .await;
    assert!(live(&client).await.is_none());
    assert!(!is_warned(&client, "node.flows_held").await);
    bank.stop().await;
    for node in [other, notary] {
        node.stop().await;
    }

    // The copy is alone: its flow waits, and names the peers.
    fs::remove_dir_all(&home).expect("the folder goes");
    copy(&spare, &home);
    let (bank, client) = start_bank(&home).await;
    let held = live(&client).await.expect("it is in the journal");
    assert!(held.step.contains("O=Other, L=London, C=GB"), "{held:?}");
    assert!(is_warned(&client, "node.flows_held").await);
    let (other, other_client) = start(&out.join("other")).await;
    until("the bank knows that it is a copy", async || {
        client.recovery().await.ok()?.rolled_back
    })
    .await;
    let paused = live(&client).await.expect("it is in the journal");
    assert_eq!(paused.status, FlowStatus::Paused, "{paused:?}");
    assert!(!is_warned(&client, "node.flows_held").await);
    let order = FlowOrder {
        query: FlowQuery::default(),
        dry_run: false,
        after: None,
    };
    let killed = client.order_flows(FlowAction::Kill, &order).await;
    assert_eq!(killed.expect("the operator may").done, 1);
    assert_eq!(balance(&other_client).await, 101);
    for node in [bank, other] {
        node.stop().await;
    }
}
