//! The values of a scenario, each with its place in a text, so that error messages can show it.
//!
//! A value has a path, with numbers for the entries of lists: `work.0.kind`. Settings of nodes and of cases are one name
//! with dots: `network.settings` has the key `p2p.compression`.

use std::collections::BTreeMap;

use toml::de::{DeTable, DeValue};
use toml::{Spanned, Table, Value};

use super::fields::{Kind, below, kind};
use super::limits::{DEPTH_MAX, SETTINGS_MAX};
use super::source::At;

/// Bytes of a path. Deeper values have the place of the table around them.
const PATH_BYTES_MAX: usize = 1_000;

/// An error in a document, with its place.
pub(super) type Wrong = (At, String);

/// The places of a key and of its value.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark {
    pub(super) key: At,
    pub(super) value: At,
}

/// Values and their places.
#[derive(Clone, Debug, Default)]
pub(super) struct Document {
    pub(super) table: Table,
    /// By path. A value that the program generated has none.
    pub(super) marks: BTreeMap<String, Mark>,
}

impl Document {
    /// Reads a text; `source` is its number. Single tables become lists where a list is expected, unless the text is laid
    /// over another one, which then has the list.
    pub(super) fn parse(text: &str, source: u32, is_over: bool) -> Result<Self, Wrong> {
        let parsed = DeTable::parse(text).map_err(|error| {
            // An error without a place is shown at the beginning.
            let span = error.span().unwrap_or(0..0);
            (At::of(source, &span), error.message().replace('\n', ", "))
        })?;
        let mut reader = Reader {
            source,
            makes_lists: !is_over,
            marks: BTreeMap::new(),
        };
        let table = reader.table(parsed.get_ref(), Some(""), Some(""), 0)?;
        let marks = reader.marks;
        Ok(Self { table, marks })
    }

    /// Returns the value of a path without dots in its names.
    pub(super) fn get(&self, path: &str) -> Option<&Value> {
        let mut parts = path.split('.');
        let first = self.table.get(parts.next()?)?;
        parts.try_fold(first, |value, part| match value {
            Value::Array(values) => values.get(part.parse::<usize>().ok()?),
            other => other.get(part),
        })
    }

    /// Returns whether there is a value at a path.
    pub(super) fn has(&self, path: &str) -> bool {
        self.get(path).is_some()
    }

    /// Returns the tables of a list.
    pub(super) fn tables<'d>(&'d self, path: &str) -> impl Iterator<Item = &'d Table> + use<'d> {
        let list = self.get(path).and_then(Value::as_array);
        list.into_iter().flatten().filter_map(Value::as_table)
    }

    /// Replaces the value of a key of a table. It gets the place of another value.
    pub(super) fn replace(&mut self, section: &str, key: &str, value: Value, place_of: &str) {
        let mark = self.mark(place_of);
        let mut tables = section.split('.');
        let first = tables.next().and_then(|first| self.table.get_mut(first));
        let table = tables.try_fold(first, |table, part| Some(table?.get_mut(part)));
        if let Some(Some(Value::Table(table))) = table {
            table.insert(key.to_owned(), value);
            self.marks
                .extend(mark.map(|mark| (joined(section, key), mark)));
        }
    }

    /// Returns the place of a key.
    pub(super) fn key_at(&self, path: &str) -> At {
        self.marks
            .get(path)
            .map_or_else(|| self.at(path), |mark| mark.key)
    }

    /// Returns the place of a value, or of the nearest table around it that has one.
    pub(super) fn at(&self, path: &str) -> At {
        self.mark(path).map_or(At::NOWHERE, |mark| mark.value)
    }

    /// Returns the places of a key and its value, or those of the nearest table around them.
    pub(super) fn mark(&self, path: &str) -> Option<Mark> {
        let dots = path.rmatch_indices('.').map(|(dot, _)| dot);
        std::iter::once(path.len())
            .chain(dots)
            .find_map(|end| self.marks.get(&path[..end]))
            .copied()
    }
}

/// Returns a path with one more part.
pub(super) fn joined(path: &str, key: &str) -> String {
    match path {
        "" => key.to_owned(),
        _ => format!("{path}.{key}"),
    }
}

/// Converts the parser's values.
struct Reader {
    source: u32,
    makes_lists: bool,
    marks: BTreeMap<String, Mark>,
}

impl Reader {
    fn at<T>(&self, spanned: &Spanned<T>) -> At {
        At::of(self.source, &spanned.span())
    }

    /// Converts a table. `section` is its name among the fields.
    fn table(
        &mut self,
        table: &DeTable<'_>,
        path: Option<&str>,
        section: Option<&'static str>,
        depth: usize,
    ) -> Result<Table, Wrong> {
        let mut converted = Table::new();
        for (key, value) in table {
            let key_at = self.at(key);
            if depth >= DEPTH_MAX {
                let message = format!("more than {DEPTH_MAX} tables within tables");
                return Err((key_at, message));
            }
            let path = self.mark(path, key.get_ref(), key_at, self.at(value));
            let path = path.as_deref();
            let converted_value = match (section, key.get_ref().as_ref()) {
                // Its settings are laid over the scenario.
                (Some(""), "full") => self.over(value, path, depth)?,
                (section, key) => {
                    let section = section.and_then(|section| below(section, key));
                    self.value(value, path, section, depth + 1)?
                }
            };
            converted.insert(key.get_ref().to_string(), converted_value);
        }
        Ok(converted)
    }

