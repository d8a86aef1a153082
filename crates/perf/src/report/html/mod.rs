//! A report as one HTML page: no request, no script needed to read it, light and dark, phone, desk and paper.
//!
//! Every text of a report is treated as hostile and escaped. Titles come from scenario files; codes and messages come
//! from the driven system.

mod chain;
mod comparison;
mod digest;
mod each_unit;
mod failures;
pub(super) mod figure;
mod frame;
mod glossary;
mod growth;
mod joint;
mod limits;
mod point;
mod published;
mod resources;
mod scenario;
mod summary;
pub(super) mod sweep;
mod tables;
mod timeline;

pub use comparison::comparison_html;

use super::digest::{Digest, digest};
use super::figures::{bytes, date, duration, figure as number};
use super::finite::finite;
use crate::results::Report;
use frame::{Facts, banner, frame, words};

/// Scenarios of one page at most.
const SCENARIOS_MAX: usize = 200;

/// Returns the whole page.
pub fn html(report: &Report) -> String {
    let report = finite(report);
    let title = match report.title.trim() {
        "" => "Laboratory report".to_owned(),
        title => title.to_owned(),
    };
    let mut body = head(&report, &title);
    body.push_str("<main>");
    body.push_str(&verdict(&report));
    let digests: Vec<Digest> = report
        .scenarios
        .iter()
        .take(SCENARIOS_MAX)
        .map(|scenario| digest(&report, scenario))
        .collect();
    let scenarios = || report.scenarios.iter().zip(&digests).enumerate();
    let joint = joint::groups(&report);
    body.push_str(&summary::cards(scenarios()));
    if report.scenarios.len() > 3 {
        body.push_str("<nav class=\"toc\" aria-label=\"Contents\"><b>Contents</b><ol>");
        for (at, (scenario, _)) in scenarios() {
            let title = words(scenario::title(scenario), 90);
            body.push_str(&format!("<li><a href=\"#s{at}\">{title}</a></li>"));
        }
        for (at, group) in joint.iter().enumerate() {
            let title = words(&group.title(), 90);
            body.push_str(&format!("<li><a href=\"#j{at}\">{title}</a></li>"));
        }
        body.push_str("</ol></nav>");
    }
    for (at, (scenario, digest)) in scenarios() {
        body.push_str(&scenario::section(&report, scenario, digest, at));
    }
    for (at, group) in joint.iter().enumerate() {
        body.push_str(&group.section(at));
    }
    body.push_str(&glossary::section());
    body.push_str("</main><footer>");
    body.push_str(&format!(
        "Made by tally {}. Intervals are 95 % confidence intervals over repeats. Published figures were measured by others on other \
         machines, which are named with them; they are no part of this run.",
        words(&report.version, 60)
    ));
    body.push_str("</footer>");
    frame(&title, &body)
}

/// Returns the title and the circumstances.
fn head(report: &Report, title: &str) -> String {
    let machine = &report.machine;
    let mut facts = Facts::new();
    facts.add("Begun", &date(report.started_unix_ms));
    facts.add("Whole run took", &duration(report.seconds));
    facts.add("Version", &report.version);
    facts.add("Processor", &machine.processor);
    facts.add("Cores", &machine.cores.to_string());
    facts.add("Memory", &bytes(machine.memory_bytes as f64));
    facts.add("System", &machine.system);
    facts.add("Virtual machine", &machine.virtual_machine);
    facts.add("Disk", &machine.disk);
    if let Some(busy) = machine.busy_cores_before {
        let words = format!("{} of {} cores", number(busy), machine.cores);
        facts.add("Busy before the run", &words);
    }
    let load = (machine.load_average_before, machine.load_average_after);
    let load = format!("{} before, {} after", number(load.0), number(load.1));
    facts.add("Load average", &load);
    format!(
        "<header class=\"top\"><h1>{}</h1>{}</header>",
        words(title, 200),
        facts.end()
    )
}

/// Returns the notices that a reader has to see before any figure.
fn verdict(report: &Report) -> String {
    let mut out = String::new();
    let bad = report
        .scenarios
        .iter()
        .filter(|scenario| !scenario.is_good());
    let bad: Vec<String> = bad
        .take(SCENARIOS_MAX)
        .map(|scenario| words(scenario::title(scenario), 90))
        .collect();
    if !bad.is_empty() {
        let (count, all) = (bad.len(), report.scenarios.len());
        let list = bad.join("</li><li>");
        out.push_str(&banner(
            true,
            &format!(
                "<b>{count} of {all} scenarios failed.</b> Their figures are not valid.<ul><li>{list}</li></ul>"
            ),
        ));
    }
    if report.interrupted {
        out.push_str(&banner(
            false,
            "<b>The run was ended early.</b> What had been measured by then was audited and is shown; intervals are wider, and \
             points may be missing.",
        ));
    }
    if report.scenarios.is_empty() {
        out.push_str(&banner(false, "<b>No scenario ran.</b>"));
    }
    out
}
