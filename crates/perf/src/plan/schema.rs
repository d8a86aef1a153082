//! Checks every key of a scenario by its field: that it exists, its type, its range.

use toml::{Table, Value};

use super::document::{Document, joined};
use super::error::{UNKNOWN_SETTING, suggestion};
use super::fields::{FIELDS, FIGURE, Kind, below, field, fields_of, keys_of, kind};
use super::limits::{CASES_MAX, CHAIN_ACCOUNTS_MAX, PUBLISHED_VALUES_MAX, SETTINGS_MAX};
use super::problems::{Problems, SHOWN_CHARS};

/// Keys whose absence is checked where the keys that can replace them are known.
const REPLACED: [&str; 1] = ["chain.target.servers"];

/// Checks a document. Returns whether a plan can be made of it: keys that nobody knows are no obstacle.
pub(super) fn check(document: &Document, problems: &mut Problems<'_>) -> bool {
    let mut checker = Checker {
        document,
        problems,
        is_good: true,
    };
    checker.table(&document.table, "", "");
    checker.is_good
}

struct Checker<'c, 'p> {
    document: &'c Document,
    problems: &'c mut Problems<'p>,
    is_good: bool,
}

impl Checker<'_, '_> {
    /// Checks the keys of a table. `section` is its name among the fields.
    fn table(&mut self, table: &Table, section: &str, path: &str) {
        for (key, value) in table {
            let path = joined(path, key);
            match below(section, key) {
                Some(name) => self.value(value, name, &path),
                // The parameters of a kind of work.
                None if section == "work" => {}
                None => self.unknown(section, key, &path),
            }
        }
        for field in fields_of(section).filter(|field| field.default == "required") {
            let name = field.name;
            let is_replaced =
                REPLACED.contains(&name) || name == "work" && table.contains_key("chain");
            if !table.contains_key(field.key()) && !is_replaced {
                let message = format!("`{name}` is missing: {}", field.kind.words());
                self.wrong(path, message);
            }
        }
    }

    fn value(&mut self, value: &Value, name: &'static str, path: &str) {
        let place = (name, path);
        let fits = match (kind(name), value) {
            (Kind::Table, Value::Table(table)) => {
                self.table(table, name, path);
                true
            }
            (Kind::List(most), Value::Array(entries)) => {
                self.entries(entries, most, place, "a table", |_| false)
            }
            (Kind::Texts(most), Value::Array(entries)) => {
                let fits = |entry: &Value| entry.as_str().is_some_and(|text| !text.is_empty());
                self.entries(entries, most, place, "a text", fits)
            }
            (Kind::Accounts, Value::Array(entries)) => {
                let what = "a passphrase or a table";
                self.entries(entries, CHAIN_ACCOUNTS_MAX, place, what, Value::is_str)
            }
            (Kind::Cases(_), Value::Array(entries)) => {
                let what =
                    "a number, a text or a flag; for other values, use named cases (`sweep.case`)";
                let fits = |entry: &Value| !entry.is_table() && !entry.is_array();
                !entries.is_empty() && self.entries(entries, CASES_MAX, place, what, fits)
            }
            (Kind::Cases(_), value) => !value.is_table(),
            (Kind::Accounts, Value::Integer(count)) => {
                (2..=CHAIN_ACCOUNTS_MAX as i64).contains(count)
            }
            (Kind::Text(least, most), Value::String(text)) => {
                if least > 0 && text.trim().is_empty() {
                    self.wrong(path, format!("`{name}` is empty"));
                }
                text.chars().count() as u64 <= most
            }
            (Kind::OneOf(words), Value::String(text)) => words.contains(&text.as_str()),
            (Kind::Flag, Value::Boolean(_)) => true,
            (Kind::Whole(least, most), Value::Integer(number)) => {
                u64::try_from(*number).is_ok_and(|number| (least..=most).contains(&number))
            }
            (Kind::Number(least, most), value) => is_between(value, least, most),
            (Kind::Settings, Value::Table(settings)) => settings.len() <= SETTINGS_MAX,
            (Kind::Figures, Value::Table(figures)) => {
                self.figures(figures, path);
                (1..=PUBLISHED_VALUES_MAX).contains(&figures.len())
            }
            _ => false,
        };
        if !fits {
            self.misfit(value, name, path);
        }
    }

