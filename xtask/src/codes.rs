//! Finds codes in the sources that no catalogue lists: they would have no page.
//!
//! A code is a string `domain.snake_case`. Settings, permissions, flows and files have the same form. Settings and permissions
//! are known from their pages of the reference, columns of the view by their short prefix, flows by their constant `NAME`, and
//! files by their ending. The rest is listed here.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use crate::source::{self, Literal};
use crate::{metadata, tree};

/// Strings with the form of a code and another meaning.
const NO_CODES: &[&str] = &[
    "ledger.transition",
    "tally.bid",
    "tally.cash",
    "tally.document",
    "tally.lock",
    "tally.mandate",
    "tally.obligation",
    "tally.paper",
    "tally.stock",
    "audit.lost",
    "log.lock",
    "log.new",
    "toml.new",
];
/// Pages with other strings of that form in backquotes.
const PAGES: &[&str] = &[
    "docs/reference/chain-config.md",
    "docs/reference/config.md",
    "docs/reference/users.md",
];
/// Endings of files.
const FILES: &[&str] = &[
    "anchor",
    "csv",
    "db",
    "html",
    "inventory",
    "json",
    "jtl",
    "key",
    "log",
    "mark",
    "md",
    "pem",
    "pub",
    "sock",
    "sqlite",
    "toml",
    "txt",
];
/// Crates that test and measure nodes. Their codes appear only in their own reports.
const FOR_TESTS: &[&str] = &[
    "diskimage",
    "historycheck",
    "perf",
    "pgserver",
    "properties",
    "sim",
];

/// Returns whether the text is `domain.snake_case`.
pub fn is_code(text: &str) -> bool {
    let snake = |part: &str| {
        part.starts_with(|c: char| c.is_ascii_lowercase())
            && part
                .chars()
                .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
    };
    text.split_once('.')
        .is_some_and(|(domain, name)| domain.len() > 1 && snake(domain) && snake(name))
}

/// Returns every code without a page, as `file:line: code`.
pub fn unlisted(listed: &BTreeSet<&str>) -> Result<Vec<String>> {
    let root = metadata::root();
    let mut strings = Vec::new();
    for entry in fs::read_dir(root.join("crates"))? {
        let folder = entry?.path();
        let name = folder.file_name().context("a crate's folder has no name")?;
        let name = name.to_string_lossy();
        if FOR_TESTS.contains(&&*name) {
            continue;
        }
        for (path, text) in tree::sources(&folder.join("src"))? {
            let shown = path.strip_prefix(&root)?.to_path_buf();
            let found = source::literals(&text).into_iter();
            strings.extend(found.map(|literal| (shown.clone(), literal)));
        }
    }
    let mut settings = BTreeSet::new();
    for page in PAGES {
        settings.extend(quoted(&root.join(page))?);
    }
    let flows: BTreeSet<String> = strings
        .iter()
        .filter(|(_, literal)| literal.constant.as_deref() == Some("NAME"))
        .map(|(_, literal)| literal.text.clone())
        .collect();
    let known = |Literal { text, .. }: &Literal| {
        // A text without a dot has no file extension, and is not a code.
        let (_, ending) = text.split_once('.').unwrap_or_default();
        listed.contains(text.as_str())
            || settings.contains(text)
            || flows.contains(text)
            || FILES.contains(&ending)
            || NO_CODES.contains(&text.as_str())
    };
    strings.retain(|(_, literal)| is_code(&literal.text) && !known(literal));
    let mut faults: Vec<String> = strings
        .into_iter()
        .map(|(path, literal)| format!("{}:{}: {}", path.display(), literal.line, literal.text))
        .collect();
    faults.sort();
    Ok(faults)
}

/// Returns the texts between backquotes on a page.
fn quoted(page: &Path) -> Result<BTreeSet<String>> {
    let text = fs::read_to_string(page).with_context(|| page.display().to_string())?;
    let quoted = text.split('`').skip(1).step_by(2);
    Ok(quoted.map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn form() {
        for code in ["tx.a", "flow.timed_out", "tear_off.bad_proof", "view.v2"] {
            assert!(is_code(code), "{code}");
        }
        for text in [
            "tx", "tx.", ".a", "s.id", "Tx.a", "a.b.c", "0.1", "a b.c", "a.1", "a-b.c",
        ] {
            assert!(!is_code(text), "{text}");
        }
    }

    #[test]
    fn every_code_has_a_page_and_one_without_is_found() {
        let all = crate::errors::all();
        let mut listed: BTreeSet<&str> = all.iter().map(|entry| entry.code).collect();
        assert_eq!(unlisted(&listed).expect("readable"), [""; 0]);
        for code in [
            "flow.timed_out",
            "node.system",
            "tally.no_node",
            "codec.trailing",
        ] {
            assert!(listed.remove(code));
            let found = unlisted(&listed).expect("readable");
            assert!(found.iter().all(|fault| fault.ends_with(code)) && !found.is_empty());
            listed.insert(code);
        }
    }
}
