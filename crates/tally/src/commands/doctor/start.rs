//! Whether a stopped node would start on its folder, by the checks that the start itself makes.

use std::path::Path;

use node::bootstrap::load_node_dir;
use node::chain::{ChainFiles, ChainStartError, rehearse_chain_start};
use node::{Apps, RehearsalFigures, StartError, StoreOpenError, rehearse_start};
use primitives::Coded;

use super::finding::Finding;
use crate::Register;
use crate::output::grouped;

const STORE: &str = "store";
/// The check of a start that fails for another reason than its store.
const START: &str = "start";

/// The result of a rehearsed start.
pub struct Rehearsal {
    pub finding: Finding,
    /// Whether a process has the store open.
    pub is_in_use: bool,
}

impl From<Finding> for Rehearsal {
    fn from(finding: Finding) -> Self {
        Self {
            finding,
            is_in_use: false,
        }
    }
}

/// Rehearses the start of a node of a ledger, whose folder was read before.
pub fn of_ledger(folder: &Path, register: Register) -> Rehearsal {
    match rehearsed(folder, register) {
        Ok(figures) => sound(&figures, &[]).into(),
        Err(refused) => refused,
    }
}

fn rehearsed(folder: &Path, register: Register) -> Result<RehearsalFigures, Rehearsal> {
    let files = load_node_dir(folder).map_err(|error| refused(START, &error))?;
    let mut apps = Apps::built_in().map_err(|error| refused(START, &error))?;
    register(&mut apps.contracts, &mut apps.flows).map_err(|error| refused(START, &error))?;
    let scratch = scratch()?;
    rehearse_start(files, apps, scratch.path()).map_err(|error| match &error {
        StartError::Store(store) => of_store(store),
        StartError::StoreFailed(_) => refused(STORE, &error),
        _ => refused(START, &error),
    })
}

/// Rehearses the start of a chain node.
pub fn of_chain(files: &ChainFiles) -> Rehearsal {
    let rehearsed = scratch().and_then(|scratch| {
        rehearse_chain_start(files, scratch.path()).map_err(|error| match &error {
            ChainStartError::Store(store) => of_store(store),
            ChainStartError::StoreFailed(_) | ChainStartError::Chain(_) => refused(STORE, &error),
            _ => refused(START, &error),
        })
    });
    match rehearsed {
        Ok(found) => sound(&found.store, &found.repairs).into(),
        Err(refused) => refused,
    }
}

/// Makes a folder for the links of a rehearsal, outside the node's folder.
fn scratch() -> Result<tempfile::TempDir, Rehearsal> {
    tempfile::tempdir().map_err(|error| {
        let found = format!("not checked: {}: {error}", std::env::temp_dir().display());
        Finding::warning(STORE, found, "Set TMPDIR to a folder that can be written.").into()
    })
}

fn of_store(error: &StoreOpenError) -> Rehearsal {
    if !matches!(error, StoreOpenError::Locked { .. }) {
        return refused(STORE, error);
    }
    let found = format!("{}: {error}, and the node does not answer", error.code());
    let action = "Wait if the node is starting. Otherwise read its log; the findings on the API's token and the certificates may say why it does not answer.";
    Rehearsal {
        finding: Finding::warning(STORE, found, action),
        is_in_use: true,
    }
}

fn refused(check: &'static str, error: &(impl Coded + ?Sized)) -> Rehearsal {
    let found = format!("{}: {error}", error.code());
    Finding::problem(check, found, error.hint()).into()
}

fn sound(figures: &RehearsalFigures, repairs: &[String]) -> Finding {
    if figures.is_new {
        return Finding::ok(STORE, "none yet: the first start makes it");
    }
    let mut found = format!(
        "whole: {} records of the log and {} MiB of tables read",
        grouped(figures.records),
        grouped(figures.bytes >> 20)
    );
    if figures.unread_bytes > 0 {
        found.push_str(&format!(
            "; {} MiB of tables, beyond the doctor's bound, not read",
            grouped(figures.unread_bytes >> 20)
        ));
    }
    match repairs {
        [] => Finding::ok(STORE, found),
        repairs => Finding::warning(
            STORE,
            format!("damaged rows: {}", repairs.join("; ")),
            "The next start repairs them. Check the disk, and read the node's log after the start.",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::super::finding::Verdict;
    use super::*;

    #[test]
    fn the_bound_and_repairs_are_told() {
        let figures = RehearsalFigures {
            is_new: false,
            records: 1_000,
            files: 3,
            bytes: 3 << 20,
            unread_bytes: 0,
        };
        let large = RehearsalFigures {
            unread_bytes: 2_000 << 20,
            ..figures
        };
        let new = RehearsalFigures {
            is_new: true,
            ..figures
        };
        let none: &[String] = &[];
        let some: &[String] = &["a row".to_owned()];
        for (figures, repairs, verdict, end) in [
            (
                figures,
                none,
                Verdict::Ok,
                "1,000 records of the log and 3 MiB of tables read",
            ),
            (
                large,
                none,
                Verdict::Ok,
                "2,000 MiB of tables, beyond the doctor's bound, not read",
            ),
            (new, none, Verdict::Ok, "none yet: the first start makes it"),
            (figures, some, Verdict::Warning, "damaged rows: a row"),
        ] {
            let finding = sound(&figures, repairs);
            assert_eq!(finding.verdict, verdict, "{}", finding.found);
            assert!(finding.found.ends_with(end), "{}", finding.found);
        }
    }
}
