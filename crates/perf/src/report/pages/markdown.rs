//! Texts and tables as Markdown.

use std::fmt::Write;

/// Letters that have a meaning in a line of Markdown.
const MEANINGFUL: &str = "\\`*_[]<>|~";

/// Returns a text on one line, without a meaning in Markdown.
pub fn plain(text: &str) -> String {
    let mut out = String::new();
    for word in text.split_whitespace() {
        if !out.is_empty() {
            out.push(' ');
        }
        for letter in word.chars().filter(|letter| !letter.is_control()) {
            if MEANINGFUL.contains(letter) {
                out.push('\\');
            }
            out.push(letter);
        }
    }
    out
}

/// A table. The first column has words, and the others have figures unless they are words, too.
pub struct Table {
    text: String,
    columns: usize,
}

impl Table {
    /// Creates a table from its headings. Those with `>` in front are of figures.
    pub fn new(headings: &[String]) -> Self {
        let mut table = Table {
            text: String::new(),
            columns: headings.len(),
        };
        let names = headings
            .iter()
            .map(|name| name.trim_start_matches('>').to_owned());
        table.row(names);
        let rules = headings.iter().map(|name| match name.starts_with('>') {
            true => "---:",
            false => "---",
        });
        let rules: Vec<&str> = rules.collect();
        let _ = writeln!(table.text, "| {} |", rules.join(" | "));
        table
    }

    /// Adds a row of Markdown cells; missing cells stay empty.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        let mut cells: Vec<String> = cells.into_iter().take(self.columns).collect();
        cells.resize(self.columns, String::new());
        let _ = writeln!(self.text, "| {} |", cells.join(" | "));
    }

    /// Returns the text, with an empty line after it.
    pub fn end(self) -> String {
        self.text + "\n"
    }
}

/// Returns lines as a block of shell commands, with an empty line after it.
pub fn shell(lines: &str) -> String {
    format!("```sh\n{lines}```\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_text_stays_text() {
        for (text, expected) in [
            ("a | b\n# c", "a \\| b # c"),
            ("[x](y) <b>", "\\[x\\](y) \\<b\\>"),
            ("~ 5 * 3", "\\~ 5 \\* 3"),
        ] {
            assert_eq!(plain(text), expected);
        }
    }

    #[test]
    fn figures_are_aligned_right() {
        let mut table = Table::new(&["case".to_owned(), ">rate".to_owned()]);
        table.row(["a".to_owned(), "1".to_owned(), "surplus".to_owned()]);
        table.row(["b".to_owned()]);
        assert_eq!(
            table.end(),
            "| case | rate |\n| --- | ---: |\n| a | 1 |\n| b |  |\n\n"
        );
    }
}
