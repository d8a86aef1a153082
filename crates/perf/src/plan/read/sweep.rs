//! `[[sweep]]`.

use std::collections::BTreeMap;

use toml::Value;

use crate::plan::limits::{AXES_MAX, CASES_MAX, LABEL_CHARS_MAX, POINTS_MAX, SETTINGS_MAX};
use crate::plan::model::{Axis, Case};
use crate::plan::reader::{Reader, Section, plain_number};
use crate::plan::source::At;
use crate::plan::tree::{Entry, Node, Tree};

/// The settings that a sweep may vary: all that affect a run.
const VARIED: [&str; 8] = [
    "network", "chain", "work", "load", "run", "seed", "monitors", "audit",
];

pub(super) fn read(reader: &mut Reader<'_>, top: Section<'_>) -> Vec<Axis> {
    let mut axes: Vec<Axis> = Vec::new();
    for node in reader.list(top, "sweep", AXES_MAX) {
        let Some(section) = reader.open(node, "sweep") else {
            continue;
        };
        let axis = axis(reader, section, axes.len());
        if axes.iter().any(|other| other.label == axis.label) {
            let message = format!("two axes are called `{}`; give each a label", axis.label);
            reader.wrong(section.at_of("label"), message);
        }
        axes.push(axis);
    }
    let points = axes
        .iter()
        .try_fold(1usize, |points, axis| points.checked_mul(axis.cases.len()));
    if points.is_none_or(|points| points > POINTS_MAX) {
        let message = format!("the sweep has more than {POINTS_MAX} points");
        reader.wrong(top.at_of("sweep"), message);
    }
    axes
}

fn axis(reader: &mut Reader<'_>, section: Section<'_>, number: usize) -> Axis {
    let (set, mut cases) = if section.has("case") {
        let why = "cannot be combined with `case`: cases say what they set";
        reader.forbid(section, &["set", "values"], why);
        (None, cases(reader, section))
    } else {
        reader.missing(section, "set");
        reader.missing(section, "values");
        let set = reader.words(section, "set");
        if let Some(name) = &set {
            check_name(reader, name, section, "set");
        }
        (
            set.clone(),
            values(reader, section, &set.unwrap_or_default()),
        )
    };
    if cases.is_empty() {
        reader.wrong(section.at, "an axis has at least one case");
    }
    for (at, case) in cases.iter().enumerate() {
        if cases[..at].iter().any(|other| other.name == case.name) {
            reader.wrong(section.at, format!("two cases are called `{}`", case.name));
        }
    }
    let only = only(reader, section);
    for name in &only {
        if !cases.iter().any(|case| case.name == *name) {
            let names: Vec<&str> = cases.iter().map(|case| case.name.as_str()).collect();
            reader.not_one_of(section.at_of("only"), "case", name, &names);
        }
    }
    if !only.is_empty() {
        cases.retain(|case| only.contains(&case.name));
    }
    // An axis is numeric as a whole or not at all.
    if cases.iter().any(|case| case.number.is_none()) {
        for case in &mut cases {
            case.number = None;
        }
    }
    let last = set.as_deref().and_then(|set| set.rsplit('.').next());
    let label = reader.words(section, "label");
    let other = || last.map_or_else(|| format!("axis {}", number + 1), str::to_owned);
    let label = label.unwrap_or_else(other);
    Axis {
        label: label.chars().take(LABEL_CHARS_MAX as usize).collect(),
        cases,
    }
}

/// The places of a case's settings, by dotted name: of the key and of the value.
pub(in crate::plan) type Places = BTreeMap<String, (At, At)>;

/// Returns the places of the settings of each case of each axis, by the case's name. Requires a valid sweep.
pub(in crate::plan) fn places(
    reader: &mut Reader<'_>,
    top: Section<'_>,
) -> Vec<BTreeMap<String, Places>> {
    let mut axes = Vec::new();
    for node in reader.list(top, "sweep", AXES_MAX) {
        let Some(section) = reader.open(node, "sweep") else {
            continue;
        };
        let mut places = BTreeMap::new();
        for node in reader.list(section, "case", CASES_MAX) {
            let Some(case) = reader.open(node, "sweep.case") else {
                continue;
            };
            let set = reader.dotted(case, "set", SETTINGS_MAX);
            let place = |(path, entry): (String, &Entry)| (path, (entry.key_at, entry.node.at));
            let name = case_name(&reader.text(case, "name").unwrap_or_default());
            places.insert(name, set.into_iter().map(place).collect());
        }
        if let (Some(set), Some(values)) = (reader.text(section, "set"), section.node("values")) {
            let nodes = match &values.tree {
                Tree::Array(nodes) => nodes.as_slice(),
                Tree::Leaf(_) | Tree::Table(_) => std::slice::from_ref(values),
            };
            for node in nodes {
                if let Tree::Leaf(value) = &node.tree {
                    let place = (section.at_of("set"), node.at);
                    places.insert(name_of(value), Places::from([(set.clone(), place)]));
                }
            }
        }
        axes.push(places);
    }
    axes
}

