//! Converts a checked document to a [`Plan`], one file per section.

mod chain;
mod csv;
mod load;
mod network;
mod published;
mod run;
pub(super) mod sweep;
mod work;

use super::checks::Checks;
use super::limits::{METRICS_MAX, NAME_CHARS_MAX};
use super::model::{Audit, Load, Monitors, Plan};
use super::reader::{Reader, Section};
use super::source::At;
use super::tree::Table;

/// The minimum interval between two readings of a process. Below it, the readings distort the result.
const EVERY_MS_MIN: u64 = 50;
/// Default interval between two readings.
const EVERY_MS: u64 = 500;
/// Default number of transactions that an audit reads.
const READ_MAX: u32 = 20_000;

/// Reads a document. Errors are noted in the reader, and the plan is then unusable.
pub(super) fn plan(
    reader: &mut Reader<'_>,
    table: &Table,
    name: &str,
    checks: &dyn Checks,
) -> Plan {
    let top = reader.open_top(table, At::NOWHERE);
    let given = reader.words(top, "name");
    if let Some(given) = &given
        && *given != plain_name(given)
    {
        let rule = "`name` may have small letters, digits and dashes";
        reader.wrong(
            top.at_of("name"),
            format!("{rule}, {NAME_CHARS_MAX} of them"),
        );
    }
    let name = given.unwrap_or_else(|| plain_name(name));
    let title = reader.words(top, "title").unwrap_or_else(|| name.clone());
    let about = reader.text(top, "about").unwrap_or_default();
    let seed = reader.whole(top, "seed").unwrap_or(1);
    let chain = chain::read(reader, top, checks);
    let mut network = network::read(reader, top, checks);
    if chain.is_some() {
        network.banks = 0;
    }
    let work = match &chain {
        // It is payments.
        Some(_) if !top.has("work") => Vec::new(),
        _ => work::read(reader, top),
    };
    let load = load::read(reader, top);
    let theirs = chain.as_ref().is_some_and(|chain| chain.target.is_some());
    let nodes = match &chain {
        Some(chain) => chain.node_names(),
        None => network.node_names(),
    };
    let theirs = network.target.is_some() || theirs;
    let run = run::read(reader, top, &load, (&nodes, theirs));
    let sweep = sweep::read(reader, top);
    // A scenario with a sweep runs only as its points. The work is checked there.
    if sweep.is_empty() {
        let is_chain = chain.is_some();
        work::check(reader, top, &work, (&network, is_chain), checks);
        if matches!(load, Load::Knee(_)) {
            work::check_search(reader, top, &work, checks);
        }
    }
    let main_metric = reader.one_of(top, "main_metric").unwrap_or(match load {
        Load::Knee(_) => "knee_per_s",
        Load::Closed(_) | Load::Open(_) if chain.is_some() => "chain_tps",
        Load::Closed(_) | Load::Open(_) => "rate_per_s",
    });
    let published = published::read(reader, top, main_metric);
    Plan {
        name,
        title,
        about,
        seed,
        network,
        chain,
        work,
        load,
        run,
        sweep,
        monitors: monitors(reader, top),
        audit: audit(reader, top),
        published,
        main_metric: main_metric.to_owned(),
    }
}

fn monitors(reader: &mut Reader<'_>, top: Section<'_>) -> Monitors {
    let section = reader.sub(top, "monitors");
    let mut monitors = Monitors {
        every_ms: EVERY_MS,
        metrics: Vec::new(),
        machine: true,
    };
    let Some(section) = section else {
        return monitors;
    };
    if let Some(every_ms) = reader.whole(section, "every_ms") {
        if (1..EVERY_MS_MIN).contains(&every_ms) {
            let rule = format!("`monitors.every_ms` is 0, or at least {EVERY_MS_MIN}");
            reader.wrong(section.at_of("every_ms"), rule);
        }
        monitors.every_ms = every_ms;
    }
    monitors.metrics = reader.texts(section, "metrics", METRICS_MAX);
    monitors.machine = reader.flag(section, "machine").unwrap_or(true);
    monitors
}

fn audit(reader: &mut Reader<'_>, top: Section<'_>) -> Audit {
    let section = reader.sub(top, "audit");
    let read_max = section.and_then(|section| reader.small(section, "read_max"));
    Audit {
        read_max: read_max.unwrap_or(READ_MAX),
    }
}

/// Converts a text to a scenario's name: small letters, digits and dashes, of limited length and not empty.
pub(super) fn plain_name(text: &str) -> String {
    let dashed = |c: char| match c.to_ascii_lowercase() {
        c if c.is_ascii_alphanumeric() => c,
        _ => '-',
    };
    let name: String = text.chars().take(NAME_CHARS_MAX).map(dashed).collect();
    match name.trim_matches('-') {
        "" => "scenario".to_owned(),
        name => name.to_owned(),
    }
}
