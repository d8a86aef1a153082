//! Completes a document with its defaults, so that serde can make a [`Plan`] of it, and makes a document of a plan.

use toml::{Table, Value};

use super::complete_chain;
use super::document::Document;
use super::fields::{Kind, below, fields_of, kind};
use super::limits::NAME_CHARS_MAX;
use super::model::{Plan, Shape};
use super::problems::Problems;

/// Sections that every scenario has.
const SECTIONS: [&str; 5] = ["network", "load", "run", "monitors", "audit"];
/// Keys of a network that the laboratory brings up, which a target does not have.
pub(super) const OWN: [&str; 9] = [
    "settings",
    "nodes",
    "notary",
    "notary_backend",
    "notary_workers",
    "requesters",
    "database",
    "database_latency_ms",
    "link",
];
/// Default measured seconds of a stretch.
const SECONDS: f64 = 5.0;
/// The same default if units are counted: long enough that the count ends the stretch.
const SECONDS_COUNTED: f64 = 3_600.0;
/// Below this, floats represent every whole number exactly.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// Makes a plan of a document whose keys are in order. `name` is its name unless the document has one.
pub(super) fn plan(document: &Document, name: &str, problems: &mut Problems<'_>) -> Option<Plan> {
    let mut table = document.table.clone();
    complete(&mut table, name);
    let plan = table.try_into();
    plan.map_err(|error: toml::de::Error| problems.wrong(document.at(""), error.message()))
        .ok()
}

fn complete(table: &mut Table, name: &str) {
    for section in SECTIONS {
        let empty = Value::Table(Table::new());
        table.entry(section).or_insert(empty);
    }
    fill(table, "");
    let is_chain = table.contains_key("chain");
    let name = text(table, "name").unwrap_or_else(|| plain_name(name));
    default(table, "title", name.clone());
    default(table, "name", name);
    let load = section(table, "load");
    let steps_s = steps_s(load);
    // A search is a table of its own in the file alone.
    let knee = load.remove("knee");
    let main_metric = match knee {
        Some(_) => "knee_per_s",
        None if is_chain => "chain_tps",
        None => "rate_per_s",
    };
    if let Some(Value::Table(knee)) = knee {
        load.extend(knee);
    }
    default(table, "main_metric", main_metric);
    let run = section(table, "run");
    let is_counted = run.contains_key("count");
    let seconds = if is_counted { SECONDS_COUNTED } else { SECONDS };
    default(run, "seconds", seconds);
    // Steps define their own length.
    if let Some(steps_s) = steps_s {
        run.insert("seconds".to_owned(), Value::Float(steps_s));
    }
    if let Some(Value::Table(fault)) = run.get_mut("fault")
        && text(fault, "kind").as_deref() == Some("kill")
    {
        fault.remove("for_s");
    }
    if let Some(Value::Table(chain)) = table.get_mut("chain") {
        complete_chain::complete(chain);
    }
    let network = section(table, "network");
    if is_chain {
        network.insert("banks".to_owned(), Value::Integer(0));
    } else if let Some(target) = network.get("target") {
        let banks = target.get("banks").and_then(Value::as_array);
        let banks = banks.map_or(0, |banks| banks.len() as i64);
        network.insert("banks".to_owned(), Value::Integer(banks));
    }
    complete_lists(table);
}

/// Completes the kinds of work, the axes and the published figures.
fn complete_lists(table: &mut Table) {
    for work in tables(table, "work") {
        let kind = text(work, "kind").unwrap_or_default();
        default(work, "label", kind);
    }
    for (number, axis) in tables(table, "sweep").enumerate() {
        let varied = text(axis, "set").filter(|_| !axis.contains_key("case"));
        let last = varied.and_then(|set| set.rsplit('.').next().map(str::to_owned));
        default(
            axis,
            "label",
            last.unwrap_or_else(|| format!("axis {}", number + 1)),
        );
    }
    let main_metric = text(table, "main_metric").unwrap_or_default();
    for line in tables(table, "published") {
        default(line, "metric", main_metric.as_str());
        if let Some(value) = line.remove("value") {
            section(line, "values").insert(String::new(), value);
        }
    }
}

/// Fills in the defaults of the fields.
fn fill(table: &mut Table, section: &str) {
    for field in fields_of(section) {
        let key = field.key();
        if !table.contains_key(key)
            && let Some(value) = field.default_value()
        {
            table.insert(key.to_owned(), value);
        }
    }
    each_table(table, section, &mut fill);
}

