//! Waits of flows inside the kernel: for a time or a transaction. Indexed both ways, so that giving up one wait, or
//! all of a flow, costs a logarithm.
//!
//! # Invariants
//! - A jump of the wall clock ends no wait for a time early. While the wall clock is not trusted, it ends no wait.

use std::collections::{BTreeMap, BTreeSet};

use flow::{FlowId, SleepClocks};
use ledger::TxId;
use primitives::collections::HashMap;
use primitives::{Moment, Monotonic, Timestamp};

use crate::part::Part;

/// An effect of a flow.
pub(crate) type EffectId = (FlowId, u32);

/// A time that a flow waits for.
#[derive(Clone, Copy, Debug)]
struct Deadline {
    until: Timestamp,
    /// The wait is over then, whatever the wall clock shows.
    latest: Option<Monotonic>,
}

#[derive(Clone, Copy, Debug)]
enum Waited {
    Time {
        at: Monotonic,
        /// A deadline that the wall clock has to confirm then. Without one, the wait is over.
        judged: Option<Deadline>,
    },
    Transaction(TxId),
}

/// The waits of all flows, indexed by effect and by event. Bounded by the effects that live flows may have outstanding.
#[derive(Debug)]
pub(crate) struct Waits {
    /// Both clocks when the node started. A wait from the journal began before.
    started: Moment,
    of: BTreeMap<EffectId, Waited>,
    /// Waits that depend on the wall clock while it is not trusted: they began or seemed to end then. They are evaluated once it is
    /// trusted.
    put_off: BTreeSet<EffectId>,
    times: BTreeSet<(Monotonic, EffectId)>,
    transactions: HashMap<TxId, BTreeSet<EffectId>>,
}

impl Part for Waits {
    fn next_time(&self, _: Monotonic) -> Option<Monotonic> {
        self.times.first().map(|(at, _)| *at)
    }
}

impl Waits {
    /// Creates the empty set of a node that starts now.
    pub(crate) fn new(started: Moment) -> Self {
        Self {
            started,
            of: BTreeMap::new(),
            put_off: BTreeSet::new(),
            times: BTreeSet::new(),
            transactions: HashMap::default(),
        }
    }

    /// Adds a wait until a time, by these clocks. Returns false if it is over. `trusts_wall`: the wall clock is not in doubt.
    pub(crate) fn sleep(
        &mut self,
        effect: EffectId,
        until: Timestamp,
        clocks: SleepClocks,
        trusts_wall: bool,
        now: Moment,
    ) -> bool {
        let latest = match clocks {
            SleepClocks::Elapsed { most_ms } => Some(now.monotonic.after_ms(most_ms)),
            SleepClocks::Both => None,
        };
        self.wait(effect, Deadline { until, latest }, trusts_wall, now)
    }

    /// Waits until a deadline, or returns false if it has passed.
    fn wait(
        &mut self,
        effect: EffectId,
        deadline: Deadline,
        trusts_wall: bool,
        now: Moment,
    ) -> bool {
        let end = self.end(deadline, now);
        let ends_by_wall = deadline.latest.is_none_or(|latest| end < latest);
        if end <= now.monotonic && (trusts_wall || !ends_by_wall) {
            return false;
        }
        let (at, judged) = match deadline.latest {
            latest if ends_by_wall && !trusts_wall => {
                self.put_off.insert(effect);
                // Without a latest time it waits until the clock is trusted.
                (latest.unwrap_or(Monotonic::MAX), Some(deadline))
            }
            Some(_) => (end, None),
            None => (end, Some(deadline)),
        };
        self.of.insert(effect, Waited::Time { at, judged });
        self.times.insert((at, effect));
        true
    }

    /// Returns the time of the monotonic clock at which a wait ends if the wall clock is right.
    fn end(&self, deadline: Deadline, now: Moment) -> Monotonic {
        let by_wall = now.when(deadline.until);
        match deadline.latest {
            // A flow from the journal may resume long after the start. A wall clock that was set forward in between says
            // nothing about the time that passed.
            Some(latest) => by_wall.max(self.started.when(deadline.until)).min(latest),
            None => by_wall,
        }
    }

    /// Takes out a wait that is over. `trusts_wall`: the wall clock is not in doubt.
    pub(crate) fn due(&mut self, now: Moment, trusts_wall: bool) -> Option<EffectId> {
        while trusts_wall && let Some(effect) = self.put_off.first().copied() {
            if !self.wait_on(effect, trusts_wall, now) {
                return Some(effect);
            }
        }
        while let Some((at, effect)) = self.times.first().copied() {
            if at > now.monotonic {
                return None;
            }
            if !self.wait_on(effect, trusts_wall, now) {
                return Some(effect);
            }
        }
        None
    }

