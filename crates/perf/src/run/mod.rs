//! The runner: from scenarios to the one document of results, with every network brought up, prepared, driven, audited and
//! taken down again.
//!
//! ```text
//! plans --points, repeats--> turns --network, preparation--> stretch --monitors--> results --audit, summary--> Report
//! ```
//! The failure of a scenario is recorded in it, and the next one runs. An audit is never skipped: it follows every life
//! of a network in which something ran, even after Ctrl-C or a failure. Everything that was brought up is gone when the
//! runner ends or is dropped.
//!
//! Modules in reading order: `event` (progress), `scenario` (one scenario), `course` (its stretches) and `schedule`
//! (their order). `prepared` is the preparation of a point. `target` with `life` is the trait of the systems that stretches run on.
//! They are `own_ledger` with `own_network` and `care`, `running_ledger`, `chain`, and `other_system`. `stretch` is one
//! measurement, `window` its readings, and `works` its work. `findings` are the warnings, and `too_few_cores` those about points that were left out.

mod care;
mod chain;
mod course;
mod each_unit;
mod error;
mod event;
mod findings;
mod life;
mod next_stretch;
mod open;
mod options;
mod other_system;
mod own_ledger;
mod own_network;
mod prepared;
mod running_ledger;
mod scenario;
mod schedule;
mod shown;
mod stretch;
mod target;
#[cfg(test)]
mod tests;
mod too_few_cores;
mod window;
mod works;

use std::path::PathBuf;
use std::time::{Duration, Instant};

pub use chain::{Synced, sync};
pub use error::{AUDIT_FAILED, ERRORS, RUN_FAILED, RunError};
pub use event::{Event, Events, Step};
pub use options::Options;

use crate::machine;
use crate::measure::{unix_now, whole_millis};
use crate::plan::{Plan, PointPlan};
use crate::results::{CaseResult, Limits, Report, SCHEMA};
use crate::workload::{LocalBoxed, Mix};

/// How long the machine is observed before anything runs, to see whether it is idle.
const IDLE_CHECK: Duration = Duration::from_millis(500);

/// Runs scenarios one after another. Failures are recorded in the report.
pub fn run<'a>(
    plans: &'a [Plan],
    options: &'a Options,
    events: &'a Events,
) -> LocalBoxed<'a, Report> {
    // Compiled here, and not in each crate that awaits it.
    Box::pin(run_here(plans, options, events))
}

async fn run_here(plans: &[Plan], options: &Options, events: &Events) -> Report {
    let begun = Instant::now();
    let measured = plans.iter().any(|plan| plan.monitors.machine);
    let files = plans.iter().any(|plan| moves_files(plan, options));
    let mut report = begin(measured, files, options, events).await;
    for (at, (plan, name)) in plans.iter().zip(samples_names(plans)).enumerate() {
        if options.stop.is_asked() {
            break;
        }
        let samples = options.samples.as_ref().map(|folder| folder.join(name));
        let options = Options {
            // Only the last network of all scenarios is left running.
            keep: options.keep && at + 1 == plans.len(),
            ..options.clone()
        };
        let points = plan.points().map(|points| (points, Vec::new()));
        let points = points.map_err(RunError::from);
        let ran = scenario::run(plan, points, &options, events, samples.as_deref());
        report.scenarios.push(ran.await);
    }
    end(report, begun, options)
}

/// Returns whether any work of any point moves files.
fn moves_files(plan: &Plan, options: &Options) -> bool {
    let moves = |plan: &Plan| {
        let mix = Mix::new(&options.workloads, &plan.work, plan.seed);
        mix.is_ok_and(|mix| mix.bytes_per_unit() > 0.0)
    };
    // If the points are invalid, the scenario fails when it runs.
    let points = plan.points().unwrap_or_default();
    moves(plan) || points.iter().any(|point| moves(&point.plan))
}

