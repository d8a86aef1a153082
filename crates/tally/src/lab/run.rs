//! `tally lab run` runs scenarios on real networks, measures and audits them, and writes a report.

pub(super) mod outcome;
pub(super) mod stamp;
mod watch;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use perf::agent::{AgentAddress, AgentHost, Agents, HostAddress, Team};
use perf::load::engine::Stop;
use perf::plan::Plan;
use perf::report;
use perf::results::Report;
use perf::run::{AUDIT_FAILED, Events, Options, RUN_FAILED, samples_names};
use perf::topology::{Host, Placement};
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::agent::{read_token, this_program};
use super::dry;
use super::scenario::Opening;
use crate::demo::progress::colour;
use crate::failure::{Failure, about_file};
use crate::output::Output;
use watch::Watch;

/// The exit code of an interrupted program, as in a shell.
const EXIT_INTERRUPTED: i32 = 130;

/// Arguments of `tally lab run`.
#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("remote").args(["agents", "hosts"]).multiple(true))]
pub struct Args {
    /// Scenario files, or names of shipped ones; all go into one report
    #[arg(value_name = "FILE|NAME", required = true)]
    scenarios: Vec<String>,
    #[command(flatten)]
    opening: Opening,
    /// Show the planned runs without running them
    #[arg(long)]
    dry_run: bool,
    /// The folder of the report; lab- and the time by default
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Leave the last network running
    #[arg(long, conflicts_with = "hosts")]
    keep: bool,
    /// Run the nodes on this host: a name, and the address of its agent (`tally lab agent --host`). Nodes are placed on several hosts in
    /// turn. `,fingerprint=HEX` names its certificate
    #[arg(
        long = "host",
        value_name = "NAME=HOST:PORT",
        requires = "agent_token_file"
    )]
    hosts: Vec<HostAddress>,
    /// Run a node on this host, such as bank-1=a; the others are placed in turn
    #[arg(long = "place", value_name = "NODE=NAME", requires = "hosts", value_parser = placed)]
    place: Vec<(String, String)>,
    /// Generate the load from this agent (`tally lab agent`) instead of here; several agents share it. `,weight=N` gives an agent
    /// a larger share, `,fingerprint=HEX` names its certificate
    #[arg(
        long = "agent",
        value_name = "HOST:PORT",
        requires = "agent_token_file"
    )]
    agents: Vec<AgentAddress>,
    /// The file with the token that the agents share
    #[arg(long, value_name = "FILE", requires = "remote")]
    agent_token_file: Option<PathBuf>,
    #[command(flatten)]
    pub output: Output,
}

impl Args {
    pub fn run(self) -> Result<(), Failure> {
        if self.dry_run {
            return dry::check(&self.scenarios, &self.opening, self.output);
        }
        let plans: Result<Vec<Plan>, Failure> = self
            .scenarios
            .iter()
            .map(|scenario| self.opening.open(scenario))
            .collect();
        let plans = plans?;
        let out = self.out.clone().unwrap_or_else(stamp::folder);
        // Create the folder now and not after an hour of load.
        std::fs::create_dir_all(&out).map_err(|error| about_file(&out, &error))?;
        let report = self.measured(&plans, &out)?;
        let files = report::write(&report, &out).map_err(|error| {
            let hint =
                "Check the folder's permissions and the room on its disk; name another with --out.";
            Failure::local(error.code(), error.to_string(), hint)
        })?;
        eprint!("{}", outcome::tables(&report, colour()));
        let samples = samples_names(&plans).into_iter().map(|name| out.join(name));
        for file in files
            .into_iter()
            .chain(samples.filter(|path| path.exists()))
        {
            eprintln!("  {}", file.display());
        }
        if self.output.json {
            self.output
                .show(&outcome::json(&report, &out), |_| String::new())?;
        }
        verdict(&report)
    }

    /// Connects to the agents. Returns `None` if there are none.
    async fn team(&self) -> Result<Option<Agents>, Failure> {
        let Some(file) = self
            .agent_token_file
            .as_ref()
            .filter(|_| !self.agents.is_empty())
        else {
            return Ok(None);
        };
        let token = read_token(file)?;
        let team = Team::connect(&self.agents, &token).await;
        let team = team.map_err(|error| Failure::coded(&error))?;
        for (address, fingerprint) in team.members() {
            eprintln!("agent {address}  {fingerprint}");
        }
        Ok(Some(Agents::new(team)))
    }

    /// Connects to the hosts. Without any, all nodes run on this machine.
    fn placement(&self) -> Result<Placement, Failure> {
        let mut hosts: Vec<Arc<dyn Host>> = Vec::with_capacity(self.hosts.len());
        for address in &self.hosts {
            // The command line asks for the file.
            let Some(file) = &self.agent_token_file else {
                break;
            };
            let host = AgentHost::connect(address, &read_token(file)?);
            let host = host.map_err(|error| Failure::coded(&error))?;
            eprintln!(
                "host {}  {}  {} cores  {}",
                host.name(),
                host.address(),
                host.cores(),
                host.fingerprint()
            );
            hosts.push(Arc::new(host));
        }
        let place = self.place.iter().cloned().collect();
        Placement::new(hosts, place).map_err(|error| Failure::coded(&error))
    }

