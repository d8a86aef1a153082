//! The disk that a process needs for each unit, and for a time of retention.

use serde::Serialize;

use super::fit::{line, through_origin};
use super::retention::Retention;
use super::role::Role;
use super::usage::window;
use crate::results::{Estimate, Point, ProcessSample, Scenario, Stretch};

const GB: f64 = 1e9;
const DAY_S: f64 = 86_400.0;
/// Readings of a folder that a line needs.
const READINGS_MIN: usize = 3;
/// Rows of higher levels of a store's tables that a merge has not yet brought down. A level is ten times as large as the one
/// above it, so these are 1/10 + 1/100 + ... of the lowest.
const LEVELS_SHARE: f64 = 1.0 / 9.0;
/// The largest table that a store merges as a whole, which needs its size once more until the merge ends.
const MERGE_BYTES_MAX: f64 = 4.0 * 1_073_741_824.0;
/// Three segments of a store's log, at the default of `store.log_bytes`.
const LOG_BYTES: f64 = 3.0 * 16_777_216.0;

/// Transactions that a node has recorded.
pub(super) const RECORDED: &str = "tally_transactions_recorded_total";
/// Requests that a notary has signed.
pub(super) const NOTARISED: &str = "tally_notary_requests_total{verdict=\"signed\"}";

/// The disk of one process.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DiskNeed {
    /// Bytes for a unit of the scenario, without the log, which has a bounded size.
    pub bytes_per_unit: Estimate,
    /// Transactions that the process keeps for a unit; absent if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transactions_per_unit: Option<f64>,
    /// Bytes for a transaction: with its states if `bytes_per_state` is absent, without them otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes_per_transaction: Option<Estimate>,
    /// Bytes for each of its states; absent if the work does not vary their number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes_per_state: Option<Estimate>,
    /// Growth at the target around the clock, gigabytes (10^9) a day.
    pub gb_per_day: Estimate,
    /// The disk for the retention that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retained: Option<Retained>,
}

/// The disk for a time of retention.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Retained {
    /// The time, days.
    pub days: u32,
    /// Ledger and vault at its end, gigabytes.
    pub stored_gb: Estimate,
    /// Room for merges and the log, gigabytes; absent for a database server, whose own settings decide it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowance_gb: Option<f64>,
}

/// The measured stretches to read disk from, and the question.
#[derive(Clone, Copy)]
pub(super) struct DiskQuestion<'a> {
    /// Points on networks of their own, one for each number of states, whose stretches follow each other without a warm-up: the
    /// files of each go on from those of the one before. `None` if no such scenario was run.
    pub(super) apart: Option<&'a Scenario>,
    /// The levels of load, which are read if there is no such scenario.
    pub(super) levels: &'a Scenario,
    /// States of a transaction of the work.
    pub(super) states: f64,
    pub(super) target_per_s: f64,
    pub(super) retention: Option<Retention>,
}

impl DiskQuestion<'_> {
    /// Returns the need of a process; `None` if its files cannot be observed.
    pub(super) fn of(&self, name: &str, role: Role) -> Option<DiskNeed> {
        let slopes: Vec<(Option<f64>, Estimate)> = match self.apart {
            Some(apart) => apart
                .points
                .iter()
                .filter_map(|point| {
                    let states = point.at.first().and_then(|at| at.number);
                    Some((states, growth(point, name)?))
                })
                .collect(),
            None => vec![(None, growth_within(self.levels, name)?)],
        };
        let (bytes_per_unit, split) = match &slopes[..] {
            [(Some(few), at_few), (Some(many), at_many)] if many > few => {
                let along = |states: f64| {
                    let share = (states - few) / (many - few);
                    combined(at_few, 1.0 - share, at_many, share)
                };
                let per_state = combined(at_few, -1.0 / (many - few), at_many, 1.0 / (many - few));
                (along(self.states), Some((along(0.0), per_state)))
            }
            // A lone slope of two numbers of states says nothing about the wanted number.
            [(_, alone)] if self.apart.is_none_or(|apart| apart.points.len() == 1) => {
                (alone.clone(), None)
            }
            _ => return None,
        };
        let transactions_per_unit = self.transactions_per_unit(name, role);
        let (bytes_per_transaction, bytes_per_state) = match split {
            Some((transaction, state)) => (Some(transaction), Some(state)),
            None => {
                let of_unit = transactions_per_unit.filter(|count| *count > 0.0);
                let of_one = of_unit.map(|count| scaled(&bytes_per_unit, 1.0 / count));
                (of_one, None)
            }
        };
        let per_day = self.target_per_s * DAY_S / GB;
        let gb_per_day = scaled(&bytes_per_unit, per_day);
        let retained = self.retention.map(|retention| {
            let stored_gb = scaled(&gb_per_day, f64::from(retention.days()));
            Retained {
                days: retention.days(),
                allowance_gb: (role != Role::Database).then(|| allowance_gb(stored_gb.value)),
                stored_gb,
            }
        });
        Some(DiskNeed {
            bytes_per_unit,
            transactions_per_unit,
            bytes_per_transaction,
            bytes_per_state,
            gb_per_day,
            retained,
        })
    }

    fn transactions_per_unit(&self, name: &str, role: Role) -> Option<f64> {
        let metric = match role {
            Role::Node => RECORDED,
            Role::Notary => NOTARISED,
            Role::Database => return None,
        };
        let (mut transactions, mut units) = (0.0, 0.0);
        let measured = self.apart.unwrap_or(self.levels);
        for stretch in measured.points.iter().flat_map(|point| &point.stretches) {
            let mut series = stretch.metrics.iter();
            let series = series.find(|series| series.node == name && series.name == metric)?;
            let (first, last) = (series.values.first()?, series.values.last()?);
            transactions += last.1 - first.1;
            units += stretch.done as f64;
        }
        (units > 0.0 && transactions >= 0.0).then(|| transactions / units)
    }
}