/// Returns the names of the cases that are kept. An empty list keeps all.
fn only(reader: &mut Reader<'_>, section: Section<'_>) -> Vec<String> {
    let Some(node) = section.node("only") else {
        return Vec::new();
    };
    // Names are often numbers. A single one needs no list.
    let nodes: &[Node] = match &node.tree {
        Tree::Array(nodes) => nodes,
        Tree::Leaf(_) | Tree::Table(_) => std::slice::from_ref(node),
    };
    let names = nodes.iter().filter_map(|node| match &node.tree {
        Tree::Leaf(value) => Some(name_of(value)),
        Tree::Array(_) | Tree::Table(_) => None,
    });
    let names: Vec<String> = names.collect();
    if names.is_empty() || names.len() != nodes.len() || names.len() > CASES_MAX {
        let message = format!("`sweep.only` has to be a list of 1 to {CASES_MAX} names of cases");
        reader.wrong(node.at, message);
    }
    names
}

/// Returns the name of a value's case.
fn name_of(value: &Value) -> String {
    match value {
        Value::String(text) => case_name(text),
        other => case_name(&other.to_string()),
    }
}

/// Returns a case's name for people: flags become `on` or `off`, as in `compression: on`.
pub(super) fn case_name(name: &str) -> String {
    match name {
        "true" => "on",
        "false" => "off",
        name => name,
    }
    .to_owned()
}

fn values(reader: &mut Reader<'_>, section: Section<'_>, set: &str) -> Vec<Case> {
    let Some(node) = section.node("values") else {
        return Vec::new();
    };
    let nodes: &[Node] = match &node.tree {
        Tree::Array(nodes) => nodes,
        // A single value, as in `--set sweep.parties.values=4`.
        Tree::Leaf(_) => std::slice::from_ref(node),
        Tree::Table(_) => &[],
    };
    if nodes.is_empty() || nodes.len() > CASES_MAX {
        let message = format!("`sweep.values` has to be a list of 1 to {CASES_MAX} values");
        reader.wrong(node.at, message);
        return Vec::new();
    }
    let mut cases = Vec::new();
    for node in nodes {
        let Tree::Leaf(value) = &node.tree else {
            let message = "a value of a sweep must be a number, a text or a flag. For other values, use named cases (`sweep.case`)";
            reader.wrong(node.at, message);
            continue;
        };
        let name = name_of(value);
        if !(1..=LABEL_CHARS_MAX).contains(&(name.trim().chars().count() as u64)) {
            let message =
                format!("a value of a sweep is a text of 1 to {LABEL_CHARS_MAX} characters");
            reader.wrong(node.at, message);
        }
        cases.push(Case {
            number: plain_number(node).or_else(|| number_in(&name)),
            name,
            set: BTreeMap::from([(set.to_owned(), value.clone())]),
        });
    }
    cases
}

fn cases(reader: &mut Reader<'_>, section: Section<'_>) -> Vec<Case> {
    let mut cases = Vec::new();
    for node in reader.list(section, "case", CASES_MAX) {
        let Some(case) = reader.open(node, "sweep.case") else {
            continue;
        };
        reader.missing(case, "name");
        let name = case_name(&reader.words(case, "name").unwrap_or_default());
        let mut set = BTreeMap::new();
        for (path, entry) in reader.dotted(case, "set", SETTINGS_MAX) {
            let head = path.split('.').next().unwrap_or_default();
            if !VARIED.contains(&head) {
                reader.not_one_of(entry.key_at, "setting to vary called", head, &VARIED);
            }
            set.insert(path, entry.node.value());
        }
        cases.push(Case {
            number: reader.number(case, "number").or_else(|| number_in(&name)),
            name,
            set,
        });
    }
    cases
}

fn check_name(reader: &mut Reader<'_>, name: &str, section: Section<'_>, key: &str) {
    let head = name.split('.').next().unwrap_or_default();
    if name.split('.').any(str::is_empty) {
        reader.wrong(section.at_of(key), "a name with an empty part");
    } else if !VARIED.contains(&head) {
        reader.not_one_of(section.at_of(key), "setting to vary called", head, &VARIED);
    }
}

/// Parses a case's name as a number.
fn number_in(name: &str) -> Option<f64> {
    name.parse::<f64>().ok().filter(|number| number.is_finite())
}