    /// Runs all plans to their end, or until a stop request. All processes and temporary files are gone when this returns.
    fn measured(&self, plans: &[Plan], out: &Path) -> Result<Report, Failure> {
        let mut options = options(title(plans), self.opening.is_full())?;
        options.keep = self.keep;
        options.samples = Some(out.to_owned());
        options.hosts = match self.placement() {
            Ok(hosts) => hosts,
            Err(failure) => {
                // The folder is useless while it is empty.
                let _ = std::fs::remove_dir(out);
                return Err(failure);
            }
        };
        let stop = options.stop.clone();
        let mut refused = None;
        // Agents are connected on the runtime of the run.
        let run = async |events: &Events| {
            match self.team().await {
                Ok(agents) => options.agents = agents,
                Err(failure) => {
                    refused = Some(failure);
                    return Report::default();
                }
            }
            perf::run::run(plans, &options, events).await
        };
        let ended = to_the_end(&stop, run)?;
        if let Some(failure) = refused {
            // The folder is useless while it is empty.
            let _ = std::fs::remove_dir(out);
            return Err(failure);
        }
        ended.map_or_else(|| interrupted(out), Ok)
    }
}

/// Returns the options of all runs: this program's binary, and all workloads.
pub(crate) fn options(title: String, full: bool) -> Result<Options, Failure> {
    let binary = this_program()?;
    Ok(Options {
        binary,
        workloads: crate::workloads(),
        title,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        full,
        keep: false,
        stop: Stop::default(),
        samples: None,
        agents: None,
        hosts: Placement::default(),
    })
}

/// Reads a node and its host, as the command line gives them.
fn placed(text: &str) -> Result<(String, String), String> {
    let pair = text.split_once('=');
    let pair = pair.filter(|(node, host)| !node.is_empty() && !host.is_empty());
    let (node, host) = pair.ok_or_else(|| format!("{text:?} is not of the form NODE=NAME"))?;
    Ok((node.to_owned(), host.to_owned()))
}

/// Reports the interruption and exits. Removes the output folder if it is empty.
pub(super) fn interrupted(out: &Path) -> ! {
    let _ = std::fs::remove_dir(out);
    eprintln!("\ninterrupted: processes and temporary files are gone; nothing was audited");
    std::process::exit(EXIT_INTERRUPTED)
}

/// Drives and draws a run to its end, or until a stop request. Returns `None` on a second request. All processes and temporary
/// files are gone when this returns.
pub(crate) fn to_the_end(
    stop: &Stop,
    run: impl AsyncFnOnce(&Events) -> Report,
) -> Result<Option<Report>, Failure> {
    let unavailable =
        |error: std::io::Error| Failure::local("tally.runtime", error.to_string(), "Report this.");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(unavailable)?;
    let ended = runtime.block_on(async {
        let signals = Signals::new().map_err(unavailable)?;
        Ok::<_, Failure>(drive(stop, run, signals).await)
    })?;
    // Waits for blocking tasks, so that their files and processes are cleaned up too.
    drop(runtime);
    Ok(ended)
}

/// Runs the plans and draws the progress. Returns `None` on a second stop request.
async fn drive(
    stop: &Stop,
    run: impl AsyncFnOnce(&Events) -> Report,
    mut signals: Signals,
) -> Option<Report> {
    let (watch, events) = Watch::begin();
    let report = {
        let running = run(&events);
        tokio::pin!(running);
        let first = tokio::select! {
            report = &mut running => Some(report),
            () = signals.next() => None,
        };
        match first {
            Some(report) => report,
            None => {
                stop.ask();
                eprintln!("\nending: what ran is audited and reported; once more ends at once");
                tokio::select! {
                    report = &mut running => report,
                    () = signals.next() => return None,
                }
            }
        }
    };
    drop(events);
    watch.end().await;
    Some(report)
}

/// Returns the faults of a report as the result of the command.
pub(crate) fn verdict(report: &Report) -> Result<(), Failure> {
    let bad = |wrong: fn(&perf::results::Scenario) -> bool| {
        let names = report.scenarios.iter().filter(|scenario| wrong(scenario));
        let names: Vec<&str> = names.map(|scenario| scenario.name.as_str()).collect();
        names.join(", ")
    };
    let unsound = bad(|scenario| {
        let mut audits = scenario.points.iter().flat_map(|point| &point.audits);
        audits.any(|audit| !audit.clean)
    });
    let hint = |code| perf::run::ERRORS.iter().find(|info| info.code == code);
    let failed = |code: &'static str, message: String| {
        let hint = hint(code).map_or("", |info| info.action);
        Err(Failure::local(code, message, hint))
    };
    if !unsound.is_empty() {
        return failed(
            AUDIT_FAILED,
            format!("the audit of {unsound} found violations"),
        );
    }
    let broken = bad(|scenario| scenario.failure.is_some());
    if !broken.is_empty() {
        return failed(RUN_FAILED, format!("{broken} went no further"));
    }
    if report.interrupted {
        std::process::exit(EXIT_INTERRUPTED);
    }
    Ok(())
}

/// Returns the title of the whole report.
fn title(plans: &[Plan]) -> String {
    match plans {
        [plan] => plan.title.clone(),
        plans => format!("{} scenarios", plans.len()),
    }
}

/// The signals that request a stop.
struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hang_up: Signal,
}

impl Signals {
    fn new() -> std::io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hang_up: signal(SignalKind::hangup())?,
        })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
            _ = self.hang_up.recv() => {}
        }
    }
}
