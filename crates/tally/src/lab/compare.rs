//! `tally lab compare` reports changes beyond noise between two or more sides.

mod sides;
mod words;

use std::path::{Path, PathBuf};

use perf::report;
use perf::run::Events;
use perf::stats::{
    CHANGED, CompareError, Comparison, ERRORS, PAIRS_MIN, Side, compare_axis, compare_reports,
};

use super::report::failed;
use super::run::{interrupted, options, stamp, to_the_end, verdict};
use super::scenario::Opening;
use crate::failure::{Failure, about_file};
use crate::output::Output;

/// Default number of pairs. It finds a change of 5 % nearly always if stretches differ by 2 %.
const PAIRS: u32 = 12;

/// Arguments of `tally lab compare`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Reports (folders, or their report.json) to compare unchanged, or scenarios (files, or names of shipped ones) to run side
    /// by side. The first one is the reference for the others
    #[arg(value_name = "REPORT|FILE|NAME", required = true)]
    sides: Vec<String>,
    /// Compare the cases of this axis of a single report or scenario
    #[arg(long, value_name = "LABEL", conflicts_with_all = ["set_a", "set_b", "binary_a", "binary_b"])]
    axis: Option<String>,
    #[command(flatten)]
    opening: Opening,
    /// A setting of the first side only; may be repeated
    #[arg(long, value_name = "KEY=VALUE")]
    set_a: Vec<String>,
    /// A setting of the second side only; may be repeated
    #[arg(long, value_name = "KEY=VALUE")]
    set_b: Vec<String>,
    /// The `tally` binary for the first side's nodes, instead of this one
    #[arg(long, value_name = "FILE")]
    binary_a: Option<PathBuf>,
    /// The `tally` binary for the second side's nodes, instead of this one
    #[arg(long, value_name = "FILE")]
    binary_b: Option<PathBuf>,
    /// Pairs of stretches, one of each side in random order
    #[arg(long, default_value_t = PAIRS, value_name = "N", value_parser = clap::value_parser!(u32).range(PAIRS_MIN as i64..=1000))]
    pairs: u32,
    /// The folder for the comparison and the report of the run; for a run it defaults to lab- and the time
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Fail if anything changed
    #[arg(long)]
    fail_on_change: bool,
    #[arg(long = "agent", hide = true, value_name = "HOST:PORT", value_parser = no_agents)]
    _agents: Vec<String>,
    #[arg(long = "agent-token-file", hide = true, value_name = "FILE", value_parser = no_agents)]
    _agent_token_file: Option<String>,
    #[command(flatten)]
    pub output: Output,
}

impl Args {
    pub fn run(self) -> Result<(), Failure> {
        let are_reports: Vec<bool> = self.sides.iter().map(|side| is_report(side)).collect();
        let comparison = match (are_reports.contains(&true), are_reports.contains(&false)) {
            (true, true) => {
                return Err(mixed(
                    "reports and scenarios are not compared with each other",
                ));
            }
            (true, false) => self.of_reports()?,
            (false, _) => self.of_scenarios()?,
        };
        if self.fail_on_change && comparison.is_changed() {
            return Err(Failure::local(CHANGED, "something changed", hint(CHANGED)));
        }
        Ok(())
    }

    /// Compares finished reports.
    fn of_reports(&self) -> Result<Comparison, Failure> {
        let alone = self.set_a.len() + self.set_b.len() > 0
            || self.binary_a.is_some()
            || self.binary_b.is_some();
        if alone {
            return Err(mixed(
                "settings and binaries are for scenarios; reports are compared as they are",
            ));
        }
        let mut reports = Vec::new();
        for (at, path) in self.sides.iter().enumerate() {
            let report =
                report::read(Path::new(path)).map_err(|error| failed(Path::new(path), error))?;
            let side = Side {
                name: sides::letter(at),
                about: format!("{path}: {}", report.title),
            };
            reports.push((side, report));
        }
        let comparison = match (&self.axis, &reports[..]) {
            (Some(axis), [(_, report)]) => compare_axis(report, axis),
            (Some(_), _) => return Err(mixed("--axis is for one report or one scenario")),
            (None, _) => compare_reports(&reports),
        };
        let mut comparison = comparison.map_err(|error| Failure::coded(&error))?;
        if comparison.title.is_empty() {
            comparison.title = reports
                .first()
                .map_or(String::new(), |(_, report)| report.title.clone());
        }
        if let Some(out) = &self.out {
            std::fs::create_dir_all(out).map_err(|error| about_file(out, &error))?;
            self.write(&comparison, out)?;
        }
        self.output.show(&comparison, words::people)?;
        Ok(comparison)
    }

