//! The figure that stands for a scenario, where it was measured, and what was published beside it.

use crate::report::units::Metric;
use crate::results::{Estimate, Point, Published, Scenario};

/// A scenario's main figure.
pub struct Headline<'a> {
    /// What it is.
    pub metric: Metric,
    /// Of which point.
    pub point: &'a Point,
    /// How much.
    pub estimate: &'a Estimate,
    /// The best published figure of the same metric at the same case.
    pub published: Option<(&'a Published, f64)>,
}

/// The main metric's name; the rate if the scenario names none that was measured.
pub fn main_metric(scenario: &Scenario) -> &str {
    let measured = |name: &str| {
        let mut points = scenario.points.iter();
        points.any(|point| point.summary.metrics.contains_key(name))
    };
    match scenario.main_metric.as_str() {
        name if !name.is_empty() && measured(name) => name,
        _ => "rate_per_s",
    }
}

/// The case of a published line's values that a point belongs to: its case on the first axis; without axes the empty name.
pub fn published_at(line: &Published, point: &Point) -> Option<f64> {
    let case = point.at.first().map_or("", |case| case.name.as_str());
    line.values.get(case).copied()
}

/// The headline: of the last case of the first axis that something was published for, or the last; of the first case of other axes.
pub fn headline(scenario: &Scenario) -> Option<Headline<'_>> {
    let metric = Metric::named(main_metric(scenario));
    let others = |point: &Point| -> Vec<String> {
        let others = point.at.iter().skip(1);
        others.map(|case| case.name.clone()).collect()
    };
    let first = scenario.points.first().map(others)?;
    let candidates = || {
        let points = scenario.points.iter();
        points.filter(|point| {
            others(point) == first && point.summary.metrics.contains_key(&metric.name)
        })
    };
    let best = |point: &Point| best_published(scenario, &metric, point);
    let point = candidates()
        .rfind(|point| best(point).is_some())
        .or_else(|| candidates().next_back())?;
    Some(Headline {
        estimate: point.summary.metrics.get(&metric.name)?,
        published: best(point),
        metric,
        point,
    })
}

/// The best figure that anybody published for this metric and case: the one that is hardest to beat.
fn best_published<'a>(
    scenario: &'a Scenario,
    metric: &Metric,
    point: &Point,
) -> Option<(&'a Published, f64)> {
    let lines = scenario.published.iter();
    lines
        .filter(|line| line.metric == metric.name)
        .filter_map(|line| published_at(line, point).map(|value| (line, value)))
        .filter(|(_, value)| metric.factor(1.0, *value).is_some())
        .max_by(|one, two| {
            let hard = |value| metric.factor(1.0, value).unwrap_or(f64::INFINITY);
            hard(two.1).total_cmp(&hard(one.1))
        })
}

/// A point's place in words: `parties = 4, variant = parallel`; empty without a sweep.
pub fn place(point: &Point) -> String {
    let cases: Vec<String> = point
        .at
        .iter()
        .map(|case| format!("{} = {}", case.axis, case.name))
        .collect();
    cases.join(", ")
}

/// Whether a metric says nothing that another does not say: output states of work that makes one each.
pub fn is_repeated(scenario: &Scenario, name: &str) -> bool {
    let value = |point: &Point, name: &str| point.summary.metrics.get(name).map(|one| one.value);
    name == "states_per_s"
        && scenario
            .points
            .iter()
            .all(|point| value(point, name) == value(point, "rate_per_s"))
}
