//! What a network has agreed on: limits and constants of consensus. They are part of the genesis, and so of every id.

use serde::{Deserialize, Serialize};

use crate::message::IDS_MAX;
use crate::transaction::EXTENSION_BYTES_MAX;

/// Bytes of a block's body at most in any network: peers get a body whole, in one answer.
pub const BLOCK_BYTES_MAX: usize = 16 << 20;

/// The constants of one network. Two profiles are shipped; a genesis file may set each one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// The aim of the time between blocks, seconds.
    pub block_seconds: u32,
    /// Parent transactions in a block at most, child blocks among them.
    pub parent_transactions_max: u32,
    /// Transactions in a child block at most.
    pub child_transactions_max: u32,
    /// Bytes of a child block's transactions at most.
    pub child_block_bytes_max: u32,
    /// Bytes of a block's body at most: a block is bounded by work, not only by count.
    pub block_bytes_max: u32,
    /// The least fee of a parent transaction, in minor units of the parent token.
    pub parent_fee_min: u64,
    /// The least fee that a child block pays for each transaction it carries, in minor units of the parent token.
    pub child_block_fee_per_transaction: u64,
    /// Bytes of a message at most.
    pub message_bytes_max: u32,
    /// The longest deadline of a transaction, minutes. Ids are remembered for so long.
    pub deadline_minutes_max: u16,
    /// How deep below the tip the block that a transaction refers to lies at least. Genesis is always deep enough.
    pub anchor_depth_min: u32,
    /// How far ahead of a node's clock a transaction may be, seconds; for a block see [`Params::block_drift_seconds`].
    pub clock_drift_seconds: u32,
    /// Blocks through which a balance must have been held to count for forging.
    pub effective_age_blocks: u32,
    /// Whole parent tokens that an account needs at least to forge.
    pub effective_tokens_min: u64,
    /// Blocks from a lease to its beginning.
    pub lease_delay_blocks: u32,
    /// The shortest and the longest lease, blocks.
    pub lease_blocks_min: u32,
    /// See `lease_blocks_min`.
    pub lease_blocks_max: u32,
    /// How many blocks are rolled back at most.
    pub rollback_blocks_max: u32,
    /// The base target follows the average of so many block times.
    pub base_target_span: u32,
    /// The average counts as at most `block_seconds` and this many per cent more, and at least as many less (53 and 67 seconds of
    /// 60 in the production profile: 12).
    pub base_target_limit_percent: u32,
    /// A falling base target falls by this share of what it might, per cent.
    pub base_target_gamma_percent: u32,
    /// The least base target, per cent of the initial one.
    pub base_target_min_percent: u32,
    /// The greatest base target, per cent of the initial one.
    pub base_target_max_percent: u32,
    /// A forger later than this, in seconds after its hit, may say its own time: so a network that stood still does not have to
    /// catch up block by block.
    pub standstill_seconds: u32,
}

impl Params {
    /// The profile `production`: a public network, 60 seconds a block.
    #[must_use]
    pub fn production() -> Self {
        Self {
            block_seconds: 60,
            parent_transactions_max: 10,
            child_transactions_max: 100,
            child_block_bytes_max: 128 << 10,
            block_bytes_max: 1 << 20,
            parent_fee_min: 100_000_000,
            child_block_fee_per_transaction: 1_000_000,
            message_bytes_max: 1_000,
            deadline_minutes_max: 1_440,
            anchor_depth_min: 60,
            clock_drift_seconds: 15,
            effective_age_blocks: 1_440,
            effective_tokens_min: 1_000,
            lease_delay_blocks: 1_440,
            lease_blocks_min: 1_440,
            lease_blocks_max: 65_535,
            rollback_blocks_max: 720,
            base_target_span: 2,
            base_target_limit_percent: 12,
            base_target_gamma_percent: 64,
            base_target_min_percent: 90,
            base_target_max_percent: 5_000,
            standstill_seconds: 3_600,
        }
    }

    /// The profile `loadtest`: the limits of the published load test, 5 seconds a block.
    #[must_use]
    pub fn loadtest() -> Self {
        Self {
            block_seconds: 5,
            parent_transactions_max: 10_000,
            child_transactions_max: 10_000,
            child_block_bytes_max: 10 << 20,
            block_bytes_max: 10 << 20,
            ..Self::production()
        }
    }

