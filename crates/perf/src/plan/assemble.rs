//! Makes a checked plan of a document.

use super::checks::Checks;
use super::document::Document;
use super::model::Plan;
use super::problems::Problems;
use super::{complete, csv, rules, schema};

/// Makes a plan of a document and checks it. Errors are noted, and the plan is then unusable.
pub(super) fn plan(
    mut document: Document,
    name: &str,
    checks: &dyn Checks,
    problems: &mut Problems<'_>,
) -> Option<Plan> {
    csv::expand(&mut document, problems);
    if !schema::check(&document, problems) {
        return None;
    }
    let plan = complete::plan(&document, name, problems)?;
    rules::check(&document, &plan, checks, problems);
    Some(plan)
}
