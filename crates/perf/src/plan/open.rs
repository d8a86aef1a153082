//! Opening a scenario: a file, or the name of a shipped one.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use super::checks::Checks;
use super::error::{BAD, PlanError, UNKNOWN, UNREADABLE, suggestion};
use super::limits::FILE_BYTES_MAX;
use super::model::Plan;
use super::overlay;
use super::points::{self, PointPlan};
use super::read;
use super::reader::Reader;
use super::shipped::{SHIPPED, shipped};
use super::source::{At, Sources};
use super::tree::{self, Table, Tree};

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
    let mut reader = Reader::new(&sources);
    let plan = document(&mut reader, text, file).and_then(|(table, full)| {
        if !options.full
            && let Some(full) = &full
        {
            // Checks the settings of `--full` on every load, so that their errors show early.
            let table = laid(&mut reader, table.clone(), Some(full.clone()), &[]);
            read_all(&mut reader, &table, name, checks, &[]);
        }
        let full = full.filter(|_| options.full);
        let table = laid(&mut reader, table, full, &overrides);
        read_all(&mut reader, &table, name, checks, &overrides)
    });
    match plan {
        Some(plan) if reader.problems.is_empty() => Ok(plan),
        _ if reader.problems.is_empty() => Err(PlanError::plain(BAD, source.to_owned())),
        _ => Err(PlanError {
            problems: reader.problems,
        }),
    }
}

/// Splits the document into everything but `[full]`, and `[full]`.
fn document(reader: &mut Reader<'_>, text: &str, file: u32) -> Option<(Table, Option<Table>)> {
    let parsed = tree::parse(text, file).and_then(|mut table| {
        tree::make_lists(&mut table);
        tree::unquote_settings(&mut table)?;
        let full = match table.remove("full").map(|entry| entry.node) {
            None => None,
            Some(node) => match node.tree {
                Tree::Table(mut full) => {
                    tree::unquote_settings(&mut full)?;
                    if let Some(entry) = full.get("full") {
                        return Err((entry.key_at, "`full` within `full`".to_owned()));
                    }
                    Some(full)
                }
                _ => return Err((node.at, "`full` has to be a table".to_owned())),
            },
        };
        Ok((table, full))
    });
    parsed
        .map_err(|(at, message)| reader.wrong(at, message))
        .ok()
}

/// Returns the document with all overrides applied.
fn laid(
    reader: &mut Reader<'_>,
    mut table: Table,
    full: Option<Table>,
    overrides: &[Result<overlay::Override, tree::Wrong>],
) -> Table {
    if let Some(full) = full
        && let Err((at, message)) = tree::lay(&mut table, full)
    {
        reader.wrong(at, message);
    }
    tree::make_lists(&mut table);
    overlay::lay(reader, &mut table, overrides);
    table
}

/// Reads a document and all points of its sweep.
fn read_all(
    reader: &mut Reader<'_>,
    table: &Table,
    name: &str,
    checks: &dyn Checks,
    overrides: &[Result<overlay::Override, tree::Wrong>],
) -> Option<Plan> {
    let plan = read::plan(reader, table, name, checks);
    overlay::check(reader, overrides, &plan.sweep);
    if !reader.problems.is_empty() {
        return None;
    }
    if !plan.sweep.is_empty() {
        let top = reader.open_top(table, At::NOWHERE);
        let places = read::sweep::places(reader, top);
        let mut made = tree::made_table(plan.to_table(), At::NOWHERE);
        tree::borrow_places(&mut made, table);
        let _: Vec<PointPlan> = points::expand(reader, made, &plan, &places, checks);
    }
    Some(plan)
}
