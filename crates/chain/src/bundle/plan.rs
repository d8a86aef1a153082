//! When bundlers bundle: shortly before the next block, one after the other.

use primitives::{Domain, Hash};

use super::BundleSettings;
use crate::{ChainId, Params};

/// A forger whose turn is near, as `pos` predicts it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expected {
    /// When it may publish its block, milliseconds since genesis.
    pub at_ms: u64,
    /// It forges on this node.
    pub local: bool,
}

/// Bundlers of one chain that take turns: later ranks go together with the last one. More would leave each too little time to hear
/// of the one before.
const RANKS: u32 = 4;

/// When a bundler of this rank looks at the pool next: ahead of the first of `forgers` (by time) that it has not looked for yet.
///
/// `tip_ms` is when this node had the tip, `last_ms` when the bundler last looked, at this height. Nothing: not again before the next
/// block. A time that has passed means now.
#[must_use]
pub fn plan(
    settings: &BundleSettings,
    params: &Params,
    forgers: &[Expected],
    rank: u32,
    tip_ms: u64,
    last_ms: Option<u64>,
) -> Option<u64> {
    let lead_ms = settings.lead_ms(params);
    // Whoever looks again sooner finds nothing new.
    let earliest = last_ms.map_or(0, |last_ms| last_ms.saturating_add(lead_ms.max(1)));
    forgers
        .iter()
        .map(|forger| look_at(settings, params, *forger, rank, tip_ms))
        .find(|at_ms| *at_ms >= earliest)
}

/// When a bundler of this rank looks at the pool for a forger.
fn look_at(
    settings: &BundleSettings,
    params: &Params,
    forger: Expected,
    rank: u32,
    tip_ms: u64,
) -> u64 {
    if forger.local {
        let lead_ms = settings.local_lead_ms(params);
        return forger.at_ms.saturating_sub(lead_ms).max(tip_ms);
    }
    // Blocks may follow each other faster than the lead: then the turns share what there is.
    let lead_ms = settings.lead_ms(params);
    let begin = forger.at_ms.saturating_sub(lead_ms).max(tip_ms);
    let room = forger.at_ms.saturating_sub(begin);
    begin + room * u64::from(rank.min(RANKS - 1)) / u64::from(RANKS)
}

/// The rank of a bundler among those of a chain for one height, from 0: a draw that all nodes make alike, by hash of key, chain and
/// height. `others` may hold the bundler's own key.
#[must_use]
pub fn rank(
    bundler: &[u8; 32],
    others: impl IntoIterator<Item = [u8; 32]>,
    child: ChainId,
    height: u32,
) -> u32 {
    let lot = |key: &[u8; 32]| {
        let parts: [&[u8]; 4] = [b"bundler", &[child.0], &height.to_be_bytes(), key];
        Hash::of(Domain::Derive, &parts)
    };
    let own = lot(bundler);
    let before = others.into_iter().filter(|other| lot(other) < own).count();
    u32::try_from(before).unwrap_or(u32::MAX)
}
