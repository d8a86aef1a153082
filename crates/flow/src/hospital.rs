//! The flow hospital: which failures are retried, how often and after which delay, and the chart of a flow that failed.
//!
//! ```text
//!  a poll fails ──┬── a final answer (most codes) ─────────────► the flow ends with it
//!                 ├── transient, retries left ──► undo the poll, wait, replay the journal, go on ("retrying")
//!                 └── panic, retries used up, journal that does not fit ──► kept for an operator ("parked")
//! ```
//! Only the last poll is undone: its input comes again, and none of its outputs has left the node. The chart is a separate
//! row next to the journal, so that it survives a restart and never takes part in a replay.

use primitives::{Decode, DecodeError, Decoder, Encode, Encoder, Timestamp};

use crate::{FlowError, FlowId};

/// The retry policy for one kind of failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryLimit {
    /// Maximum number of consecutive retries at one place of a flow; after that the flow is kept.
    pub retries_max: u32,
    /// Delay before the first retry, in milliseconds; it doubles with each retry.
    pub wait_first_ms: u64,
    /// Maximum delay before any retry, in milliseconds.
    pub wait_most_ms: u64,
}

/// A kind of transient failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RetryKind {
    /// This node or the notary is overloaded at the moment.
    Busy = 0,
    /// The flow's code marked its failure as transient with [`FlowError::transient`].
    Marked = 1,
}

/// The kinds with their names and limits, in the order of their numbers.
pub const RETRY_KINDS: [(RetryKind, &str, RetryLimit); 2] = [
    (
        RetryKind::Busy,
        "busy",
        RetryLimit {
            retries_max: 12,
            wait_first_ms: 250,
            wait_most_ms: 60_000,
        },
    ),
    (
        RetryKind::Marked,
        "marked",
        RetryLimit {
            retries_max: 8,
            wait_first_ms: 1_000,
            wait_most_ms: 300_000,
        },
    ),
];

/// Codes of effects that are transient by themselves. The list contains only codes that this node or the notary reports
/// about itself. A failure caused by a peer ends the flow, so that no peer can make this node keep flows.
pub const TRANSIENT_CODES: &[(&str, RetryKind)] = &[
    ("notary.busy", RetryKind::Busy),
    ("vault.selection_busy", RetryKind::Busy),
];

/// Codes of effects that only an operator can repair; the flow is kept at once.
pub const KEPT_CODES: &[&str] = &["node.unknown_external"];

/// Maximum number of causes in a chart: the first one and the latest ones.
pub const CAUSES_MAX: usize = 8;

/// The step number of a flow's chart among the rows of its journal.
pub const CHART_STEP: u32 = u32::MAX;

const CHART_VERSION: u8 = 1;

impl RetryKind {
    /// Returns the kind of a failure that answered an effect, or that the flow marked.
    pub(crate) fn of(error: &FlowError, answers_effect: bool) -> Option<RetryKind> {
        if error.is_transient() {
            return Some(RetryKind::Marked);
        }
        let listed = TRANSIENT_CODES.iter().find(|(code, _)| *code == error.code);
        listed.filter(|_| answers_effect).map(|(_, kind)| *kind)
    }
}

impl RetryLimit {
    /// Returns the delay before retry number `retry` (from 1). A fraction that depends on the flow's id spreads the retries
    /// of flows that failed together.
    pub fn wait_ms(&self, retry: u32, flow: &FlowId) -> u64 {
        assert!(retry > 0, "retries are numbered from 1");
        // A clipped product is above the longest wait, which bounds it.
        let doubled = self.wait_first_ms.saturating_mul(1 << (retry - 1).min(32));
        let spread = self.wait_first_ms * u64::from(flow.as_bytes()[0]) / 512;
        // A wait that is clipped here has no end.
        doubled.min(self.wait_most_ms).saturating_add(spread)
    }
}

/// One failure of a flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    /// Stable code.
    pub code: String,
    /// Description of the failure.
    pub message: String,
    /// Suggested action.
    pub hint: String,
    /// The time of the failure.
    pub at: Timestamp,
    /// The number of consecutive failures with this code at this effect, this one included.
    pub attempt: u32,
    /// The effect whose answer caused the failure; 0 for any other cause.
    pub effect: u32,
}

/// The condition of a flow: whether it takes steps, and why not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    /// It runs; its chart describes past failures.
    Running,
    /// It is retried at this time.
    Retrying(Timestamp),
    /// It is kept until an operator retries or kills it.
    Parked,
    /// An operator paused it.
    Paused,
}

/// The failure history and condition of a flow. Survives restarts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chart {
    /// Its current condition.
    pub condition: Condition,
    /// Its failures, oldest first: the first one and the latest ones, at most [`CAUSES_MAX`].
    pub causes: Vec<Cause>,
    /// The total number of failures.
    pub failures: u64,
    /// Whether its first poll is still to come.
    pub(crate) unbegun: bool,
    /// Whether its journal did not fit the binary; another binary may be able to run it.
    pub(crate) by_journal: bool,
    /// Whether it is to be killed as soon as no irrevocable request is in flight.
    pub(crate) kill: bool,
}

impl Chart {
    pub(crate) fn new(condition: Condition) -> Chart {
        Chart {
            condition,
            causes: Vec::new(),
            failures: 0,
            unbegun: false,
            by_journal: false,
            kill: false,
        }
    }

