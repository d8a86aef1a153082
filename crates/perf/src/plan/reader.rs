//! Reads the keys of a table by their fields: types, ranges and words. Every problem is noted with its place.

use std::collections::BTreeMap;

use toml::Value;

use super::error::{BAD, Problem, UNKNOWN_SETTING, suggestion};
use super::fields::{FIELDS, Kind, field, keys_of, quoted};
use super::limits::PROBLEMS_MAX;
use super::source::{At, Sources};
use super::tree::{Entry, Node, Table, Tree};

/// Reads tables and collects errors.
///
/// A method that reads a value returns `None` if the key is missing, and the caller then takes the field's default. For a wrong value it
/// notes the problem and returns `None` too: no plan is made of a scenario with problems.
pub(super) struct Reader<'a> {
    sources: &'a Sources,
    pub(super) problems: Vec<Problem>,
    /// The point of a sweep that this reads, for messages; empty for the scenario itself.
    pub(super) point: String,
}

/// One table, with its own name and its name in [`FIELDS`].
#[derive(Clone, Copy)]
pub(super) struct Section<'t> {
    /// Its name in [`FIELDS`]: `network.nodes.NAME`.
    schema: &'static str,
    pub(super) table: &'t Table,
    pub(super) at: At,
}

impl<'a> Reader<'a> {
    pub(super) fn new(sources: &'a Sources) -> Self {
        Self {
            sources,
            problems: Vec::new(),
            point: String::new(),
        }
    }

    /// Notes a problem, unless it is known or the limit is reached.
    pub(super) fn wrong(&mut self, at: At, message: impl Into<String>) {
        self.note(BAD, at, message.into());
    }

    /// Notes a problem with another code.
    pub(super) fn note(&mut self, code: &'static str, at: At, message: String) {
        let place = self.sources.place(at);
        let known = |problem: &Problem| {
            problem.place == place && (place.is_some() || problem.message == message)
        };
        if self.problems.len() < PROBLEMS_MAX && !self.problems.iter().any(known) {
            let message = if self.point.is_empty() {
                message
            } else {
                format!("{message} (at {})", self.point)
            };
            self.problems.push(Problem {
                code,
                place,
                message,
            });
        }
    }

    /// Opens a table whose keys are fields. Unknown keys are refused.
    pub(super) fn open<'t>(&mut self, node: &'t Node, schema: &'static str) -> Option<Section<'t>> {
        let section = self.open_any(node, schema)?;
        for (key, entry) in section.table {
            if !keys_of(schema).any(|known| known == key) {
                self.unknown(schema, key, entry.key_at);
            }
        }
        Some(section)
    }