    /// Evaluates a wait for a time again. Returns false if it is over.
    fn wait_on(&mut self, effect: EffectId, trusts_wall: bool, now: Moment) -> bool {
        let judged = match self.of.get(&effect) {
            Some(Waited::Time { judged, .. }) => *judged,
            Some(Waited::Transaction(_)) | None => None,
        };
        self.cancel(effect);
        judged.is_some_and(|deadline| self.wait(effect, deadline, trusts_wall, now))
    }

    /// Adds a wait until a transaction is recorded.
    pub(super) fn for_transaction(&mut self, effect: EffectId, id: TxId) {
        self.of.insert(effect, Waited::Transaction(id));
        self.transactions.entry(id).or_default().insert(effect);
    }

    /// Returns whether a flow waits for the transaction.
    pub(crate) fn expects(&self, id: &TxId) -> bool {
        self.transactions.contains_key(id)
    }

    /// Ends the waits for a recorded transaction, and returns them.
    pub(crate) fn recorded(&mut self, id: &TxId) -> BTreeSet<EffectId> {
        let effects = self.transactions.remove(id).unwrap_or_default();
        for effect in &effects {
            self.of.remove(effect);
        }
        effects
    }

    /// Ends the wait of an effect without an answer.
    pub(crate) fn cancel(&mut self, effect: EffectId) {
        match self.of.remove(&effect) {
            None => {}
            Some(Waited::Time { at, .. }) => {
                self.times.remove(&(at, effect));
                self.put_off.remove(&effect);
            }
            Some(Waited::Transaction(id)) => {
                if let Some(effects) = self.transactions.get_mut(&id) {
                    effects.remove(&effect);
                    if effects.is_empty() {
                        self.transactions.remove(&id);
                    }
                }
            }
        }
    }

