//! The parameters of a network: limits and constants of consensus. They are part of the genesis and therefore of every id.

use std::fmt;

use serde::{Deserialize, Serialize, Serializer};

use crate::message::IDS_MAX;
use crate::transaction::EXTENSION_BYTES_MAX;
use crate::{MinorUnits, Minutes, Seconds, WholeTokens};

/// Maximum length of a block's body in any network, in bytes. Peers receive a whole body in one answer.
pub const BLOCK_BYTES_MAX: usize = 16 << 20;

/// The constants of one network. Two profiles are built in, and a genesis file may set each constant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// Target time between blocks.
    pub block_seconds: Seconds,
    /// Maximum number of parent transactions in a block, including child blocks.
    pub parent_transactions_max: u32,
    /// Maximum number of transactions in a child block.
    pub child_transactions_max: u32,
    /// Maximum length of a child block's transactions, in bytes.
    pub child_block_bytes_max: u32,
    /// Maximum length of a block's body, in bytes. A block is bounded by work and not only by count.
    pub block_bytes_max: u32,
    /// Minimum fee of a parent transaction, in the parent token.
    #[serde(serialize_with = "as_text")]
    pub parent_fee_min: MinorUnits,
    /// Minimum fee that a child block pays for each transaction that it carries, in the parent token.
    #[serde(serialize_with = "as_text")]
    pub child_block_fee_per_transaction: MinorUnits,
    /// Maximum length of a message, in bytes.
    pub message_bytes_max: u32,
    /// Maximum deadline of a transaction. Ids are remembered for this time.
    pub deadline_minutes_max: Minutes,
    /// Minimum depth of an anchor block below the block of the transaction. Genesis is always deep enough.
    pub anchor_depth_min: u32,
    /// Maximum lead of a transaction over a node's clock. For blocks see [`Params::block_drift_seconds`].
    pub clock_drift_seconds: Seconds,
    /// Number of blocks that a balance must have been held to count for forging.
    pub effective_age_blocks: u32,
    /// Minimum number of whole parent tokens that an account needs to forge.
    #[serde(serialize_with = "as_text")]
    pub effective_tokens_min: WholeTokens,
    /// Number of blocks between a lease transaction and the start of the lease.
    pub lease_delay_blocks: u32,
    /// Minimum length of a lease, in blocks.
    pub lease_blocks_min: u32,
    /// Maximum length of a lease, in blocks.
    pub lease_blocks_max: u32,
    /// Maximum number of blocks that are rolled back.
    pub rollback_blocks_max: u32,
    /// Number of block times over which the base target averages.
    pub base_target_span: u32,
    /// Limits the average to this percentage above and below `block_seconds` (with 12 %: 53 to 67 seconds at a block time of 60
    /// seconds, as in the production profile).
    pub base_target_limit_percent: u32,
    /// Percentage of the computed fall that is applied to a falling base target.
    pub base_target_gamma_percent: u32,
    /// Minimum base target, as a percentage of the initial one.
    pub base_target_min_percent: u32,
    /// Maximum base target, as a percentage of the initial one.
    pub base_target_max_percent: u32,
    /// Standstill after a forger's hit. Its block may then have any later time, so a network that stood still does not
    /// have to catch up block by block.
    pub standstill_seconds: Seconds,
    /// Minimum time between blocks in the computation of work, as a percentage of `block_seconds`. A block that follows sooner has
    /// no more work, so a forger gains little by choosing accounts with early hits on a secret branch (decision 0010).
    pub work_elapsed_min_percent: u32,
    /// Minimum balance, in whole tokens, that a lessor must have held through the effective age to lease to the same account again.
    /// 0 is no minimum.
    #[serde(serialize_with = "as_text")]
    pub lease_renewal_tokens_min: WholeTokens,
}

/// Writes a quantity as decimal text, because it may exceed 2^53. Only answers to clients carry parameters as JSON.
fn as_text<S: Serializer>(quantity: &impl fmt::Display, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(quantity)
}

impl Params {
    /// Returns the profile `production`: a public network with 60 seconds per block.
    #[must_use]
    pub fn production() -> Self {
        Self {
            block_seconds: Seconds::new(60),
            parent_transactions_max: 10,
            child_transactions_max: 100,
            child_block_bytes_max: 128 << 10,
            block_bytes_max: 1 << 20,
            parent_fee_min: MinorUnits::new(100_000_000),
            child_block_fee_per_transaction: MinorUnits::new(1_000_000),
            message_bytes_max: 1_000,
            deadline_minutes_max: Minutes::new(1_440),
            anchor_depth_min: 60,
            clock_drift_seconds: Seconds::new(15),
            effective_age_blocks: 1_440,
            effective_tokens_min: WholeTokens::new(1_000),
            lease_delay_blocks: 1_440,
            lease_blocks_min: 1_440,
            lease_blocks_max: 65_535,
            rollback_blocks_max: 720,
            base_target_span: 2,
            base_target_limit_percent: 12,
            base_target_gamma_percent: 64,
            base_target_min_percent: 90,
            base_target_max_percent: 5_000,
            standstill_seconds: Seconds::new(3_600),
            work_elapsed_min_percent: 17,
            lease_renewal_tokens_min: WholeTokens::new(1_000),
        }
    }

