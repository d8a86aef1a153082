//! A member at its worst against a bank and a notary, all of them real nodes: it opens sessions without end and says nothing on
//! them. The others' payments go on, what is held for it is bounded, and the bank starts again with its API up at once.

use std::path::Path;

use api::{PeerLoad, StartFlow, Wait};
use client::{Client, FlowAction};
use flow::{Flow, FlowContext, FlowError};
use ledger::LegalName;
use node::bootstrap::{NetworkSpec, bootstrap, load_node_dir};
use node::{Apps, Node};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::running::besieger::order_about_its_responders;
use crate::running::{client_of, run, start_with, until, value};

pub(crate) const FOUR: &str = r#"
    [[node]]
    name = "O=Bank, L=London, C=GB"

    [[node]]
    name = "O=Other, L=London, C=GB"

    [[node]]
    name = "O=Hostile, L=London, C=GB"

    [[node]]
    name = "O=Notary, L=London, C=GB"
    notary = true
"#;

/// Responders that the bank and the notary admit; one peer has half of them.
const RESPONDERS: usize = 200;
/// Sessions of one hostile flow.
const SESSIONS: u64 = 150;

/// Arguments of [`Swarm`].
#[derive(Serialize, Deserialize, JsonSchema)]
struct SwarmArgs {
    around: LegalName,
}

primitives::record!(SwarmArgs { around });

/// Takes the name of a flow that its victims answer, opens sessions, and keeps them for an hour.
struct Swarm;

impl Flow for Swarm {
    const NAME: &'static str = "cash.reissue";
    const VERSION: u32 = <finance::flows::ReissueCash as Flow>::VERSION;
    type Args = SwarmArgs;
    type Output = u64;

    async fn run(ctx: FlowContext, args: SwarmArgs) -> Result<u64, FlowError> {
        let unknown = || FlowError::new("test.unknown", "no such party", "");
        let victim = ctx.network().by_name(&args.around).ok_or_else(unknown)?;
        let victim = victim.id();
        let mut sessions = Vec::new();
        for _ in 0..SESSIONS {
            sessions.push(ctx.open_session(&victim)?);
        }
        ctx.sleep_ms(3_600_000).await?;
        Ok(sessions.len() as u64)
    }
}

async fn start_small(folder: &Path, hold_flows: bool) -> (Node, Client) {
    let mut files = load_node_dir(folder).expect("bootstrapped");
    files.config.limits.responders = RESPONDERS;
    files.config.hospital.hold_flows = hold_flows;
    let node = Node::start(files, Apps::built_in().expect("cash")).await;
    let node = node.expect("it starts");
    let client = client_of(folder, &node);
    (node, client)
}

async fn swarm(client: &Client, around: &str) {
    let arguments = json!({ "around": format!("O={around}, L=London, C=GB") });
    let start = StartFlow::new("cash.reissue", &arguments).expect("JSON");
    client.start(&start.wait(Wait::None)).await.expect("taken");
}

/// The resources that a node holds for the hostile one.
pub(crate) async fn load(client: &Client) -> PeerLoad {
    let peers = client.peers().await.expect("readable").peers;
    let hostile = peers.into_iter().find(|peer| peer.name.contains("Hostile"));
    hostile.and_then(|peer| peer.load).unwrap_or_default()
}

pub(crate) async fn pay(client: &Client, to: &str) {
    let payment = json!({ "to": format!("O={to}, L=London, C=GB"), "quantity": 1 });
    let issuer = "O=Bank, L=London, C=GB";
    let arguments = json!({ "currency": "GBP", "issuer": issuer, "payments": [payment] });
    let start = StartFlow::new("cash.pay", &arguments).expect("JSON");
    let outcome = client.start(&start.wait(Wait::Delivered)).await;
    let outcome = outcome.expect("the node takes the start");
    assert_eq!(outcome.status, api::FlowStatus::Delivered, "{outcome:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_member_at_its_worst_takes_its_share_and_no_more() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let description = folder.path().join("NETWORK.toml");
    std::fs::write(&description, FOUR).expect("written");
    let out = folder.path().join("out");
    let spec = NetworkSpec::read(&description).expect("a description");
    bootstrap(&spec, &out).expect("bootstrapped");
    let (bank, bank_client) = start_small(&out.join("bank"), false).await;
    let (notary, notary_client) = start_small(&out.join("notary"), false).await;
    let (other, other_client) =
        start_with(&out.join("other"), Apps::built_in().expect("cash")).await;
    let mut apps = Apps::built_in().expect("cash");
    apps.flows.register::<Swarm>();
    let (hostile, hostile_client) = start_with(&out.join("hostile"), apps).await;

    run(&bank_client, "cash.issue", 1_000).await;
    for _ in 0..4 {
        swarm(&hostile_client, "Bank").await;
        swarm(&hostile_client, "Notary").await;
    }
    let share = RESPONDERS as u64 / 2;
    let refused = 4 * SESSIONS - share;
    until(
        "the bank has refused messages beyond the share",
        async || {
            let load = load(&bank_client).await;
            assert!(load.responders <= share, "{load:?}");
            (load.responders == share && load.refused == refused).then_some(())
        },
    )
    .await;
    for _ in 0..20 {
        pay(&bank_client, "Other").await;
        pay(&other_client, "Bank").await;
    }
    // A notary answers no sessions at all.
    assert_eq!(load(&notary_client).await.responders, 0);
    let metrics = bank_client.metrics().await.expect("readable");
    let label = "{peer=\"O=Hostile, L=London, C=GB\"}";
    let metric = format!("tally_peer_responders{label}");
    assert_eq!(value(&metrics, &metric), share as f64);

    // The bank starts again and holds the same flows, and its operator ends them before they run.
    bank.stop().await;
    let (bank, bank_client) = start_small(&out.join("bank"), true).await;
    until("the bank shows what it holds", async || {
        let load = load(&bank_client).await;
        (load.responders == share).then_some(())
    })
    .await;
    let metrics = bank_client.metrics().await.expect("readable");
    assert_eq!(value(&metrics, "tally_flows_shelved"), share as f64);
    let order = order_about_its_responders();
    let ordered = bank_client.order_flows(FlowAction::Kill, &order).await;
    let ordered = ordered.expect("the operator may");
    assert_eq!((ordered.matched, ordered.done), (share, share));
    until("nothing of it is left", async || {
        let load = load(&bank_client).await;
        (load.responders == 0 && load.journal_bytes == 0).then_some(())
    })
    .await;
    for _ in 0..5 {
        pay(&bank_client, "Other").await;
    }
    for node in [hostile, other, notary, bank] {
        node.stop().await;
    }
}
