//! `[[published]]`.

use std::collections::BTreeMap;

use super::sweep::case_name;
use crate::plan::fields::{Kind, field};
use crate::plan::limits::{PUBLISHED_MAX, PUBLISHED_VALUES_MAX};
use crate::plan::model::PublishedLine;
use crate::plan::reader::{Reader, Section, plain_number};
use crate::plan::tree::Tree;
use crate::results::{CASES_JOINED, CONDITIONS, is_link};

pub(super) fn read(
    reader: &mut Reader<'_>,
    top: Section<'_>,
    main_metric: &str,
) -> Vec<PublishedLine> {
    let mut lines = Vec::new();
    for node in reader.list(top, "published", PUBLISHED_MAX) {
        let Some(section) = reader.open(node, "published") else {
            continue;
        };
        for key in ["label", "source"] {
            reader.missing(section, key);
        }
        let mut values = figures(reader, section, "values");
        if let Some(value) = reader.number(section, "value") {
            if section.has("values") {
                reader.forbid(section, &["value"], "contradicts `values`; take one");
            }
            values.insert(String::new(), value);
        } else if !section.has("values") && !section.has("value") {
            reader.wrong(section.at, "published figures need `value` or `values`");
        }
        let deviations = figures(reader, section, "deviations");
        if let Some(case) = deviations.keys().find(|case| !values.contains_key(*case)) {
            let message = format!("there is no value for `{case}`, only a standard deviation");
            reader.wrong(section.at, message);
        }
        let metric = reader.one_of(section, "metric").unwrap_or(main_metric);
        lines.push(PublishedLine {
            label: reader.words(section, "label").unwrap_or_default(),
            source: reader.words(section, "source").unwrap_or_default(),
            url: url(reader, section),
            conditions: conditions(reader, section),
            metric: metric.to_owned(),
            values,
            deviations,
        });
    }
    lines
}

/// Reads the address of a publication; empty if it is missing or no address.
fn url(reader: &mut Reader<'_>, section: Section<'_>) -> String {
    let url = reader.words(section, "url").unwrap_or_default();
    if url.is_empty() || is_link(&url) {
        return url;
    }
    let message = format!(
        "`published.url` has to begin with https:// and to contain no space, found `{url}`"
    );
    reader.wrong(section.at, message);
    String::new()
}

fn conditions(reader: &mut Reader<'_>, section: Section<'_>) -> BTreeMap<String, String> {
    let Some(section) = reader.sub(section, "conditions") else {
        return BTreeMap::new();
    };
    let read = |(key, _): &(&str, &str)| Some(((*key).to_owned(), reader.words(section, key)?));
    CONDITIONS.iter().filter_map(read).collect()
}

/// Reads the table of figures by case under a key.
fn figures(reader: &mut Reader<'_>, section: Section<'_>, key: &str) -> BTreeMap<String, f64> {
    let mut values = BTreeMap::new();
    let Some(node) = section.node(key) else {
        return values;
    };
    let table = match &node.tree {
        Tree::Table(table) if (1..=PUBLISHED_VALUES_MAX).contains(&table.len()) => table,
        _ => {
            let message = format!(
                "`published.{key}` has to be a table of 1 to {PUBLISHED_VALUES_MAX} figures by case, such as {{ 4 = 1100 }}"
            );
            reader.wrong(node.at, message);
            return values;
        }
    };
    let range = field("published.value").map_or(Kind::Free, |field| field.kind);
    for (case, entry) in table {
        let number = plain_number(&entry.node);
        let fits = |number: &f64| match range {
            Kind::Number(least, most) => (least..=most).contains(number),
            _ => true,
        };
        match number.filter(fits) {
            Some(number) => {
                let names: Vec<String> = case.split(CASES_JOINED).map(case_name).collect();
                let name = names.join(CASES_JOINED);
                if values.insert(name, number).is_some() {
                    let message = format!("two figures are for the case of `{case}`");
                    reader.wrong(entry.key_at, message);
                }
            }
            None => {
                let message = format!(
                    "the figure of `{case}` has to be {} (quote a case with a dot in it)",
                    range.words()
                );
                reader.wrong(entry.node.at, message);
            }
        }
    }
    values
}
