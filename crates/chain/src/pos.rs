//! Proof of stake: who may forge when. Pure functions on integers (Ardor's forging, with the difficulty weighed by time).
//!
//! Each account has, after each block, a *hit*, a number that nobody can choose; its time comes so many seconds after the block as the
//! hit is large and its stake is small. The *base target* scales the seconds so that blocks come as often as the network wants.

use primitives::{Hash, Hasher};

use crate::{AccountId, Params};

/// The least initial base target: below it, rounding would show in the times.
pub const BASE_TARGET_MIN: u64 = 1_000;

/// The generation signature of a block after one with `previous`, forged by `forger`. After genesis, `previous` is its hash.
#[must_use]
pub fn generation(previous: &Hash, forger: &[u8; 32]) -> Hash {
    let mut hasher = Hasher::new();
    hasher.update(previous.as_bytes());
    hasher.update(forger);
    hasher.finish()
}

/// The hit: the first 8 bytes of the generation signature, little-endian.
#[must_use]
pub fn hit(generation: &Hash) -> u64 {
    let bytes = generation.as_bytes();
    u64::from_le_bytes([
        bytes[0], bytes[1], bytes[2], bytes[3], bytes[4], bytes[5], bytes[6], bytes[7],
    ])
}

/// The hit time: `hit / (base target x whole tokens)` seconds after the previous block; `None` without stake, or beyond the end of time.
#[must_use]
pub fn hit_time(previous_time: u32, hit: u64, base_target: u64, tokens: u64) -> Option<u32> {
    let each_second = u128::from(base_target) * u128::from(tokens);
    let seconds = u128::from(hit).checked_div(each_second)?;
    previous_time.checked_add(u32::try_from(seconds).ok()?)
}

/// The first second that a block with this hit time may bear: the one after it.
#[must_use]
pub fn block_time(hit_time: u32) -> Option<u32> {
    hit_time.checked_add(1)
}

/// Whether a block with this hit time may bear `time`: exactly the second after it; or, of a network that stood still, any time later
/// than `standstill_seconds` after it.
#[must_use]
pub fn time_fits(params: &Params, hit_time: u32, time: u32) -> bool {
    Some(time) == block_time(hit_time)
        || hit_time
            .checked_add(params.standstill_seconds)
            .is_some_and(|stood| time > stood)
}

/// The base target before the first block: with it, an account that holds all `tokens` would forge every `block_seconds` on average.
/// `None` where it would be below [`BASE_TARGET_MIN`].
#[must_use]
pub fn initial_base_target(params: &Params, tokens: u64) -> Option<u64> {
    let per_second = u128::from(params.block_seconds) * u128::from(tokens);
    let target = (1u128 << 63).checked_div(per_second)?;
    u64::try_from(target)
        .ok()
        .filter(|target| *target >= BASE_TARGET_MIN)
}

/// Whether the base target changes with the block of this height: every `base_target_span` blocks.
#[must_use]
pub fn adjusts(params: &Params, height: u32) -> bool {
    height > 0 && height.is_multiple_of(params.base_target_span)
}

/// The base target after a block that [`adjusts`], `elapsed` seconds after the block `base_target_span` before it.
///
/// The average block time counts within `base_target_limit_percent` of the aim. The target rises with the average, and falls by
/// `base_target_gamma_percent` of what the average is short of the aim; it stays between the least and the greatest share of the
/// initial one.
#[must_use]
pub fn next_base_target(params: &Params, initial: u64, current: u64, elapsed: u32) -> u64 {
    // The aim, and the average held within its limits: both in hundredths of a second and of all blocks of the span, so that nothing is rounded.
    let whole = u128::from(params.block_seconds) * u128::from(params.base_target_span);
    let aim = whole * 100;
    let limit = whole * u128::from(params.base_target_limit_percent);
    let taken = (u128::from(elapsed) * 100).clamp(aim.saturating_sub(limit), aim + limit);
    let current = u128::from(current);
    // Below: current (64 bits) times a span (32 + 12 + 7 + 7 bits) stays within 128.
    let next = if taken > aim {
        current * taken / aim
    } else {
        let short = (aim - taken) * u128::from(params.base_target_gamma_percent);
        current - current * short / (aim * 100)
    };
    let share = |percent: u32| u128::from(initial) * u128::from(percent) / 100;
    let least = share(params.base_target_min_percent).max(1);
    let greatest = share(params.base_target_max_percent).min(u128::from(u64::MAX));
    let next = next.clamp(least.min(greatest), greatest);
    u64::try_from(next).unwrap_or(u64::MAX)
}

/// The work of a block forged under `base_target`, `elapsed` seconds after the one before it:
/// `2^64 x block_seconds / (base target x elapsed)`, at least 1.
#[must_use]
pub fn work(params: &Params, base_target: u64, elapsed: u32) -> u128 {
    let each = u128::from(base_target.max(1)) * u128::from(elapsed.max(1));
    ((u128::from(params.block_seconds) << 64) / each).max(1)
}

/// An account that may forge, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Turn {
    /// The second of its block.
    pub time: u32,
    /// Its key.
    pub forger: [u8; 32],
    /// Its account.
    pub account: AccountId,
}

/// When each candidate (key, whole effective tokens) may forge after a block, first come first; those without stake never come.
#[must_use]
pub fn next_forgers(
    previous_time: u32,
    previous_generation: &Hash,
    base_target: u64,
    candidates: &[([u8; 32], u64)],
) -> Vec<Turn> {
    let mut turns: Vec<Turn> = candidates
        .iter()
        .filter_map(|(forger, tokens)| {
            let hit = hit(&generation(previous_generation, forger));
            let time = block_time(hit_time(previous_time, hit, base_target, *tokens)?)?;
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
