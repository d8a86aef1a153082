//! A comparison as text.

use perf::report::{Better, Metric};
use perf::stats::{Compared, Comparison, Method, Scale, Verdict};

use crate::output::{Ink, Table, stdout_ink};

/// Maximum number of listed omissions. JSON lists all.
const LEFT_OUT_MAX: usize = 8;

/// Returns the tables, the test, and the remarks.
pub fn people(comparison: &Comparison) -> String {
    let ink = stdout_ink();
    let mut text = format!("{}\n", comparison.title);
    for side in &comparison.sides {
        text.push_str(&format!("  {}  {}\n", side.name, side.about));
    }
    for side in 1..comparison.sides.len() {
        text.push('\n');
        text.push_str(&table(comparison, side, ink).render(ink));
        text.push('\n');
    }
    text.push('\n');
    text.push_str(&summary(comparison));
    for left in comparison.left_out.iter().take(LEFT_OUT_MAX) {
        let parts = [left.at.as_str(), left.metric.as_str()];
        let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        text.push_str(&format!("not tested: {}: {}\n", parts.join(", "), left.why));
    }
    if let Some(more) = comparison
        .left_out
        .len()
        .checked_sub(LEFT_OUT_MAX)
        .filter(|more| *more > 0)
    {
        text.push_str(&format!("not tested: and {more} more\n"));
    }
    for note in &comparison.notes {
        text.push_str(&format!("{} {note}\n", ink.paint(Ink::YELLOW, "note:")));
    }
    text
}

fn table(comparison: &Comparison, side: usize, ink: Ink) -> Table {
    let of_side = || {
        comparison
            .metrics
            .iter()
            .filter(move |metric| metric.side == side)
    };
    let name = |at: usize| {
        comparison
            .sides
            .get(at)
            .map_or("", |side| side.name.as_str())
    };
    let with_points = of_side().any(|metric| !metric.at.is_empty());
    let before = format!(">{}", name(0));
    let after = format!(">{}", name(side));
    let mut headers = vec![
        "metric",
        before.as_str(),
        after.as_str(),
        ">change",
        ">95 %",
        "verdict",
    ];
    if with_points {
        headers.insert(0, "point");
    }
    let mut table = Table::new(&headers);
    for compared in of_side() {
        let metric = Metric::named(&compared.metric);
        let (change, interval) = change(compared, &metric);
        let mut row = vec![
            metric.short(),
            metric.estimate(&compared.before),
            metric.estimate(&compared.after),
            change,
            interval,
            verdict(compared, &metric, ink),
        ];
        if with_points {
            row.insert(0, compared.at.clone());
        }
        table.row(row);
    }
    table
}

/// Returns the change and its interval.
fn change(compared: &Compared, metric: &Metric) -> (String, String) {
    let words = |value: f64| size(compared.scale, value, metric);
    let interval = compared.change.low.zip(compared.change.high);
    let interval = interval.map(|(low, high)| format!("{} to {}", words(low), words(high)));
    (words(compared.change.value), interval.unwrap_or_default())
}

/// Returns `+5.2 %` for a ratio, and `+0.4 %` (points) or another unit for a difference.
fn size(scale: Scale, value: f64, metric: &Metric) -> String {
    match scale {
        Scale::Ratio => percent((value - 1.0) * 100.0),
        Scale::Difference => {
            let sign = if value > 0.0 { "+" } else { "" };
            format!("{sign}{}", metric.with_unit(value))
        }
    }
}

fn percent(value: f64) -> String {
    match value.abs() {
        size if !size.is_finite() => "-".to_owned(),
        size if size >= 100.0 => format!("{value:+.0} %"),
        _ => format!("{value:+.1} %"),
    }
}