    /// Returns the profile `loadtest`: the limits of the published load test, with 5 seconds per block.
    #[must_use]
    pub fn loadtest() -> Self {
        Self {
            block_seconds: Seconds::new(5),
            parent_transactions_max: 10_000,
            child_transactions_max: 10_000,
            child_block_bytes_max: 10 << 20,
            block_bytes_max: 10 << 20,
            // Less than one second of 5, so it would have no effect.
            work_elapsed_min_percent: 0,
            // Keeps the hashes of networks that were founded before the constant existed.
            lease_renewal_tokens_min: WholeTokens::ZERO,
            ..Self::production()
        }
    }

    /// Returns the profile with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "production" => Some(Self::production()),
            "loadtest" => Some(Self::loadtest()),
            _ => None,
        }
    }

    /// Returns the maximum lead of an announced block over a node's clock: a quarter of the block time, at least one
    /// second and at most `clock_drift_seconds`. The block is held until its time. This is a rule of nodes and not of consensus.
    #[must_use]
    pub fn block_drift_seconds(&self) -> Seconds {
        Seconds::new(self.block_seconds.get() / 4)
            .max(Seconds::new(1))
            .min(self.clock_drift_seconds)
    }

    /// Checks the constants. The error is the field and the rule that it breaks.
    pub fn check(&self) -> Result<(), (&'static str, String)> {
        let at_least_one = [
            ("block_seconds", self.block_seconds.get()),
            ("parent_transactions_max", self.parent_transactions_max),
            ("child_transactions_max", self.child_transactions_max),
            ("child_block_bytes_max", self.child_block_bytes_max),
            ("block_bytes_max", self.block_bytes_max),
            (
                "deadline_minutes_max",
                u32::from(self.deadline_minutes_max.get()),
            ),
            ("rollback_blocks_max", self.rollback_blocks_max),
            ("base_target_span", self.base_target_span),
            ("base_target_min_percent", self.base_target_min_percent),
            ("standstill_seconds", self.standstill_seconds.get()),
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
                format!("must be at most {IDS_MAX}, the limit of a list of ids"),
            ),
            (
                "child_block_bytes_max",
                self.child_block_bytes_max as usize <= BLOCK_BYTES_MAX,
                format!("must be at most {BLOCK_BYTES_MAX}, the limit of a peer's answer"),
            ),
            (
                "block_bytes_max",
                self.block_bytes_max as usize <= BLOCK_BYTES_MAX,
                format!("must be at most {BLOCK_BYTES_MAX}, the limit of a peer's answer"),
            ),
            (
                "message_bytes_max",
                self.message_bytes_max as usize <= EXTENSION_BYTES_MAX,
                format!("must be at most {EXTENSION_BYTES_MAX}, the limit of the format"),
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
                "must be at least lease_blocks_min, which must be at least 1".into(),
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
                "must be at least 100, and base_target_min_percent at most 100".into(),
            ),
            (
                "work_elapsed_min_percent",
                self.work_elapsed_min_percent <= 100,
                "must be at most 100".into(),
            ),
            (
                "block_seconds",
                self.block_seconds <= Seconds::new(3_600),
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
    fn parameters_in_json_are_text_if_they_can_exceed_2_to_the_53() {
        let json = serde_json::to_value(Params::production()).expect("JSON");
        let read = serde_json::from_value(json.clone());
        assert_eq!(read.ok(), Some(Params::production()));
        for (name, value) in json.as_object().expect("an object") {
            let mut large = json.clone();
            large[name] = (1_u64 << 53).into();
            let takes_64_bits = serde_json::from_value::<Params>(large).is_ok();
            assert_eq!(value.is_string(), takes_64_bits, "{name}");
        }
    }

    #[test]
    fn the_drift_of_a_block_follows_the_block_time() {
        for (block, clock, drift) in [(60, 15, 15), (5, 15, 1), (1, 15, 1), (40, 6, 6), (5, 0, 0)] {
            let mut params = Params::production();
            params.block_seconds = Seconds::new(block);
            params.clock_drift_seconds = Seconds::new(clock);
            let found = params.block_drift_seconds();
            assert_eq!(found, Seconds::new(drift), "{block} s a block");
        }
    }

    #[test]
    fn a_broken_rule_names_its_field() {
        type Break = fn(&mut Params);
        let cases: &[(&str, Break)] = &[
            ("block_seconds", |p| p.block_seconds = Seconds::ZERO),
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
            ("work_elapsed_min_percent", |p| {
                p.work_elapsed_min_percent = 101;
            }),
        ];
        for (field, break_it) in cases {
            let mut params = Params::production();
            break_it(&mut params);
            assert_eq!(params.check().unwrap_err().0, *field);
        }
    }
}
