//! Writes and reads saved run files.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use primitives::SecretText;

use super::error::SaveError;
use super::fitness::shortfall;
use super::layout;
use super::private::leak;
use super::reduce::reduce;
use crate::plan::{ChainAccount, ConnectorProgram, NoChecks, Options, Target, parse};
use crate::report::digest::Standing;
use crate::report::error::ReportError;
use crate::report::files::write_file;
use crate::report::json;
use crate::results::{Estimate, Point, Report, SCHEMA, Scenario};
use crate::stats::{counted_figures, summarise};

/// The largest saved run file, bytes. Most have less than a fifth of it.
pub const SAVED_BYTES_MAX: u64 = 512 << 10;
/// Letters of a file's name.
const NAME_LETTERS_MAX: usize = 60;
/// Allowed error of an interval that is computed from the file's rounded figures, as a share of the figure.
const ROUNDING: f64 = 1e-5;

/// How a report is saved.
#[derive(Clone, Debug, Default)]
pub struct SaveOptions {
    /// The folder.
    pub folder: PathBuf,
    /// The file's name without its ending; the scenario's name by default.
    pub name: Option<String>,
    /// Whether repeats that are too short to quote are saved nevertheless.
    pub short: bool,
    /// Names of this machine and account, which no saved run file may contain.
    pub names: Vec<String>,
}

/// Saves each scenario of a report in a file of its own. Nothing is written if one of them is refused. Returns the files.
///
/// # Errors
/// All codes of [`SaveError`] but `lab.saved_unreadable`.
pub fn save(report: &Report, options: &SaveOptions) -> Result<Vec<PathBuf>, SaveError> {
    let mut files = Vec::new();
    for scenario in &report.scenarios {
        check(report, scenario, options)?;
        let name = file_name(report, scenario, options)?;
        let text = text(report, scenario, &options.names)?;
        let path = options.folder.join(format!("{name}.json"));
        if files.iter().any(|(other, _)| *other == path) {
            return Err(SaveError::Names(format!(
                "the report has two scenarios {name:?}; a saved run file holds one"
            )));
        }
        files.push((path, text));
    }
    if files.is_empty() {
        return Err(SaveError::Unfit {
            scenario: report.title.clone(),
            why: "no scenario ran".to_owned(),
        });
    }
    let mut written = Vec::new();
    for (path, text) in files {
        write_file(&path, text)?;
        written.push(path);
    }
    Ok(written)
}

/// Returns the setting of a scenario that would publish secrets or machines: passphrases of its own, running systems with their
/// addresses or folders, or a program outside the working folder.
fn private_setting(scenario: &Scenario) -> Option<&'static str> {
    let (options, source) = (Options::default(), scenario.source.as_bytes());
    let Ok(plan) = parse(&scenario.name, "saved", source, &options, &NoChecks) else {
        return Some("settings that this program does not know");
    };
    let is_own = |(number, account): (usize, &ChainAccount)| {
        account.passphrase != SecretText::from(number.to_string())
    };
    match &plan.chain {
        Some(chain) if chain.target.is_some() => Some("chain.target"),
        Some(chain) if chain.accounts.iter().enumerate().any(is_own) => Some("chain.accounts"),
        _ => match &plan.network.target {
            Some(Target::Nodes { .. }) => Some("network.target"),
            Some(Target::Connector(ConnectorProgram::Command(words))) => {
                let is_outside = |word: &String| word.split('/').any(|part| part == "..");
                words
                    .iter()
                    .any(is_outside)
                    .then_some("network.target.command")
            }
            Some(Target::Connector(ConnectorProgram::Postgres)) | None => None,
        },
    }
}

fn check(report: &Report, scenario: &Scenario, options: &SaveOptions) -> Result<(), SaveError> {
    let is_measured = !scenario
        .points
        .iter()
        .any(|point| point.stretches.is_empty());
    let why = match Standing::of(scenario) {
        _ if !is_measured => Some("a point was not measured".to_owned()),
        _ if report.interrupted => Some("the run was interrupted".to_owned()),
        Standing::AuditFailed => Some("an audit failed".to_owned()),
        Standing::Unaudited => Some("it was not audited".to_owned()),
        Standing::Unfinished => {
            // An unfinished scenario has a failure.
            let failure = scenario.failure.as_deref().unwrap_or_default();
            Some(format!("it did not end: {failure}"))
        }
        Standing::Good | Standing::Findings(_) => None,
    };
    let name = || scenario.name.clone();
    if let Some(why) = why {
        return Err(SaveError::Unfit {
            scenario: name(),
            why,
        });
    }
    if let Some(setting) = private_setting(scenario) {
        return Err(SaveError::Private {
            scenario: name(),
            field: "source".to_owned(),
            found: setting.to_owned(),
        });
    }
    match shortfall(scenario).filter(|_| !options.short) {
        None => Ok(()),
        Some(why) => Err(SaveError::TooShort {
            scenario: name(),
            why,
        }),
    }
}

