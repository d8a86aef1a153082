//! The rules for the transactions that a bundler carries.

use serde::{Deserialize, Serialize};

use super::BundlerRate;
use crate::transaction::Body;
use crate::{AccountId, Carried, ChainId, MinorUnits, Percent};

/// A bundler's rules. A transaction is carried if it satisfies all of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BundlerRules {
    /// The child chain.
    pub child: ChainId,
    /// The minimum child fee for each whole parent token that the transaction costs the bundler.
    pub rate_min: BundlerRate,
    /// Percentage that is added to the minimum parent fee, so that forgers prefer this child block.
    #[serde(default)]
    pub overpay_percent: Percent,
    /// Total parent fees after which the bundler stops, in the parent token. `None` sets no limit.
    #[serde(default)]
    pub total_fee_max: Option<MinorUnits>,
    /// Senders whose transactions are carried. An empty list allows all senders.
    #[serde(default)]
    pub senders: Vec<AccountId>,
    /// Recipients whose transactions are carried. An empty list allows all recipients.
    #[serde(default)]
    pub recipients: Vec<AccountId>,
    /// The required beginning of a transaction's message. An empty text allows all messages.
    #[serde(default)]
    pub purpose: String,
}

impl BundlerRules {
    /// Returns whether it carries some transactions only. Its rate is then no offer to others and is not sent to the network.
    #[must_use]
    pub fn is_filtered(&self) -> bool {
        !self.senders.is_empty() || !self.recipients.is_empty() || !self.purpose.is_empty()
    }

    /// Returns whether the filters allow a transaction. Only payments pass. The fee is checked elsewhere.
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
