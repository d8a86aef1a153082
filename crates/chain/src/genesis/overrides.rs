//! Constants that a genesis file sets in place of its profile's.

use serde::{Deserialize, Serialize};

use crate::Params;

macro_rules! overrides {
    ($($field:ident: $type:ty),* $(,)?) => {
        /// Constants to set in place of the profile's. Each is as in [`Params`].
        #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(default, deny_unknown_fields)]
        #[allow(missing_docs)]
        pub struct ParamsOverrides {
            $(#[serde(skip_serializing_if = "Option::is_none")] pub $field: Option<$type>,)*
        }

        impl ParamsOverrides {
            /// Returns the profile with these constants set.
            #[must_use]
            pub fn over(&self, profile: Params) -> Params {
                // A constant without an override is the profile's.
                Params { $($field: self.$field.unwrap_or(profile.$field),)* }
            }
        }

        /// Returns every constant as a number, in the order of the genesis hash.
        pub(super) fn numbers(params: &Params) -> Vec<u64> {
            vec![$(u64::from(params.$field)),*]
        }

        /// Returns the constants of these numbers. `None` if numbers are missing, too large or left over.
        pub(super) fn of_numbers(numbers: &[u64]) -> Option<Params> {
            let mut numbers = numbers.iter();
            let params = Params { $($field: <$type>::try_from(*numbers.next()?).ok()?,)* };
            numbers.next().is_none().then_some(params)
        }
    };
}

// The order is part of the genesis format. New constants go to the end, with a new version.
overrides! {
    block_seconds: u32,
    parent_transactions_max: u32,
    child_transactions_max: u32,
    child_block_bytes_max: u32,
    block_bytes_max: u32,
    parent_fee_min: u64,
    child_block_fee_per_transaction: u64,
    message_bytes_max: u32,
    deadline_minutes_max: u16,
    anchor_depth_min: u32,
    clock_drift_seconds: u32,
    effective_age_blocks: u32,
    effective_tokens_min: u64,
    lease_delay_blocks: u32,
    lease_blocks_min: u32,
    lease_blocks_max: u32,
    rollback_blocks_max: u32,
    base_target_span: u32,
    base_target_limit_percent: u32,
    base_target_gamma_percent: u32,
    base_target_min_percent: u32,
    base_target_max_percent: u32,
    standstill_seconds: u32,
}
