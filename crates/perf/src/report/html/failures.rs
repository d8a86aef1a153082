//! The points of a sweep at which units failed, with their codes: where a system reaches a limit.

use std::collections::BTreeMap;

use super::frame::words;
use super::tables::{POINTS_MAX, table};
use crate::report::figures::{beyond, figure};
use crate::report::units::Metric;
use crate::results::{Point, Scenario, Stretch};

/// Codes shown of one point.
const CODES_MAX: usize = 4;

/// Returns the table of all points; nothing without a sweep, or if no unit failed.
pub fn section(scenario: &Scenario) -> String {
    let failed = |point: &Point| !codes(point).is_empty();
    if scenario.axes.is_empty() || !scenario.points.iter().any(failed) {
        return String::new();
    }
    let axes = scenario.axes.iter();
    let mut head: String = axes
        .map(|axis| format!("<th class=\"l\">{}</th>", words(axis, 40)))
        .collect();
    head.push_str("<th>Units</th><th>Failed</th><th>Errors</th><th class=\"l\">Code</th>");
    let rows: String = scenario.points.iter().take(POINTS_MAX).map(row).collect();
    let count = scenario.points.iter().filter(|point| failed(point)).count();
    let more = match beyond(scenario.points.len(), POINTS_MAX) {
        0 => String::new(),
        more => format!(" {more} more points are in report.csv."),
    };
    format!(
        "<h3>Where units failed</h3><p class=\"dim small\">At {count} of {} points, all repeats together.{more}</p>{}",
        scenario.points.len(),
        table(&head, &rows)
    )
}

/// Returns the failed units of a point by code, the most frequent code first.
fn codes(point: &Point) -> Vec<(&str, u64)> {
    let mut codes: BTreeMap<&str, u64> = BTreeMap::new();
    for fault in point.stretches.iter().flat_map(|stretch| &stretch.faults) {
        let count = codes.entry(&fault.code).or_default();
        // Clipped, since a report that was read from a file may hold any numbers.
        *count = count.saturating_add(fault.count);
    }
    let mut codes: Vec<(&str, u64)> = codes.into_iter().filter(|(_, count)| *count > 0).collect();
    codes.sort_by(|one, two| two.1.cmp(&one.1).then(one.0.cmp(two.0)));
    codes
}

fn row(point: &Point) -> String {
    let cases = point.at.iter();
    let cases: String = cases
        .map(|case| format!("<td class=\"l\">{}</td>", words(&case.name, 60)))
        .collect();
    let codes = codes(point);
    let total = |counts: &mut dyn Iterator<Item = u64>| counts.fold(0u64, u64::saturating_add);
    let units = total(&mut point.stretches.iter().map(Stretch::due_units));
    let failed = total(&mut codes.iter().map(|(_, count)| *count));
    let share = Metric::named("error_share");
    let errors = match (failed, units) {
        (0, _) | (_, 0) => "–".to_owned(),
        _ => share.with_unit(failed as f64 / units as f64),
    };
    let mut said: Vec<String> = codes
        .iter()
        .take(CODES_MAX)
        .map(|(code, _)| format!("<code>{}</code>", words(code, 80)))
        .collect();
    match beyond(codes.len(), CODES_MAX) {
        0 => {}
        more => said.push(format!("{more} more")),
    }
    let class = if failed > 0 { " class=\"bad\"" } else { "" };
    format!(
        "<tr>{cases}<td>{}</td><td{class}>{}</td><td{class}>{}</td><td class=\"l\">{}</td></tr>",
        figure(units as f64),
        figure(failed as f64),
        words(&errors, 24),
        match said.is_empty() {
            true => "none failed".to_owned(),
            false => said.join(", "),
        }
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::{CaseResult, Fault};

    fn point(case: &str, done: u64, dropped: u64, faults: &[(&str, u64)]) -> Point {
        let fault = |(code, count): &(&str, u64)| Fault {
            code: (*code).to_owned(),
            count: *count,
            ..Fault::default()
        };
        Point {
            at: vec![CaseResult {
                axis: "budget".to_owned(),
                name: case.to_owned(),
                number: None,
            }],
            stretches: vec![Stretch {
                done,
                dropped,
                faults: faults.iter().map(fault).collect(),
                ..Stretch::default()
            }],
            ..Point::default()
        }
    }

    #[test]
    fn every_point_says_what_failed_there() {
        let mut scenario = Scenario {
            axes: vec!["budget".to_owned()],
            points: vec![
                point("large", 200, 0, &[]),
                // Dropped units were due as well.
                point(
                    "small",
                    130,
                    20,
                    &[("node.busy", 40), ("lab.unfinished", 10)],
                ),
            ],
            ..Scenario::default()
        };
        let html = section(&scenario);
        for words in [
            "At 1 of 2 points",
            "large</td><td>200</td><td>0</td><td>–</td><td class=\"l\">none failed",
            "small</td><td>200</td><td class=\"bad\">50</td><td class=\"bad\">25%</td>",
            "<code>node.busy</code>, <code>lab.unfinished</code>",
        ] {
            assert!(html.contains(words), "{words}: {html}");
        }
        scenario.points.pop();
        assert_eq!(section(&scenario), "");
    }
}
