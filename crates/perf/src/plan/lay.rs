//! Lays settings over a scenario: those of `[full]`, of `--set` and of the cases of a sweep.

use std::collections::BTreeSet;

use toml::{Table, Value};

use super::document::{Document, Mark, Wrong, joined};
use super::fields::{Kind, below, kind};
use super::limits::DEPTH_MAX;
use super::source::At;

/// The kinds of load. One that is laid over a scenario replaces another. The lists are the further keys that each
/// allows.
const LOADS: [(&str, &[&str]); 5] = [
    ("outstanding", &["think_ms", "think"]),
    ("rate", &["poisson", "outstanding_max"]),
    ("ramp", &["poisson", "outstanding_max"]),
    ("steps", &["poisson", "outstanding_max"]),
    ("knee", &["outstanding_max"]),
];

/// A value to lay over a scenario, and where.
#[derive(Clone, Debug)]
pub(super) struct Setting {
    /// The parts of its name.
    pub(super) path: Vec<String>,
    pub(super) value: Value,
    /// Its place and those of the values within it, by the rest of their paths.
    pub(super) marks: Vec<(String, Mark)>,
}

impl Setting {
    /// Returns its dotted name.
    pub(super) fn name(&self) -> String {
        self.path.join(".")
    }

    /// Returns the place of its key.
    pub(super) fn key_at(&self) -> At {
        self.marks.first().map_or(At::NOWHERE, |(_, mark)| mark.key)
    }
}

/// Returns the settings of a table of a document: every value that is no table, and empty tables. `path` is the table's
/// own.
pub(super) fn settings(document: &Document, table: &Table, path: &str) -> Vec<Setting> {
    let mut found = Vec::new();
    collect(document, table, path, &mut Vec::new(), &mut found);
    found
}

fn collect(
    document: &Document,
    table: &Table,
    path: &str,
    parts: &mut Vec<String>,
    found: &mut Vec<Setting>,
) {
    for (key, value) in table {
        let path = joined(path, key);
        parts.push(key.clone());
        match value {
            Value::Table(inner) if !inner.is_empty() => {
                collect(document, inner, &path, parts, found);
            }
            _ => {
                let own = document.mark(&path).map(|mark| (String::new(), mark));
                let inner = document.marks.range(format!("{path}.")..);
                let inner = inner.take_while(|(other, _)| is_within(other, &path));
                let inner = inner.map(|(other, mark)| (other[path.len()..].to_owned(), *mark));
                found.push(Setting {
                    path: parts.clone(),
                    value: value.clone(),
                    marks: own.into_iter().chain(inner).collect(),
                });
            }
        }
        parts.pop();
    }
}

impl Document {
    /// Lays settings over it. Lists and single values are replaced. A setting of a list of tables goes into its only one,
    /// or into that which its name says.
    pub(super) fn lay(&mut self, settings: Vec<Setting>) -> Result<(), Wrong> {
        if let Some(setting) = set_twice(&settings) {
            let message = format!("`{}` is set twice", setting.name());
            return Err((setting.key_at(), message));
        }
        self.make_room(&settings);
        for setting in settings {
            let key_at = setting.key_at();
            if setting.path.len() > DEPTH_MAX {
                let message = format!("more than {DEPTH_MAX} tables within tables");
                return Err((key_at, message));
            }
            let mut taken = String::new();
            let mut root = Value::Table(std::mem::take(&mut self.table));
            let is_put = put(
                &mut root,
                Some(""),
                &setting.path,
                setting.value,
                &mut taken,
            );
            if let Value::Table(table) = root {
                self.table = table;
            }
            is_put.map_err(|message| (key_at, message))?;
            self.move_marks(&taken, setting.marks);
        }
        Ok(())
    }

    /// Replaces the places at and below a path. Tables that were made on the way have the place of the setting.
    fn move_marks(&mut self, taken: &str, marks: Vec<(String, Mark)>) {
        self.marks.retain(|path, _| !is_within(path, taken));
        let around = taken.match_indices('.').map(|(dot, _)| &taken[..dot]);
        for (rest, mark) in &marks {
            self.marks.insert(format!("{taken}{rest}"), *mark);
        }
        if let Some((_, mark)) = marks.first() {
            for path in around {
                self.marks.entry(path.to_owned()).or_insert(*mark);
            }
        }
    }