    /// Runs scenarios side by side and compares them.
    fn of_scenarios(&self) -> Result<Comparison, Failure> {
        let given = self.given()?;
        let out = self.out.clone().unwrap_or_else(stamp::folder);
        // Create the folder now and not after an hour of load.
        std::fs::create_dir_all(&out).map_err(|error| about_file(&out, &error))?;
        let options = options(given.plan.title.clone(), self.opening.is_full())?;
        let run = async |events: &Events| match &given.sides {
            None => perf::run::run(std::slice::from_ref(&given.plan), &options, events).await,
            Some(sides) => perf::run::run_sides(&given.plan, sides.clone(), &options, events).await,
        };
        let Some(report) = to_the_end(&options.stop, run)? else {
            interrupted(&out)
        };
        let files = report::write(&report, &out).map_err(|error| failed(&out, error))?;
        for (name, text) in &given.sources {
            write(&out.join(name), text.clone())?;
        }
        for file in files {
            eprintln!("  {}", file.display());
        }
        // If the run failed, its failure explains why there is nothing to compare.
        let compared = compare_axis(&report, &given.axis);
        let mut comparison = match compared {
            Ok(comparison) => comparison,
            Err(error) => {
                verdict(&report)?;
                return Err(Failure::coded(&error));
            }
        };
        given.describe(&mut comparison);
        self.write(&comparison, &out)?;
        self.output.show(&comparison, words::people)?;
        verdict(&report)?;
        Ok(comparison)
    }

    /// Returns the scenarios to run.
    fn given(&self) -> Result<sides::ComparisonPlan, Failure> {
        let open = |name: &String, set: &[String]| self.opening.with(set).open(name);
        if let Some(axis) = &self.axis {
            let [name] = &self.sides[..] else {
                return Err(mixed("--axis is for one report or one scenario"));
            };
            return Ok(sides::ComparisonPlan::of_axis(
                open(name, &[])?,
                axis,
                self.pairs,
            ));
        }
        let mut names = self.sides.clone();
        let differ = self.set_a != self.set_b || self.binary_a != self.binary_b;
        if names.len() == 1 && differ {
            names.push(names[0].clone());
        }
        if names.len() < 2 {
            return Err(Failure::coded(&CompareError::Sides(names.len())));
        }
        let mut opened = Vec::new();
        for (at, name) in names.iter().enumerate() {
            let (set, binary) = match at {
                0 => (&self.set_a[..], self.binary_a.clone()),
                1 => (&self.set_b[..], self.binary_b.clone()),
                _ => (&[][..], None),
            };
            if let Some(binary) = &binary {
                // Check the binary now, because a network that does not start gives a less precise error.
                let found =
                    std::fs::metadata(binary).map_err(|error| about_file(binary, &error))?;
                if !found.is_file() {
                    return Err(about_file(binary, &"this is no program"));
                }
            }
            opened.push(sides::Opened {
                plan: open(name, set)?,
                about: sides::about(name, set, binary.as_deref()),
                binary,
            });
        }
        sides::ComparisonPlan::of_plans(opened, self.pairs).map_err(|error| Failure::coded(&error))
    }

    /// Writes the comparison's own files.
    fn write(&self, comparison: &Comparison, out: &Path) -> Result<(), Failure> {
        let json = serde_json::to_string(comparison)
            .map_err(|error| Failure::local("tally.output", error.to_string(), "Report this."))?;
        for (name, text) in [
            ("comparison.html", report::comparison_html(comparison)),
            ("comparison.json", json + "\n"),
        ] {
            write(&out.join(name), text)?;
            eprintln!("  {}", out.join(name).display());
        }
        Ok(())
    }
}

fn write(path: &Path, text: String) -> Result<(), Failure> {
    report::write_file(path, text).map_err(|error| failed(path, error))
}

/// Refuses agents with an explanation. They are for runs, and a comparison would otherwise generate its load here without notice.
fn no_agents(_: &str) -> Result<String, String> {
    Err(
        "a comparison generates its load on this machine; agents are for 'tally lab run'"
            .to_owned(),
    )
}

/// Returns whether the argument is a report: a folder or a JSON file. Anything else is a scenario.
fn is_report(given: &str) -> bool {
    let path = Path::new(given);
    path.is_dir() || path.extension().is_some_and(|ending| ending == "json")
}

fn mixed(message: &str) -> Failure {
    let code = "lab.compare_mixed";
    Failure::local(code, message, hint(code))
}

fn hint(code: &str) -> &'static str {
    let info = ERRORS.iter().find(|info| info.code == code);
    info.map_or("", |info| info.action)
}
