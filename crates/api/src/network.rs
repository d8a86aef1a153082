//! The network as the node knows it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The answer of `GET /v1/network`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NetworkView {
    /// Hash of the network parameters.
    pub parameters: String,
    /// Largest message between nodes, in bytes.
    pub max_message_bytes: u64,
    /// Largest transaction, in bytes.
    pub max_transaction_bytes: u64,
    /// Largest file that a transaction lists, in bytes.
    pub max_attachment_bytes: u64,
    /// Most bytes of all files that one transaction lists.
    pub max_transaction_attachment_bytes: u64,
    /// When the parameters were issued.
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
    /// Where its node is reached by other nodes.
    pub addresses: Vec<String>,
    /// What kind of notary it is, if it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notary: Option<NotaryView>,
}

/// A notary's kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NotaryView {
    /// Whether it sees and checks whole transactions.
    pub validating: bool,
}

/// The answer of `GET /v1/peers`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PeersView {
    /// The software of this node, as its peers see it.
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
    /// Whether a connection stands.
    pub connected: bool,
    /// The other end of the connection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// Its software, as it said when a connection was made last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub software: Option<String>,
    /// Its clock less this node's then; the time of a handshake too little at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_offset_ms: Option<i64>,
    /// Messages that wait for it, in bytes.
    pub queued_bytes: u64,
    /// What it costs this node, if it has been heard since the node's start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<PeerLoad>,
    /// For how many milliseconds it may not connect, because it sent too much that makes no sense.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut_off_ms: Option<u64>,
    /// Transactions delivered to it that it cannot record for now, with the reasons that it told. At most 100 of all peers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waiting: Vec<WaitingView>,
}

/// What another node costs this one: what is held for it now, and what was counted since this node's start.
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
    /// Its messages that were put off because it was over its share of a round.
    pub deferred: u64,
    /// Its messages that were dropped because too many were put off.
    pub dropped: u64,
    /// Its messages and signatures that made no sense.
    pub garbage: u64,
    /// Times that it was cut off for that.
    pub cut_offs: u64,
    /// Whether it is slowed down for that.
    pub slowed: bool,
}

/// A delivery that its receiver cannot record for now. It is repeated until the receiver has answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WaitingView {
    /// The transaction's id.
    pub tx: String,
    /// The receiver's reason: a stable code.
    pub code: String,
    /// The reason in words.
    pub message: String,
    /// The remedy.
    pub hint: String,
    /// When the receiver told a reason first, in milliseconds since 1970.
    pub since_ms: u64,
}
