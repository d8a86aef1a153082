//! Checks the paths through the code that pages describe: an item that a page names in parentheses after a source file must be in
//! that file, so that a reader who follows the page needs no search.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::metadata;

/// Keywords before the name of an item that a file declares.
const DECLARES: &[&str] = &["fn", "struct", "enum", "trait", "type", "const"];

/// Returns the items that are not in their file, as `page: file: item`.
///
/// A page names items as in "`a/src/b.rs` (`one`, `two`: `Three`)". `one` and `two` must be declared in the file. Other words in code
/// font, such as `Three`, must occur in it.
pub fn stale(pages: &BTreeMap<PathBuf, String>) -> Vec<String> {
    let mut stale = Vec::new();
    for (page, text) in pages {
        for (file, items) in walks(text) {
            // Links report a file that does not exist.
            let Some(source) = read(file) else { continue };
            let missing = items.iter().filter(|item| !item.is_in(&source));
            let text = |item: &Item<'_>| format!("{}: {file}: {}", page.display(), item.name);
            stale.extend(missing.map(text));
        }
    }
    stale
}

/// An item that a page names.
#[derive(Debug, PartialEq, Eq)]
struct Item<'a> {
    name: &'a str,
    /// Whether the file has to declare it.
    is_declared: bool,
}

impl Item<'_> {
    fn is_in(&self, source: &str) -> bool {
        let mut before = "";
        words(source).any(|word| {
            let declares = DECLARES.contains(&before);
            before = word;
            word == self.name && (declares || !self.is_declared)
        })
    }
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|c: char| !c.is_alphanumeric() && c != '_');
    words.filter(|word| !word.is_empty())
}

fn read(file: &str) -> Option<String> {
    let root = metadata::root();
    let paths = [root.join(file), root.join("crates").join(file)];
    paths.iter().find_map(|path: &PathBuf| read_file(path))
}

fn read_file(path: &Path) -> Option<String> {
    fs::read_to_string(path).ok()
}

/// Returns the source files with items in parentheses after them.
fn walks(text: &str) -> Vec<(&str, Vec<Item<'_>>)> {
    const END: &str = ".rs` (";
    let mut walks = Vec::new();
    for (at, _) in text.match_indices(END) {
        let Some(begin) = text[..at].rfind('`') else {
            continue;
        };
        let file = &text[begin + 1..at + ".rs".len()];
        let rest = &text[at + END.len()..];
        let inside = rest.split(')').next().unwrap_or_default();
        walks.push((file, inside.split(',').flat_map(items).collect()));
    }
    walks
}

/// Returns the items of one entry of a list, such as "`poll`" or "`on_command`: `Complete`".
fn items(entry: &str) -> Vec<Item<'_>> {
    let begins = entry.trim_start().starts_with('`');
    let names = entry.split('`').skip(1).step_by(2);
    let is_name = |name: &&str| words(name).count() == 1;
    let item = |(at, name)| Item {
        name,
        is_declared: begins && at == 0,
    };
    names.filter(is_name).enumerate().map(item).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_follow_their_file() {
        let declared = |name| Item {
            name,
            is_declared: true,
        };
        let used = |name| Item {
            name,
            is_declared: false,
        };
        let text = "see `a/src/b.rs` (`one`, `two`: `Three`), and `c/src/d.rs` (the field `four` of `Five`); `e/src/f.rs`";
        let expected = [
            (
                "a/src/b.rs",
                vec![declared("one"), declared("two"), used("Three")],
            ),
            ("c/src/d.rs", vec![used("four"), used("Five")]),
        ];
        assert_eq!(walks(text), expected);
    }

    #[test]
    fn an_item_is_found_by_its_declaration_or_its_use() {
        let source = "pub(crate) fn one<T>() { two(); }\npub struct Three;";
        let cases = [
            ("one", true, true),
            ("two", true, false),
            ("two", false, true),
            ("Three", true, true),
            ("tw", false, false),
        ];
        for (name, is_declared, found) in cases {
            let item = Item { name, is_declared };
            assert_eq!(item.is_in(source), found, "{name} {is_declared}");
        }
    }

    #[test]
    fn a_stale_item_is_reported_with_page_and_file() {
        let text = "`xtask/src/walks.rs` (`stale`, `gone`), `xtask/src/none.rs` (`any`)".to_owned();
        let pages = BTreeMap::from([(PathBuf::from("a.md"), text)]);
        assert_eq!(stale(&pages), ["a.md: xtask/src/walks.rs: gone"]);
    }
}
