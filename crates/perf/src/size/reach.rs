//! Whether a target can be reached, and the reason.

use serde::Serialize;

use super::ceiling::Ceiling;
use super::latency::{LatencyAnswer, LatencyVerdict};
use crate::report::number;
use crate::results::{Estimate, Limits, Machine};

/// Whether a target can be reached.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Reach {
    /// True if this machine showed it. False if one node of this kind cannot reach it on any number of cores. Absent if neither
    /// is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reachable: Option<bool>,
    /// The reason, in words.
    pub reason: String,
    /// The number of nodes that have to share the work, if one cannot reach the target.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nodes_min: Option<u64>,
}

/// The facts that decide it.
pub(super) struct ReachFacts<'a> {
    pub(super) target_per_s: f64,
    pub(super) shown_per_s: &'a Estimate,
    pub(super) latency: Option<&'a LatencyAnswer>,
    pub(super) ceiling: Option<&'a Ceiling>,
    /// Durable commits for a unit, of all nodes together.
    pub(super) commits_per_unit: Option<f64>,
    pub(super) machine: &'a Machine,
}

impl ReachFacts<'_> {
    /// Decides. Proof that a target is out of reach comes first.
    pub(super) fn judge(&self) -> Reach {
        self.too_slow()
            .or_else(|| self.beyond_the_ceiling())
            .unwrap_or_else(|| self.on_this_machine())
    }

    /// Returns the verdict if even one unit at a time takes longer than the bound.
    fn too_slow(&self) -> Option<Reach> {
        let latency = self.latency?;
        let lowest = latency.lowest_p99_ms?;
        if latency.verdict != LatencyVerdict::Never {
            return None;
        }
        let mut reason = format!(
            "No number of cores keeps the 99th percentile within {} ms: with one unit outstanding it is {} ms, and nothing waits \
             for a core then.",
            number(latency.bound_ms),
            number(lowest)
        );
        let commit_us = self
            .machine
            .limits
            .as_ref()
            .map(|Limits { commit_us, .. }| *commit_us);
        if let Some((commit_us, commits)) =
            commit_us.filter(|us| *us > 0.0).zip(self.commits_per_unit)
        {
            reason.push_str(&format!(
                " A unit has {} durable commits, and one takes this disk {} ms in the median, so up to {} ms are the disk's.",
                number(commits),
                number(commit_us / 1_000.0),
                number(commits * commit_us / 1_000.0)
            ));
        }
        let machine = self.machine;
        if machine.load_average_before > f64::from(machine.cores) {
            reason.push_str(&format!(
                " Other programs used this machine (load average {} on {} cores): measure again without them.",
                number(machine.load_average_before),
                machine.cores
            ));
            return Some(Reach {
                reachable: None,
                reason,
                nodes_min: None,
            });
        }
        Some(Reach {
            reachable: Some(false),
            reason,
            nodes_min: None,
        })
    }

    /// Returns the verdict if the thread of one node cannot decide that fast.
    fn beyond_the_ceiling(&self) -> Option<Reach> {
        let ceiling = self.ceiling?;
        let per_s = ceiling.per_s.value;
        if self.target_per_s <= per_s || self.is_shown() {
            return None;
        }
        let nodes = (self.target_per_s / per_s).ceil();
        Some(Reach {
            reachable: Some(false),
            reason: format!(
                "No hardware of this kind reaches {} a second with one node: a single thread of {} spends {} µs on each unit, so {} a \
                 second is its ceiling on any number of cores. At least {} nodes have to share the work, or cores have to be {} times \
                 as fast.",
                number(self.target_per_s),
                ceiling.node,
                number(ceiling.serial_us_per_unit.value),
                number(per_s),
                number(nodes),
                number(self.target_per_s / per_s)
            ),
            nodes_min: Some(nodes as u64),
        })
    }

    /// Returns whether this machine showed the rate.
    fn is_shown(&self) -> bool {
        self.target_per_s <= self.shown_per_s.value
    }

    fn on_this_machine(&self) -> Reach {
        let is_in_time = self
            .latency
            .is_none_or(|latency| latency.verdict == LatencyVerdict::Met);
        let shown = number(self.shown_per_s.value);
        if self.is_shown() && is_in_time {
            let up_to = match self.latency {
                Some(latency) => format!(
                    "{} a second with a 99th percentile of at most {} ms",
                    // The verdict is met only if a rate is known.
                    number(latency.rate_per_s.unwrap_or(self.shown_per_s.value)),
                    number(latency.bound_ms)
                ),
                None => format!("{shown} a second"),
            };
            return Reach {
                reachable: Some(true),
                reason: format!(
                    "This machine showed it: up to {up_to}, with every node and the load on it."
                ),
                nodes_min: None,
            };
        }
        let here = match self.latency.filter(|_| !is_in_time) {
            Some(latency) => match latency.rate_per_s {
                Some(rate) => format!(
                    "This machine did not show it: a 99th percentile of at most {} ms holds up to {} a second ({} outstanding).",
                    number(latency.bound_ms),
                    number(rate),
                    latency.outstanding.as_deref().unwrap_or("unknown")
                ),
                None => "Whether the bound on latency holds is unknown: too few units were measured for a 99th percentile. Use \
                         longer stretches (--seconds)."
                    .to_owned(),
            },
            None => format!("This machine did not show it: {shown} a second is the most."),
        };
        let above = match self.ceiling {
            Some(ceiling) => format!(
                " More cores may reach it: the limiting thread, of {}, has its ceiling at {} a second.",
                ceiling.node,
                number(ceiling.per_s.value)
            ),
            None => " Whether more cores can reach it is unknown: the time of the deciding threads could not be read.".to_owned(),
        };
        Reach {
            reachable: None,
            reason: here + &above,
            nodes_min: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use LatencyVerdict::{Met, Missed, Never, Unknown};

    fn estimate(value: f64) -> Estimate {
        Estimate {
            value,
            ..Estimate::default()
        }
    }

    fn latency(verdict: LatencyVerdict, rate: Option<f64>) -> LatencyAnswer {
        LatencyAnswer {
            bound_ms: 200.0,
            rate_per_s: rate,
            outstanding: rate.map(|_| "32".into()),
            lowest_p99_ms: Some(250.0),
            verdict,
        }
    }

    #[test]
    fn verdicts() {
        let ceiling = Ceiling {
            node: "bank-1".into(),
            serial_us_per_unit: estimate(100.0),
            per_s: estimate(10_000.0),
        };
        let calm = Machine {
            cores: 2,
            limits: Some(Limits {
                commit_us: 2_000.0,
                ..Limits::default()
            }),
            ..Machine::default()
        };
        let busy = Machine {
            load_average_before: 9.0,
            ..calm.clone()
        };
        let (met, missed) = (latency(Met, Some(900.0)), latency(Missed, Some(300.0)));
        let (never, unknown) = (latency(Never, None), latency(Unknown, None));
        let known = Some(&ceiling);
        for (target, latency, ceiling, machine, reachable, nodes, words) in [
            (
                500.0,
                None,
                known,
                &calm,
                Some(true),
                None,
                "up to 1,000 a second, with every node",
            ),
            (
                500.0,
                Some(&met),
                known,
                &calm,
                Some(true),
                None,
                "up to 900 a second with a 99th percentile of at most 200 ms",
            ),
            (
                500.0,
                Some(&missed),
                known,
                &calm,
                None,
                None,
                "holds up to 300 a second (32 outstanding). More cores may",
            ),
            (
                500.0,
                Some(&missed),
                None,
                &calm,
                None,
                None,
                "more cores can reach it is unknown",
            ),
            (
                500.0,
                Some(&never),
                known,
                &calm,
                Some(false),
                None,
                "4 durable commits, and one takes this disk 2 ms in the median, so up to 8 ms",
            ),
            (
                500.0,
                Some(&never),
                known,
                &busy,
                None,
                None,
                "load average 9 on 2 cores",
            ),
            (
                500.0,
                Some(&unknown),
                known,
                &calm,
                None,
                None,
                "too few units",
            ),
            (
                5_000.0,
                None,
                known,
                &calm,
                None,
                None,
                "1,000 a second is the most. More cores may reach it: the limiting thread, of bank-1",
            ),
            (
                5_000.0,
                None,
                None,
                &calm,
                None,
                None,
                "more cores can reach it is unknown",
            ),
            (
                25_000.0,
                None,
                known,
                &calm,
                Some(false),
                Some(3),
                "At least 3 nodes have to share the work, or cores have to be 2.5 times",
            ),
            (
                25_000.0,
                Some(&missed),
                known,
                &calm,
                Some(false),
                Some(3),
                "a single thread of bank-1 spends 100 µs",
            ),
        ] {
            let facts = ReachFacts {
                target_per_s: target,
                shown_per_s: &estimate(1_000.0),
                latency,
                ceiling,
                commits_per_unit: Some(4.0),
                machine,
            };
            let reach = facts.judge();
            assert_eq!(
                (reach.reachable, reach.nodes_min),
                (reachable, nodes),
                "{reach:?}"
            );
            assert!(reach.reason.contains(words), "{}", reach.reason);
        }
    }
}
