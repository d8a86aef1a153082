//! The network as the node knows it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The answer of `GET /v1/network`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NetworkView {
    /// Hash of the network parameters.
    pub parameters: String,
    /// Maximum size of a message between nodes, in bytes.
    pub max_message_bytes: u64,
    /// Maximum size of a transaction, in bytes.
    pub max_transaction_bytes: u64,
    /// Maximum size of a file that a transaction lists, in bytes.
    pub max_attachment_bytes: u64,
    /// Maximum total size of the files that one transaction lists, in bytes.
    pub max_transaction_attachment_bytes: u64,
    /// The time at which the parameters were issued.
    pub issued_at_ms: u64,
    /// The notaries' names.
    pub notaries: Vec<String>,
    /// Every node of the map, in order of name.
    pub nodes: Vec<PartyView>,
}

/// A party and its node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PartyView {
    /// The legal name.
    pub name: String,
    /// The party's id.
    pub party_id: String,
    /// The party's key.
    pub key: String,
    /// The addresses at which other nodes reach its node.
    pub addresses: Vec<String>,
    /// The kind of notary, if it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notary: Option<NotaryView>,
}

/// A notary's kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NotaryView {
    /// Whether it sees and checks whole transactions.
    pub validating: bool,
    /// The replicated notary that it works for, if it is one of several workers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service: Option<String>,
}

/// The answer of `GET /v1/peers`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PeersView {
    /// The software of this node, as sent to its peers.
    pub software: String,
    /// Every other node of the map, in order of name.
    pub peers: Vec<PeerView>,
}

/// Another node, as this one sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PeerView {
    /// The legal name.
    pub name: String,
    /// The party's id.
    pub party_id: String,
    /// Whether a connection is open.
    pub connected: bool,
    /// The other end of the connection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// Its software, as sent at the last connection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub software: Option<String>,
    /// Its clock minus this node's at that time; too low by at most the time of a handshake.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_offset_ms: Option<i64>,
    /// Size of the messages queued for it, in bytes.
    pub queued_bytes: u64,
    /// Its load on this node, if it was heard since the node's start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<PeerLoad>,
    /// Remaining time of its cut-off, in milliseconds: the peer may not connect, because it sent too much garbage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut_off_ms: Option<u64>,
    /// Transactions for it that it has neither acknowledged nor refused. They are delivered again until it answers.
    #[serde(default)]
    pub pending_deliveries: u64,
    /// The number of these transactions that it cannot record at present. It has said so; `GET /v1/deliveries` gives its reasons.
    #[serde(default)]
    pub waiting_deliveries: u64,
}

/// The answer of `GET /v1/peers/history`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PeerHistory {
    /// The events, newest first.
    pub events: Vec<PeerEventView>,
}

/// An event of the connection with a peer. Failed attempts in a row with the same code are one event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PeerEventView {
    /// The time on this node's clock, in milliseconds since the Unix epoch.
    pub at_ms: u64,
    /// The peer's legal name.
    pub peer: String,
    /// The peer's party id.
    pub party_id: String,
    /// The kind of the event.
    pub event: PeerEventKind,
    /// The number of equal events in a row.
    pub count: u64,
    /// The time of the last of several equal events in a row; the same time if it is only one.
    pub last_ms: u64,
    /// The other end of the connection, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// The stable code of the reason, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// The reason in words, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// The kind of an event of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PeerEventKind {
    /// A connection is open.
    Connected,
    /// The connection has ended.
    Disconnected,
    /// An attempt to connect has failed.
    NotReached,
    /// The peer was cut off for a time, because it sent too much garbage.
    CutOff,
}

impl PeerEventKind {
    /// Returns the words for people.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            PeerEventKind::Connected => "connected",
            PeerEventKind::Disconnected => "disconnected",
            PeerEventKind::NotReached => "not reached",
            PeerEventKind::CutOff => "cut off",
        }
    }
}

/// The load that another node puts on this one: its current resources, and counters since this node's start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PeerLoad {
    /// Flows here that answer its sessions and have not ended.
    pub responders: u64,
    /// Bytes that live flows have received from it.
    pub held_bytes: u64,
    /// Bytes of the journals of these responders.
    pub journal_bytes: u64,
    /// Its sessions and messages that were refused because it was over its share.
    pub refused: u64,
    /// Its sessions that were ended because it was silent on them.
    pub idle_ended: u64,
    /// Its messages that were deferred because it was over its share of a round.
    pub deferred: u64,
    /// Its messages that were dropped because too many were deferred.
    pub dropped: u64,
    /// Its invalid messages and signatures.
    pub garbage: u64,
    /// The number of times that it was cut off for that.
    pub cut_offs: u64,
    /// Whether it is slowed down for that.
    pub slowed: bool,
}
