//! Reads the catalogue with the saved run files that it names.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use super::catalogue::{Catalogue, Page, Run};
use super::command;
use super::error::PagesError;
use crate::plan::Plan;
use crate::report::saved;
use crate::results::{Report, Scenario};

/// The catalogue's name in the folder of the results.
pub const PAGES_NAME: &str = "pages.toml";
/// The folder of the saved run files in it.
pub const RUNS_FOLDER: &str = "runs";
/// The ending of a saved run file.
const ENDING: &str = "json";

/// A page with its runs.
#[derive(Clone, Debug)]
pub struct Topic {
    /// Its entry of the catalogue.
    pub page: Page,
    /// Its runs, in order.
    pub runs: Vec<TopicRun>,
}

/// A run of a page.
#[derive(Clone, Debug)]
pub struct TopicRun {
    /// Its entry.
    pub run: Run,
    /// The plan that its command runs.
    pub plan: Plan,
    /// The saved run, if it was made.
    pub saved: Option<Report>,
}

impl TopicRun {
    /// Returns the heading.
    pub fn title(&self) -> &str {
        self.run.title.as_ref().unwrap_or(&self.plan.title)
    }

    /// Returns the saved report with its scenario.
    pub fn measured(&self) -> Option<(&Report, &Scenario)> {
        let report = self.saved.as_ref()?;
        Some((report, report.scenarios.first()?))
    }
}

/// Reads all topics of a folder.
pub fn topics(folder: &Path) -> Result<Vec<Topic>, PagesError> {
    let path = folder.join(PAGES_NAME);
    let refused = |why: String| PagesError::Catalogue {
        path: path.display().to_string(),
        why,
    };
    let text = fs::read_to_string(&path).map_err(|error| refused(error.to_string()))?;
    let catalogue = Catalogue::parse(&text).map_err(refused)?;
    let runs = folder.join(RUNS_FOLDER);
    let mut left = file_names(&runs)?;
    let mut topics = Vec::new();
    for page in catalogue.page {
        let mut found = Vec::new();
        for run in &page.run {
            let in_entry =
                |why| refused(format!("page {:?}, run {:?}: {why}", page.name, run.file));
            let plan = command::plan(run).map_err(in_entry)?;
            let name = format!("{}.{ENDING}", run.file);
            let saved = match left.remove(&name) {
                true => Some(saved::read(&runs.join(name))?),
                false => None,
            };
            found.push(TopicRun {
                run: run.clone(),
                plan,
                saved,
            });
        }
        topics.push(Topic { page, runs: found });
    }
    match left.first() {
        None => Ok(topics),
        Some(name) => Err(refused(format!(
            "no page has the saved run file {RUNS_FOLDER}/{name}"
        ))),
    }
}

/// Returns the names of the files of a folder; none if there is no folder. Files of an editor or of a system are left out.
fn file_names(folder: &Path) -> Result<BTreeSet<String>, PagesError> {
    let mut names = BTreeSet::new();
    if !folder.is_dir() {
        return Ok(names);
    }
    let failed = |error: std::io::Error| PagesError::Catalogue {
        path: folder.display().to_string(),
        why: error.to_string(),
    };
    for entry in fs::read_dir(folder).map_err(failed)? {
        let name = entry.map_err(failed)?.file_name();
        let name = name.to_string_lossy();
        if !name.starts_with('.') && name.ends_with(&format!(".{ENDING}")) {
            names.insert(name.into_owned());
        }
    }
    Ok(names)
}