    /// Ends all waits of a flow that has ended.
    pub(crate) fn cancel_flow(&mut self, flow: FlowId) {
        while let Some((effect, _)) = self.of.range((flow, 0)..=(flow, u32::MAX)).next() {
            self.cancel(*effect);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRUSTED: bool = true;
    const DOUBTED: bool = false;
    const PAUSE: SleepClocks = SleepClocks::Elapsed { most_ms: 100 };

    fn effect(flow: u8, number: u32) -> EffectId {
        (FlowId([flow; 16]), number)
    }

    /// Returns a moment at which both clocks show the same time.
    fn at(ms: u64) -> Moment {
        set(ms, ms)
    }

    fn set(monotonic: u64, wall: u64) -> Moment {
        Moment::new(Monotonic::from_ms(monotonic), Timestamp::from_ms(wall))
    }

    #[test]
    fn no_jump_of_the_wall_clock_ends_a_wait_early() {
        // Each line: a reading of the clocks; whether a pause and a deadline of 100 ms are over then.
        let table = [
            (set(10, 5_000), false, false),
            (set(99, 99), false, false),
            (set(100, 100), true, true),
            (set(100, 20), true, false),
            (set(150, 5_000), true, true),
        ];
        for (now, pause, deadline) in table {
            for (clocks, over) in [(PAUSE, pause), (SleepClocks::Both, deadline)] {
                let mut waits = Waits::new(at(0));
                waits.sleep(
                    effect(1, 1),
                    Timestamp::from_ms(100),
                    clocks,
                    TRUSTED,
                    at(0),
                );
                let due = waits.due(now, TRUSTED);
                assert_eq!(due.is_some(), over, "{clocks:?} at {now:?}");
                assert_eq!(
                    waits.next_time(Monotonic::START).is_none(),
                    over,
                    "{clocks:?} at {now:?}"
                );
            }
        }
    }

    #[test]
    fn a_pause_that_began_by_a_wrong_clock_is_no_longer_after_a_restart() {
        let mut waits = Waits::new(at(0));
        waits.sleep(
            effect(1, 1),
            Timestamp::from_ms(5_000),
            PAUSE,
            TRUSTED,
            at(0),
        );
        assert_eq!(waits.due(at(99), TRUSTED), None);
        assert_eq!(waits.due(at(100), TRUSTED), Some(effect(1, 1)));
    }

    #[test]
    fn a_clock_set_before_a_resumption_ends_no_pause_early() {
        // A pause of 100 ms from the journal has 40 ms left at the start. Each line: the clocks when the flow resumes, and the
        // monotonic reading at which the pause is over.
        let table = [
            (set(0, 60), 40),
            (set(10, 70), 40),
            (set(10, 5_000), 40),
            (set(10, 20), 90),
            (set(50, 5_000), 50),
        ];
        for (resumed, over) in table {
            let mut waits = Waits::new(set(0, 60));
            let until = Timestamp::from_ms(100);
            if !waits.sleep(effect(1, 1), until, PAUSE, TRUSTED, resumed) {
                assert!(over <= resumed.monotonic.as_ms(), "{resumed:?}");
                continue;
            }
            let at = |ms| Moment::new(Monotonic::from_ms(ms), resumed.wall);
            assert_eq!(waits.due(at(over - 1), TRUSTED), None, "{resumed:?}");
            let due = waits.due(at(over), TRUSTED);
            assert_eq!(due, Some(effect(1, 1)), "{resumed:?}");
        }
    }

    #[test]
    fn a_deadline_waits_for_a_wall_clock_that_was_set_back() {
        let mut waits = Waits::new(at(0));
        let until = Timestamp::from_ms(100);
        waits.sleep(effect(1, 1), until, SleepClocks::Both, TRUSTED, at(0));
        assert_eq!(waits.due(set(120, 40), TRUSTED), None);
        assert_eq!(
            waits.next_time(Monotonic::START),
            Some(Monotonic::from_ms(180))
        );
        assert_eq!(waits.due(set(179, 99), TRUSTED), None);
        assert_eq!(waits.due(set(180, 100), TRUSTED), Some(effect(1, 1)));
        assert!(waits.of.is_empty() && waits.times.is_empty());
    }

    #[test]
    fn a_doubted_wall_clock_ends_no_wait() {
        // The clock is ahead from the start on, so the waits seem to be over.
        let ahead = set(10, 5_000);
        let mut waits = Waits::new(ahead);
        let until = Timestamp::from_ms(100);
        let long = SleepClocks::Elapsed { most_ms: 10_000 };
        assert!(waits.sleep(effect(1, 1), until, SleepClocks::Both, DOUBTED, ahead));
        assert!(waits.sleep(effect(1, 2), until, long, DOUBTED, ahead));
        assert!(waits.sleep(effect(1, 3), until, PAUSE, DOUBTED, ahead));
        assert_eq!(waits.due(set(109, 5_099), DOUBTED), None);
        let over = set(110, 5_100);
        assert_eq!(
            waits.due(over, DOUBTED),
            Some(effect(1, 3)),
            "by its length"
        );
        assert_eq!(waits.due(set(1_010, 6_000), DOUBTED), None, "put off");
        let right = set(2_010, 50);
        assert_eq!(waits.due(right, TRUSTED), None);
        assert_eq!(waits.due(set(2_059, 99), TRUSTED), None);
        let over = set(2_060, 100);
        assert_eq!(waits.due(over, TRUSTED), Some(effect(1, 1)));
        assert_eq!(waits.due(over, TRUSTED), Some(effect(1, 2)));
        assert!(waits.of.is_empty() && waits.times.is_empty());
    }

    #[test]
    fn what_is_put_off_is_judged_as_soon_as_the_clock_is_trusted() {
        let mut waits = Waits::new(at(0));
        let until = Timestamp::from_ms(100);
        assert!(waits.sleep(effect(1, 1), until, SleepClocks::Both, TRUSTED, at(0)));
        assert!(waits.sleep(effect(1, 2), until, SleepClocks::Both, DOUBTED, at(0)));
        assert!(waits.sleep(effect(1, 3), until, SleepClocks::Both, DOUBTED, at(0)));
        assert_eq!(waits.due(at(100), DOUBTED), None);
        waits.cancel(effect(1, 3));
        for number in [1, 2] {
            assert_eq!(waits.due(at(100), TRUSTED), Some(effect(1, number)));
        }
        assert_eq!(waits.due(at(100), TRUSTED), None);
        assert!(waits.of.is_empty() && waits.times.is_empty() && waits.put_off.is_empty());
    }

    #[test]
    fn everything_comes_once_and_what_is_given_up_never() {
        let mut waits = Waits::new(at(0));
        let id = TxId::from_array([7; 32]);
        waits.sleep(effect(1, 1), Timestamp::from_ms(10), PAUSE, TRUSTED, at(0));
        waits.sleep(effect(1, 2), Timestamp::from_ms(20), PAUSE, TRUSTED, at(0));
        waits.sleep(effect(2, 1), Timestamp::from_ms(5), PAUSE, TRUSTED, at(0));
        waits.for_transaction(effect(1, 3), id);
        waits.for_transaction(effect(2, 2), id);
        assert!(waits.expects(&id));
        assert_eq!(
            waits.next_time(Monotonic::START),
            Some(Monotonic::from_ms(5))
        );
        assert_eq!(waits.due(at(4), TRUSTED), None);
        assert_eq!(waits.due(at(15), TRUSTED), Some(effect(2, 1)));
        waits.cancel(effect(1, 1));
        assert_eq!(waits.due(at(15), TRUSTED), None);
        waits.cancel_flow(FlowId([1; 16]));
        assert_eq!(waits.due(at(u64::MAX - 1), TRUSTED), None);
        assert_eq!(waits.recorded(&id), BTreeSet::from([effect(2, 2)]));
        assert!(!waits.expects(&id) && waits.of.is_empty());
    }
}
