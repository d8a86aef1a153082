//! Flows as endpoints of real nodes: described with their schemas, started, waited for, repeated, followed, abandoned.

use std::collections::BTreeSet;

use api::events::{END, FlowStep, STEP};
use api::{FlowStatus, Outcome, StartFlow, Wait};
use client::Client;
use perf::topology::Who;
use serde_json::Value;

use crate::stage::{self, A, B, cash};

/// Clients at once, each with a connection of its own that it keeps.
const CLIENTS: usize = 200;
/// Flows that each of them starts.
const ROUNDS: u64 = 3;

/// The operation that starts a flow.
fn operation<'a>(document: &'a Value, flow: &str) -> &'a Value {
    &document["paths"][format!("/v1/flows/{flow}")]["post"]
}

/// Returns the schema that a `$ref` in the document points to, or the schema itself if it is no reference.
fn resolved<'a>(document: &'a Value, schema: &'a Value) -> &'a Value {
    let Some(place) = schema["$ref"].as_str() else {
        return schema;
    };
    let place = place.trim_start_matches('#');
    document.pointer(place).expect("it leads somewhere")
}

/// The schema of a flow's arguments, and that of its result.
fn schemas<'a>(document: &'a Value, flow: &str) -> (&'a Value, &'a Value) {
    let operation = operation(document, flow);
    let json =
        |place: &'a Value| resolved(document, &place["content"]["application/json"]["schema"]);
    let outcome = json(&operation["responses"]["200"]);
    (
        json(&operation["requestBody"]),
        resolved(document, &outcome["properties"]["result"]),
    )
}

fn names(schema: &Value) -> BTreeSet<&str> {
    let properties = schema["properties"].as_object().into_iter().flatten();
    properties.map(|(name, _)| name.as_str()).collect()
}

/// A value of `/metrics`.
async fn metric(client: &Client, name: &str) -> f64 {
    let text = client.metrics().await.expect("readable");
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    let value = line.and_then(|rest| rest.trim().parse().ok());
    value.unwrap_or_else(|| panic!("no {name} in {text}"))
}

#[tokio::test]
async fn every_flow_has_an_endpoint_that_says_what_it_takes_and_gives() {
    let network = stage::network(&["A", "B"]);
    let [a, b] = [A, B].map(|who| stage::client(&network, who));
    let document = a.openapi().await.expect("readable");
    let mut ids = BTreeSet::new();
    for flow in a.node().await.expect("readable").flows {
        let operation = operation(&document, &flow.name);
        let id = operation["operationId"].as_str().expect(&flow.name);
        assert!(ids.insert(id.to_owned()), "{id} is there twice");
        let permission = format!("flow.start:{}", flow.name);
        assert_eq!(operation["x-permission"], permission);
        let (arguments, result) = schemas(&document, &flow.name);
        let fields: BTreeSet<&str> = flow.arguments.iter().map(String::as_str).collect();
        assert_eq!(names(arguments), fields, "{}", flow.name);
        assert!(
            result["type"].is_string() || result["type"].is_array(),
            "{result}"
        );
        let steps = operation["x-progress-steps"].as_array().expect("steps");
        assert_eq!(
            steps.is_empty(),
            flow.name == "ledger.empty",
            "{}",
            flow.name
        );
    }

    // The response has the fields that the API description gives it.
    let issue = cash::issue("GBP", 1_000).expect("arguments");
    let started = a.start_at_endpoint(&issue.wait(Wait::Delivered)).await;
    let outcome = started.expect("taken");
    assert_eq!(outcome.status, FlowStatus::Delivered, "{outcome:?}");
    let result: Value = serde_json::from_str(outcome.result.expect("one").get()).expect("JSON");
    let given: BTreeSet<&str> = result
        .as_object()
        .expect("an object")
        .keys()
        .map(String::as_str)
        .collect();
    assert_eq!(given, names(schemas(&document, "cash.issue").1));

    // The steps that it shows are among those described.
    let pay = cash::pay("GBP", None, 400, network.name(B), 1).expect("arguments");
    let started = a.start_at_endpoint(&pay.wait(Wait::None)).await;
    let flow_id = started.expect("taken").flow_id;
    let mut events = a
        .follow_flow(&flow_id, Wait::Delivered)
        .await
        .expect("events");
    let steps = operation(&document, "cash.pay")["x-progress-steps"].clone();
    loop {
        let event = events.next().await.expect("readable").expect("an end");
        match event.kind.as_str() {
            STEP => {
                let step = event.read::<FlowStep>().expect("a step").step;
                let steps = steps.as_array().expect("steps");
                assert!(steps.contains(&step.as_str().into()), "{step} of {steps:?}");
            }
            END => break,
            _ => {}
        }
    }
    assert_eq!(stage::holds(&b, "GBP").await.expect("readable"), 400);
}

