//! What a bundler carries.

use serde::{Deserialize, Serialize};

use crate::transaction::Body;
use crate::{AccountId, Carried, ChainId};

/// A bundler's rules. A transaction is carried if it satisfies all of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BundlerRules {
    /// The child chain.
    pub child: ChainId,
    /// The least child fee, in minor units of the child's token, for each whole parent token that the transaction costs the bundler.
    pub rate_min: u64,
    /// The parent fee is raised by so many per cent above the least, so that forgers prefer this child block.
    #[serde(default)]
    pub overpay_percent: u32,
    /// Parent fees that it pays in all before it stops; nothing for no limit.
    #[serde(default)]
    pub total_fee_max: Option<u64>,
    /// Only transactions of these senders; empty for all.
    #[serde(default)]
    pub senders: Vec<AccountId>,
    /// Only transactions to these recipients; empty for all.
    #[serde(default)]
    pub recipients: Vec<AccountId>,
    /// Only transactions whose message begins with this text; empty for all.
    #[serde(default)]
    pub purpose: String,
}

impl BundlerRules {
    /// Whether it carries some transactions only. Its rate is no offer to others then, and is not sent to the network.
    #[must_use]
    pub fn is_filtered(&self) -> bool {
        !self.senders.is_empty() || !self.recipients.is_empty() || !self.purpose.is_empty()
    }

    /// Whether the filters let a transaction pass. What it must bring is another rule.
    #[must_use]
    pub fn allow(&self, carried: &Carried) -> bool {
        let Body::Payment { to, message, .. } = &carried.transaction.body else {
            return false;
        };
        (self.senders.is_empty() || self.senders.contains(&carried.sender))
            && (self.recipients.is_empty() || self.recipients.contains(to))
            && message.starts_with(self.purpose.as_bytes())
    }
}
