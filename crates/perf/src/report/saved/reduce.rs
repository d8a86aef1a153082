//! Reduces a scenario of a report to the parts that are kept.

use std::collections::BTreeMap;

use super::layout::rounded;
use super::private::without_paths;
use super::thin;
use crate::report::headline::headline;
use crate::results::{Fault, Histogram, Point, Report, Scenario, Stretch};
use crate::stats::{constants_of_work, drift_blocks, repeat_figures, summarise};

/// Returns a report with this scenario alone: every repeat with its figures, thinned latencies, and neither readings over time
/// nor messages.
pub fn reduce(report: &Report, scenario: &Scenario) -> Report {
    let mut kept = scenario.clone();
    let shown = headline(scenario).map(|headline| headline.point.at.clone());
    let is_alone = scenario.points.len() == 1;
    let mut machine = report.machine.clone();
    machine.system = without_build(&machine.system).to_owned();
    // The maker of a virtual machine tells its provider.
    if let Some((is_virtual, _)) = machine.virtual_machine.split_once(" (") {
        machine.virtual_machine = is_virtual.to_owned();
    }
    for point in &mut kept.points {
        if shown.as_ref() != Some(&point.at) {
            point.distances.clear();
        }
        for audit in &mut point.audits {
            audit.words = without_paths(&audit.words);
        }
        reduce_point(point, is_alone);
    }
    for finding in &mut kept.findings {
        finding.message = without_paths(&finding.message);
    }
    Report {
        schema: report.schema,
        title: scenario.title.clone(),
        started_unix_ms: scenario.started_unix_ms,
        seconds: scenario.seconds,
        version: report.version.clone(),
        machine,
        scenarios: vec![kept],
        interrupted: report.interrupted,
    }
}

/// Returns the name and version of a system without the name of its build, which can tell the provider of a machine.
fn without_build(system: &str) -> &str {
    let end = system.find('-').unwrap_or(system.len());
    &system[..end]
}

fn reduce_point(point: &mut Point, is_alone: bool) {
    let constants = constants_of_work(point);
    let has_lines = point.stretches.len() == 1;
    for stretch in &mut point.stretches {
        let mut figures = repeat_figures(stretch, 0.0);
        for (name, factor) in &constants {
            // A stretch of a saved run file has it already.
            figures.entry(name).or_insert(stretch.per_s() * factor);
        }
        // The summary is computed from the rounded figures, as a reader of the file computes it.
        let named = |(name, value): (&str, f64)| (name.to_owned(), rounded(value));
        let figures: BTreeMap<String, f64> = figures.into_iter().map(named).collect();
        // The interval of a drift is that of its line if there is one repeat. Several repeats have the interval of their drifts.
        let mut blocks = drift_blocks(stretch);
        blocks.retain(|_, _| has_lines);
        for (at, value) in blocks.values_mut().flatten() {
            (*at, *value) = (rounded(*at), rounded(*value));
        }
        reduce_stretch(stretch, is_alone);
        (stretch.figures, stretch.drift_blocks) = (figures, blocks);
        // The drifts are those of the rounded blocks.
        stretch.figures = repeat_figures(stretch, 0.0)
            .into_iter()
            .map(named)
            .collect();
    }
    point.summary = summarise(&point.stretches, 0.0);
}

fn reduce_stretch(stretch: &mut Stretch, is_alone: bool) {
    stretch.latencies = thin::histogram(&stretch.latencies);
    thin::series(stretch, is_alone);
    for work in &mut stretch.works {
        work.latencies = Histogram::default();
    }
    let no_messages = |faults: &mut Vec<Fault>| {
        faults.iter_mut().for_each(|fault| fault.message.clear());
    };
    no_messages(&mut stretch.faults);
    if let Some(chain) = &mut stretch.chain {
        chain.to_block = thin::histogram(&chain.to_block);
        no_messages(&mut chain.left);
        if let Some(sizes) = &mut chain.sizes {
            sizes.missing.clear();
        }
        // The first node's first and last size give the growth for each transaction.
        let first = chain.disk.first().map(|look| look.node.clone());
        let mut looks = std::mem::take(&mut chain.disk);
        looks.retain(|look| Some(&look.node) == first.as_ref());
        let last = looks.len().saturating_sub(1);
        let ends = looks.into_iter().enumerate();
        let ends = ends.filter(|(at, _)| *at == 0 || *at == last);
        chain.disk = ends.map(|(_, look)| look).collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::units;
    use crate::results::ChainResult;

    #[test]
    fn a_system_is_named_without_its_build() {
        for (system, expected) in [
            ("Linux 6.8.0-45-generic", "Linux 6.8.0"),
            ("Linux 6.8.0", "Linux 6.8.0"),
            ("", ""),
        ] {
            assert_eq!(without_build(system), expected);
        }
    }

    #[test]
    fn a_saved_stretch_keeps_every_known_metric() {
        let samples = Histogram {
            buckets: [(1_000, 1_000)].into(),
        };
        // It follows from another metric over all repeats.
        let of_repeats = "ceiling_per_s";
        let figures = units::names().filter(|name| *name != of_repeats);
        let stretch = Stretch {
            latencies: samples.clone(),
            chain: Some(Box::new(ChainResult {
                to_block: samples,
                ..ChainResult::default()
            })),
            figures: figures.map(|name| (name.to_owned(), 2.5)).collect(),
            ..Stretch::default()
        };
        let found = summarise(&[stretch.clone(), stretch], 0.0).metrics;
        for name in units::names() {
            let expected = match name == of_repeats {
                true => 400_000.0,
                false => 2.5,
            };
            let found = found.get(name).map(|estimate| estimate.value);
            assert_eq!(found, Some(expected), "{name}");
        }
    }
}
