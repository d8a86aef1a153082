//! Expands a sweep into its points: every combination of its axes' cases, the last axis fastest. Each is its own
//! scenario.

use std::collections::BTreeMap;

use super::checks::{Checks, NoChecks};
use super::error::PlanError;
use super::model::{Axis, Case, Plan};
use super::read;
use super::read::sweep::Places;
use super::reader::Reader;
use super::source::{At, Sources};
use super::tree::{self, Node, Table};
use crate::results::CaseResult;

/// One point of a sweep.
#[derive(Clone, Debug, PartialEq)]
pub struct PointPlan {
    /// Its position on each axis; empty without a sweep.
    pub at: Vec<CaseResult>,
    /// The scenario with its cases' settings and without a sweep.
    pub plan: Plan,
}

impl Plan {
    /// Returns its points in order; without a sweep, only itself. Cases change the scenario with its defaults filled in.
    ///
    /// # Errors
    /// Returns the errors of a case. A scenario that was loaded has passed this check.
    pub fn points(&self) -> Result<Vec<PointPlan>, PlanError> {
        let sources = Sources::default();
        let mut reader = Reader::new(&sources);
        let table = tree::made_table(self.to_table(), At::NOWHERE);
        let points = expand(&mut reader, table, self, &[], &NoChecks);
        match reader.problems.is_empty() {
            true => Ok(points),
            false => Err(PlanError {
                problems: reader.problems,
            }),
        }
    }
}

/// Expands a plan into its points. `table` is the plan's document. Errors are noted in the reader.
pub(super) fn expand(
    reader: &mut Reader<'_>,
    mut table: Table,
    plan: &Plan,
    places: &[BTreeMap<String, Places>],
    checks: &dyn Checks,
) -> Vec<PointPlan> {
    table.remove("sweep");
    // A plan writes names of settings with dots in quotes. Cases that set the same setting must find it.
    if let Err((at, message)) = tree::unquote_settings(&mut table) {
        reader.wrong(at, message);
    }
    let mut points = Vec::new();
    for cases in combinations(&plan.sweep) {
        let chosen = || plan.sweep.iter().zip(&cases).enumerate();
        let at: Vec<CaseResult> = chosen()
            .map(|(_, (axis, case))| place_on(axis, &axis.cases[*case]))
            .collect();
        let words: Vec<String> = at
            .iter()
            .map(|at| format!("{} = {}", at.axis, at.name))
            .collect();
        reader.point = words.join(", ");
        let mut document = table.clone();
        let mut over = Table::new();
        for (number, (axis, case)) in chosen() {
            let case = &axis.cases[*case];
            let places = places.get(number).and_then(|places| places.get(&case.name));
            apply(reader, &mut over, case, places);
        }
        let laid = tree::unquote_settings(&mut over).and_then(|()| tree::lay(&mut document, over));
        if let Err((at, message)) = laid {
            reader.wrong(at, message);
        }
        let plan = read::plan(reader, &document, &plan.name, checks);
        points.push(PointPlan { at, plan });
    }
    reader.point.clear();
    points
}

/// Adds the settings of a case to those of the other cases.
fn apply(reader: &mut Reader<'_>, over: &mut Table, case: &Case, places: Option<&Places>) {
    for (name, value) in &case.set {
        let place = places.and_then(|places| places.get(name));
        // Messages about a setting without a place name the setting alone.
        let (key_at, at) = place.copied().unwrap_or((At::NOWHERE, At::NOWHERE));
        let path: Vec<String> = name.split('.').map(str::to_owned).collect();
        let node = Node::made(value.clone(), at);
        if let Err((at, message)) = tree::put(over, &path, node, key_at) {
            reader.wrong(at, message);
        }
    }
}

/// Returns the combinations of case positions, one for each axis. Without axes, the only combination is empty.
fn combinations(axes: &[Axis]) -> Vec<Vec<usize>> {
    axes.iter().fold(vec![Vec::new()], |before, axis| {
        before
            .iter()
            .flat_map(|chosen| {
                (0..axis.cases.len()).map(move |case| {
                    let mut chosen = chosen.clone();
                    chosen.push(case);
                    chosen
                })
            })
            .collect()
    })
}

fn place_on(axis: &Axis, case: &Case) -> CaseResult {
    CaseResult {
        axis: axis.label.clone(),
        name: case.name.clone(),
        number: case.number,
    }
}
