//! The first thing that people see: one card for each scenario.

use super::frame::words;
use super::headline::{headline, main_metric, place};
use super::scenario::{self, Standing};
use crate::report::chart::sparkline;
use crate::report::units::Metric;
use crate::results::{Report, Scenario};

/// All cards.
pub fn cards(report: &Report) -> String {
    let scenarios = report
        .scenarios
        .iter()
        .take(super::SCENARIOS_MAX)
        .enumerate();
    let cards: String = scenarios.map(|(at, scenario)| card(scenario, at)).collect();
    match cards.is_empty() {
        true => String::new(),
        false => format!("<ul class=\"cards\">{cards}</ul>"),
    }
}

fn card(scenario: &Scenario, at: usize) -> String {
    let standing = scenario::standing(scenario);
    let class = match standing {
        Standing::Failed(_) => " bad",
        Standing::Unaudited | Standing::Findings(_) => " warn",
        Standing::Good => "",
    };
    let mut out = format!(
        "<li class=\"card{class}\"><div class=\"head\"><a class=\"name\" href=\"#s{at}\">{}</a>{}</div>",
        words(scenario::title(scenario), 90),
        scenario::badge(&standing)
    );
    match headline(scenario) {
        Some(headline) => {
            let metric = &headline.metric;
            let figure = words(&metric.figure(headline.estimate.value), 24);
            let margin = metric
                .margin(headline.estimate)
                .map_or(String::new(), |margin| {
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
            out.push_str(&beside(&headline));
            out.push_str(&spark(scenario));
            if let (Some(other), false) =
                (&headline.published, matches!(standing, Standing::Failed(_)))
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
                    "<p class=\"pubd\">{}<b>{}</b> than {}: {}<br><span class=\"dim\">{}</span></p>",
                    words(&what, 60),
                    words(&factor, 40),
                    words(&other.line.label, 60),
                    words(&other.metric.with_unit(other.theirs), 24),
                    words(&other.line.source, 170)
                ));
            }
        }
        None => out.push_str("<p>Nothing was measured.</p>"),
    }
    out + "</li>"
}

/// The metric as the words under its figure.
fn metric_words(metric: &Metric) -> String {
    match metric.name.as_str() {
        "rate_per_s" => "completed a second".to_owned(),
        "states_per_s" => "output states a second".to_owned(),
        "knee_per_s" => "a second within the latency target".to_owned(),
        "max_ms" => "longest latency".to_owned(),
        _ if metric.unit == "ms" && metric.title.contains("percentile") => {
            format!("latency, {}", metric.title)
        }
        _ => metric.title.to_lowercase(),
    }
}

/// What else belongs to the figure: the latency at that rate or the rate at that latency, and failures if there were any.
fn beside(headline: &super::headline::Headline) -> String {
    let metrics = &headline.point.summary.metrics;
    let of = |name: &str| {
        let (estimate, metric) = (metrics.get(name)?, Metric::named(name));
        Some(words(&metric.with_unit(estimate.value), 30))
    };
    let mut parts = Vec::new();
    if headline.metric.unit == "ms" {
        parts.extend(of("rate_per_s").map(|rate| format!("at {rate}")));
    } else {
        parts.extend(of("p50_ms").map(|latency| format!("median {latency}")));
    }
    if headline.metric.name != "p99_ms" {
        parts.extend(of("p99_ms").map(|latency| format!("99th percentile {latency}")));
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

/// The main metric over the first axis, without words; its section has the chart with them.
fn spark(scenario: &Scenario) -> String {
    if scenario.axes.is_empty() {
        return String::new();
    }
    let name = main_metric(scenario);
    let mut curves: Vec<(String, Vec<f64>)> = Vec::new();
    for point in &scenario.points {
        let Some(estimate) = point.summary.metrics.get(name) else {
            continue;
        };
        let others: Vec<&str> = point
            .at
            .iter()
            .skip(1)
            .map(|case| case.name.as_str())
            .collect();
        let others = others.join(", ");
        match curves.iter_mut().find(|curve| curve.0 == others) {
            Some(curve) => curve.1.push(estimate.value),
            None => curves.push((others, vec![estimate.value])),
        }
    }
    let curves: Vec<Vec<f64>> = curves.into_iter().map(|curve| curve.1).collect();
    let svg = sparkline(&curves);
    let ends = scenario.points.first().zip(scenario.points.last());
    let ends = ends.and_then(|(first, last)| first.at.first().zip(last.at.first()));
    match ends {
        Some((first, last)) if !svg.is_empty() => format!(
            "{svg}<p class=\"ends\"><span>{} {}</span><span>{}</span></p>",
            words(&first.axis, 24),
            words(&first.name, 20),
            words(&last.name, 20)
        ),
        _ => svg,
    }
}
