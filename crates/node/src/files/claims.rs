//! Files that were published here and whose rows are not written yet. They cannot be removed meanwhile.

use std::time::{Duration, Instant};

use kernel::files::file_row;
use store::Claim;

use crate::ledger_store::LedgerStore;

/// Interval at which the rows of claimed files are looked up.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// After so long the kernel no longer wants the file, and it may go.
const HELD_MAX: Duration = Duration::from_secs(600);

/// The published files without a row.
#[derive(Debug, Default)]
pub(super) struct Claims {
    held: Vec<(Claim, Instant)>,
    looked: Option<Instant>,
}

impl Claims {
    pub(super) fn hold(&mut self, claim: Claim) {
        self.held.push((claim, Instant::now()));
    }

    /// The time of the next look-up, if there are claims.
    pub(super) fn next_look(&self) -> Option<Instant> {
        let (_, first) = self.held.first()?;
        // Before the first look, the first claim begins the time.
        Some(self.looked.unwrap_or(*first) + LOOK_EVERY)
    }

    /// Lets go of files whose rows are there, if it is time to look.
    pub(super) fn look(&mut self, store: &LedgerStore) {
        let now = Instant::now();
        if self.next_look().is_none_or(|at| at > now) {
            return;
        }
        self.looked = Some(now);
        self.held.retain(|(claim, since)| {
            // A store that cannot be read writes no row either.
            let has_row = file_row(store, &claim.hash()).is_ok_and(|row| row.is_some());
            !has_row && since.elapsed() < HELD_MAX
        });
    }
}
