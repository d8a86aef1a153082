//! Expands a sweep into its points: every combination of its axes' cases, the last axis fastest. Each is its own
//! scenario.

use toml::Value;

use super::assemble;
use super::cases::{Axis, Case, case_name, case_of};
use super::checks::{Checks, NoChecks};
use super::document::{Document, Mark};
use super::error::PlanError;
use super::lay::Setting;
use super::model::Plan;
use super::problems::Problems;
use super::source::Sources;
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
        let mut problems = Problems::new(&sources);
        let points = expand(self, &Document::default(), &NoChecks, &mut problems);
        match problems.list.is_empty() {
            true => Ok(points),
            false => Err(PlanError {
                problems: problems.list,
            }),
        }
    }
}

/// Expands a plan into its points. `source` is the document that it was made of, for the places of its values.
pub(super) fn expand(
    plan: &Plan,
    source: &Document,
    checks: &dyn Checks,
    problems: &mut Problems<'_>,
) -> Vec<PointPlan> {
    let mut base = Document {
        table: plan.to_table(),
        marks: source.marks.clone(),
    };
    base.table.remove("sweep");
    let mut points = Vec::new();
    for cases in combinations(&plan.sweep) {
        let chosen = || plan.sweep.iter().zip(&cases);
        let chosen = || chosen().map(|(axis, case)| (axis, &axis.cases[*case]));
        let at: Vec<CaseResult> = chosen().map(|(axis, case)| place_on(axis, case)).collect();
        let words = at.iter().map(|at| format!("{} = {}", at.axis, at.name));
        problems.point = words.collect::<Vec<_>>().join(", ");
        let settings = chosen()
            .enumerate()
            .flat_map(|(number, (_, case))| settings(case, source, number));
        let mut document = base.clone();
        if let Err((at, message)) = document.lay(settings.collect()) {
            problems.wrong(at, message);
        } else if let Some(plan) = assemble::plan(document, &plan.name, checks, problems) {
            points.push(PointPlan { at, plan });
        }
    }
    problems.point.clear();
    points
}

/// Returns the settings of a case. `axis` is the number of its axis in the source.
fn settings(case: &Case, source: &Document, axis: usize) -> Vec<Setting> {
    case.set
        .iter()
        .map(|(name, value)| {
            let mark = mark(case, name, source, axis);
            Setting {
                path: name.split('.').map(str::to_owned).collect(),
                value: value.clone(),
                marks: mark.into_iter().map(|mark| (String::new(), mark)).collect(),
            }
        })
        .collect()
}

/// Returns the place of a setting of a case.
fn mark(case: &Case, name: &str, source: &Document, axis: usize) -> Option<Mark> {
    let path = format!("sweep.{axis}");
    let mut tables = source.tables(&format!("{path}.case"));
    let named = tables.position(|table| {
        let name = table.get("name").and_then(Value::as_str);
        name.is_some_and(|name| case_name(name) == case.name)
    });
    if let Some(number) = named {
        return source.mark(&format!("{path}.case.{number}.set.{name}"));
    }
    let values = format!("{path}.values");
    let value = match source.get(&values)? {
        Value::Array(entries) => {
            let number = entries
                .iter()
                .position(|value| case_of(value) == case.name)?;
            source.at(&format!("{values}.{number}"))
        }
        _ => source.at(&values),
    };
    let key = source.at(&format!("{path}.set"));
    Some(Mark { key, value })
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
