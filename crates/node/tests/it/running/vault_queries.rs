//! Questions to a real node's vault: answers, refusals, and pages while new states arrive.

use api::VaultQuery;
use client::ClientError;
use node::bootstrap::{NetworkSpec, bootstrap};
use serde_json::{Value, json};

use crate::running::{ALONE, run, start};

fn query(text: Value) -> VaultQuery {
    serde_json::from_value(text).expect("a query")
}

fn states(quantities: &[u64]) -> Value {
    json!(quantities)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_vault_answers_and_refuses_and_its_pages_stay_where_they_are() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let description = folder.path().join("NETWORK.toml");
    std::fs::write(&description, ALONE).expect("written");
    let out = folder.path().join("out");
    let spec = NetworkSpec::read(&description).expect("a description");
    bootstrap(&spec, &out).expect("bootstrapped");
    let (node, client) = start(&out.join("alone")).await;
    for quantity in [500, 100, 300, 200, 400] {
        run(&client, "cash.issue", quantity).await;
    }
    let alone = "O=Alone, L=London, C=GB";
    let by_quantity = json!([{ "field": "quantity" }]);

    for (asked, quantities) in [
        (
            json!({ "sort": by_quantity }),
            states(&[100, 200, 300, 400, 500]),
        ),
        (
            json!({ "sort": [{ "field": "quantity", "descending": true }], "limit": 2 }),
            states(&[500, 400]),
        ),
        (json!({ "status": "consumed" }), states(&[])),
        (
            json!({ "sort": by_quantity, "where": { "between": { "field": "quantity", "from": 200, "to": 300 } } }),
            states(&[200, 300]),
        ),
        (
            json!({ "where": { "less": { "field": "quantity", "value": 200 } } }),
            states(&[100]),
        ),
        (
            json!({ "where": { "greater": { "field": "quantity", "value": 400 } } }),
            states(&[500]),
        ),
        (
            json!({ "sort": by_quantity, "where": { "between": { "field": "quantity", "from": "200", "to": "300" } } }),
            states(&[200, 300]),
        ),
        (
            json!({ "where": { "and": [{ "prefix": { "field": "symbol", "value": "GB" } },
                { "not": { "greater": { "field": "quantity", "value": 100 } } }] } }),
            states(&[100]),
        ),
        (
            json!({ "where": { "or": [{ "is": { "field": "quantity", "value": 300 } },
                { "is": { "field": "symbol", "value": "EUR" } }] } }),
            states(&[300]),
        ),
        (
            json!({ "sort": by_quantity, "limit": 1, "where": { "and": [
                { "is": { "field": "participant", "value": alone } },
                { "is": { "field": "owner", "value": alone } },
                { "is": { "field": "notary", "value": alone } },
                { "is": { "field": "issuer", "value": alone } },
                { "is": { "field": "contract", "value": "tally.cash" } },
                { "greater": { "field": "recorded_at_ms", "value": 1 } }] } }),
            states(&[100]),
        ),
        (
            json!({ "where": { "greater": { "field": "tally.paper.face", "value": 0 } } }),
            states(&[]),
        ),
    ] {
        let shown = asked.to_string();
        let answer = client.query_vault(&query(asked)).await;
        let answer = answer.unwrap_or_else(|error| panic!("{shown}: {error}"));
        let found = answer.states.iter().map(|state| {
            let fungible = state.fungible.as_ref();
            fungible.map_or(0, |fungible| fungible.quantity)
        });
        assert_eq!(json!(found.collect::<Vec<_>>()), quantities, "{shown}");
    }

    let counted = query(json!({ "count": true, "limit": 1 }));
    let counted = client.query_vault(&counted).await.expect("a count");
    let count = counted.count.expect("asked for");
    assert_eq!((count.states, count.more), (5, false));
    let sums = query(json!({ "group_by": ["symbol"] }));
    let sums = client.query_vault(&sums).await.expect("sums");
    let sums = sums.groups.first().expect("a group");
    assert_eq!((sums.states, sums.quantity.as_str()), (5, "1500"));

    for (asked, told) in [
        (
            json!({ "where": { "is": { "field": "colour", "value": 1 } } }),
            "there is no field 'colour'",
        ),
        (
            json!({ "where": { "is": { "field": "tally.paper.colour", "value": 1 } } }),
            "tally.paper.face, tally.paper.issuer, tally.paper.maturity",
        ),
        (
            json!({ "where": { "is": { "field": "tally.paper.face", "value": "much" } } }),
            "'tally.paper.face' is compared with a number",
        ),
        (
            json!({ "where": { "prefix": { "field": "tally.paper.face", "value": "1" } } }),
            "'prefix' applies to text",
        ),
        (
            json!({ "where": { "less": { "field": "owner", "value": alone } } }),
            "'owner' has no order",
        ),
        (json!({ "limit": 0 }), "'limit' is 1 to"),
        (json!({ "after": "00" }), "no mark"),
        (json!({ "sort": [{ "field": "participant" }] }), "no order"),
        (json!({ "group_by": [], "count": true }), "groups have"),
    ] {
        let shown = asked.to_string();
        let refused = client.query_vault(&query(asked)).await;
        let Err(ClientError::Problem(problem)) = refused else {
            panic!("{shown}: {refused:?}");
        };
        assert_eq!(problem.code, "api.bad_query", "{shown}");
        let detail = problem.detail.clone();
        assert!(detail.contains(told), "{shown}: {detail}");
    }

    let mut page = query(json!({ "sort": by_quantity, "limit": 2 }));
    let mut seen = Vec::new();
    loop {
        let answer = client.query_vault(&page).await.expect("a page");
        seen.extend(answer.states.iter().map(|state| {
            let fungible = state.fungible.as_ref();
            fungible.map_or(0, |fungible| fungible.quantity)
        }));
        let Some(next) = answer.next else { break };
        page.after = Some(next);
        // Comes before all that is still to be shown, and must not move it.
        run(&client, "cash.issue", 50).await;
    }
    assert_eq!(seen, [100, 200, 300, 400, 500]);
    node.stop().await;
}
