//! `tally demo` starts a notary and two nodes as real processes, runs a load and an audit, prints a table, and removes
//! everything.

mod outcome;
pub mod progress;
pub mod signals;

use crate::bench::parts::{Part, measure};
use crate::failure::Failure;
use crate::lab::run::verdict;
use outcome::DemoOutcome;

/// Arguments of `tally demo`.
#[derive(Debug, clap::Args)]
pub struct DemoArgs {
    /// Flows outstanding at the same time.
    #[arg(long, default_value_t = 800, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4000))]
    outstanding: u32,
    /// Seconds of load for each kind of work.
    #[arg(long, default_value_t = 5, value_name = "S", value_parser = clap::value_parser!(u32).range(1..=3600))]
    seconds: u32,
    /// States that each payment of Repeated Pay makes for its payee.
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    states: u32,
    /// Leave the network up and print commands to try next (also: KEEP=1 in the environment).
    #[arg(long)]
    keep: bool,
    /// Print the result as one line of JSON on standard output instead of a table.
    #[arg(long)]
    json: bool,
}

/// Runs the demo to its end, or until Ctrl-C. All files and processes are removed, except for the last network if `keep` is set.
pub fn run(arguments: &DemoArgs) -> Result<(), Failure> {
    let keep = arguments.keep
        || std::env::var_os("KEEP").is_some_and(|value| !value.is_empty() && value != "0");
    eprintln!(
        "Tallystick: a notary and two banks, separate processes, mutual TLS, every commit synced"
    );
    let report = measure("tally demo", &parts(arguments), keep)?;
    let outcome = DemoOutcome::of(&report);
    if arguments.json {
        println!("{}", outcome.json());
    } else {
        println!("\n{outcome}");
    }
    verdict(&report)
}

/// Returns the scenarios, one for each row of the table.
fn parts(arguments: &DemoArgs) -> [Part; 3] {
    let part = |name| {
        Part::of(name).with([
            format!("load.outstanding={}", arguments.outstanding),
            format!("run.seconds={}", arguments.seconds),
            "run.warm_up_s=0.5".to_owned(),
            "run.repeats=1".to_owned(),
            "monitors.machine=false".to_owned(),
        ])
    };
    let payments = match arguments.states {
        1 => vec!["sweep.states.only=[1]".to_owned()],
        states => vec!["sweep=[]".to_owned(), format!("work.states={states}")],
    };
    [
        part("issue"),
        part("issue-and-pay").with(["sweep.variant.only=['as issued']"]),
        part("states-per-transaction").with(payments),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        demo: DemoArgs,
    }

    #[test]
    fn all_scenarios_of_the_demo_open() {
        for words in [
            &["demo"][..],
            &["demo", "--states", "40", "--outstanding", "1"],
        ] {
            for part in parts(&Line::parse_from(words).demo) {
                let plan = part.open().unwrap_or_else(|failure| panic!("{failure:?}"));
                let points = plan.points().expect("its points");
                assert_eq!(points.len(), 1, "a row");
            }
        }
    }
}
