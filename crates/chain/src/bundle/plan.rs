//! The times at which bundlers bundle: shortly before the next block, one after the other.

use std::time::Duration;

use primitives::{Domain, Hash};

use super::BundleSettings;
use crate::{ChainId, ChainTime, Height, Params};

/// A forger whose turn is near, as predicted by `pos`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expected {
    /// Start of its turn.
    pub at: ChainTime,
    /// Whether it forges on this node.
    pub local: bool,
}

/// Number of bundlers of a chain that take turns. Later ranks share the last turn. With more turns, a bundler would have too
/// little time to receive the child block of the previous one.
const RANKS: u32 = 4;

/// Minimum time between two looks of a bundler.
const PAUSE_MIN: Duration = Duration::from_millis(1);

/// Returns the next time at which a bundler of this rank looks at the pool: before the first of `forgers` (sorted by time) that
/// it has not looked for yet.
///
/// `tip_received` is the time at which this node received the tip, and `last` the bundler's last look at this height. Returns
/// `None` if there is no further look before the next block. A time in the past means now.
#[must_use]
pub fn plan(
    settings: &BundleSettings,
    params: &Params,
    forgers: &[Expected],
    rank: u32,
    tip_received: ChainTime,
    last: Option<ChainTime>,
) -> Option<ChainTime> {
    let pause = settings.lead(params).max(PAUSE_MIN);
    // An earlier look would find nothing new.
    let earliest = last.map_or(ChainTime::GENESIS, |last| last.plus_or_last(pause));
    forgers
        .iter()
        .map(|forger| look_at(settings, params, *forger, rank, tip_received))
        .find(|at| *at >= earliest)
}

/// Returns the time at which a bundler of this rank looks at the pool for a forger.
fn look_at(
    settings: &BundleSettings,
    params: &Params,
    forger: Expected,
    rank: u32,
    tip_received: ChainTime,
) -> ChainTime {
    // A lead before genesis begins at the tip, like every lead before the tip.
    let begin = |lead| forger.at.minus_or_genesis(lead).max(tip_received);
    if forger.local {
        return begin(settings.local_lead(params));
    }
    // Blocks may follow each other faster than the lead. The turns then share the remaining time.
    let begin = begin(settings.lead(params));
    // If the tip came after the expected time, there is no room and the look is at once.
    let room = forger.at.since(begin).unwrap_or(Duration::ZERO);
    begin.plus_or_last(room * rank.min(RANKS - 1) / RANKS)
}

/// Returns the rank of a bundler among those of a chain at a height, from 0. The rank is a draw by hash of key, chain and height,
/// with the same result on all nodes. `others` may contain the bundler's own key.
#[must_use]
pub fn rank(
    bundler: &[u8; 32],
    others: impl IntoIterator<Item = [u8; 32]>,
    child: ChainId,
    height: Height,
) -> u32 {
    let lot = |key: &[u8; 32]| {
        let parts: [&[u8]; 4] = [b"bundler", &[child.0], &height.to_be_bytes(), key];
        Hash::of(Domain::Derive, &parts)
    };
    let own = lot(bundler);
    let before = others.into_iter().filter(|other| lot(other) < own).count();
    // The caller uses no rank above the number of ranks.
    u32::try_from(before).unwrap_or(u32::MAX)
}
