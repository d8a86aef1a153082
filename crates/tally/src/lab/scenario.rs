//! How scenarios are given on the command line, and how they are shown.

use perf::plan::{Options, Plan, PointPlan, open};
use serde::Serialize;

use super::checks::Known;
use crate::failure::Failure;

/// How a scenario is opened.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Opening {
    /// At the published size: with the settings under [full]
    #[arg(long)]
    full: bool,
    /// A setting laid over the scenario, such as run.seconds=20; again for more
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,
}

impl Opening {
    /// At the published size, or not.
    pub fn sized(full: bool) -> Self {
        let set = Vec::new();
        Self { full, set }
    }

    /// Whether it is the published size.
    pub fn is_full(&self) -> bool {
        self.full
    }

    /// The same with more settings laid over it.
    pub fn with(&self, more: &[String]) -> Self {
        let mut with = self.clone();
        with.set.extend_from_slice(more);
        with
    }

    /// Opens a file or a shipped scenario; everything about it is checked, each point, knob and node setting too.
    pub fn open(&self, file_or_name: &str) -> Result<Plan, Failure> {
        let options = Options {
            full: self.full,
            set: self.set.clone(),
        };
        open(file_or_name, &options, &Known::new()).map_err(|error| Failure::coded(&error))
    }
}

/// A scenario, for programs.
#[derive(Debug, Serialize)]
pub struct Shown {
    pub name: String,
    pub title: String,
    pub about: String,
    /// Whether at the published size.
    pub full: bool,
    /// What stands for it in one figure.
    pub main_metric: String,
    /// What is varied, in order.
    pub axes: Vec<String>,
    /// Its points in the order in which they run: the case on each axis.
    pub points: Vec<Vec<String>>,
    /// Seconds that it takes at most, roughly.
    pub seconds_expected: f64,
    /// The exact scenario as TOML.
    pub scenario: String,
}

impl Shown {
    /// What there is to show of a plan.
    pub fn of(plan: &Plan, full: bool) -> Result<Self, Failure> {
        let points = plan.points().map_err(|error| Failure::coded(&error))?;
        let cases = |point: &PointPlan| point.at.iter().map(|at| at.name.clone()).collect();
        Ok(Self {
            name: plan.name.clone(),
            title: plan.title.clone(),
            about: plan.about.clone(),
            full,
            main_metric: plan.main_metric.clone(),
            axes: plan.sweep.iter().map(|axis| axis.label.clone()).collect(),
            points: points.iter().map(cases).collect(),
            seconds_expected: plan.seconds_expected(),
            scenario: plan.to_toml(),
        })
    }

    /// A point in words: `parties = 4, variant = parallel`.
    pub fn point_words(&self, point: &[String]) -> String {
        let pairs = self.axes.iter().zip(point);
        let words: Vec<String> = pairs
            .map(|(axis, case)| format!("{axis} = {case}"))
            .collect();
        words.join(", ")
    }
}

/// A time as people say it: `40 s`, `12 min`, `3 h`.
pub fn about(seconds: f64) -> String {
    let minutes = seconds / 60.0;
    let hours = minutes / 60.0;
    if seconds < 100.0 {
        format!("{seconds:.0} s")
    } else if minutes < 100.0 {
        format!("{minutes:.0} min")
    } else if hours < 100.0 {
        format!("{hours:.1} h")
    } else {
        format!("{:.0} days", hours / 24.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_as_people_say_them() {
        for (seconds, words) in [
            (0.4, "0 s"),
            (99.4, "99 s"),
            (120.0, "2 min"),
            (7_200.0, "2.0 h"),
            (864_000.0, "10 days"),
        ] {
            assert_eq!(about(seconds), words);
        }
    }
}
