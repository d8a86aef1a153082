//! The transactions that other nodes have not answered for.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The answer of `GET /v1/deliveries`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeliveryPage {
    /// The deliveries, in order of the receiver's party id, and for each receiver the oldest one first.
    pub entries: Vec<DeliveryView>,
    /// Give this as `after` for the next page; absent on the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// A transaction that its recipient has not acknowledged or refused. It is delivered again until the recipient answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeliveryView {
    /// The receiver: a legal name, or the party's id if the network does not list it any more.
    pub peer: String,
    /// The receiver's party id.
    pub party_id: String,
    /// The transaction's id.
    pub tx: String,
    /// Size of the transaction, in bytes.
    pub bytes: u64,
    /// The reason why there is no answer, as far as this node knows.
    pub status: DeliveryStatus,
    /// The receiver's own reason, if it gave one since this node's start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<DeliveryReason>,
}

/// The reason for which a receiver has not answered a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DeliveryStatus {
    /// The receiver cannot record the transaction at present, and gave a reason.
    Waiting,
    /// The receiver is not connected.
    Away,
    /// The receiver is connected and has not answered yet.
    Unanswered,
}

/// The reason that a receiver gave.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeliveryReason {
    /// A stable code.
    pub code: String,
    /// The reason in words.
    pub message: String,
    /// The remedy.
    pub hint: String,
    /// The time of the receiver's first reason, in milliseconds since 1970.
    pub since_ms: u64,
}

impl DeliveryStatus {
    /// Returns the word for people.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            DeliveryStatus::Waiting => "waiting",
            DeliveryStatus::Away => "away",
            DeliveryStatus::Unanswered => "unanswered",
        }
    }
}
