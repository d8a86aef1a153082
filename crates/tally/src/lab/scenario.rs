//! The options that open a scenario, and its display.

use perf::plan::{Options, Plan, PointPlan, open};
use serde::Serialize;

use super::checks::ProgramChecks;
use crate::failure::Failure;

/// The options that open a scenario.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Opening {
    /// Use the published size: the settings under [full]
    #[arg(long)]
    full: bool,
    /// A setting that overrides the scenario's, such as run.seconds=20; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,
}

impl Opening {
    /// Returns options for the published size, or for the default size.
    pub fn sized(full: bool) -> Self {
        let set = Vec::new();
        Self { full, set }
    }

    /// Returns whether the published size is used.
    pub fn is_full(&self) -> bool {
        self.full
    }

    /// Returns the same options with additional settings.
    pub fn with(&self, more: &[String]) -> Self {
        let mut with = self.clone();
        with.set.extend_from_slice(more);
        with
    }

    /// Opens a file or a shipped scenario. Checks everything in it, including each point, knob and node setting.
    pub fn open(&self, file_or_name: &str) -> Result<Plan, Failure> {
        let options = Options {
            full: self.full,
            set: self.set.clone(),
        };
        open(file_or_name, &options, &ProgramChecks::new()).map_err(|error| Failure::coded(&error))
    }
}

/// A scenario, for programs.
#[derive(Debug, Serialize)]
pub struct Shown {
    pub name: String,
    pub title: String,
    pub about: String,
    /// Whether the published size is used.
    pub full: bool,
    /// The metric that represents the scenario.
    pub main_metric: String,
    /// The varied axes, in order.
    pub axes: Vec<String>,
    /// The points in the order of their runs, with the case on each axis.
    pub points: Vec<Vec<String>>,
    /// Approximate duration in seconds.
    pub seconds_expected: f64,
    /// The exact scenario as TOML.
    pub scenario: String,
}

impl Shown {
    /// Returns the displayed data of a plan.
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

    /// Returns a point as text: `parties = 4, variant = parallel`.
    pub fn point_words(&self, point: &[String]) -> String {
        let pairs = self.axes.iter().zip(point);
        let words: Vec<String> = pairs
            .map(|(axis, case)| format!("{axis} = {case}"))
            .collect();
        words.join(", ")
    }
}

/// Returns an approximate duration: `40 s`, `12 min`, `3 h`.
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
