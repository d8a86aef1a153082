//! `[work]`, or several `[[work]]`.

use crate::plan::checks::Checks;
use crate::plan::limits::{KNOBS_MAX, WORKS_MAX};
use crate::plan::model::{Network, Work};
use crate::plan::reader::{Reader, Section};

/// Keys of a work that are not knobs.
const OWN: [&str; 3] = ["kind", "label", "weight"];
/// The only kind that runs without a network, and the only one that runs on another system.
const FAKE: &str = "fake";
const COMMAND: &str = "command";
/// The only kind that runs on a chain.
const PAYMENT: &str = crate::workload::PAYMENT;

pub(super) fn read(reader: &mut Reader<'_>, top: Section<'_>) -> Vec<Work> {
    reader.missing(top, "work");
    let mut works: Vec<Work> = Vec::new();
    let nodes = reader.list(top, "work", WORKS_MAX);
    if nodes.is_empty() && top.has("work") {
        reader.wrong(top.at_of("work"), "there has to be some work");
    }
    for node in nodes {
        let Some(section) = reader.open_any(node, "work") else {
            continue;
        };
        reader.missing(section, "kind");
        let kind = reader.words(section, "kind").unwrap_or_default();
        let label = reader
            .words(section, "label")
            .unwrap_or_else(|| kind.clone());
        if works.iter().any(|work| work.label == label) {
            let key = if section.has("label") {
                "label"
            } else {
                "kind"
            };
            let message = format!("two kinds of work are called `{label}`; give each a label");
            reader.wrong(section.at_of(key), message);
        }
        let knobs = section
            .table
            .iter()
            .filter(|(key, _)| !OWN.contains(&key.as_str()))
            .map(|(key, entry)| (key.clone(), entry.node.value()));
        let work = Work {
            kind,
            label,
            weight: reader.small(section, "weight").unwrap_or(1),
            knobs: knobs.collect(),
        };
        if work.knobs.len() > KNOBS_MAX {
            let message = format!("{} knobs; at most {KNOBS_MAX}", work.knobs.len());
            reader.wrong(section.at, message);
        }
        works.push(work);
    }
    works
}

/// Refuses a search with work that runs out. Its trials share one preparation, so the later ones would find nothing left,
/// which looks like a knee.
pub(super) fn check_search(
    reader: &mut Reader<'_>,
    top: Section<'_>,
    works: &[Work],
    checks: &dyn Checks,
) {
    let Some(work) = works.iter().find(|work| checks.is_used_up(work)) else {
        return;
    };
    let at = match reader.sub(top, "load") {
        Some(load) => load.at_of("knee"),
        None => top.at,
    };
    let message = format!(
        "work `{}`: each unit of `{}` uses up something that was prepared for it, so that a search runs out in the middle; \
         try rates one by one, with `load.rate` and a sweep over it",
        work.label, work.kind
    );
    reader.wrong(at, message);
}

/// Checks that the workloads support the works. Works and their tables are in the same order unless there is an error
/// already.
pub(super) fn check(
    reader: &mut Reader<'_>,
    top: Section<'_>,
    works: &[Work],
    (network, is_chain): (&Network, bool),
    checks: &dyn Checks,
) {
    let nodes = reader.list(top, "work", WORKS_MAX);
    let target = network.target.as_ref();
    let is_other = target.is_some_and(|target| target.connector().is_some());
    if is_other && works.len() > 1 {
        reader.wrong(top.at_of("work"), "a connector does one kind of work");
    }
    for (work, node) in works.iter().zip(nodes) {
        let Some(section) = reader.open_any(node, "work") else {
            continue;
        };
        let wrong = match (work.kind.as_str(), is_other, network.banks) {
            (PAYMENT, ..) if is_chain => None,
            (PAYMENT, ..) => Some("work of the kind `payment` needs `chain`"),
            _ if is_chain => Some("only work of the kind `payment` can be done on a chain"),
            (COMMAND, true, _) | (FAKE, false, 0) => None,
            (COMMAND, false, _) => {
                Some("work of the kind `command` needs `network.target.command` or `.connector`")
            }
            (_, true, _) => Some("a connector can only do work of the kind `command`"),
            (FAKE, ..) => Some("work of the kind `fake` needs `network.banks = 0`"),
            (_, false, 0) => {
                Some("only work of the kind `fake` can be done with `network.banks = 0`")
            }
            _ => None,
        };
        if let Some(message) = wrong {
            reader.wrong(section.at_of("kind"), message);
        }
        if let Err(error) = checks.work(work, network) {
            // An error without a key concerns the work as a whole.
            let key = error.key.as_deref().unwrap_or("kind");
            let at = match section.node(key) {
                Some(node) => node.at,
                None => section.at_of("kind"),
            };
            let label = &work.label;
            reader.wrong(at, format!("work `{label}`: {}", error.message));
        }
    }
}