/// Returns the room that a store needs besides its rows, gigabytes: rows of the higher levels, one merge, and the log.
fn allowance_gb(stored_gb: f64) -> f64 {
    let merge_gb = stored_gb.min(MERGE_BYTES_MAX / GB);
    stored_gb * LEVELS_SHARE + merge_gb + LOG_BYTES / GB
}

/// Returns the bytes by which a process's files, without the log, grow for a unit: a line through the readings at the ends of
/// the stretches, over the units done until then. The first stretch fills the store's memory and is left out if enough follow.
fn growth(point: &Point, name: &str) -> Option<Estimate> {
    let mut readings = Vec::new();
    let mut done = 0;
    let stretches: &[Stretch] = &point.stretches;
    let skipped = usize::from(stretches.len() > READINGS_MIN);
    for (at, stretch) in stretches.iter().enumerate() {
        let files = files(stretch, name)?;
        if at >= skipped {
            readings.push((done as f64, files[0]));
            readings.push(((done + stretch.done) as f64, files[1]));
        }
        done += stretch.done;
    }
    let found = (readings.len() >= READINGS_MIN).then(|| line(&readings, 0.0));
    grown(&found??.slope)
}

/// Returns the same from the growth within each stretch.
fn growth_within(levels: &Scenario, name: &str) -> Option<Estimate> {
    let stretches = levels.points.iter().flat_map(|point| &point.stretches);
    let grown = stretches.map(|stretch| {
        let [first, last] = files(stretch, name)?;
        // Files may shrink, as after a merge. They need no further room then.
        Some((stretch.done as f64, (last - first).max(0.0)))
    });
    let grown: Option<Vec<(f64, f64)>> = grown.collect();
    self::grown(&through_origin(&grown?, 1.0)?.slope)
}

/// Returns the bytes of a process's files, without the log, at both ends of a stretch; `None` if they were not read.
fn files(stretch: &Stretch, name: &str) -> Option<[f64; 2]> {
    let mut processes = stretch.processes.iter();
    let (first, last) = window(processes.find(|process| process.name == name)?)?;
    // A log that was read later than the folder may be larger.
    let of = |one: &ProcessSample| one.disk_bytes.saturating_sub(one.log_bytes.unwrap_or(0)) as f64;
    let is_read = !first.missing.disk && !last.missing.disk;
    is_read.then(|| [of(first), of(last)])
}

/// Returns `a * one + b * other` with the interval of independent estimates.
fn combined(one: &Estimate, a: f64, other: &Estimate, b: f64) -> Estimate {
    let half = |of: &Estimate| Some((of.high? - of.low?) / 2.0);
    let value = a * one.value + b * other.value;
    let halves = half(one).zip(half(other));
    let half = halves.map(|(one, other)| (a * one).hypot(b * other));
    clipped(&Estimate {
        value,
        low: half.map(|half| value - half),
        high: half.map(|half| value + half),
    })
}

fn scaled(estimate: &Estimate, factor: f64) -> Estimate {
    Estimate {
        value: estimate.value * factor,
        low: estimate.low.map(|low| low * factor),
        high: estimate.high.map(|high| high * factor),
    }
}

/// Returns the slope without negative bytes; `None` if nothing grew, because the rows are then still in the store's memory.
fn grown(slope: &Estimate) -> Option<Estimate> {
    (slope.value > 0.0).then(|| clipped(slope))
}

