//! Proof of stake: the rules for the forgers' turns. Pure functions on integers (Ardor's forging, with the difficulty weighted by
//! time).
//!
//! After each block, each account has a *hit*, a number that no account can choose. The larger the hit and the smaller the stake,
//! the more seconds after the block the account's turn comes. The *base target* scales these seconds so that the block time meets
//! the network's target.

mod base_target;
mod hit;

use primitives::{Hash, Hasher};

pub use base_target::BaseTarget;
pub use hit::Hit;

use crate::{AccountId, BlockTimestamp, Height, Params, Seconds, WholeTokens};

/// Returns the generation signature of a block forged by `forger` after a block with the signature `previous`. After genesis,
/// `previous` is the genesis hash.
#[must_use]
pub fn generation(previous: &Hash, forger: &[u8; 32]) -> Hash {
    let mut hasher = Hasher::new();
    hasher.update(previous.as_bytes());
    hasher.update(forger);
    hasher.finish()
}

/// Returns the hit time: `hit / (base target x whole tokens)` seconds after the previous block. `None` without stake, or beyond
/// [`BlockTimestamp::LAST`].
#[must_use]
pub fn hit_time(
    previous_time: BlockTimestamp,
    hit: Hit,
    base_target: BaseTarget,
    tokens: WholeTokens,
) -> Option<BlockTimestamp> {
    // Two factors of 64 bits have a product within 128 bits.
    let each_second = u128::from(base_target.get()) * u128::from(tokens.get());
    let seconds = u128::from(hit.get()).checked_div(each_second)?;
    previous_time.plus(Seconds::new(u32::try_from(seconds).ok()?))
}

/// Returns the first second that a block with this hit time may have: the one after it.
#[must_use]
pub fn block_timestamp(hit_time: BlockTimestamp) -> Option<BlockTimestamp> {
    hit_time.next()
}

/// Returns whether a block with this hit time may have the time `time`: exactly the second after it, or, after a standstill of
/// the network, any time later than `standstill_seconds` after it.
#[must_use]
pub fn time_fits(params: &Params, hit_time: BlockTimestamp, time: BlockTimestamp) -> bool {
    Some(time) == block_timestamp(hit_time)
        || hit_time
            .plus(params.standstill_seconds)
            .is_some_and(|stood| time > stood)
}

/// Returns the base target before the first block. With it, an account that holds all `tokens` would forge every `block_seconds`
/// on average. `None` if it would be below [`BaseTarget::INITIAL_MIN`].
#[must_use]
pub fn initial_base_target(params: &Params, tokens: WholeTokens) -> Option<BaseTarget> {
    let per_second = u128::from(params.block_seconds.get()) * u128::from(tokens.get());
    let target = (1u128 << 63).checked_div(per_second)?;
    let target = BaseTarget::new(u64::try_from(target).ok()?);
    (target >= BaseTarget::INITIAL_MIN).then_some(target)
}

/// Returns whether the base target changes with the block of this height, as it does every `base_target_span` blocks.
#[must_use]
pub fn adjusts(params: &Params, height: Height) -> bool {
    !height.is_genesis() && height.get().is_multiple_of(params.base_target_span)
}

/// Returns the base target after a block that [`adjusts`], the time `elapsed` after the block `base_target_span` before it.
///
/// The average block time is limited to `base_target_limit_percent` around `block_seconds`. The target rises with the average. It
/// falls by `base_target_gamma_percent` of the shortfall of the average. It stays between the minimum and the maximum share of
/// the initial one.
#[must_use]
pub fn next_base_target(
    params: &Params,
    initial: BaseTarget,
    current: BaseTarget,
    elapsed: Seconds,
) -> BaseTarget {
    // The target time and the limited average, both in hundredths of a second for the whole span, so that no rounding occurs.
    let whole = u128::from(params.block_seconds.get()) * u128::from(params.base_target_span);
    let aim = whole * 100;
    let limit = whole * u128::from(params.base_target_limit_percent);
    // A limit of 100 % or more allows any time down to zero.
    let taken = (u128::from(elapsed.get()) * 100).clamp(aim.saturating_sub(limit), aim + limit);
    let current = u128::from(current.get());
    // In the following products, the current target (64 bits) times a span (32 + 12 + 7 + 7 bits) stays within 128 bits.
    let next = if taken > aim {
        current * taken / aim
    } else {
        let short = (aim - taken) * u128::from(params.base_target_gamma_percent);
        current - current * short / (aim * 100)
    };
    let share = |percent: u32| u128::from(initial.get()) * u128::from(percent) / 100;
    let least = share(params.base_target_min_percent).max(1);
    let greatest = share(params.base_target_max_percent).min(u128::from(u64::MAX));
    let next = next.clamp(least.min(greatest), greatest);
    BaseTarget::new(u64::try_from(next).expect("clamped to 64 bits"))
}

/// Returns the work of a block forged under `base_target`, the time `elapsed` after the one before it: `2^64 x block_seconds /
/// (base target x elapsed)`, at least 1. A shorter time than `work_elapsed_min_percent` of `block_seconds` counts as that time.
#[must_use]
pub fn work(params: &Params, base_target: BaseTarget, elapsed: Seconds) -> u128 {
    // A block time and a percentage make a product below 64 bits.
    let block_seconds = params.block_seconds.get();
    let least = u64::from(block_seconds) * u64::from(params.work_elapsed_min_percent) / 100;
    let elapsed = u64::from(elapsed.get()).max(least).max(1);
    let each = u128::from(base_target.get().max(1)) * u128::from(elapsed);
    ((u128::from(block_seconds) << 64) / each).max(1)
}

/// The turn of an account to forge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Turn {
    /// The time of its block.
    pub time: BlockTimestamp,
    /// Its key.
    pub forger: [u8; 32],
    /// Its account.
    pub account: AccountId,
}

/// Returns the turn of each candidate (key, whole effective tokens) after a block, the earliest first. Candidates without stake
/// have no turn.
#[must_use]
pub fn next_forgers(
    previous_time: BlockTimestamp,
    previous_generation: &Hash,
    base_target: BaseTarget,
    candidates: &[([u8; 32], WholeTokens)],
) -> Vec<Turn> {
    let mut turns: Vec<Turn> = candidates
        .iter()
        .filter_map(|(forger, tokens)| {
            let hit = Hit::of(&generation(previous_generation, forger));
            let time = block_timestamp(hit_time(previous_time, hit, base_target, *tokens)?)?;
            Some(Turn {
                time,
                forger: *forger,
                account: AccountId::of_key(forger),
            })
        })
        .collect();
    turns.sort_unstable();
    turns
}
