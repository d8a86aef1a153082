//! Constants that a genesis file sets in place of its profile's.

use serde::{Deserialize, Serialize};

use crate::{MinorUnits, Minutes, Params, Seconds, WholeTokens};

/// A type of constants. The format has 64 bits for each of them.
trait Constant: Sized {
    /// Returns the constant as a number.
    fn number(self) -> u64;

    /// Returns the constant of a number, or `None` if the number is too large.
    fn of_number(number: u64) -> Option<Self>;
}

impl Constant for u32 {
    fn number(self) -> u64 {
        u64::from(self)
    }

    fn of_number(number: u64) -> Option<Self> {
        Self::try_from(number).ok()
    }
}

impl Constant for Minutes {
    fn number(self) -> u64 {
        u64::from(self.get())
    }

    fn of_number(number: u64) -> Option<Self> {
        u16::try_from(number).ok().map(Self::new)
    }
}

impl Constant for Seconds {
    fn number(self) -> u64 {
        u64::from(self.get())
    }

    fn of_number(number: u64) -> Option<Self> {
        u32::try_from(number).ok().map(Self::new)
    }
}

impl Constant for MinorUnits {
    fn number(self) -> u64 {
        self.get()
    }

    fn of_number(number: u64) -> Option<Self> {
        Some(Self::new(number))
    }
}

impl Constant for WholeTokens {
    fn number(self) -> u64 {
        self.get()
    }

    fn of_number(number: u64) -> Option<Self> {
        Some(Self::new(number))
    }
}

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

        fn all_numbers(params: &Params) -> Vec<u64> {
            vec![$(Constant::number(params.$field)),*]
        }

        fn of_all_numbers(numbers: &[u64]) -> Option<Params> {
            let mut numbers = numbers.iter();
            let params = Params { $($field: <$type as Constant>::of_number(*numbers.next()?)?,)* };
            numbers.next().is_none().then_some(params)
        }
    };
}

/// Number of constants of each version of the genesis, oldest first. A constant that a version lacks is 0.
const COUNTS: [(u8, usize); 2] = [(1, 23), (2, 25)];

/// Returns the lowest version that holds all constants, and its numbers in the order of the genesis hash. A network therefore keeps
/// its hash when a version adds a constant.
pub(super) fn numbers(params: &Params) -> (u8, Vec<u64>) {
    let mut numbers = all_numbers(params);
    let needed = numbers.iter().rposition(|number| *number != 0);
    let needed = needed.map_or(0, |last| last + 1);
    let (version, count) = COUNTS
        .into_iter()
        .find(|(_, count)| *count >= needed)
        .expect("the last version holds every constant");
    numbers.truncate(count);
    (version, numbers)
}

/// Returns the constants of the numbers of a version. `None` if the version is unknown or has a lower one that holds the same, or
/// if numbers are missing, too large or left over.
pub(super) fn of_numbers(version: u8, mut numbers: Vec<u64>) -> Option<Params> {
    let (_, count) = COUNTS.into_iter().find(|(known, _)| *known == version)?;
    if numbers.len() != count {
        return None;
    }
    let all = COUNTS.iter().map(|(_, count)| *count).max()?;
    numbers.resize(all, 0);
    let params = of_all_numbers(&numbers)?;
    (self::numbers(&params).0 == version).then_some(params)
}

// The order is part of the genesis format. New constants go to the end, with a new version, and their value 0 stands for the earlier
// rule.
overrides! {
    block_seconds: Seconds,
    parent_transactions_max: u32,
    child_transactions_max: u32,
    child_block_bytes_max: u32,
    block_bytes_max: u32,
    parent_fee_min: MinorUnits,
    child_block_fee_per_transaction: MinorUnits,
    message_bytes_max: u32,
    deadline_minutes_max: Minutes,
    anchor_depth_min: u32,
    clock_drift_seconds: Seconds,
    effective_age_blocks: u32,
    effective_tokens_min: WholeTokens,
    lease_delay_blocks: u32,
    lease_blocks_min: u32,
    lease_blocks_max: u32,
    rollback_blocks_max: u32,
    base_target_span: u32,
    base_target_limit_percent: u32,
    base_target_gamma_percent: u32,
    base_target_min_percent: u32,
    base_target_max_percent: u32,
    standstill_seconds: Seconds,
    work_elapsed_min_percent: u32,
    lease_renewal_tokens_min: WholeTokens,
}
