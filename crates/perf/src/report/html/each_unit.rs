//! The elapsed time of each unit in the order of their ends, for scenarios that keep them.

use super::figure::{Swatch, figure};
use crate::report::chart::{SERIES_MAX, Sequence, sequences};
use crate::report::figures::{beyond, figure as number};
use crate::results::{Point, Scenario, Stretch};

/// Charts at most: one for each case of the first axis.
const CHARTS_MAX: usize = 8;
/// Repeats of a point that are drawn.
const REPEATS_MAX: usize = 10;
/// Failed units of a stretch that are marked.
const MARKED_MAX: usize = 100;
/// Milliseconds above which a chart is in seconds.
const SECONDS_FROM_MS: f64 = 2_000.0;

/// Returns the charts; nothing if no unit was kept. With several axes there is one chart for each case of the first.
pub fn charts(scenario: &Scenario) -> String {
    let kept: Vec<&Point> = scenario
        .points
        .iter()
        .filter(|point| drawn(point).any(|stretch| !stretch.units.is_empty()))
        .collect();
    if kept.is_empty() {
        return String::new();
    }
    let parted = scenario.axes.len() > 1;
    let mut groups: Vec<(String, Vec<&Point>)> = Vec::new();
    for point in kept {
        let name = match (parted, point.at.first()) {
            (true, Some(case)) => format!("{}: {}", case.axis, case.name),
            _ => String::new(),
        };
        match groups.iter_mut().find(|(known, _)| *known == name) {
            Some((_, points)) => points.push(point),
            None => groups.push((name, vec![point])),
        }
    }
    let left_out = beyond(groups.len(), CHARTS_MAX);
    let mut out = String::from("<h3>Each unit in order</h3><div class=\"charts\">");
    for (name, points) in groups.iter().take(CHARTS_MAX) {
        out.push_str(&chart(name, points, usize::from(parted)));
    }
    out.push_str("</div>");
    if left_out > 0 {
        out.push_str(&format!(
            "<p class=\"dim small\">The units of {} more cases are in report.json.</p>",
            number(left_out as f64)
        ));
    }
    out
}

fn drawn(point: &Point) -> impl Iterator<Item = &Stretch> {
    point.stretches.iter().take(REPEATS_MAX)
}

/// Draws a line for each stretch of some points, which are told apart by their cases from the axis `from` on.
fn chart(name: &str, points: &[&Point], from: usize) -> String {
    let stretches = || points.iter().flat_map(|point| drawn(point));
    let units = stretches().flat_map(|stretch| &stretch.units);
    let longest = units.map(|unit| ms(unit.elapsed_us)).fold(0.0, f64::max);
    let (divisor, unit) = match longest {
        longest if longest >= SECONDS_FROM_MS => (1_000.0, "s"),
        _ => (1.0, "ms"),
    };
    let mut lines = Vec::new();
    let mut legend = Vec::new();
    for (series, point) in points.iter().take(SERIES_MAX).enumerate() {
        for (repeat, stretch) in drawn(point).enumerate() {
            lines.push(line(stretch, (series, repeat > 0), divisor));
        }
        let cases = point.at.iter().skip(from).map(|case| case.name.as_str());
        legend.push((Swatch::Line(series), cases.collect::<Vec<_>>().join(", ")));
    }
    if legend.len() == 1 {
        legend.clear();
    }
    let mut words = format!("{unit} from the start of a unit to its end, in the order of the ends");
    if stretches().any(|stretch| stretch.units.iter().any(|unit| unit.code.is_some())) {
        words.push_str("; a mark is a failed unit");
    }
    if points.iter().any(|point| point.stretches.len() > 1) {
        words.push_str("; further repeats are pale");
    }
    match beyond(points.len(), SERIES_MAX) {
        0 => {}
        more => words.push_str(&format!("; {more} more series are in report.json")),
    }
    let title = match name {
        "" => "Elapsed time".to_owned(),
        name => format!("Elapsed time, {name}"),
    };
    figure(
        &title,
        &words,
        &sequences(&title, "number of the unit", &lines),
        &legend,
    )
}

fn line(stretch: &Stretch, (series, faint): (usize, bool), divisor: f64) -> Sequence {
    let units = || stretch.units.iter().enumerate();
    let failed = units().filter_map(|(at, unit)| Some((at, unit.code.as_deref()?)));
    Sequence {
        series,
        faint,
        values: units()
            .map(|(_, unit)| ms(unit.elapsed_us) / divisor)
            .collect(),
        marked: failed
            .take(MARKED_MAX)
            .map(|(at, code)| (at, format!("unit {}: {code}", at + 1)))
            .collect(),
    }
}

fn ms(us: u64) -> f64 {
    us as f64 / 1_000.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::{CaseResult, UnitResult};

    fn point(cases: &[(&str, &str)], units: &[(u64, Option<&str>)]) -> Point {
        let case = |(axis, name): &(&str, &str)| CaseResult {
            axis: (*axis).to_owned(),
            name: (*name).to_owned(),
            number: None,
        };
        let unit = |(elapsed_us, code): &(u64, Option<&str>)| UnitResult {
            at_ms: 0,
            elapsed_us: *elapsed_us,
            code: code.map(str::to_owned),
        };
        Point {
            at: cases.iter().map(case).collect(),
            stretches: vec![Stretch {
                units: units.iter().map(unit).collect(),
                ..Stretch::default()
            }],
            ..Point::default()
        }
    }

    #[test]
    fn each_case_of_the_first_axis_has_a_chart() {
        let slow = [(3_000_000, None), (4_000_000, Some("node.busy"))];
        let scenario = Scenario {
            axes: vec!["size".to_owned(), "receiver".to_owned()],
            points: vec![
                point(&[("size", "1 MB"), ("receiver", "near")], &[(5_000, None)]),
                point(&[("size", "1 MB"), ("receiver", "far")], &[(9_000, None)]),
                point(&[("size", "10 MB"), ("receiver", "far")], &slow),
                point(&[("size", "10 MB"), ("receiver", "near")], &[]),
            ],
            ..Scenario::default()
        };
        let html = charts(&scenario);
        for (words, count) in [
            ("<figure>", 2),
            ("Elapsed time, size: 1 MB</b>ms from", 1),
            ("Elapsed time, size: 10 MB</b>s from", 1),
            ("</svg>near</li>", 1),
            ("unit 2: node.busy", 1),
            ("a mark is a failed unit", 1),
        ] {
            assert_eq!(html.matches(words).count(), count, "{words}: {html}");
        }
    }

    #[test]
    fn draws_nothing_without_kept_units() {
        let scenario = Scenario {
            points: vec![point(&[], &[])],
            ..Scenario::default()
        };
        assert_eq!(charts(&scenario), "");
    }
}