    /// The profile of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "production" => Some(Self::production()),
            "loadtest" => Some(Self::loadtest()),
            _ => None,
        }
    }

    /// How far ahead of a node's clock an announced block may be, seconds: a quarter of the block time, at least one second and at most
    /// `clock_drift_seconds`. The block is held until its time. It is a node's rule, not one of consensus.
    #[must_use]
    pub fn block_drift_seconds(&self) -> u32 {
        (self.block_seconds / 4)
            .max(1)
            .min(self.clock_drift_seconds)
    }

    /// What is wrong with them: the field, and the rule that it breaks.
    pub fn check(&self) -> Result<(), (&'static str, String)> {
        let at_least_one = [
            ("block_seconds", self.block_seconds),
            ("parent_transactions_max", self.parent_transactions_max),
            ("child_transactions_max", self.child_transactions_max),
            ("child_block_bytes_max", self.child_block_bytes_max),
            ("block_bytes_max", self.block_bytes_max),
            ("deadline_minutes_max", u32::from(self.deadline_minutes_max)),
            ("rollback_blocks_max", self.rollback_blocks_max),
            ("base_target_span", self.base_target_span),
            ("base_target_min_percent", self.base_target_min_percent),
            ("standstill_seconds", self.standstill_seconds),
        ];
        for (field, value) in at_least_one {
            if value == 0 {
                return Err((field, "must be at least 1".into()));
            }
        }
        let rules = [
            (
                "child_transactions_max",
                self.child_transactions_max as usize <= IDS_MAX,
                format!("must be at most {IDS_MAX}, which a list of ids holds"),
            ),
            (
                "child_block_bytes_max",
                self.child_block_bytes_max as usize <= BLOCK_BYTES_MAX,
                format!("must be at most {BLOCK_BYTES_MAX}, which an answer of a peer holds"),
            ),
            (
                "block_bytes_max",
                self.block_bytes_max as usize <= BLOCK_BYTES_MAX,
                format!("must be at most {BLOCK_BYTES_MAX}, which an answer of a peer holds"),
            ),
            (
                "message_bytes_max",
                self.message_bytes_max as usize <= EXTENSION_BYTES_MAX,
                format!("must be at most {EXTENSION_BYTES_MAX}, which the format holds"),
            ),
            (
                "effective_age_blocks",
                self.effective_age_blocks >= self.rollback_blocks_max,
                "must be at least rollback_blocks_max: a branch's forgers are judged by balances below the fork".into(),
            ),
            (
                "lease_delay_blocks",
                self.lease_delay_blocks >= self.rollback_blocks_max,
                "must be at least rollback_blocks_max: a branch's forgers are judged by leases below the fork".into(),
            ),
            (
                "lease_blocks_max",
                (1..=self.lease_blocks_max).contains(&self.lease_blocks_min),
                "must be at least lease_blocks_min, and that at least 1".into(),
            ),
            (
                "base_target_gamma_percent",
                (1..=100).contains(&self.base_target_gamma_percent),
                "must be 1 to 100".into(),
            ),
            (
                "base_target_limit_percent",
                (1..=99).contains(&self.base_target_limit_percent),
                "must be 1 to 99".into(),
            ),
            (
                "base_target_max_percent",
                self.base_target_max_percent >= 100 && self.base_target_min_percent <= 100,
                "must be at least 100, and base_target_min_percent at most".into(),
            ),
            (
                "block_seconds",
                self.block_seconds <= 3_600,
                "must be at most 3600".into(),
            ),
        ];
        match rules.into_iter().find(|(_, holds, _)| !holds) {
            Some((field, _, rule)) => Err((field, rule)),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shipped_profiles_keep_their_own_rules() {
        for name in ["production", "loadtest"] {
            assert_eq!(Params::named(name).unwrap().check(), Ok(()), "{name}");
        }
        assert_eq!(Params::named("other"), None);
    }

    #[test]
    fn the_drift_of_a_block_follows_the_block_time() {
        for (block, clock, drift) in [(60, 15, 15), (5, 15, 1), (1, 15, 1), (40, 6, 6), (5, 0, 0)] {
            let mut params = Params::production();
            (params.block_seconds, params.clock_drift_seconds) = (block, clock);
            assert_eq!(params.block_drift_seconds(), drift, "{block} s a block");
        }
    }

    #[test]
    fn a_broken_rule_names_its_field() {
        type Break = fn(&mut Params);
        let cases: &[(&str, Break)] = &[
            ("block_seconds", |p| p.block_seconds = 0),
            ("effective_age_blocks", |p| p.effective_age_blocks = 719),
            ("lease_delay_blocks", |p| p.lease_delay_blocks = 1),
            ("message_bytes_max", |p| p.message_bytes_max = 5_000),
            ("lease_blocks_max", |p| p.lease_blocks_max = 1),
            ("child_transactions_max", |p| {
                p.child_transactions_max = IDS_MAX as u32 + 1;
            }),
            ("child_block_bytes_max", |p| {
                p.child_block_bytes_max = BLOCK_BYTES_MAX as u32 + 1;
            }),
            ("block_bytes_max", |p| {
                p.block_bytes_max = BLOCK_BYTES_MAX as u32 + 1;
            }),
        ];
        for (field, break_it) in cases {
            let mut params = Params::production();
            break_it(&mut params);
            assert_eq!(params.check().unwrap_err().0, *field);
        }
    }
}
