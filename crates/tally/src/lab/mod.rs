//! `tally lab`: the laboratory's commands, each in its own file. The crate `perf` does their work.

mod agent;
mod checks;
mod compare;
mod connector;
mod dry;
mod list;
mod report;
pub(crate) mod run;
mod save;
pub(crate) mod scenario;
mod selftest;
mod show;
mod size;

use clap::Subcommand;

use crate::failure::Failure;

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// List the shipped scenarios, and about how long each takes
    List(list::Args),
    /// Show a scenario as it will run, with its points, as TOML that can be kept and changed
    Show(show::Args),
    /// Run scenarios on networks of their own, audit them, and write a report
    Run(run::Args),
    /// Draw the page and tables of an earlier run again from its report.json
    Report(report::Args),
    /// Keep a run in a small file with every repeat, for the published results
    Save(save::Args),
    /// Compare scenarios, reports or the cases of an axis, and show the changes beyond noise
    Compare(compare::Args),
    /// Test the comparison on itself: false findings, and a known change
    Selftest(selftest::Args),
    /// Generate load for a run on another machine
    Agent(agent::Args),
    /// Estimate the cores, memory, disk and network that a rate needs on machines like this one, with the evidence
    Size(size::Args),
    /// Check scenarios without running them
    Check(dry::Args),
    /// Connect another system to the laboratory, on standard input and output (network.target.connector starts it)
    Connector(connector::Args),
}

impl Command {
    pub fn run(self) -> Result<(), Failure> {
        match self {
            Command::List(arguments) => arguments.run(),
            Command::Show(arguments) => arguments.run(),
            Command::Run(arguments) => arguments.run(),
            Command::Report(arguments) => arguments.run(),
            Command::Save(arguments) => arguments.run(),
            Command::Compare(arguments) => arguments.run(),
            Command::Selftest(arguments) => arguments.run(),
            Command::Agent(arguments) => arguments.run(),
            Command::Size(arguments) => arguments.run(),
            Command::Check(arguments) => arguments.run(),
            Command::Connector(arguments) => arguments.run(),
        }
    }

    pub fn wants_json(&self) -> bool {
        match self {
            Command::List(arguments) => arguments.output.json,
            Command::Show(arguments) => arguments.output.json,
            Command::Run(arguments) => arguments.output.json,
            Command::Report(arguments) => arguments.output.json,
            Command::Save(arguments) => arguments.output.json,
            Command::Compare(arguments) => arguments.output.json,
            Command::Selftest(arguments) => arguments.output.json,
            Command::Agent(arguments) => arguments.output.json,
            Command::Size(arguments) => arguments.output.json,
            Command::Check(arguments) => arguments.output.json,
            // It writes JSON, but not for people.
            Command::Connector(_) => false,
        }
    }
}
