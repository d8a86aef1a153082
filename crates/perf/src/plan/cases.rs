//! The axes of a sweep, their cases, and figures by case.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize};
use toml::Value;

use super::limits::LABEL_CHARS_MAX;
use crate::results::CASES_JOINED;

/// A varied setting.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "AxisTable")]
pub struct Axis {
    /// Its name in charts.
    pub label: String,
    /// Its cases, in order; at least one.
    #[serde(rename = "case")]
    pub cases: Vec<Case>,
}

/// One place on an axis.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Case {
    /// Its display name: `4`, `sequential`.
    pub name: String,
    /// Its position on a numeric axis, if all cases are numbers.
    pub number: Option<f64>,
    /// The settings it makes, by dotted name within the scenario: `work.parties`, `network.settings.p2p.compression`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub set: BTreeMap<String, toml::Value>,
}

/// `[[sweep]]` in a file.
#[derive(Deserialize)]
pub(super) struct AxisTable {
    #[serde(default)]
    label: String,
    set: Option<String>,
    values: Option<Entries>,
    pub(super) only: Option<Entries>,
    #[serde(default)]
    case: Vec<Case>,
}

/// One value, as in `--set sweep.parties.values=4`, or a list.
#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum Entries {
    /// A list.
    Several(Vec<Value>),
    /// A value.
    One(Value),
}

impl Entries {
    /// Returns the names of their cases.
    pub(super) fn names(&self) -> Vec<String> {
        self.values().iter().map(case_of).collect()
    }

    pub(super) fn values(&self) -> &[Value] {
        match self {
            Self::Several(values) => values,
            Self::One(value) => std::slice::from_ref(value),
        }
    }
}

impl AxisTable {
    /// Returns all its cases, including those that `only` leaves out.
    pub(super) fn cases(&self) -> Vec<Case> {
        let named = self.case.iter().map(|case| Case {
            name: case_name(&case.name),
            ..case.clone()
        });
        let (set, values) = (self.set.as_deref(), self.values.as_ref());
        let values = values.map_or(&[][..], Entries::values);
        let varied = values.iter().map(|value| Case {
            name: case_of(value),
            number: value
                .as_float()
                .or_else(|| value.as_integer().map(|number| number as f64)),
            set: BTreeMap::from([(set.unwrap_or_default().to_owned(), value.clone())]),
        });
        named
            .chain(varied)
            .map(|case| Case {
                number: case.number.or_else(|| number_in(&case.name)),
                ..case
            })
            .collect()
    }
}

impl From<AxisTable> for Axis {
    fn from(table: AxisTable) -> Self {
        let mut cases = table.cases();
        if let Some(only) = &table.only {
            let only = only.names();
            cases.retain(|case| only.contains(&case.name));
        }
        // An axis is numeric as a whole or not at all.
        if cases.iter().any(|case| case.number.is_none()) {
            cases.iter_mut().for_each(|case| case.number = None);
        }
        Self {
            label: table.label.chars().take(LABEL_CHARS_MAX as usize).collect(),
            cases,
        }
    }
}

/// Returns the name of a value's case.
pub(super) fn case_of(value: &Value) -> String {
    match value {
        Value::String(text) => case_name(text),
        other => case_name(&other.to_string()),
    }
}

/// Returns a case's name for people: flags become `on` or `off`, as in `compression: on`.
pub(super) fn case_name(name: &str) -> String {
    let name = match name {
        "true" => "on",
        "false" => "off",
        name => name,
    };
    name.to_owned()
}

/// Returns the name of a combination of cases.
pub(super) fn joined_case_name(names: &str) -> String {
    let names: Vec<String> = names.split(CASES_JOINED).map(case_name).collect();
    names.join(CASES_JOINED)
}

/// Parses a case's name as a number.
fn number_in(name: &str) -> Option<f64> {
    name.parse::<f64>().ok().filter(|number| number.is_finite())
}

/// Reads figures by case.
pub(super) fn figures<'de, D>(deserializer: D) -> Result<BTreeMap<String, f64>, D::Error>
where
    D: Deserializer<'de>,
{
    let figures = BTreeMap::<String, f64>::deserialize(deserializer)?;
    let figures = figures.into_iter();
    Ok(figures
        .map(|(case, figure)| (joined_case_name(&case), figure))
        .collect())
}
