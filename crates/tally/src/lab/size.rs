//! `tally lab size` estimates the resources that a rate needs on machines like this one, from a few measured points.

mod text;

use std::path::PathBuf;

use perf::report;
use perf::run::Events;
use perf::size::{self, Question, Retention};

use super::run::{interrupted, options, stamp, to_the_end, verdict};
use super::scenario::Opening;
use crate::failure::{Failure, about_file};
use crate::output::Output;

/// The highest target, in units per second.
const TARGET_MAX: f64 = 10_000_000.0;
/// The largest bound on latency, in milliseconds: an hour.
const P99_MS_MAX: f64 = 3_600_000.0;

/// The hint for a report that cannot be written.
const WRITE_HINT: &str =
    "Check the folder's permissions and the room on its disk; name another with --out.";

/// Arguments of `tally lab size`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The rate to size for, in units per second
    #[arg(long, value_name = "RATE", value_parser = target)]
    target: f64,
    /// The most that the 99th percentile of latency may be at this rate, in milliseconds
    #[arg(long, value_name = "MS", value_parser = p99_ms)]
    p99_ms: Option<f64>,
    /// How long the ledger is kept: 90d, 12w, 6m (of 30 days) or 5y (of 365 days)
    #[arg(long, value_name = "TIME")]
    retention: Option<Retention>,
    /// The unit of the rate: a scenario file, or the name of a shipped one; its sweep is left out
    #[arg(
        long,
        value_name = "FILE|NAME",
        default_value = "states-per-transaction"
    )]
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
    above_0(text, TARGET_MAX)
        .ok_or_else(|| format!("a rate above 0 and at most {TARGET_MAX} is allowed"))
}

fn p99_ms(text: &str) -> Result<f64, String> {
    above_0(text, P99_MS_MAX)
        .ok_or_else(|| format!("a time above 0 and at most {P99_MS_MAX} ms is allowed"))
}

fn above_0(text: &str, most: f64) -> Option<f64> {
    let number = text.parse::<f64>().ok();
    number.filter(|number| *number > 0.0 && *number <= most)
}

impl Args {
    pub fn run(self) -> Result<(), Failure> {
        let scenario = self.opening.open(&self.scenario)?;
        let seconds = f64::from(self.seconds);
        let levels = size::plan(&scenario, seconds, self.repeats);
        let title = format!("Sizing: {}", levels.title);
        let options = options(title, self.opening.is_full())?;
        let disk = size::disk_plan(&scenario, &options.workloads, seconds);
        let plans: Vec<_> = std::iter::once(levels).chain(disk).collect();
        let out = self.out.clone().unwrap_or_else(stamp::folder);
        // Create the folder now and not after minutes of load.
        std::fs::create_dir_all(&out).map_err(|error| about_file(&out, &error))?;
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
        let question = Question {
            target_per_s: self.target,
            p99_ms: self.p99_ms,
            retention: self.retention,
            states: size::states(&scenario),
        };
        let sizing = size::answer(&report, &question);
        let sizing = sizing.map_err(|error| Failure::coded(&error))?;
        self.output
            .show(&sizing, |sizing| text::people(sizing, self.retention))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets() {
        assert_eq!(target("12.5"), Ok(12.5));
        for bad in ["0", "-1", "nan", "inf", "many", "1e9"] {
            assert!(target(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn bounds_on_latency() {
        assert_eq!(p99_ms("200"), Ok(200.0));
        for bad in ["0", "-1", "nan", "inf", "200ms", "1e9"] {
            assert!(p99_ms(bad).is_err(), "{bad}");
        }
    }
}