fn file_name(
    report: &Report,
    scenario: &Scenario,
    options: &SaveOptions,
) -> Result<String, SaveError> {
    let name = options.name.as_ref().unwrap_or(&scenario.name);
    if options.name.is_some() && report.scenarios.len() > 1 {
        return Err(SaveError::Names(format!(
            "the report has {} scenarios; --name {name:?} names one file",
            report.scenarios.len()
        )));
    }
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if name.is_empty() || name.len() > NAME_LETTERS_MAX || !name.chars().all(is_plain) {
        return Err(SaveError::Names(format!(
            "{name:?} is no name of a saved run file; expected a to z, 0 to 9 and hyphens, at most {NAME_LETTERS_MAX}"
        )));
    }
    Ok(name.clone())
}

/// Returns the text of the file.
fn text(report: &Report, scenario: &Scenario, names: &[String]) -> Result<String, SaveError> {
    let mut reduced = reduce(report, scenario);
    reduced.schema = SCHEMA;
    let unwritable = |error: serde_json::Error| ReportError::Unreadable(error.to_string());
    let document = serde_json::to_value(&reduced).map_err(unwritable)?;
    if let Some((field, found)) = leak(&document, names) {
        return Err(SaveError::Private {
            scenario: scenario.name.clone(),
            field,
            found,
        });
    }
    let text = layout::text(&document);
    match text.len() as u64 {
        found if found > SAVED_BYTES_MAX => Err(SaveError::TooLarge {
            name: scenario.name.clone(),
            found,
            max: SAVED_BYTES_MAX,
        }),
        _ => Ok(text),
    }
}

/// Reads a saved run file, and checks that it has one scenario, that its audits are clean, and that each figure and interval follows
/// from its repeats.
///
/// # Errors
/// `lab.saved_unreadable`, `lab.save_too_large`, and those of [`json::parse`].
pub fn read(path: &Path) -> Result<Report, SaveError> {
    let shown = || path.display().to_string();
    let failed = |source| ReportError::Read {
        path: shown(),
        source,
    };
    let size = std::fs::metadata(path).map_err(failed)?.len();
    if size > SAVED_BYTES_MAX {
        return Err(SaveError::TooLarge {
            name: shown(),
            found: size,
            max: SAVED_BYTES_MAX,
        });
    }
    let unreadable = |why: String| SaveError::Unreadable { path: shown(), why };
    let bytes = std::fs::read(path).map_err(failed)?;
    let report = json::parse(&bytes).map_err(|error| unreadable(error.to_string()))?;
    match fault(&report) {
        None => Ok(report),
        Some(why) => Err(unreadable(why)),
    }
}

fn fault(report: &Report) -> Option<String> {
    let [scenario] = report.scenarios.as_slice() else {
        return Some(format!(
            "{} scenarios, expected one",
            report.scenarios.len()
        ));
    };
    let is_valid = matches!(
        Standing::of(scenario),
        Standing::Good | Standing::Findings(_)
    );
    if report.interrupted || !is_valid {
        return Some("the run did not end, or has no clean audit".to_owned());
    }
    scenario.points.iter().find_map(fault_of)
}

/// Returns the first figure of a point that does not follow from the rest of the file: a repeat's from its counts, and one of the summary, with
/// its interval, from the repeats.
fn fault_of(point: &Point) -> Option<String> {
    if point.stretches.is_empty() {
        return Some("a point without a repeat".to_owned());
    }
    for stretch in &point.stretches {
        for (name, again) in counted_figures(stretch) {
            let told = stretch.figures.get(name).copied();
            if !is_near(Some(again), told, again.abs()) {
                return Some(format!(
                    "{name} of a repeat is {}, but its counts give {again}",
                    shown(told)
                ));
            }
        }
    }
    let again = summarise(&point.stretches, 0.0).metrics;
    let told = &point.summary.metrics;
    let names: BTreeSet<&String> = again.keys().chain(told.keys()).collect();
    names.into_iter().find_map(|name| {
        let ends = |of: &BTreeMap<String, Estimate>| {
            let found = of.get(name);
            [
                found.map(|one| one.value),
                found.and_then(|one| one.low),
                found.and_then(|one| one.high),
            ]
        };
        let (again, told) = (ends(&again), ends(told));
        let sizes = again.iter().chain(&told).flatten();
        let size = sizes.map(|end| end.abs()).fold(0.0, f64::max);
        let mut pairs = again.into_iter().zip(told);
        let is_same = pairs.all(|(again, told)| is_near(again, told, size));
        (!is_same).then(|| {
            let [again, told] = [again, told].map(|ends| ends.map(shown).join(", "));
            format!("{name} with its interval is {told}, but its repeats give {again}")
        })
    })
}

fn shown(figure: Option<f64>) -> String {
    figure.map_or_else(|| "absent".to_owned(), |figure| figure.to_string())
}

/// Returns whether a figure that was computed again is that of the file, apart from rounding of figures of this size. A figure that only
/// one of both has is not.
fn is_near(again: Option<f64>, told: Option<f64>, size: f64) -> bool {
    match (again, told) {
        (Some(again), Some(told)) => (again - told).abs() <= size * ROUNDING + f64::EPSILON,
        (None, None) => true,
        (Some(_), None) | (None, Some(_)) => false,
    }
}