    /// Removes the other kinds of load if the settings have one.
    fn make_room(&mut self, settings: &[Setting]) {
        let is_brought = |way: &str| {
            settings.iter().any(|setting| {
                setting.path[0] == "load" && setting.path.get(1).is_some_and(|key| key == way)
            })
        };
        let belongs =
            |key: &str, (way, further): &(&str, &[&str])| key == *way || further.contains(&key);
        let brought: Vec<_> = LOADS.iter().filter(|(way, _)| is_brought(way)).collect();
        if let Some(Value::Table(load)) = self.table.get_mut("load")
            && !brought.is_empty()
        {
            load.retain(|key, _| {
                brought.iter().any(|way| belongs(key, way))
                    || !LOADS.iter().any(|way| belongs(key, way))
            });
        }
    }
}

/// Returns a setting that another one sets too, as a whole or in part.
fn set_twice(settings: &[Setting]) -> Option<&Setting> {
    let (mut names, mut tables) = (BTreeSet::new(), BTreeSet::new());
    settings.iter().find(|setting| {
        let around = (1..setting.path.len()).map(|parts| setting.path[..parts].join("."));
        let around: Vec<String> = around.collect();
        let is_within = around.iter().any(|around| names.contains(around));
        tables.extend(around);
        is_within || tables.contains(&setting.name()) || !names.insert(setting.name())
    })
}

/// Puts a value into a table or a list of tables, and makes the tables on the way. Adds to `taken` the path of its place.
fn put(
    node: &mut Value,
    section: Option<&'static str>,
    path: &[String],
    value: Value,
    taken: &mut String,
) -> Result<(), String> {
    let Some((key, rest)) = path.split_first() else {
        // An empty table adds nothing to another one.
        let is_nothing = value.as_table().is_some_and(Table::is_empty);
        if !(is_nothing && (node.is_table() || node.is_array())) {
            *node = value;
        }
        return Ok(());
    };
    if let Value::Array(tables) = node
        && tables.iter().all(Value::is_table)
    {
        let named = tables.iter().position(|table| is_called(table, key));
        let (number, path) = match named.filter(|_| !rest.is_empty() || value.is_table()) {
            Some(number) => (number, rest),
            None if tables.len() == 1 => (0, path),
            None => {
                let (name, count) = (taken.rsplit('.').next().unwrap_or_default(), tables.len());
                return Err(format!(
                    "`{name}` is a list of {count}; say which one by its label, as in {name}.LABEL.key"
                ));
            }
        };
        *taken = joined(taken, &number.to_string());
        return put(&mut tables[number], section, path, value, taken);
    }
    if !node.is_table() {
        *node = Value::Table(Table::new());
    }
    let table = node.as_table_mut().expect("it is a table by now");
    if section.map(kind) == Some(Kind::Settings) {
        let name = path.join(".");
        table.retain(|other, _| !overlap(other, &name));
        *taken = joined(taken, &name);
        table.insert(name, value);
        return Ok(());
    }
    *taken = joined(taken, key);
    let section = section.and_then(|section| below(section, key));
    let is_list = matches!(section.map(kind), Some(Kind::List(_))) && !rest.is_empty();
    let inner = table.entry(key.clone()).or_insert_with(|| {
        let empty = Value::Table(Table::new());
        if is_list {
            Value::Array(vec![empty])
        } else {
            empty
        }
    });
    put(inner, section, rest, value, taken)
}

/// Returns whether a table in a list has a name: its label, its kind, or the last word of the setting that it varies.
fn is_called(table: &Value, name: &str) -> bool {
    let text = |key: &str| table.get(key).and_then(Value::as_str);
    let set = text("set").and_then(|set| set.rsplit('.').next());
    [text("label"), text("kind"), set].contains(&Some(name))
}

/// Returns whether a path equals another one, or is within it.
fn is_within(inner: &str, outer: &str) -> bool {
    inner
        .strip_prefix(outer)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// Returns whether one dotted name equals the other, or is within it.
pub(super) fn overlap(one: &str, other: &str) -> bool {
    is_within(one, other) || is_within(other, one)
}
