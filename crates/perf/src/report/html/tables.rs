//! Tables of all metrics with their intervals, of errors by code, and of audits.

use std::collections::BTreeMap;

use super::frame::words;
use crate::report::figures::{beyond, figure, too_few_samples};
use crate::report::headline::place;
use crate::report::units::{Metric, rank};
use crate::results::{LATENCY_PERCENTILES, Point, Scenario, Support, TO_BLOCK_PERCENTILES};

/// Maximum number of points in the tables of the page. The CSV has all.
pub const POINTS_MAX: usize = 400;
/// Number of columns that a page on a desk has room for.
const COLUMNS_MAX: usize = 11;
/// Least number of columns of a part of a wide table, beside those that each part has.
const COLUMNS_MIN: usize = 4;
/// Maximum number of codes in the table of errors.
const FAULTS_MAX: usize = 60;

/// Returns the beginning of a table row: a point's position on each axis.
fn cases(scenario: &Scenario, point: &Point) -> String {
    let axes = 0..scenario.axes.len();
    axes.map(|axis| {
        let case = point.at.get(axis).map_or("", |case| case.name.as_str());
        format!("<td class=\"l\">{}</td>", words(case, 60))
    })
    .collect()
}

fn axes(scenario: &Scenario) -> String {
    let axes = scenario.axes.iter();
    axes.map(|axis| format!("<th class=\"l\">{}</th>", words(axis, 40)))
        .collect()
}

/// Returns a table in a box that scrolls if it is wider than the page. On a phone, the page's script stacks its cells.
pub fn table(head: &str, rows: &str) -> String {
    format!(
        "<div class=\"scroll\" tabindex=\"0\"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>"
    )
}

/// Returns the names of the metrics with a column, in order: each that is not 0 at every point, and percentiles that some
/// point has too few samples for.
fn columns(scenario: &Scenario) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for point in &scenario.points {
        let metrics = point.summary.metrics.iter();
        names.extend(
            metrics
                .filter(|(_, estimate)| estimate.value != 0.0)
                .map(|(name, _)| name.as_str()),
        );
        let percentiles = LATENCY_PERCENTILES.iter().chain(&TO_BLOCK_PERCENTILES);
        let names_of = percentiles.map(|(name, _)| *name);
        names.extend(names_of.filter(|name| point.support(name) != Support::Enough));
    }
    names.sort_by_key(|name| (rank(name), *name));
    names.dedup();
    names
}

/// Returns tables of a desk's width with these columns in equal parts. Each begins with the first `fixed` columns of the rows.
pub fn parts<T>(columns: &[T], fixed: usize) -> impl Iterator<Item = &[T]> {
    let most = COLUMNS_MAX.saturating_sub(fixed).max(COLUMNS_MIN);
    let tables = columns.len().div_ceil(most).max(1);
    // Without columns there is no part.
    columns.chunks(columns.len().div_ceil(tables).max(1))
}

/// Points by metrics.
pub fn metrics(scenario: &Scenario) -> String {
    let names = columns(scenario);
    if names.is_empty() {
        return "<p class=\"dim\">Nothing was measured.</p>".to_owned();
    }
    let has_figures = |point: &&Point| {
        names.iter().any(|name| {
            point.summary.metrics.contains_key(*name) || point.support(name) != Support::Enough
        })
    };
    let points: Vec<&Point> = scenario.points.iter().filter(has_figures).collect();
    let metrics: Vec<Metric> = names.iter().map(|name| Metric::named(name)).collect();
    let mut out: String = parts(&metrics, scenario.axes.len())
        .map(|part| metrics_table(scenario, &points, part))
        .collect();
    out.push_str(
        "<p class=\"dim small\">± is half the 95 % confidence interval over the repeats. If it is half of the figure or more, the \
         repeats support no single figure, and the interval stands in its place. Processor time, commits and bytes of a unit are \
         sums over all nodes.</p>",
    );
    let notes = [
        (
            beyond(points.len(), POINTS_MAX),
            "more points are in report.csv",
        ),
        (
            scenario.points.len() - points.len(),
            "points have no figures",
        ),
    ];
    for (count, note) in notes.into_iter().filter(|(count, _)| *count > 0) {
        out.push_str(&format!("<p class=\"dim small\">{count} {note}.</p>"));
    }
    out
}

