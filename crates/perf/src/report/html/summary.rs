//! The top of the page: one card for each scenario.

use super::frame::words;
use super::scenario;
use crate::report::chart::{SparkCase, sparkcases, sparkline};
use crate::report::digest::{Digest, Standing};
use crate::report::figures::too_few_samples;
use crate::report::headline::{Headline, Others, headline, is_numeric, main_metric, place};
use crate::report::units::Metric;
use crate::results::{CaseResult, LATENCY_PERCENTILES, Point, Scenario, Support};

/// Returns all cards.
pub fn cards<'a>(scenarios: impl Iterator<Item = (usize, (&'a Scenario, &'a Digest))>) -> String {
    let cards: String = scenarios
        .map(|(at, (scenario, digest))| card(scenario, digest.standing, at))
        .collect();
    match cards.is_empty() {
        true => String::new(),
        false => format!("<ul class=\"cards\">{cards}</ul>"),
    }
}

fn card(scenario: &Scenario, standing: Standing, at: usize) -> String {
    let class = scenario::class(standing);
    let mut out = format!(
        "<li class=\"card{class}\"><div class=\"head\"><a class=\"name\" href=\"#s{at}\">{}</a>{}</div>",
        words(scenario::title(scenario), 90),
        scenario::badge(standing)
    );
    match headline(scenario) {
        Some(headline) => {
            let metric = &headline.metric;
            let (figure, margin) = match metric.range(headline.estimate) {
                // The repeats support no single figure.
                Some(range) => (range, None),
                None => {
                    let figure = metric.figure(headline.estimate.value);
                    (figure, metric.margin(headline.estimate))
                }
            };
            let figure = words(&figure, 40);
            let margin = margin.map_or(String::new(), |margin| {
                format!("<span class=\"dim\">± {}</span>", words(&margin, 24))
            });
            let unit = metric.unit;
            out.push_str(&format!(
                "<div class=\"figure\"><b>{figure}</b><span>{unit}</span>{margin}</div><p>{}{}</p>",
                words(&metric_words(metric), 60),
                match place(headline.point) {
                    place if place.is_empty() => String::new(),
                    place => format!(" at {}", words(&place, 70)),
                }
            ));
            out.push_str(&others(&headline));
            out.push_str(&beside(&headline));
            out.push_str(&spark(scenario, &headline));
            let is_supported = metric.range(headline.estimate).is_none();
            if let (Some(other), true, false) =
                (&headline.published, is_supported, standing.is_bad())
            {
                let factor = other.metric.factor(other.ours, other.theirs);
                let factor =
                    factor.map_or(String::new(), |factor| other.metric.factor_words(factor));
                let what = match other.metric.name == metric.name {
                    true => String::new(),
                    false => format!(
                        "{} {}: ",
                        other.metric.title,
                        other.metric.with_unit(other.ours)
                    ),
                };
                out.push_str(&format!(
                    "<p class=\"pubd\">{} published {}<br><span class=\"dim\">{}{} here, on other hardware: see the <a \
                     href=\"#s{at}c\">conditions</a></span></p>",
                    words(&other.line.label, 60),
                    words(&other.metric.with_unit(other.theirs), 24),
                    words(&what, 60),
                    words(&factor, 40)
                ));
            }
        }
        None => out.push_str("<p>Nothing was measured.</p>"),
    }
    out + "</li>"
}

/// Returns the words for the metric under its figure.
fn metric_words(metric: &Metric) -> String {
    match metric.name.as_str() {
        "rate_per_s" => "completed a second".to_owned(),
        "states_per_s" => "states a second".to_owned(),
        "knee_per_s" => "a second within the latency target".to_owned(),
        "max_ms" => "longest latency".to_owned(),
        _ if metric.unit == "ms" && metric.title.contains("percentile") => {
            format!("latency, {}", metric.title)
        }
        _ => metric.title.to_lowercase(),
    }
}

/// Returns the values of the other named cases.
fn others(headline: &Headline<'_>) -> String {
    let metric = &headline.metric;
    let words = match headline.others {
        None => return String::new(),
        Some(Others::One(name, value)) => {
            format!(
                "{}: {}",
                words(name, 60),
                words(&metric.with_unit(value), 30)
            )
        }
        Some(Others::Range(low, high)) => format!(
            "the others: {} to {}",
            words(&metric.figure(low), 24),
            words(&metric.with_unit(high), 30)
        ),
    };
    format!("<p>{words}</p>")
}