/// Calls a function for each table below a section.
fn each_table(table: &mut Table, section: &str, call: &mut dyn FnMut(&mut Table, &str)) {
    for (key, value) in table.iter_mut() {
        let Some(name) = below(section, key) else {
            continue;
        };
        match (kind(name), value) {
            (Kind::Table, Value::Table(table)) => call(table, name),
            (Kind::List(_), Value::Array(values)) => {
                for table in values.iter_mut().filter_map(Value::as_table_mut) {
                    call(table, name);
                }
            }
            _ => {}
        }
    }
}

impl Plan {
    /// Returns the exact scenario with every default filled in. Reading it gives this plan again.
    pub fn to_toml(&self) -> String {
        self.to_table().to_string()
    }

    /// Returns the same as a table.
    pub(super) fn to_table(&self) -> Table {
        let written = Table::try_from(self);
        let mut table = written.expect("every number of a plan is within TOML's range");
        let load = section(&mut table, "load");
        if load.contains_key("from_per_s") {
            let mut knee = std::mem::take(load);
            if let Some(most) = knee.remove("outstanding_max") {
                load.insert("outstanding_max".to_owned(), most);
            }
            load.insert("knee".to_owned(), Value::Table(knee));
        }
        match &self.chain {
            Some(chain) => {
                table.remove("network");
                complete_chain::shorten(section(&mut table, "chain"), chain);
            }
            None if self.network.target.is_some() => {
                section(&mut table, "network").retain(|key, _| key == "target");
            }
            None => {}
        }
        for work in tables(&mut table, "work") {
            // A label equal to the kind is left out, so that a case that sets another kind gets that kind's label.
            if work.get("label") == work.get("kind") {
                work.remove("label");
            }
        }
        for line in tables(&mut table, "published") {
            if let Some(value) = section(line, "values").remove("") {
                line.remove("values");
                line.insert("value".to_owned(), value);
            }
        }
        write_whole(&mut table, "");
        table
    }
}

/// Writes whole numbers without a fraction: `5`, not `5.0`.
fn write_whole(table: &mut Table, section: &str) {
    for (key, value) in table.iter_mut() {
        match (below(section, key).map(kind), value) {
            (Some(Kind::Number(..)), value) => make_whole(value),
            (Some(Kind::Figures), Value::Table(figures)) => {
                figures
                    .iter_mut()
                    .for_each(|(_, figure)| make_whole(figure));
            }
            _ => {}
        }
    }
    each_table(table, section, &mut write_whole);
}

fn make_whole(value: &mut Value) {
    if let Value::Float(number) = value
        && number.fract() == 0.0
        && number.abs() < EXACT
    {
        *value = Value::Integer(*number as i64);
    }
}

/// Returns the total length of a rate's steps.
fn steps_s(load: &Table) -> Option<f64> {
    let steps = Value::Table(Table::from_iter([(
        "steps".to_owned(),
        load.get("steps")?.clone(),
    )]));
    match steps.try_into() {
        Ok(Shape::Steps(steps)) => Some(steps.iter().map(|step| step.seconds).sum()),
        _ => None,
    }
}

fn default(table: &mut Table, key: &str, value: impl Into<Value>) {
    table.entry(key).or_insert(value.into());
}

fn text(table: &Table, key: &str) -> Option<String> {
    table.get(key).and_then(Value::as_str).map(str::to_owned)
}

/// Returns a table within a table, and makes it if it is missing.
fn section<'t>(table: &'t mut Table, key: &str) -> &'t mut Table {
    let section = table.entry(key).or_insert(Value::Table(Table::new()));
    section.as_table_mut().expect("the fields are checked")
}

fn tables<'t>(table: &'t mut Table, key: &str) -> impl Iterator<Item = &'t mut Table> + use<'t> {
    let list = table.get_mut(key).and_then(Value::as_array_mut);
    list.into_iter().flatten().filter_map(Value::as_table_mut)
}

/// Converts a text to a scenario's name: small letters, digits and dashes, of limited length and not empty.
pub(super) fn plain_name(text: &str) -> String {
    let dashed = |c: char| match c.to_ascii_lowercase() {
        c if c.is_ascii_alphanumeric() => c,
        _ => '-',
    };
    let name: String = text.chars().take(NAME_CHARS_MAX).map(dashed).collect();
    match name.trim_matches('-') {
        "" => "scenario".to_owned(),
        name => name.to_owned(),
    }
}
