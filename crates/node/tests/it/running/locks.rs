//! Locks of running flows in queries of the vault.

use api::query::FoundState;
use api::{FlowStatus, StartFlow, VaultQuery, Wait};
use client::{Client, ClientError};
use flow::{Flow, FlowContext, FlowError};
use ledger::StateRef;
use node::Apps;
use node::bootstrap::{NetworkSpec, bootstrap};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::running::{ALONE, run, start_with};

/// Arguments of [`Hold`].
#[derive(Serialize, Deserialize, JsonSchema)]
struct HoldArgs {
    states: Vec<StateRef>,
}

primitives::record!(HoldArgs { states });

/// Locks states by their references, until it is cancelled.
struct Hold;

impl Flow for Hold {
    const NAME: &'static str = "test.hold";
    const VERSION: u32 = 1;
    type Args = HoldArgs;
    type Output = u64;

    async fn run(ctx: FlowContext, args: HoldArgs) -> Result<u64, FlowError> {
        let states = ctx.lock_states(args.states).await?;
        ctx.progress("holding");
        ctx.sleep_ms(3_600_000).await?;
        Ok(states.len() as u64)
    }
}

fn apps() -> Apps {
    let mut apps = Apps::built_in().expect("cash");
    apps.flows.register::<Hold>();
    apps
}

async fn hold(client: &Client, states: &[String]) -> String {
    let references = states.iter().map(|state| {
        let (tx, index) = state.strip_suffix(')')?.split_once('(')?;
        let index: u32 = index.parse().ok()?;
        Some(json!({ "tx": tx, "index": index }))
    });
    let references: Option<Vec<Value>> = references.collect();
    let arguments = json!({ "states": references.expect("references") });
    let start = StartFlow::new("test.hold", &arguments).expect("JSON");
    let flow = client.start(&start.wait(Wait::None)).await;
    let flow = flow.expect("accepted").flow_id;
    crate::running::until("it holds them", async || {
        let outcome = client.flow(&flow, Wait::None, None).await.ok()?;
        assert_eq!(outcome.status, FlowStatus::Running, "{outcome:?}");
        (outcome.step.as_deref() == Some("holding")).then_some(())
    })
    .await;
    flow
}

async fn found(client: &Client, asked: &Value) -> Vec<FoundState> {
    let query: VaultQuery = serde_json::from_value(asked.clone()).expect("a query");
    let answer = client.query_vault(&query).await;
    let answer = answer.unwrap_or_else(|error| panic!("{asked}: {error}"));
    answer.states
}

fn quantity(state: &FoundState) -> u64 {
    state.fungible.as_ref().expect("cash").quantity
}