    /// Converts `[full]`, which has the keys of a scenario.
    fn over(
        &mut self,
        value: &Spanned<DeValue<'_>>,
        path: Option<&str>,
        depth: usize,
    ) -> Result<Value, Wrong> {
        let DeValue::Table(table) = value.get_ref() else {
            return Err((self.at(value), "`full` has to be a table".to_owned()));
        };
        if let Some((key, _)) = table.get_key_value("full") {
            return Err((self.at(key), "`full` within `full`".to_owned()));
        }
        let makes_lists = std::mem::replace(&mut self.makes_lists, false);
        let table = self.table(table, path, Some(""), depth + 1)?;
        self.makes_lists = makes_lists;
        Ok(Value::Table(table))
    }

    fn value(
        &mut self,
        value: &Spanned<DeValue<'_>>,
        path: Option<&str>,
        section: Option<&'static str>,
        depth: usize,
    ) -> Result<Value, Wrong> {
        let at = self.at(value);
        let kind = section.map(kind);
        Ok(match value.get_ref() {
            DeValue::String(text) => Value::String(text.to_string()),
            DeValue::Integer(number) => {
                let parsed = i64::from_str_radix(number.as_str(), number.radix());
                Value::Integer(
                    parsed.map_err(|_| (at, "a whole number beyond 64 bits".to_owned()))?,
                )
            }
            DeValue::Float(number) => match number.as_str().parse::<f64>() {
                Ok(number) if number.is_finite() => Value::Float(number),
                _ => {
                    let message = "expected a finite number, found NaN or infinity";
                    return Err((at, message.to_owned()));
                }
            },
            DeValue::Boolean(flag) => Value::Boolean(*flag),
            DeValue::Datetime(time) => Value::Datetime(*time),
            DeValue::Array(values) => {
                if depth >= DEPTH_MAX {
                    return Err((at, format!("more than {DEPTH_MAX} lists within lists")));
                }
                self.list(values, path, section, depth)?
            }
            DeValue::Table(table) if kind == Some(Kind::Settings) => {
                let mut flat = Table::new();
                self.flatten(table, "", path, depth, &mut flat)?;
                Value::Table(flat)
            }
            DeValue::Table(_) if self.makes_lists && matches!(kind, Some(Kind::List(_))) => {
                self.list(std::slice::from_ref(value), path, section, depth)?
            }
            DeValue::Table(table) => Value::Table(self.table(table, path, section, depth)?),
        })
    }

    /// Converts a list. The entries of a list of tables have its fields.
    fn list(
        &mut self,
        values: &[Spanned<DeValue<'_>>],
        path: Option<&str>,
        section: Option<&'static str>,
        depth: usize,
    ) -> Result<Value, Wrong> {
        let makes_lists = std::mem::replace(&mut self.makes_lists, true);
        let mut converted = Vec::new();
        for (number, value) in values.iter().enumerate() {
            let at = self.at(value);
            let path = self.mark(path, &number.to_string(), at, at);
            let path = path.as_deref();
            converted.push(match value.get_ref() {
                DeValue::Table(table) => {
                    Value::Table(self.table(table, path, section, depth + 1)?)
                }
                _ => self.value(value, path, None, depth + 1)?,
            });
        }
        self.makes_lists = makes_lists;
        Ok(Value::Array(converted))
    }

    /// Adds settings by dotted name.
    fn flatten(
        &mut self,
        table: &DeTable<'_>,
        before: &str,
        path: Option<&str>,
        depth: usize,
        flat: &mut Table,
    ) -> Result<(), Wrong> {
        for (key, value) in table {
            let key_at = self.at(key);
            let name = joined(before, key.get_ref());
            let wrong = |message: String| Err((key_at, message));
            if depth >= DEPTH_MAX || name.split('.').count() > DEPTH_MAX {
                return wrong(format!("more than {DEPTH_MAX} tables within tables"));
            }
            if let DeValue::Table(inner) = value.get_ref() {
                self.flatten(inner, &name, path, depth + 1, flat)?;
                continue;
            }
            if name.split('.').any(str::is_empty) {
                return wrong("a name with an empty part".to_owned());
            }
            if flat.contains_key(&name) {
                return wrong(format!("`{name}` is set twice"));
            }
            if flat.len() >= SETTINGS_MAX {
                return wrong(format!("more than {SETTINGS_MAX} settings"));
            }
            let path = self.mark(path, &name, key_at, self.at(value));
            let value = self.value(value, path.as_deref(), None, depth + 1)?;
            flat.insert(name, value);
        }
        Ok(())
    }

    /// Notes the places of a key and its value. Returns their path.
    fn mark(&mut self, path: Option<&str>, key: &str, key_at: At, value_at: At) -> Option<String> {
        let path = joined(path?, key);
        if path.len() > PATH_BYTES_MAX {
            return None;
        }
        let mark = Mark {
            key: key_at,
            value: value_at,
        };
        self.marks.insert(path.clone(), mark);
        Some(path)
    }
}
