//! The index of the published results.

use super::load::{RUNS_FOLDER, Topic, TopicRun};
use super::markdown::{Table, plain};
use super::page::GENERATED;
use crate::report::figures::date;
use crate::report::headline::{headline, place};
use crate::report::saved::shortfall;

/// The file.
pub const NAME: &str = "README.md";

/// Returns the page.
pub fn page(topics: &[Topic], picture: Option<&str>) -> String {
    let is_measured = topics
        .iter()
        .flat_map(|topic| &topic.runs)
        .any(|run| run.saved.is_some());
    // A folder without a file is not part of a repository.
    let files = match is_measured {
        true => format!("[The run files]({RUNS_FOLDER})"),
        false => "The run files".to_owned(),
    };
    let mut out = format!(
        "# Results\n{GENERATED}\n\
         Our measurements next to published ones. Each page shows charts, tables, the conditions of both sides, and the parts that were not \
         reproduced. Hardware differs on every page: compare shapes and orders of magnitude. {files} hold every repeat, and [the \
         guide](../guides/publishing-results.md) explains how to make, save and check one.\n\n"
    );
    if let Some(picture) = picture {
        out.push_str(&format!(
            "![Main figures, ours and published]({picture})\n\n"
        ));
    }
    let mut table = Table::new(&["topic", "run", "main figure", "state"].map(str::to_owned));
    for topic in topics {
        let link = format!("[{}]({}.md)", plain(&topic.page.title), topic.page.name);
        for (at, run) in topic.runs.iter().enumerate() {
            let first = if at == 0 { link.clone() } else { String::new() };
            let (figure, state) = row(run);
            table.row([first, plain(run.title()), figure, state]);
        }
    }
    out + table.end().trim_end() + "\n"
}

/// Returns the main figure of a run, and its state.
fn row(run: &TopicRun) -> (String, String) {
    let Some((report, scenario)) = run.measured() else {
        return (String::new(), "not measured yet".to_owned());
    };
    let figure = headline(scenario).map_or(String::new(), |headline| {
        let metric = &headline.metric;
        let margin = metric.margin(headline.estimate);
        let margin = margin.map_or(String::new(), |margin| format!(" ± {margin}"));
        let at = match place(headline.point) {
            place if place.is_empty() => String::new(),
            place => format!(" at {}", plain(&place)),
        };
        let value = metric.with_unit(headline.estimate.value);
        format!("{}: {value}{margin}{at}", metric.title)
    });
    let state = match shortfall(scenario) {
        None => String::new(),
        Some(_) => "**too short to quote**, ".to_owned(),
    };
    (figure, format!("{state}{}", date(report.started_unix_ms)))
}