/// A state's quantity, and the flow that holds it.
type Found<'a> = (u64, Option<&'a str>);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn queries_find_what_flows_hold_and_say_which_flow() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let description = folder.path().join("NETWORK.toml");
    std::fs::write(&description, ALONE).expect("written");
    let out = folder.path().join("out");
    let spec = NetworkSpec::read(&description).expect("a description");
    bootstrap(&spec, &out).expect("bootstrapped");
    let (node, client) = start_with(&out.join("alone"), apps()).await;
    for quantity in [100, 200, 300, 400, 500] {
        run(&client, "cash.issue", quantity).await;
    }
    // Consumes the coin of 100, which is in no answer about locks any more.
    run(&client, "cash.exit", 100).await;
    let all = found(&client, &json!({ "sort": [{ "field": "quantity" }] })).await;
    let refs: Vec<String> = all.iter().map(|state| state.state_ref.clone()).collect();
    assert_eq!(refs.len(), 4);
    let first = hold(&client, &refs[..2]).await;
    let second = hold(&client, &refs[2..3]).await;
    let (one, two) = (Some(first.as_str()), Some(second.as_str()));
    let by = |flows: &[&str]| json!({ "in": { "field": "locked_by", "values": flows } });
    let is = json!({ "is": { "field": "locked_by", "value": second } });
    let nobody = "00".repeat(16);

    let table = |one, two| {
        [
            (
                json!({ "locked": true }),
                vec![(200, one), (300, one), (400, two)],
            ),
            (json!({ "locked": false }), vec![(500, None)]),
            (json!({ "not": { "locked": true } }), vec![(500, None)]),
            (by(&[&first]), vec![(200, one), (300, one)]),
            (is.clone(), vec![(400, two)]),
            (
                by(&[&first, &second]),
                vec![(200, one), (300, one), (400, two)],
            ),
            (by(&[&nobody]), vec![]),
            // Unlocked and specified.
            (
                json!({ "or": [{ "locked": false }, is] }),
                vec![(400, two), (500, None)],
            ),
            (
                json!({ "and": [{ "locked": true }, { "greater": { "field": "quantity", "value": 250 } }] }),
                vec![(300, one), (400, two)],
            ),
        ]
    };
    let check = async |client: &Client, table: &[(Value, Vec<Found<'_>>)]| {
        for (criterion, expected) in table {
            let mut asked = json!({ "where": criterion, "sort": [{ "field": "quantity" }] });
            let states = found(client, &asked).await;
            let shown: Vec<_> = states
                .iter()
                .map(|state| (quantity(state), state.locked_by.as_deref()))
                .collect();
            assert_eq!(&shown, expected, "{criterion}");
            // A state a page, counted and summed.
            asked["limit"] = json!(1);
            asked["count"] = json!(true);
            let mut query: VaultQuery = serde_json::from_value(asked).expect("a query");
            let mut paged = Vec::new();
            loop {
                let answer = client.query_vault(&query).await.expect("a page");
                assert_eq!(
                    answer.count.expect("asked for").states,
                    expected.len() as u64
                );
                paged.extend(answer.states.iter().map(quantity));
                let Some(next) = answer.next else { break };
                query.after = Some(next);
            }
            let quantities: Vec<u64> = expected.iter().map(|(quantity, _)| *quantity).collect();
            assert_eq!(paged, quantities, "{criterion}");
            let sum: VaultQuery =
                serde_json::from_value(json!({ "where": criterion, "group_by": [] }))
                    .expect("a query");
            let groups = client.query_vault(&sum).await.expect("a sum").groups;
            let sum = groups.first().map_or("0", |group| &group.quantity);
            assert_eq!(
                sum,
                quantities.iter().sum::<u64>().to_string(),
                "{criterion}"
            );
        }
    };
    check(&client, &table(one, two)).await;

    let shown = |states: Vec<FoundState>| -> Vec<Option<String>> {
        states.into_iter().map(|state| state.locked_by).collect()
    };
    let order = json!([{ "field": "quantity" }]);
    let plain = found(&client, &json!({ "sort": order })).await;
    assert_eq!(shown(plain), [None, None, None, None], "nobody asked");
    let told = found(&client, &json!({ "sort": order, "locks": true })).await;
    let expected = [Some(&first), Some(&first), Some(&second), None];
    assert_eq!(shown(told), expected.map(|flow| flow.cloned()));
    let consumed = json!({ "status": "consumed", "locks": true });
    assert_eq!(shown(found(&client, &consumed).await), [None]);

    for (asked, told) in [
        (
            json!({ "where": { "is": { "field": "locked_by", "value": "me" } } }),
            "ids of flows",
        ),
        (
            json!({ "where": { "is": { "field": "locked_by", "value": 7 } } }),
            "ids of flows",
        ),
        (
            json!({ "where": { "prefix": { "field": "locked_by", "value": "0" } } }),
            "no field 'locked_by'",
        ),
        (
            json!({ "sort": [{ "field": "locked_by" }] }),
            "no field 'locked_by'",
        ),
        (json!({ "group_by": ["locked_by"] }), "no field 'locked_by'"),
    ] {
        let query: VaultQuery = serde_json::from_value(asked.clone()).expect("a query");
        let Err(ClientError::Problem(problem)) = client.query_vault(&query).await else {
            panic!("{asked}");
        };
        assert_eq!(problem.code, "api.bad_query", "{asked}");
        assert!(problem.detail.contains(told), "{asked}: {}", problem.detail);
    }

    // Locks come back from the journals before the node answers any client.
    node.stop().await;
    let (node, client) = start_with(&out.join("alone"), apps()).await;
    check(&client, &table(one, two)).await;
    client.cancel(&first).await.expect("cancelled");
    let free = found(
        &client,
        &json!({ "where": { "locked": false }, "sort": order }),
    )
    .await;
    let free: Vec<u64> = free.iter().map(quantity).collect();
    assert_eq!(free, [200, 300, 500]);
    node.stop().await;
}