fn metrics_table(scenario: &Scenario, points: &[&Point], metrics: &[Metric]) -> String {
    let mut head = axes(scenario);
    for metric in metrics {
        let unit = match metric.unit {
            "" => "&nbsp;",
            "/s" => "a second",
            unit => unit,
        };
        head.push_str(&format!("<th>{}<br>{unit}</th>", words(&metric.brief, 40)));
    }
    let mut rows = String::new();
    for point in points.iter().take(POINTS_MAX) {
        rows.push_str("<tr>");
        rows.push_str(&cases(scenario, point));
        for metric in metrics {
            let found = point.summary.metrics.get(&metric.name);
            rows.push_str(&match (found, point.support(&metric.name)) {
                (None, Support::TooFew(samples)) => {
                    format!("<td class=\"few\">{}</td>", too_few_samples(samples))
                }
                (None, Support::Enough) => "<td class=\"dim\">–</td>".to_owned(),
                (Some(estimate), _) => {
                    let bad = metric.name == "error_share" && estimate.value > 0.0;
                    let class = if bad { " class=\"bad\"" } else { "" };
                    match (metric.range(estimate), metric.margin(estimate)) {
                        (Some(range), _) => format!("<td{class}>{}</td>", words(&range, 40)),
                        (None, margin) => {
                            let margin = margin.map_or(String::new(), |margin| {
                                format!("<br><small>± {}</small>", words(&margin, 24))
                            });
                            let figure = words(&metric.figure(estimate.value), 24);
                            format!("<td{class}>{figure}{margin}</td>")
                        }
                    }
                }
            });
        }
        rows.push_str("</tr>");
    }
    table(&head, &rows)
}

/// Errors by code over all points.
pub fn faults(scenario: &Scenario) -> String {
    let mut codes: BTreeMap<&str, (u64, &str)> = BTreeMap::new();
    let stretches = scenario.points.iter().flat_map(|point| &point.stretches);
    for fault in stretches.flat_map(|stretch| &stretch.faults) {
        let entry = codes.entry(&fault.code).or_insert((0, &fault.message));
        // A report from a file may state any numbers. No run makes a sum above the largest of them.
        entry.0 = entry.0.saturating_add(fault.count);
    }
    if codes.is_empty() {
        return "<p class=\"small dim\">No unit failed.</p>".to_owned();
    }
    let mut list: Vec<_> = codes.into_iter().collect();
    list.sort_by(|one, two| two.1.0.cmp(&one.1.0).then(one.0.cmp(two.0)));
    let left_out = beyond(list.len(), FAULTS_MAX);
    let rows: String = list
        .into_iter()
        .take(FAULTS_MAX)
        .map(|(code, (count, message))| {
            format!(
                "<tr><td class=\"l\"><code>{}</code></td><td>{}</td><td class=\"w\">{}</td></tr>",
                words(code, 80),
                figure(count as f64),
                words(message, 400)
            )
        })
        .collect();
    let more = match left_out {
        0 => String::new(),
        count => format!("<p class=\"dim small\">{count} more codes are in report.json.</p>"),
    };
    let head = "<th class=\"l\">Errors by code</th><th>Units</th><th class=\"l\">One of them</th>";
    table(head, &rows) + &more
}

/// Returns the table of audits.
pub fn audits(scenario: &Scenario) -> String {
    // Without a sweep, there is no point to name.
    let after = |text: &str, cell: &str| match scenario.axes.is_empty() {
        true => String::new(),
        false => format!("<{cell} class=\"l\">{text}</{cell}>"),
    };
    let points = scenario.points.iter();
    let rows: String = points
        .flat_map(|point| point.audits.iter().map(move |audit| (point, audit)))
        .take(POINTS_MAX)
        .map(|(point, audit)| {
            let (class, verdict) = if audit.clean {
                ("l", "✓ clean")
            } else {
                ("l bad", "✗ failed")
            };
            format!(
                "<tr><td class=\"{class}\">{verdict}</td>{}<td>{}</td><td class=\"w\">{}</td></tr>",
                after(&words(&place(point), 80), "td"),
                figure(audit.transactions as f64),
                words(&audit.words, 600)
            )
        })
        .collect();
    if rows.is_empty() {
        return "<p class=\"small dim\">No audit was made.</p>".to_owned();
    }
    let head = format!(
        "<th class=\"l\">Audit</th>{}<th>Transactions</th><th class=\"l\">In words</th>",
        after("After", "th")
    );
    table(&head, &rows) + &reconciled(scenario)
}

/// Returns why the audited transactions and the completed units are different numbers.
fn reconciled(scenario: &Scenario) -> String {
    // Sums are clipped, since a report from a file may state any numbers.
    let points = scenario.points.iter();
    let audited = points.flat_map(|point| &point.audits);
    let audited = audited.fold(0u64, |sum, audit| sum.saturating_add(audit.transactions));
    let stretches = scenario.points.iter().flat_map(|point| &point.stretches);
    let units = stretches.fold(0u64, |sum, stretch| sum.saturating_add(stretch.done));
    let (audited, units) = (figure(audited as f64), figure(units as f64));
    format!(
        "<p class=\"dim small\">{audited} transactions were audited after {units} measured units of all points. An audit covers all \
         that was acknowledged since its network was prepared: also warm-ups and the trials of a search, which no figure counts. A unit \
         can consist of several transactions, or of none.</p>"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_tables_have_equal_parts_of_a_desk_s_width() {
        for (columns, fixed, expected) in [
            (0, 1, &[][..]),
            (10, 1, &[10]),
            (11, 1, &[6, 5]),
            (19, 2, &[7, 7, 5]),
            (5, 20, &[3, 2]),
        ] {
            let columns = vec![(); columns];
            let found: Vec<usize> = parts(&columns, fixed).map(<[()]>::len).collect();
            assert_eq!(found, expected, "{} and {fixed}", columns.len());
        }
    }
}
