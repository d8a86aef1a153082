//! Published figures next to ours, with their sources.

use super::frame::words;
use super::tables::table;
use crate::report::chart::escape;
use crate::report::headline::{place, published_at};
use crate::report::units::{Metric, rank};
use crate::results::{Scenario, is_link};

/// Rows of published figures beyond which the table is folded.
const PUBLISHED_OPEN: usize = 12;

/// Compares published figures with ours, as factors.
pub fn section(scenario: &Scenario) -> String {
    // Without a sweep, there is no point to name.
    let first = |text: String, cell: &str| match scenario.axes.is_empty() {
        true => String::new(),
        false => format!("<{cell} class=\"l\">{text}</{cell}>"),
    };
    let mut rows = String::new();
    let mut lines: Vec<_> = scenario.published.iter().collect();
    lines.sort_by_key(|line| rank(&line.metric));
    for line in lines {
        let metric = Metric::named(&line.metric);
        for point in &scenario.points {
            let theirs = published_at(line, point);
            let Some((theirs, ours)) = theirs.zip(point.summary.metrics.get(&line.metric)) else {
                continue;
            };
            // Without a single figure there is no factor either.
            let factor = match metric.range(ours) {
                Some(_) => None,
                None => metric.factor(ours.value, theirs),
            };
            rows.push_str(&format!(
                "<tr>{}<td class=\"l\">{}</td><td>{}</td><td>{}</td><td>{}</td><td class=\"l\">{}</td></tr>",
                first(words(&place(point), 80), "td"),
                words(&metric.heading(), 40),
                escape(&metric.supported(ours)),
                escape(&metric.figure(theirs)),
                factor.map_or("–".to_owned(), |factor| escape(&metric.factor_words(factor))),
                words(&line.label, 80)
            ));
        }
    }
    if rows.is_empty() && scenario.published.is_empty() {
        return String::new();
    }
    let sources: String = scenario
        .published
        .iter()
        .map(|line| {
            // A report from a file may state any text as an address.
            let link = match is_link(&line.url) {
                true => format!(" <a href=\"{}\">Source</a>", escape(&line.url)),
                false => String::new(),
            };
            format!(
                "<li><b>{}</b>: {}{link}</li>",
                words(&line.label, 80),
                words(&line.source, 500)
            )
        })
        .collect();
    let count = rows.matches("<tr>").count();
    let (open, close) = match count > PUBLISHED_OPEN {
        true => (
            format!("<details><summary>All {count} figures beside ours</summary><div>"),
            "</div></details>",
        ),
        false => (String::new(), ""),
    };
    let head = format!(
        "{}<th class=\"l\">Metric</th><th>Here</th><th>Published</th><th>Here it is</th><th class=\"l\">Published for</th>",
        first("Point".to_owned(), "th")
    );
    let beside = match rows.is_empty() {
        true => {
            "<p class=\"small dim\">No published figure is for a measured point.</p>".to_owned()
        }
        false => format!("{open}{}{close}", table(&head, &rows)),
    };
    format!(
        "<h3>Published elsewhere</h3><p class=\"dim small\">Measured by others on other machines: a factor compares systems together \
         with their hardware.</p>{beside}<ul class=\"small dim\">{sources}</ul>"
    )
}