    /// Checks the entries of a list. One that is a table of the fields below the list's is checked by them. Returns whether
    /// they are few enough.
    fn entries(
        &mut self,
        entries: &[Value],
        most: usize,
        (name, path): (&str, &str),
        what: &str,
        fits: impl Fn(&Value) -> bool,
    ) -> bool {
        let has_fields = fields_of(name).next().is_some();
        for (number, entry) in entries.iter().enumerate() {
            let path = joined(path, &number.to_string());
            match entry {
                Value::Table(table) if has_fields => self.table(table, name, &path),
                entry if fits(entry) => {}
                _ => self.wrong(&path, format!("an entry of `{name}` has to be {what}")),
            }
        }
        entries.len() <= most
    }

    fn figures(&mut self, figures: &Table, path: &str) {
        let (least, most) = FIGURE;
        let allowed = Kind::Number(least, most).words();
        for (case, figure) in figures {
            if !is_between(figure, least, most) {
                let message = format!(
                    "the figure of `{case}` has to be {allowed} (quote a case with a dot in it)"
                );
                self.wrong(&joined(path, case), message);
            }
        }
    }

    /// Refuses an unknown key, and suggests the one that was probably meant.
    fn unknown(&mut self, section: &str, key: &str, path: &str) {
        let mut meant = suggestion(key, keys_of(section));
        if meant.is_empty() {
            let elsewhere = FIELDS
                .iter()
                .filter(|field| field.key() == key)
                .min_by_key(|field| field.name.matches('.').count());
            if let Some(field) = elsewhere {
                meant = format!("; did you mean `{}`?", field.name);
            }
        }
        let of = match section {
            "" => "a scenario has no such key".to_owned(),
            _ => format!("`{section}` has no such key"),
        };
        let mut all: Vec<&str> = keys_of(section).collect();
        all.sort_unstable();
        let message = format!(
            "unknown key `{key}`: {of}{meant} (there are {})",
            all.join(", ")
        );
        // The plan is made without it, so that the other problems are told too.
        let at = self.document.key_at(path);
        self.problems.note(UNKNOWN_SETTING, at, message);
    }

    /// Notes that a value is outside its field's range or of the wrong type.
    fn misfit(&mut self, value: &Value, name: &str, path: &str) {
        let kind = kind(name);
        let allowed = kind.words();
        let unit = match field(name).map_or("", |field| field.unit) {
            "" => String::new(),
            unit => format!(" ({unit})"),
        };
        let (given, near) = match value {
            Value::String(text) => {
                let short: String = text.chars().take(SHOWN_CHARS).collect();
                let near = match kind {
                    Kind::OneOf(words) => suggestion(text, words.iter().copied()),
                    _ => String::new(),
                };
                (format!("\"{short}\""), near)
            }
            Value::Integer(_) | Value::Float(_) => (value.to_string(), String::new()),
            Value::Array(entries) => (format!("a list of {}", entries.len()), String::new()),
            _ => (type_name(value).to_owned(), String::new()),
        };
        let message = format!("`{name}` is {given}; it has to be {allowed}{unit}{near}");
        self.wrong(path, message);
    }

    fn wrong(&mut self, path: &str, message: String) {
        self.is_good = false;
        self.problems.wrong(self.document.at(path), message);
    }
}

/// Returns whether a value is a number within a range, whole or not.
fn is_between(value: &Value, least: f64, most: f64) -> bool {
    let number = match value {
        Value::Integer(number) => *number as f64,
        Value::Float(number) => *number,
        _ => return false,
    };
    (least..=most).contains(&number)
}

/// Returns the type of a value that a message does not show.
fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Table(_) => "a table",
        Value::Boolean(_) => "true or false",
        _ => "a date or time",
    }
}
