//! The arguments of the cash flows, in the form that a client sends.

use api::StartFlow;
use client::ClientError;
use serde_json::json;

/// Returns an issue of `quantity` minor units to the issuer itself, in one state.
pub fn issue(currency: &str, quantity: u64) -> Result<StartFlow, ClientError> {
    start(
        "cash.issue",
        &json!({ "currency": currency, "quantity": quantity }),
    )
}

/// Returns a payment of `quantity` minor units issued by `issuer` (the payer, if `None`) to `to` in `states` states.
pub fn pay(
    currency: &str,
    issuer: Option<&str>,
    quantity: u64,
    to: &str,
    states: u32,
) -> Result<StartFlow, ClientError> {
    let payments = json!([{ "to": to, "quantity": quantity, "states": states }]);
    start(
        "cash.pay",
        &json!({ "currency": currency, "issuer": issuer, "payments": payments }),
    )
}

/// Returns an issue of `quantity` minor units and their payment to `to`.
pub fn issue_and_pay(currency: &str, quantity: u64, to: &str) -> Result<StartFlow, ClientError> {
    start(
        "cash.issue_and_pay",
        &json!({ "currency": currency, "quantity": quantity, "recipient": to }),
    )
}

/// Returns an exit of `quantity` minor units that the holder issued itself.
pub fn exit(currency: &str, quantity: u64) -> Result<StartFlow, ClientError> {
    start(
        "cash.exit",
        &json!({ "currency": currency, "quantity": quantity }),
    )
}

fn start(flow: &str, arguments: &serde_json::Value) -> Result<StartFlow, ClientError> {
    StartFlow::new(flow, arguments).map_err(ClientError::arguments)
}
