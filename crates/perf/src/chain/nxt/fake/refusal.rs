//! The refusals of the fake, in the forms of a recorded real node. All are sent with HTTP status 200.

use serde_json::{Value, json};

use crate::chain::ChainId;

/// A refusal.
#[derive(Clone, Debug, PartialEq)]
pub enum Refusal {
    /// A code and its description.
    Plain(i64, String),
    /// A transaction that breaks a rule: with the cause, under this description.
    NotValid { rule: String, described: String },
    /// A fee below the minimum.
    Fee(String),
    /// A balance below the amount and the fee.
    Funds {
        chain: ChainId,
        amount: u64,
        fee: u64,
        balance: u64,
    },
}

impl Refusal {
    /// Returns the refusal of a request without this parameter.
    pub fn missing(name: &str) -> Self {
        Self::Plain(3, format!("\"{name}\" not specified"))
    }

    /// Returns the refusal of a parameter with a wrong value.
    pub fn incorrect(name: &str) -> Self {
        Self::Plain(4, format!("Incorrect \"{name}\""))
    }

    /// Returns the refusal of an object that the node does not have.
    pub fn unknown(name: &str) -> Self {
        Self::Plain(5, format!("Unknown {name}"))
    }

    /// Returns the refusal of a request type that there is none of.
    pub fn no_such_request() -> Self {
        Self::Plain(1, "Incorrect request".to_owned())
    }

    /// Returns the refusal of transaction bytes of another form.
    pub fn garbage() -> Self {
        Self::NotValid {
            rule: "java.nio.BufferUnderflowException".to_owned(),
            described: "Incorrect transactionBytes: null".to_owned(),
        }
    }

    /// Returns the answer's object.
    pub fn json(&self) -> Value {
        match self {
            Self::Plain(code, words) => json!({ "errorCode": code, "errorDescription": words }),
            Self::NotValid { rule, described } => json!({
                "error": rule, "errorCode": 4, "errorDescription": described, "requestProcessingTime": 0,
            }),
            Self::Fee(words) => json!({
                "broadcasted": false,
                "bundlerRateNQTPerFXT": "-1",
                "error": format!("nxt.NxtException$NotValidException: {words}"),
                "errorCode": 4,
                "errorDescription": words,
                "requestProcessingTime": 0,
            }),
            Self::Funds {
                chain,
                amount,
                fee,
                balance,
            } => {
                let needed = u128::from(*amount) + u128::from(*fee);
                // The payments that wait may take the balance too, so that nothing is missing from it alone.
                let diff = needed.saturating_sub(u128::from(*balance));
                json!({
                    "amount": amount.to_string(),
                    "balance": balance.to_string(),
                    "chain": chain.0,
                    "diff": diff.to_string(),
                    "errorCode": 6,
                    "errorDescription": "Not enough funds",
                    "fee": fee.to_string(),
                })
            }
        }
    }
}
