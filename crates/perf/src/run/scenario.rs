//! One scenario: its points, its course, and its findings.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use super::Options;
use super::course::Course;
use super::error::{LINKS_ENDED, OTHER_HOSTS, RunError, SAMPLES_PARTIAL};
use super::event::{Event, Events};
use super::findings::findings;
use super::next_stretch::RunContext;
use super::too_few_cores::{PlannedPoints, on_this_machine};
use super::works::works;
use crate::measure::{unix_now, whole_millis};
use crate::plan::{Plan, PointPlan};
use crate::report::{JTL_BYTES_MAX, Jtl};
use crate::results::{Finding, Point, Published, Scenario};
use crate::stats;
use crate::workload::Mix;

/// Runs these points as those of the scenario. Failures are recorded in the result. `samples` is the file for every unit, if samples
/// are written.
pub(super) async fn run(
    plan: &Plan,
    given: Result<PlannedPoints, RunError>,
    options: &Options,
    events: &Events,
    samples: Option<&Path>,
) -> Scenario {
    let begun = Instant::now();
    let mut scenario = blank(plan, options);
    let mut unwritten = None;
    let mut left_out = Vec::new();
    let mut planned = Vec::new();
    let made = given.and_then(|given| {
        let given = on_this_machine(given, options.hosts.cores(), &mut left_out)?;
        if options.agents.is_some() {
            check_agents(&given.0)?;
        }
        let mixes = mixes(&given.0, options)?;
        Ok((given, mixes))
    });
    let ended = match made {
        Ok(((points, binaries), mixes)) => {
            events(Event::Scenario {
                name: plan.name.clone(),
                title: plan.title.clone(),
                points: points.len(),
                stretches: points.len() * plan.run.repeats as usize,
            });
            scenario.points = points
                .iter()
                .map(|point| Point {
                    at: point.at.clone(),
                    ..Point::default()
                })
                .collect();
            let results = &mut scenario.points;
            let mut jtl = None;
            match samples.map(|path| Jtl::create(path, JTL_BYTES_MAX)) {
                None => {}
                Some(Ok(made)) => jtl = Some(made),
                Some(Err(error)) => unwritten = Some(error.to_string()),
            }
            let context = RunContext {
                options,
                events,
                seed: plan.seed,
                epoch: begun,
            };
            let course = Course::new(
                plan,
                context,
                (&points, &binaries),
                &mixes,
                results,
                jtl.as_mut(),
            );
            let ended = course.run().await;
            if let Some(jtl) = jtl {
                unwritten = end_samples(jtl).await;
            }
            for (point, mix) in scenario.points.iter_mut().zip(&mixes) {
                point.summary = stats::summarise(&point.stretches, mix.states_per_unit());
                stats::with_files(&mut point.summary, mix.bytes_per_unit());
            }
            planned = points;
            ended
        }
        Err(error) => Err(error),
    };
    scenario.failure = ended
        .err()
        .map(|error| format!("{}: {error}", error.code()));
    scenario.findings = findings(&scenario, plan.run.repeats);
    if options.keep && plan.network.is_linked() {
        let message = "the links between the nodes were the laboratory's own and have ended: those of the network that was kept do not reach each other";
        scenario.findings.push(Finding {
            code: LINKS_ENDED.to_owned(),
            message: message.to_owned(),
        });
    }
    if !options.hosts.is_here() && starts_nodes(plan) {
        scenario.findings.push(Finding {
            code: OTHER_HOSTS.to_owned(),
            message: format!(
                "the nodes ran{}; the machine described here is the one that coordinated them",
                options.hosts
            ),
        });
    }
    scenario.findings.extend(unwritten.map(|message| Finding {
        code: SAMPLES_PARTIAL.to_owned(),
        message,
    }));
    let measured = &scenario.points;
    let left_out = left_out.iter().map(|one| one.finding(&planned, measured));
    let left_out: Vec<Finding> = left_out.collect();
    scenario.findings.extend(left_out);
    for finding in &scenario.findings {
        events(Event::Found(finding.clone()));
    }
    scenario.seconds = begun.elapsed().as_secs_f64();
    events(Event::Over(Arc::new(scenario.clone())));
    scenario
}

/// Completes the sample file. Returns the missing parts in words, if any.
async fn end_samples(jtl: Jtl) -> Option<String> {
    // Not on the runner's thread: it waits for the writer.
    let ended = tokio::task::spawn_blocking(|| jtl.end()).await;
    match ended {
        Ok(Ok(written)) if written.lost > 0 => Some(format!(
            "{} of {} units are not among the samples: the disk was too slow for them",
            written.lost, written.units
        )),
        Ok(Ok(written)) if written.every > 1 => Some(format!(
            "one unit in {} is among the samples, evenly; more would be too long a file",
            written.every
        )),
        Ok(Ok(_)) => None,
        Ok(Err(error)) => Some(error.to_string()),
        Err(error) => Some(error.to_string()),
    }
}

/// Creates and checks the work of all points before anything is brought up.
fn mixes(points: &[PointPlan], options: &Options) -> Result<Vec<Arc<Mix>>, RunError> {
    let mixes = points.iter().map(|point| {
        let plan = &point.plan;
        let mix = Mix::new(&options.workloads, &works(plan), plan.seed)?;
        Ok(Arc::new(mix))
    });
    mixes.collect()
}

/// Returns whether a scenario starts nodes of its own.
fn starts_nodes(plan: &Plan) -> bool {
    match &plan.chain {
        Some(chain) => chain.target.is_none(),
        None => plan.network.target.is_none() && plan.network.banks > 0,
    }
}

/// Refuses points whose load agents cannot generate.
fn check_agents(points: &[PointPlan]) -> Result<(), RunError> {
    for PointPlan { plan, .. } in points {
        if plan.run.fault.is_some() {
            return Err(RunError::FaultAgents);
        }
        let target = plan.network.target.as_ref();
        if target.is_some_and(|target| target.connector().is_some()) {
            return Err(RunError::ConnectorAgents);
        }
    }
    Ok(())
}

/// Returns the scenario's data that are known before it runs.
fn blank(plan: &Plan, options: &Options) -> Scenario {
    Scenario {
        name: plan.name.clone(),
        title: plan.title.clone(),
        about: plan.about.clone(),
        source: plan.to_toml(),
        seed: plan.seed,
        full: options.full,
        started_unix_ms: whole_millis(unix_now()),
        axes: plan.sweep.iter().map(|axis| axis.label.clone()).collect(),
        published: plan
            .published
            .iter()
            .map(|line| Published {
                label: line.label.clone(),
                source: line.source.clone(),
                url: line.url.clone(),
                conditions: line.conditions.clone(),
                metric: line.metric.clone(),
                values: line.values.clone(),
                deviations: line.deviations.clone(),
            })
            .collect(),
        main_metric: plan.main_metric.clone(),
        ..Scenario::default()
    }
}