#[tokio::test]
async fn a_start_is_the_same_in_all_its_forms_and_goes_on_when_the_time_is_over() {
    let mut network = stage::network(&["A", "B"]);
    let a = stage::client(&network, A);
    let issue = cash::issue("GBP", 1_000).expect("arguments");
    stage::completes(&a, issue, Wait::Delivered).await;
    network.kill(Who::Notary);
    let pay = cash::pay("GBP", None, 100, network.name(B), 1).expect("arguments");
    let pay = pay.client_id("order 17/a").wait(Wait::Delivered);
    let waiting = a.start_at_endpoint(&pay.clone().timeout_ms(200)).await;
    let waiting = waiting.expect("202");
    assert_eq!(waiting.status, FlowStatus::Running, "{waiting:?}");
    for start in [pay.clone().timeout_ms(0), pay.clone().wait(Wait::None)] {
        let forms = [a.start(&start).await, a.start_at_endpoint(&start).await];
        for again in forms {
            assert_eq!(again.expect("the same").flow_id, waiting.flow_id);
        }
    }
    network.start(Who::Notary).expect("it comes back");
    let forms = tokio::join!(a.start(&pay), a.start_at_endpoint(&pay));
    for outcome in [forms.0, forms.1] {
        let outcome = outcome.expect("the same");
        assert_eq!(
            (outcome.flow_id.as_str(), outcome.status),
            (waiting.flow_id.as_str(), FlowStatus::Delivered)
        );
    }

    let wrong = StartFlow::new("cash.issue", &serde_json::json!({ "currncy": "GBP" }));
    let refused = a.start_at_endpoint(&wrong.expect("JSON")).await;
    let refused = refused.expect_err("no such field");
    assert_eq!(refused.code(), "flow.bad_arguments");
    assert!(refused.to_string().contains("did you mean 'currency'"));
}

#[tokio::test]
async fn hundreds_of_clients_keep_their_connections_and_what_they_abandon_ends_all_the_same() {
    let mut network = stage::network(&["A", "B"]);
    let a = stage::client(&network, A);
    let mut clients = Vec::new();
    for number in 0..CLIENTS {
        let client = stage::client(&network, A);
        clients.push(tokio::spawn(async move {
            for round in 0..ROUNDS {
                let issue = cash::issue("GBP", 1).expect("arguments");
                let issue = issue.client_id(format!("{number}-{round}"));
                until_taken(&client, &issue.timeout_ms(60_000)).await;
            }
            client
        }));
    }
    let mut kept = Vec::new();
    for client in clients {
        kept.push(client.await.expect("every flow ends well"));
    }
    let expected = CLIENTS as u128 * u128::from(ROUNDS);
    assert_eq!(stage::holds(&a, "GBP").await.expect("readable"), expected);
    let connections = metric(&a, "tally_http_connections ").await;
    assert!(connections > CLIENTS as f64, "{connections}");

    // No client waits for these payments any more, and they cannot end while the notary is down.
    network.kill(Who::Notary);
    let mut abandoned = Vec::new();
    for (number, client) in kept.into_iter().enumerate() {
        let pay = cash::pay("GBP", None, 1, network.name(B), 1).expect("arguments");
        let pay = pay.client_id(format!("pay-{number}")).wait(Wait::Delivered);
        abandoned.push(tokio::spawn(async move {
            // Given up below, while it waits.
            let _ = client.start_at_endpoint(&pay.timeout_ms(300_000)).await;
        }));
    }
    stage::eventually("all wait for the notary", async || {
        let node = a.node().await.ok()?;
        let live = node.flows_in_flight + node.flows_queued;
        (live >= CLIENTS as u64).then_some(())
    })
    .await;
    for task in &abandoned {
        task.abort();
    }
    stage::eventually("their connections are closed", async || {
        (metric(&a, "tally_http_connections ").await <= 2.0).then_some(())
    })
    .await;
    network.start(Who::Notary).expect("it comes back");
    stage::eventually("all have ended", async || {
        let node = a.node().await.ok()?;
        (node.flows_in_flight + node.flows_queued == 0).then_some(())
    })
    .await;
    let b = stage::client(&network, B);
    stage::eventually("each was paid once", async || {
        let held = stage::holds(&b, "GBP").await.ok()?;
        (held == CLIENTS as u128).then_some(())
    })
    .await;
}

/// Starts a flow at its endpoint, again as long as the node is busy.
async fn until_taken(client: &Client, start: &StartFlow) -> Outcome {
    loop {
        match client.start_at_endpoint(start).await {
            Ok(outcome) => {
                assert!(outcome.error.is_none(), "{outcome:?}");
                return outcome;
            }
            Err(error) => {
                let ms = error.retry_after_ms().unwrap_or_else(|| panic!("{error}"));
                tokio::time::sleep(std::time::Duration::from_millis(ms)).await;
            }
        }
    }
}
