//! The code and the hint that a client gets with each refusal. Every code is documented.

use api::{StartFlow, Wait};
use client::{Client, ClientError, Endpoint};
use serde_json::{Value, json};

use crate::stage::{self, A, B, cash};

/// The refusal that a call or a flow came to.
struct Refusal {
    code: String,
    message: String,
    hint: String,
}

impl Refusal {
    #[track_caller]
    fn check(&self, code: &str) {
        assert_eq!(self.code, code, "{}", self.message);
        assert!(!self.hint.trim().is_empty(), "{code} has no hint");
        assert!(!self.message.trim().is_empty(), "{code} has no message");
        assert!(stage::is_documented(code), "{code}: run `make docs`");
    }
}

impl From<ClientError> for Refusal {
    fn from(error: ClientError) -> Self {
        Self {
            code: error.code().to_owned(),
            message: error.to_string(),
            hint: error.hint().to_owned(),
        }
    }
}

/// Starts a flow with these arguments and expects to be refused, by the API or by the flow.
async fn flow(client: &Client, name: &str, arguments: Value) -> Refusal {
    let start = StartFlow::new(name, &arguments)
        .expect("JSON")
        .wait(Wait::Finalised)
        .timeout_ms(60_000);
    match client.start(&start).await {
        Err(error) => error.into(),
        Ok(outcome) => {
            let error = outcome
                .error
                .unwrap_or_else(|| panic!("{name} {arguments} was not refused"));
            Refusal {
                code: error.code,
                message: error.message,
                hint: error.hint,
            }
        }
    }
}

#[tokio::test]
async fn refusals_say_what_to_do() {
    let network = stage::network(&["A", "B"]);
    let a = stage::client(&network, A);
    let b = stage::client(&network, B);
    let [name_a, name_b] = [A, B].map(|who| network.name(who).to_owned());
    let issue = cash::issue("GBP", 1_000).expect("arguments");
    stage::completes(&a, issue, Wait::Delivered).await;

    // Cash.
    let pay = |quantity: u64, to: &str| json!({ "currency": "GBP", "deadline_ms": 200, "payments": [{ "to": to, "quantity": quantity }] });
    for (name, arguments, code) in [
        ("cash.pay", pay(5_000, &name_b), "vault.insufficient_funds"),
        ("cash.pay", pay(0, &name_b), "cash.zero_amount"),
        (
            "cash.issue",
            json!({ "currency": "GBP", "quantity": 0 }),
            "cash.zero_amount",
        ),
        (
            "cash.pay",
            json!({ "currency": "GBP", "payments": [] }),
            "cash.no_payment",
        ),
        (
            "cash.pay",
            pay(1, "O=Nobody, L=Nowhere, C=GB"),
            "cash.unknown_party",
        ),
    ] {
        flow(&a, name, arguments).await.check(code);
    }
    let exit = json!({ "currency": "GBP", "quantity": 1, "issuer": name_a });
    flow(&b, "cash.exit", exit)
        .await
        .check("cash.not_the_issuer");

    // Flows and arguments.
    flow(&a, "cash.steal", json!({}))
        .await
        .check("flow.unknown");
    flow(&a, "cash.issue", json!({ "currency": "GBP" }))
        .await
        .check("flow.bad_arguments");

    // Questions.
    let unknown = "00".repeat(32);
    let refusal: Refusal = a.transaction(&unknown).await.expect_err("unknown").into();
    refusal.check("node.unknown_transaction");
    let refusal: Refusal = a.transaction("xyz").await.expect_err("no id").into();
    refusal.check("api.bad_parameter");
    let refusal: Refusal = a
        .flow(&"00".repeat(16), Wait::None, None)
        .await
        .expect_err("unknown")
        .into();
    refusal.check("node.unknown_flow");
    let refusal: Refusal = a.consumed(None, 10).await.expect_err("a bank").into();
    refusal.check("node.not_a_notary");
    let refusal: Refusal = a
        .forget_client_id("never")
        .await
        .expect_err("unknown")
        .into();
    refusal.check("node.unknown_client_id");

    // Who asks.
    let endpoint = network.endpoint(A).expect("bootstrap wrote it");
    let stranger = Client::new(Endpoint {
        token: "0".repeat(64).into(),
        ..endpoint.clone()
    });
    let refusal: Refusal = stranger
        .expect("an endpoint")
        .balances()
        .await
        .expect_err("a wrong token")
        .into();
    refusal.check("api.unauthorised");
    let other = stage::network(&["A", "B"]);
    let distrusting = Client::new(Endpoint {
        root_pem: other.endpoint(A).expect("bootstrap wrote it").root_pem,
        ..endpoint
    });
    let refusal: Refusal = distrusting
        .expect("an endpoint")
        .balances()
        .await
        .expect_err("another network's root")
        .into();
    refusal.check("client.not_trusted");

    // After all that the node works as before.
    let pay = cash::pay("GBP", None, 1_000, &name_b, 1).expect("arguments");
    stage::completes(&a, pay, Wait::Delivered).await;
}