/// Returns the estimate without negative bytes: files do not shrink because of work.
fn clipped(estimate: &Estimate) -> Estimate {
    Estimate {
        value: estimate.value.max(0.0),
        low: estimate.low.map(|low| low.max(0.0)),
        high: estimate.high.map(|high| high.max(0.0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::{CaseResult, MissingReadings, Process};

    /// Returns a point of four stretches of 100 units, whose files grow by these bytes for each, and whose log has jumps.
    fn point(states: Option<f64>, bytes: u64) -> Point {
        let stretch = |at: u64| {
            let sample = |at_ms, units: u64, log| ProcessSample {
                at_ms,
                disk_bytes: 5_000 + units * bytes + log,
                log_bytes: Some(log),
                ..ProcessSample::default()
            };
            let logs = [at * 1_000, at * 1_000 + 500];
            let samples = vec![
                sample(0, at * 100, logs[0]),
                sample(10, at * 100 + 100, logs[1]),
            ];
            Stretch {
                done: 100,
                processes: vec![Process {
                    name: "bank-1".into(),
                    samples,
                }],
                ..Stretch::default()
            }
        };
        Point {
            at: vec![CaseResult {
                number: states,
                ..CaseResult::default()
            }],
            stretches: (0..4).map(stretch).collect(),
            ..Point::default()
        }
    }

    fn scenario(points: Vec<Point>) -> Scenario {
        Scenario {
            points,
            ..Scenario::default()
        }
    }

    fn question(measured: &Scenario, states: f64) -> DiskQuestion<'_> {
        DiskQuestion {
            apart: Some(measured),
            levels: measured,
            states,
            target_per_s: 1_000.0,
            retention: "1y".parse().ok(),
        }
    }

    #[test]
    fn bytes_are_split_by_transactions_and_states() {
        // 700 bytes a transaction and 300 a state.
        let split = scenario(vec![point(Some(1.0), 1_000), point(Some(10.0), 3_700)]);
        let alone = scenario(vec![point(None, 1_000)]);
        for (measured, states, unit, transaction, state) in [
            (&split, 1.0, 1_000.0, Some(700.0), Some(300.0)),
            (&split, 5.0, 2_200.0, Some(700.0), Some(300.0)),
            (&alone, 1.0, 1_000.0, None, None),
        ] {
            let need = question(measured, states)
                .of("bank-1", Role::Node)
                .expect("read");
            let near = |found: Option<&Estimate>, wanted: Option<f64>| {
                assert_eq!(found.is_some(), wanted.is_some());
                let ends = found.map_or(0.0, |found| found.value) - wanted.unwrap_or(0.0);
                assert!(ends.abs() < 1e-6, "{found:?} {wanted:?}");
            };
            near(Some(&need.bytes_per_unit), Some(unit));
            near(need.bytes_per_transaction.as_ref(), transaction);
            near(need.bytes_per_state.as_ref(), state);
            near(
                Some(&need.gb_per_day),
                Some(unit * 1_000.0 * 86_400.0 / 1e9),
            );
            let retained = need.retained.expect("asked for");
            near(
                Some(&retained.stored_gb),
                Some(unit * 86.4 * 365.0 / 1_000.0),
            );
        }
        let unknown = question(&split, 1.0).of("bank-2", Role::Node);
        assert_eq!(unknown, None, "it was not watched");
    }

    #[test]
    fn levels_are_read_without_a_scenario_for_the_disk() {
        let measured = scenario(vec![point(None, 1_000), point(None, 1_000)]);
        let question = DiskQuestion {
            apart: None,
            ..question(&measured, 1.0)
        };
        let need = question.of("bank-1", Role::Node).expect("read");
        assert!(
            (need.bytes_per_unit.value - 1_000.0).abs() < 1e-6,
            "{need:?}"
        );
        assert_eq!(question.of("bank-2", Role::Node), None);
    }

    #[test]
    fn files_that_begin_again_are_read_within_each_stretch() {
        let mut restored = point(None, 1_000);
        for stretch in &mut restored.stretches {
            let samples = &mut stretch.processes[0].samples;
            for (sample, bytes) in samples.iter_mut().zip([5_000, 105_000]) {
                (sample.disk_bytes, sample.log_bytes) = (bytes, None);
            }
        }
        let measured = scenario(vec![restored]);
        let question = DiskQuestion {
            apart: None,
            ..question(&measured, 1.0)
        };
        let need = question.of("bank-1", Role::Node).expect("read");
        let found = need.bytes_per_unit.value;
        assert!((found - 1_000.0).abs() < 1e-6, "{found}");
    }

    #[test]
    fn files_elsewhere_are_unknown_and_not_0() {
        let mut measured = scenario(vec![point(None, 1_000)]);
        for stretch in &mut measured.points[0].stretches {
            stretch.processes[0].samples[0].missing = MissingReadings {
                disk: true,
                ..MissingReadings::default()
            };
        }
        assert_eq!(question(&measured, 1.0).of("bank-1", Role::Node), None);
    }

    #[test]
    fn room_for_merges_ends_at_the_largest_whole_merge() {
        for (stored, allowance) in [
            (0.0, 0.050_331_648),
            (1.0, 1.0 / 9.0 + 1.0 + 0.050_331_648),
            (900.0, 100.0 + 4.294_967_296 + 0.050_331_648),
        ] {
            let found = allowance_gb(stored);
            assert!((found - allowance).abs() < 1e-9, "{stored}: {found}");
        }
        let measured = scenario(vec![point(None, 1_000)]);
        let of = |role| question(&measured, 1.0).of("bank-1", role).expect("read");
        for (role, is_known) in [
            (Role::Node, true),
            (Role::Notary, true),
            (Role::Database, false),
        ] {
            let retained = of(role).retained.expect("asked for");
            assert_eq!(retained.allowance_gb.is_some(), is_known, "{role:?}");
        }
    }
}
