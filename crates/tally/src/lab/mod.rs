//! `tally lab`: the laboratory. Each command is a file; what they do is in the crate `perf`.

mod agent;
mod checks;
mod compare;
mod dry;
mod list;
mod report;
mod run;
mod scenario;
mod selftest;
mod show;
mod size;

use clap::Subcommand;

use crate::failure::Failure;

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// The scenarios that are shipped, and about how long each takes
    List(list::Args),
    /// A scenario as it will run, with its points; as TOML that can be kept and changed
    Show(show::Args),
    /// Run scenarios on networks of their own, audit them, write a report
    Run(run::Args),
    /// Page and tables of an earlier run, drawn again from its report.json
    Report(report::Args),
    /// What changed beyond noise between scenarios, reports or the cases of an axis, and what did not
    Compare(compare::Args),
    /// The comparison tried on itself: whether it finds what is not there, and a change that is
    Selftest(selftest::Args),
    /// Generate load for a run on another machine
    Agent(agent::Args),
    /// What a rate takes on machines like this one: cores, memory, disk, network, with the evidence
    Size(size::Args),
    /// Whether scenarios are in order, without running anything
    Check(dry::Args),
}

impl Command {
    pub fn run(self) -> Result<(), Failure> {
        match self {
            Command::List(arguments) => arguments.run(),
            Command::Show(arguments) => arguments.run(),
            Command::Run(arguments) => arguments.run(),
            Command::Report(arguments) => arguments.run(),
            Command::Compare(arguments) => arguments.run(),
            Command::Selftest(arguments) => arguments.run(),
            Command::Agent(arguments) => arguments.run(),
            Command::Size(arguments) => arguments.run(),
            Command::Check(arguments) => arguments.run(),
        }
    }

    pub fn wants_json(&self) -> bool {
        match self {
            Command::List(arguments) => arguments.output.json,
            Command::Show(arguments) => arguments.output.json,
            Command::Run(arguments) => arguments.output.json,
            Command::Report(arguments) => arguments.output.json,
            Command::Compare(arguments) => arguments.output.json,
            Command::Selftest(arguments) => arguments.output.json,
            Command::Agent(arguments) => arguments.output.json,
            Command::Size(arguments) => arguments.output.json,
            Command::Check(arguments) => arguments.output.json,
        }
    }
}
