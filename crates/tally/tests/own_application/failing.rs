//! Failing flows, and the operator's remedies.

use api::{FlowStatus, StartFlow, Wait};
use client::Client;
use perf::topology::{Network, NetworkOptions};
use serde_json::{Value, json};

use super::stage::command::{Ran, tally};
use super::stage::{self, A, B, client, eventually};
use super::wait_for;

/// Few retries, soon.
const SETTINGS: [&str; 3] = [
    "hospital.marked_retries = 2",
    "hospital.marked_wait_first_ms = 20",
    "hospital.marked_wait_most_ms = 40",
];

fn network() -> Network {
    super::network(NetworkOptions {
        settings: SETTINGS.map(str::to_owned).to_vec(),
        ..stage::options(&["A", "B"])
    })
}

async fn start(client: &Client, flow: &str, args: &Value, client_id: &str) -> api::Outcome {
    let start = StartFlow::new(flow, args).expect("arguments");
    let start = start.client_id(client_id).wait(Wait::None);
    let started = client.start(&start).await;
    started
        .or_else(client::ClientError::into_outcome)
        .expect("it is taken")
}

fn frail(network: &Network, panics: bool) -> Value {
    let needs = network.folder(A).join("mended");
    json!({ "needs": needs, "panics": panics })
}

/// Waits until a flow stands so.
async fn stands(client: &Client, flow: &str, status: FlowStatus) {
    let what = format!("{flow} is {}", status.as_str());
    eventually(&what, async || {
        let outcome = client.flow(flow, Wait::None, None).await.ok()?;
        (outcome.status == status).then_some(())
    })
    .await;
}

fn ok(ran: &Ran) -> Value {
    assert_eq!(ran.code, 0, "{} {}", ran.out, ran.err);
    ran.json()
}

/// The codes of a listed flow's failures.
fn codes(flow: &Value) -> Vec<&str> {
    let errors = flow["errors"].as_array().into_iter().flatten();
    errors.filter_map(|error| error["code"].as_str()).collect()
}

pub fn flows_are_kept_retried_and_killed() {
    let mut network = network();
    let folder = network.folder(A).to_owned();
    let (moment, panicked) = wait_for(async {
        let a = client(&network, A);
        let moment = start(&a, "trial.frail", &frail(&network, false), "moment").await;
        let panicked = start(&a, "trial.frail", &frail(&network, true), "panicked").await;
        stands(&a, &moment.flow_id, FlowStatus::Parked).await;
        stands(&a, &panicked.flow_id, FlowStatus::Parked).await;
        (moment.flow_id, panicked.flow_id)
    });

    // All failures are shown, and they are there after a restart too.
    for turn in 0..2 {
        let listed = ok(&tally(&folder, "flow list --node % --status parked --json"));
        let flows = listed["flows"].as_array().expect("a list");
        assert_eq!(flows.len(), 2, "{listed}");
        for flow in flows {
            let expected = match flow["flow_id"] == moment {
                true => vec!["trial.away"; 3],
                false => vec!["flow.panicked"],
            };
            assert_eq!(codes(flow), expected, "{flow}");
            assert_eq!(flow["failures"], expected.len(), "{flow}");
        }
        let shown = tally(&folder, "flow list --node % --status parked");
        for text in ["trial.away", "flow.panicked", "nobody has thought of this"] {
            assert!(shown.out.contains(text), "{text}: {}", shown.out);
        }
        let info = ok(&tally(&folder, "node info --node % --json"));
        assert_eq!(
            (&info["flows_parked"], &info["flows_paused"]),
            (&2.into(), &0.into())
        );
        if turn == 0 {
            network.restart(A).expect("it comes back");
        }
    }

    // The cause of one failure is removed, and its flow is retried by a query. The other flow cannot be repaired, and is killed.
    std::fs::write(folder.join("mended"), "").expect("the folder is ours");
    let retry = "flow retry --node % --code trial.away --json";
    let dry = ok(&tally(&folder, retry));
    assert_eq!(
        (&dry["matched"], &dry["done"]),
        (&1.into(), &0.into()),
        "counted only"
    );
    assert_eq!(ok(&tally(&folder, &format!("{retry} --yes")))["done"], 1);
    std::fs::remove_file(folder.join("mended")).ok();
    let killed = ok(&tally(
        &folder,
        "flow kill --node % --code flow.panicked --status parked --yes --json",
    ));
    assert_eq!(killed["done"], 1, "{killed}");
    wait_for(async {
        let a = client(&network, A);
        let again = start(&a, "trial.frail", &frail(&network, true), "panicked").await;
        assert_eq!(again.flow_id, panicked);
        let ended = a.flow(&panicked, Wait::Finalised, Some(10_000)).await;
        let error = ended.expect_err("it was killed");
        assert_eq!(error.failed_flow(), Some(panicked.as_str()));
        assert_eq!(error.code(), "flow.killed");

        // A flow that waits for an absent peer is in the report, and continues when the peer is back.
        network.kill(B);
        let deed = json!(network.name(B));
        let deed = start(&a, "trial.make_deed", &deed, "deed").await.flow_id;
        let report = eventually("it waits for the peer", async || {
            let report = ok(&tally(&folder, "flow stuck --node % --for 0 --json"));
            let flows = report["flows"].as_array().expect("a list").clone();
            flows.into_iter().find(|flow| flow["flow_id"] == deed)
        })
        .await;
        assert_eq!(report["waits"][0]["what"], "message", "{report}");
        assert_eq!(report["waits"][0]["peer"], network.name(B), "{report}");
        network.start(B).expect("it comes back");
        let end = a.flow(&deed, Wait::Delivered, Some(60_000)).await;
        let end = end.expect("known");
        assert_eq!(end.status, FlowStatus::Delivered, "{end:?}");
    });
}

pub fn a_drain_leaves_kept_flows_as_they_are() {
    let mut network = network();
    let folder = network.folder(A).to_owned();
    let kept = wait_for(async {
        let a = client(&network, A);
        let kept = start(&a, "trial.frail", &frail(&network, true), "kept").await;
        stands(&a, &kept.flow_id, FlowStatus::Parked).await;
        kept.flow_id
    });
    let draining = ok(&tally(&folder, "node drain --node % --json"));
    assert_eq!(draining["flows_parked"], 1, "{draining}");
    wait_for(eventually("it is drained", async || {
        let info = ok(&tally(&folder, "node info --node % --json"));
        (info["state"] == "drained").then_some(())
    }));
    std::fs::write(folder.join("mended"), "").expect("the folder is ours");
    let refused = tally(&folder, &format!("flow retry --node % {kept}"));
    assert!(refused.err.contains("node.draining"), "{}", refused.err);
    network.restart(A).expect("it comes back");
    let info = ok(&tally(&folder, "node info --node % --json"));
    assert_eq!(
        (&info["state"], &info["flows_parked"]),
        (&"ready".into(), &1.into())
    );
    let retried = tally(&folder, &format!("flow retry --node % {kept}"));
    assert_eq!(retried.code, 0, "{}", retried.err);
    wait_for(async {
        let a = client(&network, A);
        let ended = a.flow(&kept, Wait::Finalised, Some(10_000)).await;
        let ended = ended.expect("known");
        assert!(ended.status.is_end() && ended.error.is_none(), "{ended:?}");
    });
}
