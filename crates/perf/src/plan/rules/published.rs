//! `[[published]]`.

use std::collections::BTreeSet;

use toml::{Table, Value};

use super::Rules;
use crate::plan::cases::joined_case_name;
use crate::results::is_link;

impl Rules<'_, '_> {
    pub(super) fn published(&mut self) {
        let document = self.document;
        let tables = document.tables("published").zip(&self.plan.published);
        for (number, (table, line)) in tables.enumerate() {
            let path = format!("published.{number}");
            match (table.contains_key("value"), table.contains_key("values")) {
                (false, false) => self.wrong(&path, "published figures need `value` or `values`"),
                (true, true) => self.forbid(&path, &["value"], "contradicts `values`; take one"),
                _ => {}
            }
            for key in ["values", "deviations"] {
                self.figures(table, key, &path);
            }
            let (values, mut deviations) = (&line.values, line.deviations.keys());
            if let Some(case) = deviations.find(|case| !values.contains_key(*case)) {
                let message = format!("there is no value for `{case}`, only a standard deviation");
                self.wrong(&path, message);
            }
            if !line.url.is_empty() && !is_link(&line.url) {
                let message = format!(
                    "`published.url` has to begin with https:// and to contain no space, found `{}`",
                    line.url
                );
                self.wrong(&path, message);
            }
        }
    }

    /// Refuses two figures of one case, such as those of `true` and `on`.
    fn figures(&mut self, table: &Table, key: &str, path: &str) {
        let mut names = BTreeSet::new();
        let figures = table.get(key).and_then(Value::as_table);
        for case in figures.into_iter().flat_map(Table::keys) {
            if !names.insert(joined_case_name(case)) {
                let at = self.document.key_at(&format!("{path}.{key}.{case}"));
                let message = format!("two figures are for the case of `{case}`");
                self.problems.wrong(at, message);
            }
        }
    }
}
