//! One scenario: its points, its course, and its findings.

use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use super::Options;
use super::chain;
use super::course::Course;
use super::error::{LINKS_ENDED, RunError, SAMPLES_PARTIAL, TOO_FEW_CORES};
use super::event::{Event, Events};
use super::findings::findings;
use crate::measure::{unix_now, whole_millis};
use crate::plan::{Plan, PointPlan};
use crate::report::{JTL_BYTES_MAX, Jtl};
use crate::results::{Finding, Point, Published, Scenario};
use crate::stats;
use crate::topology;
use crate::workload::Mix;

/// Runs it. Failures are recorded in the result. `samples` is the file for every unit, if samples are written.
pub(super) async fn run(
    plan: &Plan,
    options: &Options,
    events: &Events,
    samples: Option<&Path>,
) -> Scenario {
    let points = plan.points().map_err(RunError::from);
    run_points(
        plan,
        points.map(|points| (points, Vec::new())),
        options,
        events,
        samples,
    )
    .await
}

/// Points, and their own executables by index. The executables may be fewer than the points; the others use the run's.
pub(super) type PlannedPoints = (Vec<PointPlan>, Vec<Option<PathBuf>>);

/// Runs these points as those of the scenario. Failures are recorded in the result.
pub(super) async fn run_points(
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
    let made = given.and_then(|given| {
        let given = on_this_machine(given, topology::cores(), &mut left_out)?;
        let mixes = match plan.chain {
            // Payments are the only work, and they are not a workload.
            Some(_) if options.agents.is_some() => return Err(RunError::ChainAgents),
            Some(_) => Vec::new(),
            None => mixes(&given.0, options)?,
        };
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
            let ended = match plan.chain {
                Some(_) => {
                    let course = chain::Course {
                        plan,
                        options,
                        events,
                        points: &points,
                        binaries: &binaries,
                        epoch: begun,
                        results,
                        jtl: jtl.as_mut(),
                    };
                    course.run().await
                }
                None => {
                    let course = Course::new(
                        plan,
                        options,
                        events,
                        (&points, &binaries),
                        &mixes,
                        begun,
                        results,
                        jtl.as_mut(),
                    );
                    course.run().await
                }
            };
            if let Some(jtl) = jtl {
                unwritten = end_samples(jtl).await;
            }
            for (at, point) in scenario.points.iter_mut().enumerate() {
                let states = mixes.get(at).map_or(0.0, |mix| mix.states_per_unit());
                point.summary = stats::summarise(&point.stretches, states);
                let bytes = mixes.get(at).map_or(0.0, |mix| mix.bytes_per_unit());
                stats::with_files(&mut point.summary, bytes);
            }
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
    scenario.findings.extend(unwritten.map(|message| Finding {
        code: SAMPLES_PARTIAL.to_owned(),
        message,
    }));
    scenario.findings.append(&mut left_out);
    for finding in &scenario.findings {
        events(Event::Found(finding.clone()));
    }
    scenario.seconds = begun.elapsed().as_secs_f64();
    events(Event::Over(Arc::new(scenario.clone())));
    scenario
}

/// Returns the points that this machine has enough cores for, and adds a finding for each other one. With fewer cores, a
/// point would have another point's figures.
fn on_this_machine(
    (points, binaries): PlannedPoints,
    cores: u32,
    left_out: &mut Vec<Finding>,
) -> Result<PlannedPoints, RunError> {
    let mut there: PlannedPoints = PlannedPoints::default();
    for (at, point) in points.into_iter().enumerate() {
        let nodes = point.plan.network.nodes.values();
        // Nodes without a number of cores need none of their own.
        let wanted = nodes.filter_map(|node| node.cores).max().unwrap_or(0);
        if wanted > cores {
            let label = super::label(&point.at, None);
            let message = format!(
                "{label}: left out, a node is to have {wanted} cores and this machine has {cores} for it"
            );
            left_out.push(Finding {
                code: TOO_FEW_CORES.to_owned(),
                message,
            });
            continue;
        }
        there.0.push(point);
        there.1.push(binaries.get(at).cloned().flatten());
    }
    match there.0.is_empty() && !left_out.is_empty() {
        true => Err(RunError::TooFewCores(cores)),
        false => Ok(there),
    }
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
        let mix = Mix::new(&options.workloads, &plan.work, plan.seed)?;
        Ok(Arc::new(mix))
    });
    mixes.collect()
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
                conditions: line.conditions.clone(),
                metric: line.metric.clone(),
                values: line.values.clone(),
            })
            .collect(),
        main_metric: plan.main_metric.clone(),
        ..Scenario::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{NoChecks, Options, parse};

    fn points(cores: &str) -> PlannedPoints {
        let text = format!(
            "[work]\nkind = 'pay'\n[[sweep]]\nset = 'network.nodes.bank-1.cores'\nvalues = [{cores}]"
        );
        let plan = parse("x", "x", text.as_bytes(), &Options::default(), &NoChecks);
        let points = plan.expect("in order").points().expect("points");
        (points, vec![None, Some("older".into())])
    }

    #[test]
    fn points_that_the_machine_has_not_are_left_out_with_a_word() {
        for (cores, there, said) in [
            ("1, 2", &["1", "2"][..], 0),
            ("1, 2, 4, 8", &["1", "2"], 2),
            ("8, 2", &["2"], 1),
        ] {
            let mut left_out = Vec::new();
            let (points, binaries) =
                on_this_machine(points(cores), 2, &mut left_out).expect("some are left");
            let names: Vec<&str> = points.iter().map(|one| one.at[0].name.as_str()).collect();
            assert_eq!(names, there, "{cores}");
            assert_eq!(binaries.len(), points.len());
            // After points are left out, each executable still belongs to its point.
            let older = points.iter().zip(&binaries).find(|(_, one)| one.is_some());
            assert!(older.is_some_and(|(point, _)| point.at[0].name == "2"));
            assert_eq!(left_out.len(), said, "{left_out:?}");
        }
        let mut left_out = Vec::new();
        let none = on_this_machine(points("4, 8"), 2, &mut left_out).expect_err("none is left");
        assert_eq!((none.code(), left_out.len()), (TOO_FEW_CORES, 2));
        assert!(left_out[0].message.contains("cores 4"), "{left_out:?}");
    }
}
