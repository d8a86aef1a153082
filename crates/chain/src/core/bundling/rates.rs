//! The known rates of bundlers, and the time of the next announcement.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::bundle::{BundleRecord, BundlerRate, RateBook};
use crate::core::part::Part;
use crate::state::Point;
use crate::{AccountId, ChainId, ChainTime, MinorUnits};

/// The known rates, and the time of the next announcement.
#[derive(Debug, Default)]
pub(in crate::core) struct Rates {
    pub(super) book: RateBook,
    /// Time of the next announcement. Genesis means at once.
    pub(super) due: ChainTime,
    /// Time of the last announcement. Genesis means never.
    pub(super) announced: ChainTime,
    /// The lowest fees that bundlers accepted in recent blocks.
    pub(in crate::core) record: BundleRecord,
    /// The lowest fee that a chain's usable bundlers ask, for the chains computed so far for this tip and these rates.
    pub(super) floors: BTreeMap<ChainId, Option<MinorUnits>>,
}

/// A rate that a wallet may rely on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsableRate {
    /// The bundler's account.
    pub bundler: AccountId,
    /// Its rate.
    pub rate: BundlerRate,
    /// Whether the bundler has recently bundled at this rate. Otherwise its rate counts because of its stake.
    pub proven: bool,
}

/// Minimum interval between announcements, because their times count whole seconds.
const ANNOUNCEMENT_PAUSE: Duration = Duration::from_secs(5);

impl Rates {
    /// Discards the computed fees after a change of the tip or of a rate.
    pub(in crate::core) fn forget_floors(&mut self) {
        self.floors.clear();
    }

    /// Schedules an announcement soon, because a bundler was added, its rules changed, or a peer connected.
    pub(in crate::core) fn announce_soon(&mut self) {
        self.due = match self.announced {
            ChainTime::GENESIS => ChainTime::GENESIS,
            announced => self.due.min(announced.plus_or_last(ANNOUNCEMENT_PAUSE)),
        };
    }
}

impl Part for Rates {
    fn tip_moved(&mut self, _: &Point) {
        self.forget_floors();
    }
}
