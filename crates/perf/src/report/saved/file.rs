//! Writes and reads saved run files.

use std::path::{Path, PathBuf};

use primitives::SecretText;

use super::error::SaveError;
use super::fitness::shortfall;
use super::layout;
use super::private::leak;
use super::reduce::reduce;
use crate::plan::{ChainAccount, NoChecks, Options, Target, parse};
use crate::report::digest::Standing;
use crate::report::error::ReportError;
use crate::report::files::write_file;
use crate::report::json;
use crate::results::{Estimate, Report, SCHEMA, Scenario};
use crate::stats::mean_interval;

/// The largest saved run file, bytes. Most have less than a fifth of it.
pub const SAVED_BYTES_MAX: u64 = 512 << 10;
/// Letters of a file's name.
const NAME_LETTERS_MAX: usize = 60;
/// Allowed error of an interval that is computed from the file's rounded figures, as a share of the figure.
const ROUNDING: f64 = 1e-5;

/// How a report is saved.
#[derive(Clone, Debug, Default)]
pub struct Saving {
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
pub fn save(report: &Report, saving: &Saving) -> Result<Vec<PathBuf>, SaveError> {
    let mut files = Vec::new();
    for scenario in &report.scenarios {
        check(report, scenario, saving)?;
        let name = file_name(report, scenario, saving)?;
        let text = text(report, scenario, &saving.names)?;
        let path = saving.folder.join(format!("{name}.json"));
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

/// Returns the setting of a scenario that would publish secrets or machines: passphrases of its own, or running systems with their
/// addresses or folders.
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
            Some(Target::Connector(_)) | None => None,
        },
    }
}

fn check(report: &Report, scenario: &Scenario, saving: &Saving) -> Result<(), SaveError> {
    let why = match Standing::of(scenario) {
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
    match shortfall(scenario).filter(|_| !saving.short) {
        None => Ok(()),
        Some(why) => Err(SaveError::TooShort {
            scenario: name(),
            why,
        }),
    }
}

fn file_name(report: &Report, scenario: &Scenario, saving: &Saving) -> Result<String, SaveError> {
    let name = saving.name.as_ref().unwrap_or(&scenario.name);
    if saving.name.is_some() && report.scenarios.len() > 1 {
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

/// Reads a saved run file, and checks that it has one scenario, that its audits are clean, and that each interval follows from
/// its repeats.
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
    let stretches = scenario.points.iter().flat_map(|point| &point.stretches);
    if stretches.clone().any(|stretch| stretch.figures.is_empty()) {
        return Some("a repeat without figures".to_owned());
    }
    scenario.points.iter().find_map(|point| {
        let metrics = point.summary.metrics.iter();
        metrics.clone().find_map(|(name, estimate)| {
            let repeats = point.stretches.iter();
            let repeats: Vec<f64> = repeats
                .filter_map(|one| one.figures.get(name))
                .copied()
                .collect();
            let again = mean_interval(&repeats)?;
            // The interval of a single repeat is that of a line through its series.
            let is_same = match repeats.len() {
                1 => is_near(Some(again.value), Some(estimate.value), estimate),
                _ => is_same_interval(&again, estimate),
            };
            (!is_same).then(|| {
                let (again, told) = (again.value, estimate.value);
                format!("{name} is {told}, but its repeats give {again} or another interval")
            })
        })
    })
}

fn is_same_interval(again: &Estimate, told: &Estimate) -> bool {
    is_near(Some(again.value), Some(told.value), told)
        && is_near(again.low, told.low, told)
        && is_near(again.high, told.high, told)
}

/// Returns whether a figure that was computed again is that of the file, apart from rounding.
fn is_near(again: Option<f64>, told: Option<f64>, estimate: &Estimate) -> bool {
    let ends = [Some(estimate.value), estimate.low, estimate.high];
    let size = ends.into_iter().flatten().map(f64::abs).fold(0.0, f64::max);
    match (again, told) {
        (Some(again), Some(told)) => (again - told).abs() <= size * ROUNDING + f64::EPSILON,
        // An end that does not enclose the value was left out of the report.
        (_, told) => told.is_none(),
    }
}
