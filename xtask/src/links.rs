//! Checks the repository's Markdown pages: the file and heading of each link, and each source file named in the text, must exist.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, Result};
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use crate::metadata;

/// Pages outside `docs` that belong to the documents.
const OTHERS: &[&str] = &["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"];

/// Returns every page by its path from the repository's root.
pub fn pages() -> Result<BTreeMap<PathBuf, String>> {
    let root = metadata::root();
    let mut pages = BTreeMap::new();
    for other in OTHERS {
        let text = fs::read_to_string(root.join(other)).with_context(|| (*other).to_owned())?;
        pages.insert(PathBuf::from(other), text);
    }
    let mut folders = vec![root.join("docs")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).with_context(|| folder.display().to_string())? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "md") {
                let text = fs::read_to_string(&path)?;
                let name = path.strip_prefix(&root)?;
                pages.insert(name.to_path_buf(), text);
            }
        }
    }
    Ok(pages)
}

/// Returns the Markdown parser for both the check and the book.
pub fn parser(text: &str) -> Parser<'_> {
    Parser::new_ext(text, Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH)
}

/// Returns the links without a target, as `page: link`.
pub fn broken(pages: &BTreeMap<PathBuf, String>) -> Vec<String> {
    let root = metadata::root();
    let anchors: BTreeMap<&Path, BTreeSet<String>> = pages
        .iter()
        .map(|(path, text)| {
            let anchors = headings(text).into_iter().map(|heading| heading.anchor);
            (path.as_path(), anchors.collect())
        })
        .collect();
    let exists = |path: &Path| pages.contains_key(path) || root.join(path).exists();
    let mut broken = Vec::new();
    for (page, text) in pages {
        for link in links(text) {
            let Some((target, anchor)) = target(page, &link) else {
                continue;
            };
            let found = match anchors.get(target.as_path()) {
                Some(known) => anchor.is_none_or(|anchor| known.contains(anchor)),
                None => exists(&target),
            };
            if !found {
                broken.push(format!("{}: {link}", page.display()));
            }
        }
    }
    broken
}

/// Returns the target of a link on a page: the file from the repository's root, and the heading. Returns `None` for other
/// sites.
pub fn target<'a>(page: &Path, link: &'a str) -> Option<(PathBuf, Option<&'a str>)> {
    if link.contains("://") || link.starts_with("mailto:") {
        return None;
    }
    let (file, anchor) = match link.split_once('#') {
        Some((file, anchor)) => (file, Some(anchor)),
        None => (link, None),
    };
    if file.is_empty() {
        return Some((page.to_path_buf(), anchor));
    }
    // A page in the root has no folder.
    let mut target = page.parent().map(Path::to_path_buf).unwrap_or_default();
    for part in Path::new(file).components() {
        match part {
            // A link out of the repository counts as a missing file.
            Component::ParentDir if !target.pop() => target.push(".."),
            Component::Normal(name) => target.push(name),
            _ => {}
        }
    }
    Some((target, anchor))
}

/// Returns the Rust files that pages name as code and that do not exist, as `page: file`. A name without `crates/` may leave it out.
pub fn missing_sources(pages: &BTreeMap<PathBuf, String>) -> Vec<String> {
    let root = metadata::root();
    let exists = |name: &str| root.join(name).exists() || root.join("crates").join(name).exists();
    let mut missing = Vec::new();
    for (page, text) in pages {
        let names = sources(text).into_iter().filter(|name| !exists(name));
        missing.extend(names.map(|name| format!("{}: {name}", page.display())));
    }
    missing
}

/// Returns the code spans that are paths of Rust files in a crate's `src` or `tests`.
fn sources(text: &str) -> Vec<String> {
    let source = |event| match event {
        Event::Code(code) => Some(code.into_string()),
        _ => None,
    };
    let is_source = |code: &String| {
        code.ends_with(".rs")
            && (code.contains("/src/") || code.contains("/tests/"))
            && !code.contains(['*', '{', ' '])
            && code.chars().all(|c| !c.is_ascii_uppercase())
    };
    parser(text).filter_map(source).filter(is_source).collect()
}

fn links(text: &str) -> Vec<String> {
    let link = |event| match event {
        Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
            Some(dest_url.into_string())
        }
        _ => None,
    };
    parser(text).filter_map(link).collect()
}

/// A heading of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heading {
    /// Its text.
    pub text: String,
    /// The anchor that links use, unique on its page.
    pub anchor: String,
}

/// Returns the headings of a page, in order.
pub fn headings(text: &str) -> Vec<Heading> {
    let mut found: Vec<Heading> = Vec::new();
    let mut open: Option<String> = None;
    for event in parser(text) {
        match event {
            Event::Start(Tag::Heading { .. }) => open = Some(String::new()),
            Event::Text(words) | Event::Code(words) => {
                if let Some(heading) = &mut open {
                    heading.push_str(&words);
                }
            }
            Event::End(TagEnd::Heading(_)) => {
                // A heading without letters or digits has an empty anchor.
                let text = open.take().unwrap_or_default();
                let plain = anchor(&text);
                let alike = |heading: &&Heading| anchor(&heading.text) == plain;
                let anchor = match found.iter().filter(alike).count() {
                    0 => plain.clone(),
                    earlier => format!("{plain}-{earlier}"),
                };
                found.push(Heading { text, anchor });
            }
            _ => {}
        }
    }
    found
}

/// Makes an anchor like the web pages of repositories: lower case, hyphens for spaces, and only letters, digits, `-` and `_`.
pub fn anchor(heading: &str) -> String {
    heading
        .to_lowercase()
        .chars()
        .filter_map(|c| match c {
            ' ' => Some('-'),
            c if c.is_alphanumeric() || c == '-' || c == '_' => Some(c),
            _ => None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_lead_to_files_and_headings() {
        let target = |link| target(Path::new("docs/a/b.md"), link);
        for (link, expected) in [
            ("c.md", Some(("docs/a/c.md", None))),
            ("../c.md#x", Some(("docs/c.md", Some("x")))),
            ("#x", Some(("docs/a/b.md", Some("x")))),
            ("../../README.md", Some(("README.md", None))),
            ("../../../c.md", Some(("../c.md", None))),
            ("https://example.org/c.md", None),
        ] {
            let expected = expected.map(|(file, anchor)| (PathBuf::from(file), anchor));
            assert_eq!(target(link), expected, "{link}");
        }
    }

    #[test]
    fn broken_links_are_named_with_their_page() {
        let pages = [
            (
                "docs/a.md",
                "# One `x`\n[b](b.md#two) [c](none.md) [d](#one-x) [e](#two)",
            ),
            (
                "docs/b.md",
                "# Two\n# Two\n[up](a.md) [again](#two-1) [code](../Cargo.toml)\n\n    [no](link.md)\n",
            ),
        ];
        let pages = pages.map(|(path, text)| (PathBuf::from(path), text.to_owned()));
        assert_eq!(
            broken(&pages.into()),
            ["docs/a.md: none.md", "docs/a.md: #two"]
        );
    }

    #[test]
    fn missing_source_files_are_named_with_their_page() {
        let text = "`xtask/src/links.rs` `primitives/src/lib.rs` `crates/ledger/src/lib.rs` `ledger/src/none.rs` \
            `links.rs` `src/NAME.rs` `crates/*/src/lib.rs`\n\n    `old/src/text.rs`\n";
        let pages = [(PathBuf::from("a.md"), text.to_owned())];
        assert_eq!(missing_sources(&pages.into()), ["a.md: ledger/src/none.rs"]);
    }
}
