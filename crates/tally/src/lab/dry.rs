//! `tally lab check`, and a dry run: checks of scenarios without running them.

use super::scenario::{Opening, Shown, about};
use crate::failure::Failure;
use crate::output::Output;

/// Arguments of `tally lab check`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Scenario files, or names of shipped ones
    #[arg(value_name = "FILE|NAME", required = true)]
    scenarios: Vec<String>,
    #[command(flatten)]
    opening: Opening,
    #[command(flatten)]
    pub output: Output,
}

impl Args {
    pub fn run(self) -> Result<(), Failure> {
        check(&self.scenarios, &self.opening, self.output)
    }
}

/// Checks every scenario and shows the planned runs. The fault of the first invalid scenario is the failure.
pub fn check(scenarios: &[String], opening: &Opening, output: Output) -> Result<(), Failure> {
    let mut all = Vec::new();
    for scenario in scenarios {
        let plan = opening.open(scenario)?;
        all.push(Shown::of(&plan, opening.is_full())?);
    }
    output.show(&all, |all| {
        let line = |shown: &Shown| {
            let count = shown.points.len();
            let points = if count == 1 { "point" } else { "points" };
            let time = about(shown.seconds_expected);
            format!("{}: in order, {count} {points}, about {time}", shown.name)
        };
        let lines: Vec<String> = all.iter().map(line).collect();
        lines.join("\n")
    })
}