    /// Returns the attempt number of the next failure with this code at this effect.
    pub(crate) fn next_attempt(&self, code: &str, effect: u32) -> u32 {
        match self.causes.last() {
            Some(last) if last.code == code && last.effect == effect => {
                // Attempts come from the journal. Clipped, they are beyond every limit of retries.
                last.attempt.saturating_add(1)
            }
            _ => 1,
        }
    }

    /// Adds a failure.
    pub(crate) fn note(&mut self, error: &FlowError, at: Timestamp, effect: u32) {
        let rejection = error.to_rejection();
        let cause = Cause {
            attempt: self.next_attempt(&error.code, effect),
            code: rejection.code,
            message: rejection.message,
            hint: rejection.hint,
            at,
            effect,
        };
        // A count for people, read from the journal.
        self.failures = self.failures.saturating_add(1);
        if self.causes.len() >= CAUSES_MAX {
            self.causes.remove(1);
        }
        self.causes.push(cause);
    }

    /// Returns the latest failure.
    pub fn last(&self) -> Option<&Cause> {
        self.causes.last()
    }

    /// Returns whether the flow stays set aside when the node starts. A flow whose journal did not fit is tried again, because the
    /// binary may have changed.
    pub(crate) fn stays(&self) -> bool {
        match self.condition {
            Condition::Paused => true,
            Condition::Parked => !self.by_journal,
            Condition::Running | Condition::Retrying(_) => false,
        }
    }
}

impl Cause {
    /// Returns the cause as an error.
    pub fn to_error(&self) -> FlowError {
        FlowError::new(self.code.clone(), self.message.clone(), self.hint.clone())
    }
}

impl Encode for Chart {
    fn encode(&self, e: &mut Encoder) {
        e.array(7);
        e.u64(CHART_VERSION.into());
        let (condition, at) = match self.condition {
            Condition::Running => (0, Timestamp::EPOCH),
            Condition::Retrying(at) => (1, at),
            Condition::Parked => (2, Timestamp::EPOCH),
            Condition::Paused => (3, Timestamp::EPOCH),
        };
        e.array(2);
        e.u64(condition);
        at.encode(e);
        e.array(self.causes.len());
        for cause in &self.causes {
            e.array(6);
            e.text(&cause.code);
            e.text(&cause.message);
            e.text(&cause.hint);
            cause.at.encode(e);
            e.u64(cause.attempt.into());
            e.u64(cause.effect.into());
        }
        e.u64(self.failures);
        e.bool(self.unbegun);
        e.bool(self.by_journal);
        e.bool(self.kill);
    }
}

impl Decode for Chart {
    fn decode(d: &mut Decoder<'_>) -> Result<Chart, DecodeError> {
        d.expect_array(7)?;
        if d.u8()? != CHART_VERSION {
            return Err(d.invalid("a flow's chart of an unknown version"));
        }
        d.expect_array(2)?;
        let number = d.u64()?;
        let at = Timestamp::decode(d)?;
        let condition = match number {
            0 => Condition::Running,
            1 => Condition::Retrying(at),
            2 => Condition::Parked,
            3 => Condition::Paused,
            _ => return Err(d.invalid("unknown condition of a flow")),
        };
        let count = d.array()?;
        if count > CAUSES_MAX {
            return Err(d.invalid("a chart has at most 8 causes"));
        }
        let mut causes = Vec::with_capacity(count);
        for _ in 0..count {
            d.expect_array(6)?;
            causes.push(Cause {
                code: d.text()?.to_owned(),
                message: d.text()?.to_owned(),
                hint: d.text()?.to_owned(),
                at: Timestamp::decode(d)?,
                attempt: d.u32()?,
                effect: d.u32()?,
            });
        }
        Ok(Chart {
            condition,
            causes,
            failures: d.u64()?,
            unbegun: d.bool()?,
            by_journal: d.bool()?,
            kill: d.bool()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_most_and_are_spread_by_flow() {
        let limit = RetryLimit {
            retries_max: 9,
            wait_first_ms: 100,
            wait_most_ms: 1_000,
        };
        let waits = [1, 2, 3, 4, 5, 40, u32::MAX].map(|n| limit.wait_ms(n, &FlowId([0; 16])));
        assert_eq!(waits, [100, 200, 400, 800, 1_000, 1_000, 1_000]);
        assert_eq!(limit.wait_ms(1, &FlowId([255; 16])), 149);
    }

    #[test]
    fn a_chart_keeps_the_first_and_the_latest_and_comes_back_from_its_bytes() {
        let mut chart = Chart::new(Condition::Retrying(Timestamp::from_ms(7)));
        for at in 1..=20 {
            let code = if at < 5 { "a.b" } else { "c.d" };
            chart.note(
                &FlowError::new(code, format!("{at}"), ""),
                Timestamp::from_ms(at),
                3,
            );
        }
        assert_eq!((chart.causes.len(), chart.failures), (CAUSES_MAX, 20));
        assert_eq!(chart.causes[0].message, "1");
        assert_eq!(chart.last().map(|last| last.attempt), Some(16));
        assert_eq!(Chart::from_bytes(&chart.to_bytes()), Ok(chart));
    }

    #[test]
    fn only_answers_of_effects_and_marks_are_transient() {
        let busy = FlowError::new("notary.busy", "", "");
        let other = FlowError::new("a.b", "", "");
        for (error, answers, kind) in [
            (busy.clone(), true, Some(RetryKind::Busy)),
            (busy, false, None),
            (other.clone(), true, None),
            (other.transient(), false, Some(RetryKind::Marked)),
        ] {
            assert_eq!(RetryKind::of(&error, answers), kind, "{error}");
        }
    }
}
