//! The lines of a joint chart: measured, published, and the ceiling.

use crate::report::chart::{Curve, Dot, SERIES_MAX};
use crate::report::html::scenario::title;
use crate::report::html::sweep::{drawn, hint, published_hint};
use crate::report::units::Metric;
use crate::results::{CASES_JOINED, CaseResult, Point, Published, Scenario};

/// The metric that bounds the rate.
const CEILING: &str = "ceiling_per_s";
/// Scenarios of one chart at most, so that the ceiling has a style of its own.
pub const SCENARIOS_MAX: usize = SERIES_MAX - 1;

/// Returns the cases of all axes but the first.
pub fn others(point: &Point) -> &[CaseResult] {
    point.at.get(1..).unwrap_or_default()
}

/// Returns whether cases have the same names.
pub fn same_names(one: &[CaseResult], two: &[CaseResult]) -> bool {
    let mut pairs = one.iter().zip(two);
    one.len() == two.len() && pairs.all(|(one, two)| one.name == two.name)
}

fn number(point: &Point) -> Option<f64> {
    point.at.first()?.number
}

/// Returns the measured places of one combination of further cases, by number.
pub fn dots(scenario: &Scenario, kind: &[CaseResult], metric: &Metric) -> Vec<Dot> {
    let points = scenario.points.iter();
    let points = points.filter(|point| same_names(others(point), kind));
    let mut dots: Vec<Dot> = points
        .filter_map(|point| {
            let estimate = point.summary.metrics.get(&metric.name)?;
            let (value, interval) = drawn(metric, estimate);
            Some(Dot {
                x: number(point)?,
                value,
                interval,
                hint: format!("{}: {}", title(scenario), hint(metric, point, estimate)),
            })
        })
        .collect();
    dots.sort_by(|one, two| one.x.total_cmp(&two.x));
    dots
}

/// Returns the published figures of one combination of further cases, measured here or not.
pub fn published(
    line: &Published,
    kind: &[CaseResult],
    metric: &Metric,
) -> Vec<(f64, f64, String)> {
    let mut points: Vec<(f64, f64, String)> = Vec::new();
    for cases in line.values.keys() {
        let first = cases.split(CASES_JOINED).next().unwrap_or_default();
        let Some(x) = first.parse().ok().filter(|x: &f64| x.is_finite()) else {
            continue;
        };
        let mut at = vec![CaseResult {
            name: first.to_owned(),
            ..CaseResult::default()
        }];
        at.extend_from_slice(kind);
        if let Some(value) = line.value_at(&at)
            && !points.iter().any(|point| point.0 == x)
        {
            points.push((x, value * metric.scale, published_hint(metric, line, value)));
        }
    }
    points.sort_by(|one, two| one.0.total_cmp(&two.0));
    points
}

/// Returns the lowest ceiling of the scenarios as a level line over all places: at its point with the most of what is
/// varied, each scenario has the ceiling that no more of it can raise.
pub fn ceiling(
    scenarios: &[&Scenario],
    kind: &[CaseResult],
    places: &[f64],
) -> Option<(Curve, String)> {
    let (first, last) = (*places.first()?, *places.last()?);
    let metric = Metric::named(CEILING);
    let of = |scenario: &&Scenario| {
        let points = scenario.points.iter();
        let known = points.filter_map(|point| {
            let is_kind = same_names(others(point), kind);
            let x = number(point).filter(|_| is_kind)?;
            Some((x, point.summary.metrics.get(CEILING)?.value))
        });
        known.max_by(|one, two| one.0.total_cmp(&two.0))
    };
    let ceilings = scenarios.iter().filter_map(of);
    let (_, value) = ceilings.min_by(|one, two| one.1.total_cmp(&two.1))?;
    let words = format!(
        "lowest ceiling of one thread, any number of cores: {}",
        metric.with_unit(value)
    );
    let dot = |x: f64| Dot {
        x,
        value: value * metric.scale,
        interval: None,
        hint: words.clone(),
    };
    let mut dots = vec![dot(first)];
    if last > first {
        dots.push(dot(last));
    }
    let curve = Curve {
        series: SCENARIOS_MAX,
        dots,
    };
    Some((curve, words))
}