/// Returns the related figures: the latency at that rate or the rate at that latency, and failures if there were any.
fn beside(headline: &Headline<'_>) -> String {
    let metrics = &headline.point.summary.metrics;
    let of = |name: &str| {
        let (estimate, metric) = (metrics.get(name)?, Metric::named(name));
        let range = metric.range(estimate);
        let figure = range.unwrap_or_else(|| metric.figure(estimate.value));
        Some(words(&metric.and_unit(&figure), 40))
    };
    let mut parts = Vec::new();
    if headline.metric.unit == "ms" {
        parts.extend(of("rate_per_s").map(|rate| format!("at {rate}")));
    } else {
        parts.extend(of("p50_ms").map(|latency| format!("median {latency}")));
    }
    // The farthest percentile that has enough samples.
    let tail = LATENCY_PERCENTILES.iter().skip(1).rev();
    let tail = tail
        .map(|(name, _)| *name)
        .find(|name| metrics.contains_key(*name));
    match (tail, headline.point.support("p90_ms")) {
        (Some(name), _) if name != headline.metric.name => {
            let title = Metric::named(name).title;
            parts.extend(of(name).map(|latency| format!("{title} {latency}")));
        }
        (None, Support::TooFew(samples)) => {
            parts.push(format!("percentiles: {}", too_few_samples(samples)));
        }
        (Some(_) | None, _) => {}
    }
    let mut out = match parts.is_empty() {
        true => String::new(),
        false => format!("<p>{}</p>", parts.join(", ")),
    };
    let failed = metrics.get("error_share").filter(|share| share.value > 0.0);
    if let (Some(_), Some(share)) = (failed, of("error_share")) {
        out.push_str(&format!("<p class=\"wrong\">{share} of units failed</p>"));
    }
    out
}

/// Named cases that have their names below them; of more only the first and the last.
const NAMED_MAX: usize = 3;

/// Draws the main metric over the first axis, almost without words. The scenario's section has the full chart.
fn spark(scenario: &Scenario, headline: &Headline<'_>) -> String {
    if scenario.axes.is_empty() {
        return String::new();
    }
    match is_numeric(scenario) {
        true => along_numbers(scenario),
        false => among_names(scenario, headline),
    }
}

/// Returns the key of a series: the cases of all axes but the first.
fn series_of(point: &Point) -> Vec<&str> {
    let others = point.at.iter().skip(1);
    others.map(|case| case.name.as_str()).collect()
}

/// Returns every series of the scenario, in order.
fn all_series(scenario: &Scenario) -> Vec<Vec<&str>> {
    let mut all: Vec<Vec<&str>> = Vec::new();
    for point in &scenario.points {
        let series = series_of(point);
        if !all.contains(&series) {
            all.push(series);
        }
    }
    all
}

fn along_numbers(scenario: &Scenario) -> String {
    let name = main_metric(scenario);
    let curve = |series: Vec<&str>| {
        let points = scenario.points.iter();
        let mut curve: Vec<(f64, f64)> = points
            .filter(|point| series_of(point) == series)
            .filter_map(|point| {
                let place = point.at.first()?.number?;
                Some((place, point.summary.metrics.get(name)?.value))
            })
            .collect();
        curve.sort_by(|one, two| one.0.total_cmp(&two.0));
        curve
    };
    let curves: Vec<Vec<(f64, f64)>> = all_series(scenario).into_iter().map(curve).collect();
    let svg = sparkline(&curves);
    let numbered = |point: &'_ Point| {
        let case = point.at.first()?;
        Some((case.number?, case.clone()))
    };
    let mut cases: Vec<(f64, CaseResult)> = scenario.points.iter().filter_map(numbered).collect();
    cases.sort_by(|one, two| one.0.total_cmp(&two.0));
    match cases.first().zip(cases.last()) {
        Some(((_, first), (_, last))) if !svg.is_empty() => format!(
            "{svg}<p class=\"ends\"><span>{} {}</span><span>{}</span></p>",
            words(&first.axis, 24),
            words(&first.name, 20),
            words(&last.name, 20)
        ),
        _ => svg,
    }
}

