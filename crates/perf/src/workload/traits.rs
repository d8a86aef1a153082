//! The traits of a workload.

use std::sync::Arc;
use std::time::Duration;

use super::Site;
use super::boxed::{Boxed, done};
use super::ended::{Failed, Tried};

/// A kind of work, made from its knobs for one point of a scenario.
pub trait Workload: Send + Sync + 'static {
    /// Returns its registered name.
    fn kind(&self) -> &str;

    /// Returns the minimum number of banks.
    fn banks_min(&self) -> u32 {
        1
    }

    /// Prepares an empty network before the load, and again if the remaining preparation is too small: coins, back
    /// chains, standing orders. `units_expected` is the approximate number of units that will run.
    ///
    /// It is skipped if a snapshot of the same preparation is restored. So all its results must be in the network, or in
    /// the site's books, which are restored with it ([`Site::put`]). [`Site::preparation`] shows its progress.
    fn prepare<'a>(
        &'a self,
        site: &'a Arc<Site>,
        units_expected: u64,
    ) -> Boxed<'a, Result<(), Failed>> {
        let _ = (site, units_expected);
        done(Ok(()))
    }

    /// Returns the inputs of the preparation for this many units. Points of a sweep with equal inputs share one
    /// preparation, made once and copied. A kind that prepares nothing returns [`Prepares::Nothing`], and its points may
    /// share a network as well.
    fn prepares(&self, units_expected: u64) -> Prepares {
        let _ = units_expected;
        Prepares::ByKnobs
    }

    /// Sets up one worker. Numbers count from 0. In a closed loop there are as many workers as units outstanding.
    fn worker<'a>(
        &'a self,
        site: &'a Arc<Site>,
        number: u32,
    ) -> Boxed<'a, Result<Box<dyn Worker>, Failed>>;

    /// Returns the new states per unit, for rates of states; 0 if there is no meaningful number.
    fn states_per_unit(&self) -> f64 {
        0.0
    }

    /// Returns the mean bytes of files that a unit moves; 0 if it moves none. Otherwise, results show the machine's file
    /// limits for comparison.
    fn bytes_per_unit(&self) -> f64 {
        0.0
    }
}

/// The inputs of a preparation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Prepares {
    /// There is no preparation.
    Nothing,
    /// Every knob, and the expected number of units.
    ByKnobs,
    /// This key alone, together with the kind.
    By(String),
}

/// Returns whether each unit uses up a prepared resource, so that only as many units as were prepared can run.
pub fn is_used_up(workload: &dyn Workload) -> bool {
    match workload.prepares(1) {
        Prepares::Nothing => false,
        Prepares::ByKnobs => true,
        by => by != workload.prepares(2),
    }
}

/// A worker, which runs units.
pub trait Worker: Send + Sync {
    /// Runs one unit to its end: delivered to all participants. `unit` is unique within a stretch. In an open loop one
    /// worker may have several outstanding.
    fn invoke(&self, unit: u64) -> Boxed<'_, Result<Tried, Failed>>;

    /// Runs one unit like [`Self::invoke`], with the time at which it was due since the scenario began. Implement it if the audit
    /// compares that time with later events.
    fn invoke_due(&self, unit: u64, due: Duration) -> Boxed<'_, Result<Tried, Failed>> {
        let _ = due;
        self.invoke(unit)
    }

    /// Undoes the set-up. Runs once, after the last unit, even if units or another worker's set-up failed.
    fn teardown(&self) -> Boxed<'_, Result<(), Failed>> {
        done(Ok(()))
    }
}
