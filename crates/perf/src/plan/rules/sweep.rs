//! `[[sweep]]`.

use std::collections::BTreeSet;

use toml::{Table, Value};

use super::Rules;
use crate::plan::cases::{AxisTable, Case};
use crate::plan::limits::{LABEL_CHARS_MAX, POINTS_MAX};
use crate::plan::source::At;

/// The settings that a sweep may vary: all that affect a run.
const VARIED: [&str; 8] = [
    "network", "chain", "work", "load", "run", "seed", "monitors", "audit",
];

impl Rules<'_, '_> {
    pub(super) fn sweep(&mut self) {
        let document = self.document;
        let mut labels = BTreeSet::new();
        let tables = document.tables("sweep").zip(&self.plan.sweep).enumerate();
        for (number, (table, axis)) in tables {
            let path = format!("sweep.{number}");
            self.axis(table, &path);
            if !labels.insert(&axis.label) {
                let message = format!("two axes are called `{}`; give each a label", axis.label);
                self.wrong(&format!("{path}.label"), message);
            }
        }
        let mut counts = self.plan.sweep.iter().map(|axis| axis.cases.len());
        let points = counts.try_fold(1usize, usize::checked_mul);
        if points.is_none_or(|points| points > POINTS_MAX) {
            let message = format!("the sweep has more than {POINTS_MAX} points");
            self.wrong("sweep", message);
        }
    }

    fn axis(&mut self, table: &Table, path: &str) {
        if table.contains_key("case") {
            let why = "cannot be combined with `case`: cases say what they set";
            self.forbid(path, &["set", "values"], why);
        } else {
            for key in ["set", "values"]
                .into_iter()
                .filter(|key| !table.contains_key(*key))
            {
                self.wrong(
                    path,
                    format!("`sweep.{key}` is missing; or give the axis cases"),
                );
            }
        }
        if let Some(set) = table.get("set").and_then(Value::as_str) {
            self.varied(set, self.document.at(&format!("{path}.set")));
        }
        for (number, case) in self.document.tables(&format!("{path}.case")).enumerate() {
            let set = case.get("set").and_then(Value::as_table);
            for name in set.into_iter().flat_map(Table::keys) {
                let path = format!("{path}.case.{number}.set.{name}");
                self.varied(name, self.document.key_at(&path));
            }
        }
        let Ok(axis) = table.clone().try_into::<AxisTable>() else {
            return self.wrong(path, "an axis has `set` and `values`, or cases");
        };
        let cases = axis.cases();
        self.cases(&cases, path);
        let names: Vec<&str> = cases.iter().map(|case| case.name.as_str()).collect();
        for name in axis.only.iter().flat_map(|only| only.names()) {
            if !names.contains(&name.as_str()) {
                let at = self.document.at(&format!("{path}.only"));
                self.problems.not_one_of(at, "case", &name, &names);
            }
        }
    }

    fn cases(&mut self, cases: &[Case], path: &str) {
        if cases.is_empty() {
            self.wrong(path, "an axis has at least one case");
        }
        let mut names = BTreeSet::new();
        for (number, case) in cases.iter().enumerate() {
            if !names.insert(&case.name) {
                self.wrong(path, format!("two cases are called `{}`", case.name));
            }
            let chars = case.name.trim().chars().count() as u64;
            if !(1..=LABEL_CHARS_MAX).contains(&chars) {
                let message =
                    format!("a value of a sweep is a text of 1 to {LABEL_CHARS_MAX} characters");
                self.wrong(&format!("{path}.values.{number}"), message);
            }
        }
    }

    /// Refuses to vary a setting that does not affect a run.
    fn varied(&mut self, name: &str, at: At) {
        let head = name.split('.').next().unwrap_or_default();
        if name.split('.').any(str::is_empty) {
            self.problems.wrong(at, "a name with an empty part");
        } else if !VARIED.contains(&head) {
            self.problems
                .not_one_of(at, "setting to vary called", head, &VARIED);
        }
    }
}