/// Returns a report without scenarios. It has the machine's limits if they are to be measured, and the file limits if
/// `files`.
async fn begin(measured: bool, files: bool, options: &Options, events: &Events) -> Report {
    let mut report = Report {
        schema: SCHEMA,
        title: options.title.clone(),
        started_unix_ms: whole_millis(unix_now()),
        version: options.version.clone(),
        machine: machine::describe(),
        ..Report::default()
    };
    report.machine.busy_cores_before = machine::busy_cores(IDLE_CHECK).await;
    // The limits of this machine say nothing about nodes on others.
    if !measured || !options.hosts.is_here() {
        return report;
    }
    events(Event::Began(Step::Machine));
    let measured = tokio::task::spawn_blocking(move || {
        let folder = std::env::temp_dir();
        let mut limits = machine::limits(&folder)?;
        if files {
            limits.files = Some(machine::file_limits(&folder)?);
        }
        Ok::<Limits, std::io::Error>(limits)
    })
    .await;
    let (well, words) = match measured {
        Ok(Ok(limits)) => {
            let words = format!(
                "{:.0} durable commits/s, {:.0} signatures/s, {:.0} batched checks/s on a core",
                limits.commits_per_s, limits.signs_per_s, limits.checks_per_s
            );
            report.machine.limits = Some(limits);
            (true, words)
        }
        Ok(Err(error)) => (false, error.to_string()),
        Err(error) => (false, error.to_string()),
    };
    events(Event::Ended { well, words });
    report
}

fn end(mut report: Report, begun: Instant, options: &Options) -> Report {
    for scenario in &mut report.scenarios {
        for point in &mut scenario.points {
            point.distances = machine::distance(point, &report.machine);
        }
    }
    report.interrupted = options.stop.is_asked();
    machine::finish(&mut report.machine);
    report.seconds = begun.elapsed().as_secs_f64();
    report
}

/// A point of a comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct Side {
    /// The point, whose position on an axis identifies the side.
    pub point: PointPlan,
    /// The executable of its nodes, if it is not the run's.
    pub binary: Option<PathBuf>,
}

/// Runs points of different scenarios in interleaved rounds, as one scenario. Its name, seed, repeats and descriptions
/// are those of `plan`. Failures are recorded in the report.
pub fn run_sides<'a>(
    plan: &'a Plan,
    sides: Vec<Side>,
    options: &'a Options,
    events: &'a Events,
) -> LocalBoxed<'a, Report> {
    // Compiled here, and not in each crate that awaits it.
    Box::pin(run_sides_here(plan, sides, options, events))
}

async fn run_sides_here(
    plan: &Plan,
    sides: Vec<Side>,
    options: &Options,
    events: &Events,
) -> Report {
    let (points, binaries) = sides
        .into_iter()
        .map(|side| (side.point, side.binary))
        .unzip();
    let begun = Instant::now();
    let files = moves_files(plan, options);
    let mut report = begin(plan.monitors.machine, files, options, events).await;
    let points = Ok((points, binaries));
    let mut scenario = scenario::run(plan, points, options, events, None).await;
    if let Some(point) = scenario.points.first() {
        scenario.axes = point.at.iter().map(|case| case.axis.clone()).collect();
    }
    report.scenarios.push(scenario);
    end(report, begun, options)
}

/// Returns the names of the sample files: `issue.jtl`. If several scenarios have the same name, the later ones get a
/// number.
pub fn samples_names(plans: &[Plan]) -> Vec<String> {
    let mut names: Vec<String> = Vec::with_capacity(plans.len());
    for plan in plans {
        let name = |number: usize| match number {
            1 => format!("{}.jtl", plan.name),
            number => format!("{}-{number}.jtl", plan.name),
        };
        let free = (1..).map(name).find(|name| !names.contains(name));
        names.extend(free);
    }
    names
}

/// Returns a point and a repeat in words: `parties 4, sequential, repeat 2`; empty if there is only one.
fn label(at: &[CaseResult], repeat: Option<u32>) -> String {
    let mut words: Vec<String> = at
        .iter()
        .map(|case| match (case.number, case.name.as_str()) {
            (Some(_), _) | (None, "on" | "off") => format!("{} {}", case.axis, case.name),
            (None, name) => name.to_owned(),
        })
        .collect();
    words.extend(repeat.map(|repeat| format!("repeat {}", repeat + 1)));
    words.join(", ")
}

/// Returns the labels of samples: the kind of work, and in a sweep also the point.
fn samples_labels(works: &[String], at: &[CaseResult]) -> Vec<String> {
    let point = label(at, None);
    works
        .iter()
        .map(|work| match point.as_str() {
            "" => work.clone(),
            point => format!("{work}, {point}"),
        })
        .collect()
}
