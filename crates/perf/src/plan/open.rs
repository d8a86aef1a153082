//! Opening a scenario: a file, or the name of a shipped one.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use toml::Value;

use super::checks::Checks;
use super::document::Document;
use super::error::{BAD, PlanError, UNKNOWN, UNREADABLE, suggestion};
use super::limits::FILE_BYTES_MAX;
use super::model::Plan;
use super::overlay::{self, Override};
use super::problems::Problems;
use super::shipped::{SHIPPED, shipped};
use super::source::Sources;
use super::{assemble, lay, points};

/// Options for opening a scenario.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Whether its `[full]` is applied.
    pub full: bool,
    /// Settings applied after that, each `key=value`.
    pub set: Vec<String>,
}

/// Opens a scenario by the path of its file or by the name of a shipped one. Checks all of it, including each of its
/// points.
///
/// # Errors
/// Returns all errors with their places.
pub fn open(file_or_name: &str, options: &Options, checks: &dyn Checks) -> Result<Plan, PlanError> {
    let is_path = file_or_name.contains(['/', '\\']) || file_or_name.ends_with(".toml");
    if !is_path && let Some(shipped) = shipped(file_or_name) {
        let label = format!("{file_or_name} (shipped)");
        return parse(
            file_or_name,
            &label,
            shipped.text.as_bytes(),
            options,
            checks,
        );
    }
    let path = Path::new(file_or_name);
    if !is_path && !path.exists() {
        let names = SHIPPED.iter().map(|shipped| shipped.name);
        let near = suggestion(file_or_name, names);
        let message = format!("there is no file and no shipped scenario `{file_or_name}`{near}");
        return Err(PlanError::plain(UNKNOWN, message));
    }
    let bytes = read_file(path)
        .map_err(|error| PlanError::plain(UNREADABLE, format!("{}: {error}", path.display())))?;
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    parse(&stem, file_or_name, &bytes, options, checks)
}

/// Reads at most one byte more than the limit: enough to detect that a file is too long.
fn read_file(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?
        .take(FILE_BYTES_MAX as u64 + 1)
        .read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads a scenario's text. `name` is its name unless the text gives one. `source` names the text in messages.
///
/// # Errors
/// Returns all errors with their places.
pub fn parse(
    name: &str,
    source: &str,
    bytes: &[u8],
    options: &Options,
    checks: &dyn Checks,
) -> Result<Plan, PlanError> {
    if bytes.len() > FILE_BYTES_MAX {
        let message = format!("{source}: longer than {FILE_BYTES_MAX} bytes");
        return Err(PlanError::plain(UNREADABLE, message));
    }
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let good = &bytes[..error.valid_up_to()];
        let line = good.iter().filter(|byte| **byte == b'\n').count() + 1;
        PlanError::plain(UNREADABLE, format!("{source}:{line}: not UTF-8"))
    })?;
    let mut sources = Sources::default();
    let file = sources.add(source, text, true);
    let overrides = overlay::read(&mut sources, &options.set);
    let mut problems = Problems::new(&sources);
    let opening = Opening {
        name,
        checks,
        overrides: &overrides,
    };
    let plan = match Document::parse(text, file, false) {
        Ok(document) => opening.read(document, options.full, &mut problems),
        Err((at, message)) => {
            problems.wrong(at, message);
            None
        }
    };
    match plan {
        Some(plan) if problems.list.is_empty() => Ok(plan),
        _ if problems.list.is_empty() => Err(PlanError::plain(BAD, source.to_owned())),
        _ => Err(PlanError {
            problems: problems.list,
        }),
    }
}

/// A scenario's name, its checks and its `--set`s.
struct Opening<'o> {
    name: &'o str,
    checks: &'o dyn Checks,
    overrides: &'o [Override],
}

impl Opening<'_> {
    fn read(
        &self,
        mut document: Document,
        is_full: bool,
        problems: &mut Problems<'_>,
    ) -> Option<Plan> {
        if let Some(Value::Table(over)) = document.table.remove("full") {
            let mut full = document.clone();
            if let Err((at, message)) = full.lay(lay::settings(&document, &over, "full")) {
                problems.wrong(at, message);
            }
            if is_full {
                document = full;
            } else {
                // Checks the settings of `--full` on every load, so that their errors show early.
                self.plan(&full, &[], problems);
            }
        }
        overlay::lay(&mut document, self.overrides, problems);
        self.plan(&document, self.overrides, problems)
    }

    /// Makes a plan and checks all points of its sweep.
    fn plan(
        &self,
        document: &Document,
        overrides: &[Override],
        problems: &mut Problems<'_>,
    ) -> Option<Plan> {
        let plan = assemble::plan(document.clone(), self.name, self.checks, problems)?;
        overlay::check(overrides, &plan.sweep, problems);
        if problems.list.is_empty() && !plan.sweep.is_empty() {
            points::expand(&plan, document, self.checks, problems);
        }
        Some(plan)
    }
}
