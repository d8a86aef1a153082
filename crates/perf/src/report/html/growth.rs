//! Charts and tables about the shape of a result: the latency by offered load with its knee, the growth along an axis with its
//! exponent, the factors against a base case, and the sequential round trips.

use super::figure::{Swatch, figure};
use super::frame::words;
use super::sweep::{curves_of, series_names};
use super::tables::table;
use crate::report::chart::{Axes, Curve, Dot, IntervalChart, SERIES_MAX, intervals};
use crate::report::digest::{Digest, Growth, OfferedLoad, OfferedRate, RoundTrips, SpeedUp};
use crate::report::figures::{figure as number, two_digits};
use crate::report::headline::{is_numeric, main_metric};
use crate::report::units::Metric;
use crate::results::{Estimate, Scenario};

/// A percentile of an offered rate: its name and its value.
type Percentile = (&'static str, fn(&OfferedRate) -> Option<f64>);

const PERCENTILES: [Percentile; 3] = [
    ("median", |rate| rate.figures.p50_ms),
    ("95th percentile", |rate| rate.figures.p95_ms),
    ("99th percentile", |rate| rate.figures.p99_ms),
];

/// Returns the charts and tables; nothing if the scenario has no such shape.
pub fn section(scenario: &Scenario, digest: &Digest) -> String {
    [
        offered(&digest.offered),
        growth(scenario, &digest.growth),
        speed_ups(scenario, &digest.speed_ups),
        round_trips(&digest.round_trips),
    ]
    .concat()
}

/// Returns the latency by offered load, with the knee marked.
fn offered(offered: &OfferedLoad) -> String {
    if offered.rates.len() < 2 {
        return String::new();
    }
    let mut curves = Vec::new();
    let mut legend = Vec::new();
    for (series, (name, of)) in PERCENTILES.into_iter().enumerate() {
        let dots: Vec<Dot> = offered
            .rates
            .iter()
            .filter_map(|rate| {
                let value = of(rate)?;
                let per_s = number(rate.figures.offered_per_s);
                Some(Dot {
                    x: rate.figures.offered_per_s,
                    value,
                    interval: None,
                    hint: format!("{name} at {per_s}/s: {} ms", number(value)),
                })
            })
            .collect();
        if !dots.is_empty() {
            legend.push((Swatch::Marked(series), name.to_owned()));
            curves.push(Curve { series, dots });
        }
    }
    let knee = offered.knee_per_s;
    let marked = knee.map(|knee| (knee, format!("knee {}/s", number(knee))));
    let latency = intervals(&IntervalChart {
        about: "Latency by offered load",
        title: "units due a second",
        axes: Axes::PlacesFromZero,
        curves: &curves,
        marked: marked.clone(),
        ..IntervalChart::default()
    });
    let dots = offered.rates.iter().map(|rate| Dot {
        x: rate.figures.offered_per_s,
        value: rate.figures.done_per_s,
        interval: None,
        hint: format!(
            "{} of {} a second",
            number(rate.figures.done_per_s),
            number(rate.figures.offered_per_s)
        ),
    });
    let completed = [Curve {
        series: 0,
        dots: dots.collect(),
    }];
    let completed = intervals(&IntervalChart {
        about: "Completed units by offered load",
        title: "units due a second",
        axes: Axes::FromZero,
        curves: &completed,
        marked,
        ..IntervalChart::default()
    });
    let rule = words(&offered.rule, 300);
    let knee = match (knee, offered.kept_up_to_per_s) {
        (Some(knee), _) => format!("Knee: {}/s, {rule}.", number(knee)),
        (None, Some(highest)) => {
            format!(
                "Knee: not reached up to {}/s. It is {rule}.",
                number(highest)
            )
        }
        (None, None) => format!("No rate is the knee: {rule}."),
    };
    let about =
        "ms by units due a second, in an open loop; a percentile with too few samples is left out";
    format!(
        "<h3>Latency against offered load</h3><div class=\"charts\">{}{}</div><p class=\"dim small\">{knee} Each mark is the median of \
         the trials or repeats of a rate.</p>",
        figure("Latency by offered load", about, &latency, &legend),
        figure(
            "Completed by offered load",
            "units completed a second by units due a second",
            &completed,
            &[]
        )
    )
}

/// Returns the main figure on linear axes, with the exponent of each series.
fn growth(scenario: &Scenario, growth: &[Growth]) -> String {
    let metric = Metric::named(main_metric(scenario));
    // Published figures can be so far from ours that ours need axes of their own.
    let mut lines = scenario.published.iter();
    let has_published = lines.any(|line| line.metric == metric.name);
    let is_curve = is_numeric(scenario) && scenario.points.len() > 1;
    if growth.is_empty() && !(has_published && is_curve) {
        return String::new();
    }
    let axis = scenario.axes.first().map_or("", String::as_str);
    let mut series = series_names(scenario);
    series.truncate(SERIES_MAX);
    let curves = curves_of(scenario, &metric, &series);
    let heading = metric.heading();
    let svg = intervals(&IntervalChart {
        about: &format!("{heading} by {axis}, on linear axes"),
        title: axis,
        axes: Axes::FromZero,
        curves: &curves,
        ..IntervalChart::default()
    });
    let names = series.into_iter().enumerate();
    let mut legend: Vec<(Swatch, String)> =
        names.map(|(at, name)| (Swatch::Marked(at), name)).collect();
    if legend.len() == 1 {
        legend.clear();
    }
    let about = format!(
        "by {axis}, measured here alone, linear axes from 0, with 95 % confidence intervals"
    );
    let rows: String = growth
        .iter()
        .map(|one| {
            let series = match one.series.as_str() {
                "" => "all",
                series => series,
            };
            format!(
                "<tr><td class=\"l\">{}</td><td>{}</td><td>{}</td></tr>",
                words(series, 80),
                number(one.exponent.value),
                interval(&one.exponent)
            )
        })
        .collect();
    let head = "<th class=\"l\">Series</th><th>Exponent</th><th>95 % interval</th>";
    let exponents = match rows.is_empty() {
        true => "<p class=\"dim small\">An exponent needs three places on the axis.</p>".to_owned(),
        false => format!(
            "{}<p class=\"dim small\">The exponent of the power law that fits all repeats: 1 is growth in proportion to {}, 2 is growth by \
             its square, 0 is none.</p>",
            table(head, &rows),
            words(axis, 60)
        ),
    };
    format!(
        "<h3>Growth</h3><div class=\"charts\">{}<div>{exponents}</div></div>",
        figure(&heading, &about, &svg, &legend)
    )
}

/// Returns the factors against the base case.
fn speed_ups(scenario: &Scenario, speed_ups: &[SpeedUp]) -> String {
    if speed_ups.is_empty() {
        return String::new();
    }
    let metric = Metric::named(main_metric(scenario));
    let rows: String = speed_ups
        .iter()
        .map(|one| {
            format!(
                "<tr><td class=\"l\">{}</td><td>{}×</td><td>{}</td><td class=\"l\">{}</td><td class=\"l\">{}</td></tr>",
                words(&one.at, 120),
                number(one.factor.value),
                interval(&one.factor),
                shown(one),
                words(&one.than, 80)
            )
        })
        .collect();
    let head = "<th class=\"l\">Point</th><th>Factor</th><th>95 % interval</th><th class=\"l\">Shown</th><th class=\"l\">Compared \
                with</th>";
    format!(
        "<h3>Compared with the base case</h3>{}<p class=\"dim small\">How many times better the {} of a point is than that of the base \
         case, from the geometric means of the repeats. A number below 1 is worse. Only points that do the same work are compared. A \
         difference is shown if all comparisons of the table together have a chance of at most 5 % of a false one (Welch's test with \
         Holm's correction); each interval stands for itself.</p>",
        table(head, &rows),
        words(&metric.title.to_lowercase(), 60)
    )
}

/// Returns the sequential round trips of each series.
fn round_trips(round_trips: &[RoundTrips]) -> String {
    if round_trips.is_empty() {
        return String::new();
    }
    let rows: String = round_trips
        .iter()
        .map(|one| {
            let documented = one.documented.map(|count| count.to_string());
            let margin = margin(&one.measured).map_or(String::new(), |margin| format!(" ± {margin}"));
            format!(
                "<tr><td class=\"l\">{}</td><td>{}{margin}</td><td>{}</td><td class=\"w\">{}</td><td>{}</td></tr>",
                words(&one.series, 80),
                number(one.measured.value),
                documented.as_deref().unwrap_or("–"),
                words(one.steps, 300),
                number(one.at_zero_ms)
            )
        })
        .collect();
    let head = "<th class=\"l\">Protocol</th><th>Measured</th><th>By the protocol</th><th class=\"l\">Steps that wait for the one \
                before</th><th>Latency without<br>delay, ms</th>";
    format!(
        "<h3>Sequential round trips</h3>{}<p class=\"dim small\">Measured is the slope by the delay one way of the latency of each repeat's fastest unit, divided by 2, \
         with its 95 % interval. The delay is between any two nodes. Clients are near their nodes.</p>",
        table(head, &rows)
    )
}

/// Returns the difference that a comparison shows.
fn shown(speed_up: &SpeedUp) -> &'static str {
    match (speed_up.is_shown(), speed_up.factor.value > 1.0) {
        (true, true) => "better",
        (true, false) => "worse",
        (false, _) => "no difference",
    }
}

fn interval(estimate: &Estimate) -> String {
    match estimate.low.zip(estimate.high) {
        Some((low, high)) => format!("{} to {}", number(low), number(high)),
        None => "none: one repeat".to_owned(),
    }
}

fn margin(estimate: &Estimate) -> Option<String> {
    let (low, high) = estimate.low.zip(estimate.high)?;
    let margin = (high - estimate.value).max(estimate.value - low);
    (margin > 0.0).then(|| two_digits(margin))
}
