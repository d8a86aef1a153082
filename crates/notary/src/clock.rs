//! The clock that judges time windows.
//!
//! # Invariants
//! - A window is never judged at a time earlier than that of a previous judgement, unless the clock was confirmed since then:
//!   the previous judgement was then made by a clock that was ahead.
//! - A decision about a transaction with a window comes at most [`DECISION_MS_MAX`] after the end of the window, measured by the
//!   monotonic clock from the arrival. Counterparties free its states a little later, so it must not be signed then. For a shared record the
//!   decision is the entry.
//! - No window is judged while the machine's clock is in doubt, or more than [`BEHIND_MAX_MS`] behind the latest judgement.

use ledger::TimeWindow;
use primitives::{Moment, Monotonic, Timestamp};

/// Maximum time from the end of a transaction's window to the decision about it, in milliseconds. A request that waits longer, for
/// its back chain, in the queue or for the store, is refused. Flows keep the inputs of the transaction locked for a longer time
/// (`flow::library::NOTARY_ALLOWANCE_MS`), which also covers the difference of the clocks.
pub const DECISION_MS_MAX: u64 = 30_000;

/// Maximum time that a worker spends on entering a batch in a shared record, in milliseconds. The configuration bounds
/// `notary_database.give_up_s` by it.
pub const GIVE_UP_MS_MAX: u64 = 10_000;

/// Maximum time from the last attempt to enter a batch in a shared record until it is entered or lost, in milliseconds.
pub const LAST_ENTRY_MS_MAX: u64 = 5_000;

/// Maximum time from the question of a batch until a shared record has entered it, in milliseconds. The window of a request is judged
/// before the question, so a request is in a question only if this much time is left for its decision.
pub(crate) const ENTRY_MS_MAX: u64 = GIVE_UP_MS_MAX + LAST_ENTRY_MS_MAX;

const _: () = assert!(
    ENTRY_MS_MAX < DECISION_MS_MAX,
    "a request that comes at the end of its window can be entered"
);

/// Maximum tolerated step backwards of the machine's clock, in milliseconds. If it is behind the latest judgement by no more
/// than this, windows are judged at the time of that judgement until it has caught up. A larger step shows that the machine's
/// clock is wrong now, or was wrong at the latest judgement.
pub(crate) const BEHIND_MAX_MS: u64 = 2_000;

/// Arrival of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// The time at which its window is judged. If `can_judge` is false, the time that the machine's clock showed.
    pub at: Timestamp,
    /// Whether the clock was good enough to judge a window.
    pub can_judge: bool,
    /// The monotonic time of the arrival.
    pub since: Monotonic,
}

impl Arrival {
    /// Returns the latest time of a decision about a transaction with this window. `None` if there is no such time.
    pub fn decide_until(&self, window: &TimeWindow) -> Option<Monotonic> {
        // A window that ended before the arrival leaves no time of its own.
        let open_ms = window.end()?.since_ms(self.at).unwrap_or(0);
        self.since.plus_ms(open_ms)?.plus_ms(DECISION_MS_MAX)
    }
}

/// The time of judgements; it never goes backwards.
#[derive(Debug)]
pub(crate) struct WindowClock {
    /// The latest time at which a window may have been judged.
    latest: Timestamp,
    in_doubt: bool,
}

impl WindowClock {
    /// Makes a clock that continues from `latest`.
    pub(crate) fn new(latest: Timestamp) -> Self {
        Self {
            latest,
            in_doubt: false,
        }
    }

    pub(crate) fn doubt(&mut self) {
        self.in_doubt = true;
    }

    /// Ends a doubt: the machine's clock, which shows `wall`, was confirmed. Returns the time at which judgements continue, if
    /// earlier ones were made ahead of it.
    pub(crate) fn trust(&mut self, wall: Timestamp) -> Option<Timestamp> {
        let was_in_doubt = std::mem::take(&mut self.in_doubt);
        if !was_in_doubt || self.behind_ms(wall) <= BEHIND_MAX_MS {
            return None;
        }
        self.latest = wall;
        Some(wall)
    }

    /// Returns how far the machine's clock is behind the latest judgement, in milliseconds.
    pub(crate) fn behind_ms(&self, wall: Timestamp) -> u64 {
        // A clock ahead of the latest judgement is behind it by nothing.
        self.latest.since_ms(wall).unwrap_or(0)
    }

    /// Records the arrival of a request.
    pub(crate) fn arrive(&mut self, now: Moment) -> Arrival {
        let can_judge = !self.in_doubt && self.behind_ms(now.wall) <= BEHIND_MAX_MS;
        if can_judge {
            self.latest = self.latest.max(now.wall);
        }
        Arrival {
            at: if can_judge { self.latest } else { now.wall },
            can_judge,
            since: now.monotonic,
        }
    }

    /// Returns an arrival as it is judged now. Windows are not judged at a time that the clock showed before it was found to be
    /// ahead.
    pub(crate) fn review(&self, arrived: Arrival) -> Arrival {
        let can_judge = arrived.can_judge && arrived.at <= self.latest;
        Arrival {
            can_judge,
            ..arrived
        }
    }
}
