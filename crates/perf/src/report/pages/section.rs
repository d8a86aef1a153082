//! The part of a page about one run.

use std::collections::BTreeMap;

use super::command;
use super::load::{RUNS_FOLDER, TopicRun};
use super::markdown::{Table, plain, shell};
use super::measured::{further, metrics, table};
use super::picture;
use crate::report::digest::{Conditions, audited, digest};
use crate::report::figures::{date, duration, figure};
use crate::report::headline::{headline, main_metric};
use crate::report::saved::shortfall;
use crate::results::{Limits, Report, Scenario};

/// The charts of a page by the file's name.
pub type Charts = BTreeMap<String, String>;

/// Returns the section of a run, and adds its charts.
pub fn section(run: &TopicRun, charts: &mut Charts) -> String {
    let mut out = format!("## {}\n\n", plain(run.title()));
    match run.measured() {
        None => out.push_str(&missing(run)),
        Some((report, scenario)) => out.push_str(&measured(run, report, scenario, charts)),
    }
    out
}

fn missing(run: &TopicRun) -> String {
    format!(
        "**Not measured yet.** The repository has no saved run of this scenario. These commands make it:\n\n{}",
        shell(&command::lines(&run.run))
    )
}

fn measured(run: &TopicRun, report: &Report, scenario: &Scenario, charts: &mut Charts) -> String {
    let mut out = String::new();
    if let Some(why) = shortfall(scenario) {
        out.push_str(&format!("> **Too short to quote:** {}.\n\n", plain(&why)));
    }
    let digest = digest(report, scenario);
    for (name, text) in digest.opening.parts() {
        if ["Answer", "Bottleneck", "Confidence"].contains(&name) {
            out.push_str(&format!("- **{name}:** {}\n", plain(&text)));
        }
    }
    out.push('\n');
    for metric in metrics(scenario) {
        let name = format!("{}-{}.svg", run.run.file, metric.name.replace('_', "-"));
        if let Some(svg) = picture::of_metric(report, scenario, &metric) {
            let about = plain(&format!("{}, ours and published", metric.heading()));
            out.push_str(&format!("![{about}]({name})\n\n"));
            charts.insert(name, svg);
        }
        out.push_str(&table(scenario, &metric));
    }
    for (ending, title, svg) in picture::over_time(scenario) {
        let name = format!("{}-{ending}-over-time.svg", run.run.file);
        out.push_str(&format!("![{}, over time]({name})\n\n", plain(title)));
        charts.insert(name, svg);
    }
    if let Some(headline) = headline(scenario) {
        out.push_str(&further(headline.point, main_metric(scenario)));
    }
    out.push_str(&sources(scenario));
    out.push_str(&conditions(&digest.conditions));
    out.push_str(&facts(run, report, scenario));
    out.push_str(&repeating(run, scenario));
    out
}

/// Returns the publications, by the numbers of the tables' columns.
fn sources(scenario: &Scenario) -> String {
    if scenario.published.is_empty() {
        return "No figure was published for this work.\n\n".to_owned();
    }
    let mut out = "Published figures:\n\n".to_owned();
    for (at, line) in scenario.published.iter().enumerate() {
        let (label, source) = (plain(&line.label), plain(&line.source));
        out.push_str(&format!("{}. {label}: {source}\n", at + 1));
    }
    out + "\n"
}

fn conditions(conditions: &Conditions) -> String {
    let mut headings = vec!["conditions".to_owned(), "ours".to_owned()];
    headings.extend(conditions.theirs.iter().map(|label| plain(label)));
    let mut table = Table::new(&headings);
    for row in &conditions.rows {
        let theirs = row.theirs.iter();
        let theirs = theirs.map(|one| one.as_deref().map_or(String::new(), plain));
        let mut cells = vec![row.title.to_lowercase(), plain(&row.ours)];
        cells.extend(theirs);
        table.row(cells);
    }
    table.end()
}

/// Returns the circumstances of the run.
fn facts(run: &TopicRun, report: &Report, scenario: &Scenario) -> String {
    let machine = &report.machine;
    let mut table = Table::new(&["the run".to_owned(), String::new()]);
    let mut add = |name: &str, text: String| {
        if !text.is_empty() {
            table.row([name.to_owned(), text]);
        }
    };
    add("date", date(report.started_unix_ms));
    add("version", format!("tally {}", plain(&report.version)));
    add("system", plain(&machine.system));
    add(
        "machine's own limits",
        machine.limits.as_ref().map_or(String::new(), limits),
    );
    add(
        "load average before",
        format!(
            "{} on {} cores",
            figure(machine.load_average_before),
            machine.cores
        ),
    );
    add(
        "duration",
        format!("{} with preparation and audit", duration(report.seconds)),
    );
    add("audit", audits(scenario));
    add("warnings", warnings(scenario));
    let file = format!("{}.json", run.run.file);
    add("every repeat", format!("[{file}]({RUNS_FOLDER}/{file})"));
    table.end()
}

fn limits(limits: &Limits) -> String {
    format!(
        "{} durable commits of 4 KiB a second ({} µs each); on one core {} signatures made and {} checked a second",
        figure(limits.commits_per_s),
        figure(limits.commit_us),
        figure(limits.signs_per_s),
        figure(limits.checks_per_s)
    )
}

fn audits(scenario: &Scenario) -> String {
    let count = scenario.points.iter().map(|point| point.audits.len());
    let noun = |count| if count == 1 { "audit" } else { "audits" };
    let count: usize = count.sum();
    format!("clean: {count} {}, {}", noun(count), audited(scenario))
}

/// Returns the first warning of each code, with the number of its points and repeats.
fn warnings(scenario: &Scenario) -> String {
    let mut first: BTreeMap<&str, (&str, usize)> = BTreeMap::new();
    for finding in &scenario.findings {
        let known = first.entry(&finding.code).or_insert((&finding.message, 0));
        known.1 += 1;
    }
    let lines = first.iter().map(|(code, (message, count))| {
        let times = match count {
            1 => String::new(),
            count => format!(" ({count} times)"),
        };
        format!("{}{times}: {}", plain(code), plain(message))
    });
    let lines: Vec<String> = lines.collect();
    match lines.is_empty() {
        true => "none".to_owned(),
        false => lines.join("<br>"),
    }
}

/// Returns the commands that repeat the run.
fn repeating(run: &TopicRun, scenario: &Scenario) -> String {
    match command::is_same(&run.plan, scenario) {
        true => format!("To repeat it:\n\n{}", shell(&command::lines(&run.run))),
        false => format!(
            "The scenario has changed since this run. To repeat it as it was, take its text out of the file:\n\n{}\
             The run of the present scenario:\n\n{}",
            shell(&command::lines_of_file(&run.run)),
            shell(&command::lines(&run.run))
        ),
    }
}
