//! `--set key=value`: a setting on the command line that overrides the file.

use toml::Value;
use toml::de::DeValue;

use super::cases::Axis;
use super::document::{Document, Wrong};
use super::error::BAD_OVERRIDE;
use super::lay::{Setting, overlap, settings};
use super::limits::OVERRIDES_MAX;
use super::problems::Problems;
use super::source::{At, Sources};

/// Characters that begin a TOML value. Other text that is not valid TOML is taken as a word.
const OPENERS: [char; 4] = ['"', '\'', '[', '{'];

/// The settings of a `--set`: more than one if its value is a table.
pub(super) type Override = Result<Vec<Setting>, Wrong>;

/// Adds every `--set` to the sources, so that error messages can quote it, and parses them.
pub(super) fn read(sources: &mut Sources, given: &[String]) -> Vec<Override> {
    given
        .iter()
        .take(OVERRIDES_MAX + 1)
        .map(|text| {
            let name = format!("--set {}", shortened(text));
            let number = sources.add(&name, text, false);
            let at = At::of(number, &(0..text.len()));
            one(text, number).map_err(|message| (at, message))
        })
        .collect()
}

/// Reads `key=value` as a line of a file.
fn one(text: &str, number: u32) -> Result<Vec<Setting>, String> {
    let form = "it has to be key=value, such as run.seconds=20";
    let (key, value) = text.split_once('=').ok_or(form)?;
    let is_key = !key.contains(['\n', '\r', '#']);
    if !is_key || Document::parse(&format!("{key} = 0"), number, true).is_err() {
        return Err(form.to_owned());
    }
    let value = value.trim();
    let value = match DeValue::parse(value) {
        Ok(_) => value.to_owned(),
        Err(error) if value.starts_with(OPENERS) => {
            return Err(error.message().replace('\n', ", "));
        }
        Err(_) if value.is_empty() => return Err(form.to_owned()),
        Err(_) => Value::from(value).to_string(),
    };
    if key.trim() == "full" || key.trim_start().starts_with("full.") {
        let message = "settings of --full are set like others: without `full`, and with --full";
        return Err(message.to_owned());
    }
    let document = Document::parse(&format!("{key} = {value}"), number, true);
    let document = document.map_err(|(_, message)| message)?;
    Ok(settings(&document, &document.table, ""))
}

/// Shortens a text to the length of a line.
fn shortened(text: &str) -> String {
    let plain = |c: char| if c.is_control() { ' ' } else { c };
    text.chars().take(100).map(plain).collect()
}

/// Applies them to a document in order.
pub(super) fn lay(document: &mut Document, overrides: &[Override], problems: &mut Problems<'_>) {
    if overrides.len() > OVERRIDES_MAX {
        let message = format!("more than {OVERRIDES_MAX} --set");
        problems.note(BAD_OVERRIDE, At::NOWHERE, message);
    }
    for given in overrides {
        let laid = given.clone().and_then(|settings| document.lay(settings));
        if let Err((at, message)) = laid {
            problems.note(BAD_OVERRIDE, at, message);
        }
    }
}

/// Refuses those that a sweep would override.
pub(super) fn check(overrides: &[Override], sweep: &[Axis], problems: &mut Problems<'_>) {
    for setting in overrides.iter().flatten().flatten() {
        let name = setting.name();
        for axis in sweep {
            let mut varied = axis.cases.iter().flat_map(|case| case.set.keys());
            if let Some(varied) = varied.find(|varied| overlap(varied, &name)) {
                let label = &axis.label;
                let message = format!(
                    "the sweep varies `{varied}`; say which of its cases to run with --set sweep.{label}.only=[...], or leave sweeps out with --set sweep=[]"
                );
                problems.note(BAD_OVERRIDE, setting.key_at(), message);
            }
        }
    }
}