/// Returns the cases of the first axis, with the cases of all other axes as in the headline.
fn among_names(scenario: &Scenario, headline: &Headline<'_>) -> String {
    let metric = main_metric(scenario);
    let case = |point: &Point| point.at.first().map(|case| case.name.clone());
    let meant = case(headline.point);
    let series = series_of(headline.point);
    let mut names: Vec<String> = Vec::new();
    let mut cases: Vec<SparkCase> = Vec::new();
    for point in scenario
        .points
        .iter()
        .filter(|point| series_of(point) == series)
    {
        let name = case(point);
        cases.push(SparkCase {
            value: point.summary.metrics.get(metric).map(|one| one.value),
            is_meant: name == meant,
        });
        names.push(name.unwrap_or_default());
    }
    let (svg, is_log) = sparkcases(&cases);
    if svg.is_empty() {
        return svg;
    }
    let scale = if is_log { "log scale" } else { "" };
    let below: String = match names.as_slice() {
        [first, .., last] if names.len() > NAMED_MAX => {
            let (first, last) = (words(first, 22), words(last, 22));
            format!(
                "<p class=\"ends\"><span>{first}</span><span>{scale}</span><span>{last}</span></p>"
            )
        }
        names => {
            let names: String = names
                .iter()
                .map(|name| format!("<span>{}</span>", words(name, 30)))
                .collect();
            let log = match is_log {
                true => "<p class=\"ends\"><span>log scale</span></p>",
                false => "",
            };
            format!("<p class=\"ends each\">{names}</p>{log}")
        }
    };
    svg + &below
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::{CaseResult, Estimate, Published, Summary};

    /// Returns a scenario whose first axis has these cases with these rates. Several rates per case make a second axis.
    fn scenario(axis: &str, cases: &[(&str, &[f64])]) -> Scenario {
        let point = |name: &str, number: usize, rate: f64, further: bool| {
            let case = |axis: &str, name: String| CaseResult {
                axis: axis.into(),
                number: name.parse().ok(),
                name,
            };
            let mut at = vec![case(axis, name.into())];
            if further {
                at.push(case("load", format!("load {number}")));
            }
            let value = Estimate {
                value: rate,
                ..Estimate::default()
            };
            Point {
                at,
                summary: Summary {
                    metrics: [("rate_per_s".to_owned(), value)].into(),
                },
                ..Point::default()
            }
        };
        let points = cases.iter().flat_map(|(name, rates)| {
            let further = rates.len() > 1;
            let rates = rates.iter().enumerate();
            rates.map(move |(at, rate)| point(name, at, *rate, further))
        });
        Scenario {
            name: "x".into(),
            axes: vec![axis.into()],
            points: points.collect(),
            published: vec![Published {
                label: "Somebody".into(),
                metric: "rate_per_s".into(),
                values: cases
                    .iter()
                    .map(|(name, _)| ((*name).to_owned(), 10.0))
                    .collect(),
                ..Published::default()
            }],
            ..Scenario::default()
        }
    }

    #[test]
    fn a_card_shows_the_default_of_names_and_the_last_of_numbers() {
        const LINE: &str = "class=\"l s0\"";
        const BAR: &str = "<rect class=\"m s0\"";
        const DOT: &str = "class=\"d s0\"";
        type Cases<'a> = &'a [(&'a str, &'a [f64])];
        let tables: [(&str, Cases<'_>, &[&str], &[&str]); 7] = [
            (
                "variant",
                &[
                    ("default", &[523.0, 15.0]),
                    ("no compression", &[578.0, 14.0]),
                    ("slow", &[221.0, 3.0]),
                ],
                &[
                    "<b>523</b>",
                    "the others: 221 to 578/s",
                    "at variant = default, load = load 0",
                    BAR,
                    "<span>default</span><span>no compression</span><span>slow</span>",
                ],
                &[LINE, DOT],
            ),
            (
                "budgets",
                &[
                    ("a quarter", &[4143.0]),
                    ("Default size", &[3770.0]),
                    ("eight times", &[3922.0]),
                ],
                &[
                    "<b>3,770</b>",
                    "the others: 3,922 to 4,143/s",
                    "budgets = Default size",
                    BAR,
                ],
                &[LINE],
            ),
            (
                "compression",
                &[("on", &[189.0]), ("off", &[194.0])],
                &[
                    "<b>189</b>",
                    "<p>off: 194/s</p>",
                    "at compression = on",
                    BAR,
                ],
                &[LINE, "the others"],
            ),
            (
                "work",
                &[
                    ("empty", &[150_000.0]),
                    ("a", &[160.0]),
                    ("b", &[320.0]),
                    ("c", &[20_000.0]),
                ],
                &[
                    "<b>150,000</b>",
                    "the others: 160 to 20,000/s",
                    DOT,
                    "<span>log scale</span>",
                ],
                &[LINE, BAR],
            ),
            (
                "parties",
                &[("2", &[1140.0]), ("4", &[563.0]), ("10", &[171.0])],
                &[
                    "<b>171</b>",
                    "at parties = 10",
                    LINE,
                    "<span>parties 2</span><span>10</span>",
                ],
                &[BAR, DOT, "the others"],
            ),
            (
                "only",
                &[("one", &[5.0])],
                &["<b>5</b>", "at only = one"],
                &["the others", BAR, DOT, LINE, "spark"],
            ),
            ("none", &[], &["Nothing was measured"], &["spark"]),
        ];
        for (axis, cases, there, absent) in tables {
            let scenario = scenario(axis, cases);
            let card = card(&scenario, Standing::of(&scenario), 0);
            for words in there {
                assert!(card.contains(words), "{axis}: {words}: {card}");
            }
            for words in absent {
                assert!(!card.contains(words), "{axis}: {words}: {card}");
            }
        }
    }
}
