//! The main figure of a scenario, its point, and the published figure to compare with it.

use crate::report::units::{Better, Metric, rank};
use crate::results::{Estimate, Point, Published, Scenario};

/// A scenario's main figure.
pub struct Headline<'a> {
    /// The metric.
    pub metric: Metric,
    /// Its point.
    pub point: &'a Point,
    /// Its value.
    pub estimate: &'a Estimate,
    /// The other cases, if the cases are named.
    pub others: Option<Others<'a>>,
    /// The best published figure at the same case: of the same metric, or else of another measured metric.
    pub published: Option<Beside<'a>>,
}

/// The values of the other named cases, with the same cases on all further axes.
pub enum Others<'a> {
    /// There is one other.
    One(&'a str, f64),
    /// From the least to the greatest.
    Range(f64, f64),
}

/// A published figure and ours.
pub struct Beside<'a> {
    /// The metric.
    pub metric: Metric,
    /// Ours.
    pub ours: f64,
    /// The published line.
    pub line: &'a Published,
    /// Theirs.
    pub theirs: f64,
}

/// Returns the main metric's name; the rate if the scenario's main metric was not measured.
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

/// Returns the published value for a point.
pub fn published_at(line: &Published, point: &Point) -> Option<f64> {
    line.value_at(&point.at)
}

/// Returns whether the first axis is numeric. Otherwise its cases are names.
pub fn is_numeric(scenario: &Scenario) -> bool {
    let mut points = scenario.points.iter();
    points.all(|point| point.at.first().is_some_and(|case| case.number.is_some()))
}

/// Returns the base case for variants: the case whose name begins with "default", else the first.
pub fn base(scenario: &Scenario) -> Option<&str> {
    let names = || {
        let cases = scenario.points.iter().filter_map(|point| point.at.first());
        cases.map(|case| case.name.as_str())
    };
    let default = names().find(|name| name.trim().to_lowercase().starts_with("default"));
    default.or_else(|| names().next())
}

/// Returns the headline. On a numeric first axis it belongs to the last case with a published figure, or else to the last
/// case. Among named cases it belongs to the base case. Among the cases of other axes it is the best one.
pub fn headline(scenario: &Scenario) -> Option<Headline<'_>> {
    let metric = Metric::named(main_metric(scenario));
    let case = |point: &Point| point.at.first().map(|case| case.name.clone());
    let value = |point: &Point| point.summary.metrics.get(&metric.name).map(|one| one.value);
    let measured = || {
        scenario
            .points
            .iter()
            .filter(|point| value(point).is_some())
    };
    let of_base = match is_numeric(scenario) {
        true => None,
        false => {
            let base = base(scenario).map(str::to_owned);
            measured().find(|point| base.is_some() && case(point) == base)
        }
    };
    let last = of_base
        .or_else(|| measured().rfind(|point| beside(scenario, &metric, point).is_some()))
        .or_else(|| measured().next_back())?;
    let good = |point: &Point| {
        value(point).map(|value| match metric.better {
            Some(Better::Lower) => -value,
            Some(Better::Higher) | None => value,
        })
    };
    let mut point = last;
    for other in measured().filter(|point| case(point) == case(last)) {
        if good(other) > good(point) {
            point = other;
        }
    }
    Some(Headline {
        others: others(scenario, &metric, point),
        estimate: point.summary.metrics.get(&metric.name)?,
        published: beside(scenario, &metric, point),
        metric,
        point,
    })
}

fn others<'a>(scenario: &'a Scenario, metric: &Metric, shown: &Point) -> Option<Others<'a>> {
    if is_numeric(scenario) {
        return None;
    }
    let name = |point: &'a Point| point.at.first().map(|case| case.name.as_str());
    let first = shown.at.first().map(|case| case.name.as_str());
    let mut found = scenario.points.iter().filter_map(|point| {
        let further = point.at.iter().skip(1).eq(shown.at.iter().skip(1));
        let value = point.summary.metrics.get(&metric.name)?.value;
        let name = name(point)?;
        (further && Some(name) != first).then_some((name, value))
    });
    let (name, value) = found.next()?;
    let mut ends = (value, value);
    let mut is_alone = true;
    for (_, value) in found {
        ends = (ends.0.min(value), ends.1.max(value));
        is_alone = false;
    }
    Some(match is_alone {
        true => Others::One(name, value),
        false => Others::Range(ends.0, ends.1),
    })
}

/// Returns the best published figure for this case, the one that is hardest to beat: of the main metric, else of the
/// first other metric that was measured too.
fn beside<'a>(scenario: &'a Scenario, main: &Metric, point: &Point) -> Option<Beside<'a>> {
    let mut lines: Vec<&Published> = scenario.published.iter().collect();
    lines.sort_by_key(|line| (line.metric != main.name, rank(&line.metric)));
    let mut best: Option<Beside<'a>> = None;
    for line in lines {
        let metric = Metric::named(&line.metric);
        let theirs = published_at(line, point);
        let Some((theirs, ours)) = theirs.zip(point.summary.metrics.get(&line.metric)) else {
            continue;
        };
        // A smaller factor is harder to beat. A figure without a factor cannot be compared.
        let Some(factor) = metric.factor(ours.value, theirs) else {
            continue;
        };
        let harder = best.as_ref().is_none_or(|best| {
            let before = best.metric.factor(best.ours, best.theirs);
            best.metric.name == metric.name && before.is_some_and(|before| factor < before)
        });
        if harder {
            best = Some(Beside {
                metric,
                ours: ours.value,
                line,
                theirs,
            });
        }
    }
    best
}

/// Returns a point's position in words: `parties = 4, variant = parallel`; empty without a sweep.
pub fn place(point: &Point) -> String {
    let cases: Vec<String> = point
        .at
        .iter()
        .map(|case| format!("{} = {}", case.axis, case.name))
        .collect();
    cases.join(", ")
}

/// Returns whether a metric repeats another one: output states of work that makes one each.
pub fn is_repeated(scenario: &Scenario, name: &str) -> bool {
    let value = |point: &Point, name: &str| point.summary.metrics.get(name).map(|one| one.value);
    name == "states_per_s"
        && scenario
            .points
            .iter()
            .all(|point| value(point, name) == value(point, "rate_per_s"))
}
