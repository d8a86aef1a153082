//! The hand-written catalogue of the published results: topics, scenarios, and parts that were not reproduced.

use std::collections::BTreeSet;

use serde::Deserialize;

/// The file, as TOML.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Catalogue {
    /// The pages, in the order of the index.
    pub page: Vec<Page>,
}

/// One page.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Page {
    /// The file's name without its ending.
    pub name: String,
    /// The heading.
    pub title: String,
    /// The question that the page answers, in one sentence.
    pub question: String,
    /// Whether its main figures are drawn in one picture, for the first page of the documents.
    #[serde(default)]
    pub picture: bool,
    /// The runs that it shows.
    pub run: Vec<Run>,
    /// Parts of the published experiments that the runs leave out.
    #[serde(default)]
    pub not_reproduced: Vec<NotReproduced>,
}

/// One run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// The saved run file's name without its ending.
    pub file: String,
    /// The shipped scenario.
    pub scenario: String,
    /// The heading; the scenario's title by default.
    #[serde(default)]
    pub title: Option<String>,
    /// Whether it runs at its published size.
    #[serde(default)]
    pub full: bool,
    /// Settings of the command.
    #[serde(default)]
    pub set: Vec<String>,
}

/// A part of a published experiment that is not reproduced.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NotReproduced {
    /// The part.
    pub part: String,
    /// The reason.
    pub reason: String,
}

impl Catalogue {
    /// Reads the file's text. Returns the fault and its entry if it is not valid.
    pub fn parse(text: &str) -> Result<Self, String> {
        let catalogue: Self = toml::from_str(text).map_err(|error| error.to_string())?;
        let mut names = BTreeSet::from(["README"]);
        let mut files = BTreeSet::new();
        for page in &catalogue.page {
            let name = page.name.as_str();
            check_name("page", name)?;
            if !names.insert(name) {
                return Err(format!("page {name:?} occurs twice"));
            }
            let texts = [("title", &page.title), ("question", &page.question)];
            if let Some((field, _)) = texts.iter().find(|(_, text)| text.trim().is_empty()) {
                return Err(format!("page {name:?}: empty {field}"));
            }
            if page.run.is_empty() {
                return Err(format!("page {name:?} has no run"));
            }
            for run in &page.run {
                check_name("run file", &run.file)?;
                if !files.insert(run.file.as_str()) {
                    return Err(format!(
                        "page {name:?}: run file {:?} occurs twice",
                        run.file
                    ));
                }
            }
        }
        Ok(catalogue)
    }
}

fn check_name(kind: &str, name: &str) -> Result<(), String> {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    match !name.is_empty() && name.chars().all(is_plain) {
        true => Ok(()),
        false => Err(format!(
            "{kind} {name:?}: expected a to z, 0 to 9 and hyphens"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_catalogue_is_read_or_its_fault_is_named() {
        let good = "[[page]]\nname = 'rates'\ntitle = 'Rates'\nquestion = 'How many?'\n[[page.run]]\nfile = 'issue'\nscenario = 'issue'\n";
        for (text, expected) in [
            (good.to_owned(), None),
            (format!("{good}{good}"), Some("page \"rates\" occurs twice")),
            (
                format!("{good}[[page.run]]\nfile = 'issue'\nscenario = 'issue'\n"),
                Some("page \"rates\": run file \"issue\" occurs twice"),
            ),
            (
                good.replace("'rates'", "'My rates'"),
                Some("page \"My rates\": expected a to z, 0 to 9 and hyphens"),
            ),
            (
                good.replace("'How many?'", "' '"),
                Some("page \"rates\": empty question"),
            ),
            (
                good.replace("'Rates'", "'Rates'\nsubtitle = 'x'"),
                Some("unknown field `subtitle`"),
            ),
        ] {
            let fault = Catalogue::parse(&text).err();
            match (fault, expected) {
                (None, None) => {}
                (Some(fault), Some(expected)) => assert!(fault.contains(expected), "{fault}"),
                (fault, expected) => panic!("{fault:?}, expected {expected:?}"),
            }
        }
    }
}
