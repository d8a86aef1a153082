//! Deadlines: timers whose places and lengths replay does not compare.

use primitives::Timestamp;

use super::slot::{Slot, SlotState};
use super::state::{Cell, Output};
use crate::digest::Digest;
use crate::error::LIMIT_EXCEEDED;
use crate::options::EFFECTS_OF_A_SCOPE_MAX;
use crate::pending_effect::WaitsFor;
use crate::{Deadline, EffectKind, EffectRequest, FlowError, SleepClocks};

impl Cell {
    /// Sets a timer and returns its number. Deadlines are numbered downwards from the end of the scope's numbers, so that all
    /// other effects have the same numbers with and without them.
    pub(crate) fn issue_deadline(
        &mut self,
        scope: u16,
        deadline: Deadline,
    ) -> Result<u32, FlowError> {
        if self.slots.len() >= self.limits.effects_outstanding_max {
            let text = "too many effects outstanding at once";
            return Err(FlowError::listed(&LIMIT_EXCEEDED, text));
        }
        let exceeded = || FlowError::listed(&LIMIT_EXCEEDED, "too many effects in one flow");
        let scope = self.scopes.iter_mut().find(|s| s.index == scope);
        let scope = scope.ok_or_else(exceeded)?;
        let number = EFFECTS_OF_A_SCOPE_MAX - scope.deadlines;
        if number <= scope.effects {
            return Err(exceeded());
        }
        scope.deadlines += 1;
        let effect = u32::from(scope.index) << 16 | u32::from(number);
        let (until, clocks) = match deadline {
            Deadline::At(until) => (until, SleepClocks::Both),
            Deadline::AfterMs(ms) => {
                let until = self.end_of_wait(effect, ms);
                (until, SleepClocks::Elapsed { most_ms: ms })
            }
        };
        let request = EffectRequest::Sleep { until, clocks };
        let state = if self.replay.is_some() {
            SlotState::Waiting(Some(Box::new(request)))
        } else {
            self.outputs.push(Output::Effect { effect, request });
            SlotState::Waiting(None)
        };
        self.slots.push(Slot {
            effect,
            kind: EffectKind::Sleep,
            digest: deadline_digest(),
            irrevocable: false,
            consumed: Vec::new(),
            on: WaitsFor::Until(until),
            deadline: true,
            since: self.now,
            state,
        });
        Ok(effect)
    }

    /// Returns the end of a wait of at most `ms` milliseconds. The journal keeps the end, so a replay does not start the wait
    /// again.
    fn end_of_wait(&mut self, effect: u32, ms: u64) -> Timestamp {
        // Past the end of time is never.
        let whole = self.now.plus_ms(ms).unwrap_or(Timestamp::MAX);
        let Some(replay) = &self.replay else {
            self.journal(|row| row.fact(effect, whole.as_ms()));
            return whole;
        };
        // Older journals lack the end. Then the wait starts again.
        let kept = replay.facts.get(&effect).copied();
        let kept = kept.map_or(whole, Timestamp::from_ms);
        kept.max(replay.waits_until).min(whole)
    }
}

/// Returns the digest of every deadline. It does not cover the moment, because that of a relative deadline may differ after a
/// restart.
fn deadline_digest() -> u64 {
    Digest::new(EffectKind::Sleep as u64)
        .bytes(b"deadline")
        .value()
}