fn verdict(compared: &Compared, metric: &Metric, ink: Ink) -> String {
    let way = match compared.verdict {
        Verdict::NotShown if compared.sees_too_little() => {
            return "not shown (only more than tenfold would be: too few stretches)".to_owned();
        }
        Verdict::NotShown => {
            let from = compared.seen_from.map(|from| match compared.scale {
                Scale::Ratio => percent((from - 1.0) * 100.0)
                    .trim_start_matches('+')
                    .to_owned(),
                Scale::Difference => metric.with_unit(from),
            });
            return match from {
                Some(from) => format!("not shown (seen from {from})"),
                None => "not shown (too few to see anything)".to_owned(),
            };
        }
        Verdict::Higher => Better::Higher,
        Verdict::Lower => Better::Lower,
    };
    let moved = if way == Better::Higher {
        "higher"
    } else {
        "lower"
    };
    match metric.better {
        Some(better) if better == way => ink.paint(Ink::GREEN, &format!("{moved}: better")),
        Some(_) => ink.paint(Ink::RED, &format!("{moved}: worse")),
        None => ink.paint(Ink::BOLD, moved),
    }
}

fn summary(comparison: &Comparison) -> String {
    let tested = comparison.metrics.len();
    let changed = comparison
        .metrics
        .iter()
        .filter(|metric| metric.verdict != Verdict::NotShown)
        .count();
    let test = &comparison.test;
    let how = match test.method {
        Method::PairedRandomOrder => format!(
            "{} pairs, each in an order by chance; random signs, largest statistic of all metrics",
            test.count
        ),
        Method::PairedFixedOrder => format!(
            "{} pairs, always in the same order; random signs, largest statistic of all metrics",
            test.count
        ),
        Method::Unpaired => format!(
            "separate runs of {} repeats and more; Welch's t-tests with Holm's correction",
            test.count
        ),
    };
    format!(
        "{changed} of {tested} metrics changed. Test: {how}. Chance of any false finding: at most {} %.\n",
        test.error_rate * 100.0
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use perf::results::Estimate;
    use perf::stats::{LeftOut, Side, Test};

    fn compared(metric: &str, scale: Scale, change: f64, verdict: Verdict) -> Compared {
        let estimate = |value: f64| Estimate {
            value,
            low: Some(value * 0.99),
            high: Some(value * 1.01),
        };
        Compared {
            side: 1,
            metric: metric.to_owned(),
            before: estimate(100.0),
            after: estimate(105.0),
            scale,
            change: estimate(change),
            verdict,
            seen_from: Some(if scale == Scale::Ratio { 1.031 } else { 0.02 }),
            ..Compared::default()
        }
    }

    #[test]
    fn a_comparison_in_words() {
        let side = |name: &str| Side {
            name: name.to_owned(),
            about: format!("about {name}"),
        };
        let comparison = Comparison {
            title: "Issue".to_owned(),
            sides: vec![side("A"), side("B")],
            test: Test {
                count: 12,
                error_rate: 0.01,
                ..Test::default()
            },
            metrics: vec![
                compared("rate_per_s", Scale::Ratio, 1.052, Verdict::Higher),
                compared("p50_ms", Scale::Ratio, 1.052, Verdict::Higher),
                compared("p99_ms", Scale::Ratio, 0.998, Verdict::NotShown),
                compared("error_share", Scale::Difference, 0.004, Verdict::NotShown),
                Compared {
                    seen_from: Some(1e9),
                    ..compared("p90_ms", Scale::Ratio, 1.0, Verdict::NotShown)
                },
            ],
            left_out: vec![LeftOut {
                metric: "knee_per_s".to_owned(),
                why: "only one side has it".to_owned(),
                ..LeftOut::default()
            }],
            notes: vec!["A was ended early.".to_owned()],
            ..Comparison::default()
        };
        let text = people(&comparison);
        for words in [
            "about B",
            "+5.2 %",
            "higher: better",
            "higher: worse",
            "not shown (seen from 3.1 %)",
            "not shown (seen from 2%)",
            "not shown (only more than tenfold would be: too few stretches)",
            "2 of 5 metrics changed. Test: 12 pairs",
            "at most 1 %",
            "not tested: knee_per_s: only one side has it",
            "note: A was ended early.",
        ] {
            assert!(text.contains(words), "{words}:\n{text}");
        }
    }
}
