//! The style of a chart that stands in a file of its own. It is taken from the page's style, with colours in place of
//! variables, which not every viewer of images knows.

use std::collections::BTreeMap;

const PAGE: &str = include_str!("../html/style.css");
/// The begin of the colours in the page's style.
const LIGHT: &str = ":root{";
/// The begin of those for dark surroundings.
const DARK: &str = ":root[data-theme=dark]{";
/// Classes that charts use.
const CLASSES: [&str; 17] = [
    "t", "g", "a", "z", "l", "i", "dev", "m", "q", "s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7",
];
/// Rules of the sheet around a chart.
const SHEET: &str = ".sheet{fill:var(--bg)}\
.h{font:600 14px system-ui,-apple-system,\"Segoe UI\",Roboto,Arial,sans-serif;fill:var(--ink)}";

/// Returns the style: light by default, dark if the viewer prefers it.
pub fn style() -> String {
    let rules: Vec<String> = chart_rules().chain(rules_of(SHEET)).collect();
    let (light, dark) = (colours(LIGHT), colours(DARK));
    let in_colours = |rules: &[String], colours: &BTreeMap<&str, &str>| -> String {
        rules.iter().map(|rule| coloured(rule, colours)).collect()
    };
    let varying: Vec<String> = rules
        .iter()
        .filter(|rule| rule.contains("var("))
        .cloned()
        .collect();
    format!(
        "{}@media(prefers-color-scheme:dark){{{}}}",
        in_colours(&rules, &light),
        in_colours(&varying, &dark)
    )
}

/// Returns the page's rules that concern charts alone.
fn chart_rules() -> impl Iterator<Item = String> {
    let lines = PAGE.lines().filter(|line| line.starts_with('.'));
    lines.flat_map(rules_of).filter(|rule| {
        let selectors = rule.split('{').next().unwrap_or_default();
        selectors.split(',').all(is_of_charts)
    })
}

fn is_of_charts(selector: &str) -> bool {
    let Some(rest) = selector.strip_prefix('.') else {
        return false;
    };
    let end = rest.find(|c: char| !c.is_ascii_alphanumeric());
    let class = &rest[..end.unwrap_or(rest.len())];
    CLASSES.contains(&class) && !selector.contains([' ', '>'])
}

/// Returns the rules of a line.
fn rules_of(line: &str) -> impl Iterator<Item = String> + use<'_> {
    let rules = line.split('}').filter(|rule| rule.contains('{'));
    rules.map(|rule| format!("{rule}}}"))
}

/// Returns the colours of a block by variable.
fn colours(begin: &str) -> BTreeMap<&'static str, &'static str> {
    let block = PAGE.split(begin).nth(1).unwrap_or_default();
    let block = block.split('}').next().unwrap_or_default();
    let pairs = block
        .split(';')
        .filter_map(|pair| pair.trim().split_once(':'));
    pairs.collect()
}

/// Returns a rule with colours in place of its variables.
fn coloured(rule: &str, colours: &BTreeMap<&str, &str>) -> String {
    let mut parts = rule.split("var(");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (name, rest) = part.split_once(')').unwrap_or((part, ""));
        out.push_str(colours.get(name).unwrap_or(&"currentColor"));
        out.push_str(rest);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_class_has_its_colours_and_no_variable_is_left() {
        let style = style();
        for part in [
            ".sheet{fill:#fff}",
            ".m.s0{fill:#0b5cad}",
            "@media(prefers-color-scheme:dark){",
            ".m.s0{fill:#6fb1ff}",
            ".q{fill:#12151a;stroke:#a0aab8",
            ".t.e{text-anchor:end}",
            // The pale bar of a standard deviation shares its class with bold words.
            ".dev{",
            ".l.s1{stroke-dasharray:7 3}",
        ] {
            assert!(style.contains(part), "{part} in {style}");
        }
        for part in ["var(", "currentColor", ".tile", ".card", "&", "<"] {
            assert!(!style.contains(part), "{part} in {style}");
        }
    }
}