    /// Opens the top level of a scenario.
    pub(super) fn open_top<'t>(&mut self, table: &'t Table, at: At) -> Section<'t> {
        for (key, entry) in table {
            if !keys_of("").any(|known| known == key) {
                self.unknown("", key, entry.key_at);
            }
        }
        Section {
            schema: "",
            table,
            at,
        }
    }

    /// Opens a table that may have further keys.
    pub(super) fn open_any<'t>(
        &mut self,
        node: &'t Node,
        schema: &'static str,
    ) -> Option<Section<'t>> {
        match &node.tree {
            Tree::Table(table) => Some(Section {
                schema,
                table,
                at: node.at,
            }),
            _ => {
                let message = format!("`{schema}` is {}; it has to be a table", node.type_name());
                self.wrong(node.at, message);
                None
            }
        }
    }

    /// Opens the table under a key, if it is there.
    pub(super) fn sub<'t>(&mut self, section: Section<'t>, key: &str) -> Option<Section<'t>> {
        let node = section.node(key)?;
        let field = section.field(key)?;
        self.open(node, field.name)
    }

    /// Returns the tables of a list. A single table counts as a list of one.
    pub(super) fn list<'t>(&mut self, section: Section<'t>, key: &str, most: usize) -> &'t [Node] {
        let Some(node) = section.node(key) else {
            return &[];
        };
        match &node.tree {
            Tree::Array(nodes) if nodes.len() <= most => nodes,
            Tree::Array(nodes) => {
                let message = format!("{} of `{key}`; at most {most} are allowed", nodes.len());
                self.wrong(node.at, message);
                &[]
            }
            Tree::Table(_) => std::slice::from_ref(node),
            Tree::Leaf(_) => {
                let message = format!(
                    "`{key}` is {}; it has to be a list of tables",
                    node.type_name()
                );
                self.wrong(node.at, message);
                &[]
            }
        }
    }

    /// Refuses an unknown key, and suggests the one that was probably meant.
    fn unknown(&mut self, schema: &str, key: &str, at: At) {
        let mut meant = suggestion(key, keys_of(schema));
        if meant.is_empty() {
            let elsewhere = FIELDS
                .iter()
                .filter(|field| field.name.rsplit('.').next() == Some(key))
                .min_by_key(|field| field.name.matches('.').count());
            if let Some(field) = elsewhere {
                meant = format!("; did you mean `{}`?", field.name);
            }
        }
        let of = match schema {
            "" => "a scenario has no such key".to_owned(),
            _ => format!("`{schema}` has no such key"),
        };
        let mut all: Vec<&str> = keys_of(schema).collect();
        all.sort_unstable();
        let message = format!(
            "unknown key `{key}`: {of}{meant} (there are {})",
            all.join(", ")
        );
        self.note(UNKNOWN_SETTING, at, message);
    }

    /// Notes that a value is outside its field's range or of the wrong type.
    fn misfit(&mut self, section: Section<'_>, key: &str, node: &Node) {
        let Some(field) = section.field(key) else {
            return;
        };
        let name = field.name;
        let allowed = field.kind.words();
        let unit = match field.unit {
            "" => String::new(),
            unit => format!(" ({unit})"),
        };
        let given = match &node.tree {
            Tree::Leaf(Value::String(text)) => {
                let near = match field.kind {
                    Kind::OneOf(words) => suggestion(text, words.iter().copied()),
                    _ => String::new(),
                };
                let short: String = text.chars().take(40).collect();
                let message =
                    format!("`{name}` is \"{short}\"; it has to be {allowed}{unit}{near}");
                return self.wrong(node.at, message);
            }
            Tree::Leaf(value @ (Value::Integer(_) | Value::Float(_))) => value.to_string(),
            _ => node.type_name().to_owned(),
        };
        self.wrong(
            node.at,
            format!("`{name}` is {given}; it has to be {allowed}{unit}"),
        );
    }

    /// Reads a text.
    pub(super) fn text(&mut self, section: Section<'_>, key: &str) -> Option<String> {
        let node = section.node(key)?;
        match (&node.tree, section.kind(key)) {
            (Tree::Leaf(Value::String(text)), Kind::Text(most))
                if text.chars().count() as u64 <= most =>
            {
                Some(text.clone())
            }
            (Tree::Leaf(Value::String(_)), Kind::Text(most)) => {
                self.wrong(node.at, format!("`{key}` is longer than {most} characters"));
                None
            }
            _ => {
                self.misfit(section, key, node);
                None
            }
        }
    }

    /// Reads a non-empty text.
    pub(super) fn words(&mut self, section: Section<'_>, key: &str) -> Option<String> {
        let text = self.text(section, key)?;
        if text.trim().is_empty() {
            let at = section.node(key).map_or(section.at, |node| node.at);
            self.wrong(at, format!("`{key}` is empty"));
            return None;
        }
        Some(text)
    }

    /// Reads one of the field's words.
    pub(super) fn one_of(&mut self, section: Section<'_>, key: &str) -> Option<&'static str> {
        let node = section.node(key)?;
        let found = match (&node.tree, section.kind(key)) {
            (Tree::Leaf(Value::String(text)), Kind::OneOf(words)) => {
                words.iter().copied().find(|word| word == text)
            }
            _ => None,
        };
        if found.is_none() {
            self.misfit(section, key, node);
        }
        found
    }

    /// Reads a flag.
    pub(super) fn flag(&mut self, section: Section<'_>, key: &str) -> Option<bool> {
        let node = section.node(key)?;
        match &node.tree {
            Tree::Leaf(Value::Boolean(flag)) => Some(*flag),
            _ => {
                self.misfit(section, key, node);
                None
            }
        }
    }

    /// Reads a whole number within the field's range.
    pub(super) fn whole(&mut self, section: Section<'_>, key: &str) -> Option<u64> {
        let node = section.node(key)?;
        let number = match &node.tree {
            Tree::Leaf(Value::Integer(number)) => u64::try_from(*number).ok(),
            _ => None,
        };
        let found = match (number, section.kind(key)) {
            (Some(number), Kind::Whole(least, most)) => {
                (least..=most).contains(&number).then_some(number)
            }
            _ => None,
        };
        if found.is_none() {
            self.misfit(section, key, node);
        }
        found
    }

    /// Reads a whole number of a field whose range fits into 32 bits.
    pub(super) fn small(&mut self, section: Section<'_>, key: &str) -> Option<u32> {
        self.whole(section, key)
            .map(|number| u32::try_from(number).expect("the range of the field fits into 32 bits"))
    }

    /// Reads a number within the field's range.
    pub(super) fn number(&mut self, section: Section<'_>, key: &str) -> Option<f64> {
        let node = section.node(key)?;
        let number = plain_number(node);
        let found = match (number, section.kind(key)) {
            (Some(number), Kind::Number(least, most)) => {
                (least..=most).contains(&number).then_some(number)
            }
            _ => None,
        };
        if found.is_none() {
            self.misfit(section, key, node);
        }
        found
    }

    /// Notes that a key is missing.
    pub(super) fn missing(&mut self, section: Section<'_>, key: &str) {
        if section.node(key).is_none() {
            let allowed = section.kind(key).words();
            let name = section.field(key).map_or(key, |field| field.name);
            self.wrong(section.at, format!("`{name}` is missing: {allowed}"));
        }
    }

    /// Reads a list of texts.
    pub(super) fn texts(&mut self, section: Section<'_>, key: &str, most: usize) -> Vec<String> {
        let Some(node) = section.node(key) else {
            return Vec::new();
        };
        let Tree::Array(nodes) = &node.tree else {
            let message = format!(
                "`{key}` is {}; it has to be a list of texts",
                node.type_name()
            );
            self.wrong(node.at, message);
            return Vec::new();
        };
        if nodes.len() > most {
            let message = format!("{} of `{key}`; at most {most} are allowed", nodes.len());
            self.wrong(node.at, message);
            return Vec::new();
        }
        let mut texts = Vec::new();
        for node in nodes {
            match &node.tree {
                Tree::Leaf(Value::String(text)) if !text.is_empty() => texts.push(text.clone()),
                _ => self.wrong(node.at, format!("an entry of `{key}` has to be a text")),
            }
        }
        texts
    }

    /// Reads values by dotted name, such as node settings and a case's `set`. Tables are another way to write dots.
    pub(super) fn dotted<'t>(
        &mut self,
        section: Section<'t>,
        key: &str,
        most: usize,
    ) -> BTreeMap<String, &'t Entry> {
        let mut found = BTreeMap::new();
        let Some(node) = section.node(key) else {
            return found;
        };
        let Tree::Table(table) = &node.tree else {
            let message = format!("`{key}` is {}; it has to be a table", node.type_name());
            self.wrong(node.at, message);
            return found;
        };
        self.flatten("", table, &mut found);
        if found.len() > most {
            let message = format!("{} settings; at most {most} are allowed", found.len());
            self.wrong(node.at, message);
            found.clear();
        }
        found
    }

    fn flatten<'t>(
        &mut self,
        before: &str,
        table: &'t Table,
        found: &mut BTreeMap<String, &'t Entry>,
    ) {
        for (key, entry) in table {
            let name = match before {
                "" => key.clone(),
                _ => format!("{before}.{key}"),
            };
            match &entry.node.tree {
                Tree::Table(inner) => self.flatten(&name, inner, found),
                _ if name.split('.').any(str::is_empty) => {
                    self.wrong(entry.key_at, "a name with an empty part");
                }
                _ if found.contains_key(&name) => {
                    self.wrong(entry.key_at, format!("`{name}` is set twice"));
                }
                _ => {
                    found.insert(name, entry);
                }
            }
        }
    }

    /// Refuses keys that contradict another key. `why` is the reason.
    pub(super) fn forbid(&mut self, section: Section<'_>, keys: &[&str], why: &str) {
        for key in keys {
            if let Some(entry) = section.table.get(*key) {
                self.wrong(entry.key_at, format!("`{key}` {why}"));
            }
        }
    }

    /// Refuses a word, and suggests the one that was probably meant.
    pub(super) fn not_one_of(&mut self, at: At, what: &str, word: &str, words: &[&str]) {
        let near = suggestion(word, words.iter().copied());
        let short: String = word.chars().take(40).collect();
        let all = quoted(words);
        self.note(
            UNKNOWN_SETTING,
            at,
            format!("there is no {what} `{short}`{near} (there are {all})"),
        );
    }
}

impl<'t> Section<'t> {
    /// Returns the value of a key.
    pub(super) fn node(self, key: &str) -> Option<&'t Node> {
        self.table.get(key).map(|entry| &entry.node)
    }

    /// Returns whether a key is present.
    pub(super) fn has(self, key: &str) -> bool {
        self.table.contains_key(key)
    }

    /// Returns the place of a key's value, or of the section if the key is missing.
    pub(super) fn at_of(self, key: &str) -> At {
        self.node(key).map_or(self.at, |node| node.at)
    }

    fn field(self, key: &str) -> Option<&'static super::fields::Field> {
        match self.schema {
            "" => field(key),
            schema => field(&format!("{schema}.{key}")),
        }
    }

    fn kind(self, key: &str) -> Kind {
        self.field(key).map_or(Kind::Free, |field| field.kind)
    }
}

/// Reads a number, whole or not.
pub(super) fn plain_number(node: &Node) -> Option<f64> {
    match &node.tree {
        Tree::Leaf(Value::Integer(number)) => Some(*number as f64),
        Tree::Leaf(Value::Float(number)) => Some(*number),
        _ => None,
    }
}
