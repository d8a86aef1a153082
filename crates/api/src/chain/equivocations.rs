//! Evidence against forgers that signed two blocks on one parent.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A signed header.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SignedHeader {
    /// The block's hash.
    pub hash: String,
    /// Seconds since genesis.
    pub time: u32,
    /// The header with its signature, as `docs/formats/chain.md` describes.
    pub bytes: String,
}

/// Two signed headers by one forger on one parent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EquivocationView {
    /// The forger's account.
    pub forger: String,
    /// The forger's key.
    pub key: String,
    /// The height of both blocks.
    pub height: u32,
    /// The parent of both blocks.
    pub previous: String,
    /// The time at which this node noticed it, in seconds since genesis.
    pub noticed: u32,
    /// The block that this node saw first.
    pub first: SignedHeader,
    /// The other block.
    pub second: SignedHeader,
}

/// A page of evidence, by forger and height.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EquivocationPage {
    /// The evidence.
    pub equivocations: Vec<EquivocationView>,
    /// Give it as `after` for the next page. Left out on the last page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}
