//! `tally lab size` estimates the resources that a rate needs on machines like this one, from a few measured points.

use std::path::PathBuf;

use perf::report::{self, number};
use perf::results::Estimate;
use perf::run::Events;
use perf::size::{self, Need, Sizing};

use super::run::{interrupted, options, stamp, to_the_end, verdict};
use super::scenario::Opening;
use crate::failure::{Failure, about_file};
use crate::output::{Output, Table, stdout_ink};

/// The highest target, in units per second.
const TARGET_MAX: f64 = 10_000_000.0;
/// Factor beyond which a linear extrapolation is marked as a guess.
const FACTOR_FAR: f64 = 3.0;

/// The hint for a report that cannot be written.
const WRITE_HINT: &str =
    "Check the folder's permissions and the room on its disk; name another with --out.";

/// Arguments of `tally lab size`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The rate to size for, in units per second
    #[arg(long, value_name = "RATE", value_parser = target)]
    target: f64,
    /// The unit of the rate: a scenario file, or the name of a shipped one; its sweep is left out
    #[arg(long, value_name = "FILE|NAME")]
    scenario: String,
    #[command(flatten)]
    opening: Opening,
    /// Length of each measured stretch in seconds
    #[arg(long, default_value_t = 3, value_name = "S", value_parser = clap::value_parser!(u32).range(1..=3600))]
    seconds: u32,
    /// Stretches of each level of load
    #[arg(long, default_value_t = 3, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=100))]
    repeats: u32,
    /// The folder of the report; lab- and the time by default
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    #[command(flatten)]
    pub output: Output,
}

fn target(text: &str) -> Result<f64, String> {
    let rate = text.parse::<f64>().ok();
    rate.filter(|rate| *rate > 0.0 && *rate <= TARGET_MAX)
        .ok_or_else(|| format!("a rate above 0 and at most {TARGET_MAX} is allowed"))
}

impl Args {
    pub fn run(self) -> Result<(), Failure> {
        let scenario = self.opening.open(&self.scenario)?;
        let plan = size::plan(&scenario, f64::from(self.seconds), self.repeats);
        let out = self.out.clone().unwrap_or_else(stamp::folder);
        // Create the folder now and not after minutes of load.
        std::fs::create_dir_all(&out).map_err(|error| about_file(&out, &error))?;
        let title = format!("Sizing: {}", plan.title);
        let options = options(title, self.opening.is_full())?;
        let plans = [plan];
        let run = async |events: &Events| perf::run::run(&plans, &options, events).await;
        let Some(report) = to_the_end(&options.stop, run)? else {
            interrupted(&out)
        };
        let files = report::write(&report, &out)
            .map_err(|error| Failure::local(error.code(), error.to_string(), WRITE_HINT))?;
        for file in &files {
            eprintln!("  {}", file.display());
        }
        // Figures of a failed run or a failed audit must not be used.
        verdict(&report)?;
        let measured = report.scenarios.first().cloned();
        let measured = measured.expect("the scenario of the plan");
        let sizing = size::answer(&report, &measured, self.target);
        let sizing = sizing.map_err(|error| Failure::coded(&error))?;
        self.output.show(&sizing, people)
    }
}

fn people(sizing: &Sizing) -> String {
    let mut text = format!(
        "{} at {} a second\n\n{}\n\n",
        sizing.scenario,
        number(sizing.target_per_s),
        verdict_words(sizing)
    );
    let mut needs = Table::new(&[
        "node",
        ">cores",
        ">memory MB",
        ">disk GB a day",
        ">Mbit/s out",
        ">Mbit/s in",
    ]);
    let cell = |need: &Need| interval(&need.at_target);
    for node in &sizing.nodes {
        needs.row([
            node.name.clone(),
            cell(&node.cores),
            cell(&node.memory_mb),
            cell(&node.disk_gb_per_day),
            cell(&node.sent_mbit_per_s),
            cell(&node.received_mbit_per_s),
        ]);
    }
    text.push_str(&needs.render(stdout_ink()));
    text.push_str(&format!(
        "\nall nodes: {} cores\n\n",
        interval(&sizing.cores)
    ));
    let mut evidence = Table::new(&[
        ">outstanding",
        ">rate /s",
        ">p99 ms",
        ">cores, all nodes",
        ">memory MB, largest node",
    ]);
    for level in &sizing.evidence {
        evidence.row([
            level.outstanding.clone(),
            interval(&level.rate_per_s),
            number(level.p99_ms),
            number(level.cores),
            number(level.memory_mb_max),
        ]);
    }
    text.push_str(&evidence.render(stdout_ink()));
    text.push_str(&format!(
        "\n{} stretches; model: {}\n",
        sizing.stretches, sizing.model
    ));
    text
}

/// Returns the machine's measured maximum and its distance from the target.
fn verdict_words(sizing: &Sizing) -> String {
    let machine = &sizing.machine;
    let shown = format!(
        "This machine ({} cores of {}, {} GB) showed at most {} a second with every node and the load on it.",
        machine.cores,
        machine.processor,
        number(machine.memory_bytes as f64 / 1e9),
        interval(&sizing.shown_per_s),
    );
    let factor = number(sizing.factor);
    let far = if sizing.within {
        format!("The target is {factor} times that: within what was measured.")
    } else if sizing.factor <= FACTOR_FAR {
        format!(
            "The target is {factor} times that, beyond what this machine showed: the lines below are extended as far."
        )
    } else {
        format!(
            "The target is {factor} times that, far beyond what this machine showed: what follows is a first guess by \
             straight lines. Measure on a larger machine before relying on it."
        )
    };
    format!("{shown}\n{far}")
}

/// Returns `12 (10 to 14)`.
fn interval(estimate: &Estimate) -> String {
    let value = number(estimate.value);
    match (estimate.low, estimate.high) {
        (Some(low), Some(high)) => {
            format!("{value} ({} to {})", number(low.max(0.0)), number(high))
        }
        _ => value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizing(factor: f64) -> Sizing {
        let estimate = |value: f64| Estimate {
            value,
            low: Some(value / 2.0),
            high: Some(value * 2.0),
        };
        Sizing {
            scenario: "issue".into(),
            target_per_s: 500.0,
            shown_per_s: estimate(100.0),
            factor,
            within: factor <= 1.0,
            nodes: Vec::new(),
            cores: estimate(3.0),
            machine: perf::results::Machine::default(),
            evidence: Vec::new(),
            stretches: 15,
            model: "a line".into(),
        }
    }

    #[test]
    fn it_is_said_how_far_the_target_is_from_what_was_shown() {
        for (factor, words) in [
            (0.5, "within what was measured"),
            (2.0, "beyond what this machine showed: the lines below"),
            (20.0, "a first guess"),
        ] {
            let text = people(&sizing(factor));
            assert!(text.contains(words), "{text}");
            assert!(text.contains("all nodes: 3 (1.5 to 6) cores"), "{text}");
        }
    }

    #[test]
    fn targets() {
        assert_eq!(target("12.5"), Ok(12.5));
        for bad in ["0", "-1", "nan", "inf", "many", "1e9"] {
            assert!(target(bad).is_err(), "{bad}");
        }
    }
}
