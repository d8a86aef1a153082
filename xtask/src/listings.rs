//! Checks code blocks of guides that quote files: a block under `<!-- file: PATH -->` must be that file or consecutive lines
//! of it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

use crate::metadata;

const MARK: &str = "<!-- file: ";

/// Returns blocks that differ from their files, as `page: file`.
pub fn stale(pages: &BTreeMap<PathBuf, String>) -> Result<Vec<String>> {
    let mut stale = Vec::new();
    for (page, text) in pages {
        for (file, block) in listings(page, text)? {
            // A file that is missing contains no block, so the block is stale.
            let content = fs::read_to_string(metadata::root().join(&file)).unwrap_or_default();
            if !is_part(&content, &block) {
                stale.push(format!("{}: {file}", page.display()));
            }
        }
    }
    Ok(stale)
}

/// Returns whether the file contains the block's lines consecutively.
fn is_part(content: &str, block: &str) -> bool {
    !block.trim().is_empty() && format!("\n{content}").contains(&format!("\n{block}"))
}

/// Returns each marked block with its file.
fn listings(page: &Path, text: &str) -> Result<Vec<(String, String)>> {
    let mut found = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let Some(rest) = line.strip_prefix(MARK) else {
            continue;
        };
        let file = rest.trim_end_matches("-->").trim().to_owned();
        let fenced = lines.next().is_some_and(|line| line.starts_with("```"));
        if !fenced {
            bail!("{}: no block follows the mark of {file}", page.display());
        }
        let mut block = String::new();
        for line in lines.by_ref().take_while(|line| *line != "```") {
            block.push_str(line);
            block.push('\n');
        }
        found.push((file, block));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_and_parts() {
        let page = Path::new("x.md");
        let text = "words\n<!-- file: a/b.rs -->\n```rust\nlet a = 1;\n\nlet b = 2;\n```\nmore\n```sh\nls\n```\n";
        let found = listings(page, text).expect("well formed");
        assert_eq!(
            found,
            [("a/b.rs".to_owned(), "let a = 1;\n\nlet b = 2;\n".to_owned())]
        );
        assert!(listings(page, "<!-- file: a -->\nno block\n").is_err());
        for (content, block, expected) in [
            ("a\nb\nc\n", "a\nb\nc\n", true),
            ("a\nb\nc\n", "b\n", true),
            ("a\nb\nc\n", "a\nc\n", false),
            ("aa\n", "a\n", false),
            ("", "a\n", false),
            ("a\n", "", false),
        ] {
            assert_eq!(is_part(content, block), expected, "{content:?} {block:?}");
        }
    }
}
