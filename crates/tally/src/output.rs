//! Output of commands: tables or JSON.

use std::io::Write;

use serde::Serialize;

use crate::failure::Failure;
pub use crate::ink::{Ink, stderr_ink, stdout_ink};
use crate::printable::{one_line, printable};

/// The output format of a command's result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::Args)]
pub struct Output {
    /// Print JSON instead of a table
    #[arg(long)]
    pub json: bool,
}

impl Output {
    /// Shows `value` as JSON, or as the text that `people` returns.
    pub fn show<T: Serialize>(
        self,
        value: &T,
        people: impl FnOnce(&T) -> String,
    ) -> Result<(), Failure> {
        let text = if self.json {
            serde_json::to_string(value).map_err(|error| {
                Failure::local("tally.output", error.to_string(), "Report this.")
            })?
        } else {
            printable(&people(value), stdout_ink()).into_owned()
        };
        print(&text)
    }
}

/// Prints a text as it is and a line end. A reader that closes the pipe early is not a failure.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    let text = text.trim_end();
    let written = if text.is_empty() {
        Ok(())
    } else {
        writeln!(out, "{text}")
    };
    match written.and_then(|()| out.flush()) {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        Err(error) => Err(Failure::local(
            "tally.output",
            error.to_string(),
            "Check the file or pipe that the output goes to.",
        )),
        Ok(()) => Ok(()),
    }
}

/// A table with aligned columns. Columns whose header begins with `>` are numbers and are right-aligned.
pub struct Table {
    headers: Vec<String>,
    right: Vec<bool>,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub fn new(headers: &[&str]) -> Self {
        Self {
            headers: headers
                .iter()
                .map(|header| header.trim_start_matches('>').to_owned())
                .collect(),
            right: headers
                .iter()
                .map(|header| header.starts_with('>'))
                .collect(),
            rows: Vec::new(),
        }
    }

    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// Returns the table as text. On a terminal that is too narrow for it, each row becomes a paragraph.
    pub fn render(&self, ink: Ink) -> String {
        let escaped = |row: &Vec<String>| row.iter().map(|cell| one_line(cell, ink)).collect();
        let table = Self {
            headers: self.headers.clone(),
            right: self.right.clone(),
            rows: self.rows.iter().map(escaped).collect(),
        };
        table.fitted(ink, terminal_columns())
    }

    fn fitted(&self, ink: Ink, columns: Option<usize>) -> String {
        let widths: Vec<usize> = (0..self.headers.len())
            .map(|at| {
                let cells = self.rows.iter().filter_map(|row| row.get(at));
                cells
                    .chain(self.headers.get(at))
                    .map(|cell| shown_width(cell))
                    .max()
                    .expect("a column has a header")
            })
            .collect();
        // Clipped at 0: a table without columns has no gaps.
        let gaps = 2 * widths.len().saturating_sub(1);
        if let Some(columns) =
            columns.filter(|columns| widths.iter().sum::<usize>() + gaps > *columns)
        {
            return self.paragraphs(ink, columns);
        }
        let line = |cells: &[String]| {
            let padded =
                cells
                    .iter()
                    .zip(&widths)
                    .zip(&self.right)
                    .map(|((cell, width), right)| {
                        let gap = " ".repeat(width - shown_width(cell));
                        if *right {
                            format!("{gap}{cell}")
                        } else {
                            format!("{cell}{gap}")
                        }
                    });
            padded.collect::<Vec<_>>().join("  ").trim_end().to_owned()
        };
        let mut text = ink.paint(Ink::BOLD, &line(&self.headers));
        for row in &self.rows {
            text.push('\n');
            text.push_str(&line(row));
        }
        text
    }
}

impl Table {
    /// Returns each row as its first cell and a paragraph of the other columns' names and values.
    fn paragraphs(&self, ink: Ink, columns: usize) -> String {
        let mut text = String::new();
        for row in &self.rows {
            let mut cells = self.headers.iter().zip(row);
            let first = cells.next().map_or("", |(_, cell)| cell.as_str());
            if !text.is_empty() {
                text.push('\n');
            }
            text.push_str(&ink.paint(Ink::BOLD, first));
            let mut line = String::new();
            for (header, cell) in cells.filter(|(_, cell)| shown_width(cell) > 0) {
                let item = format!("{header} {cell}");
                // Clipped at 0: a terminal narrower than the indent gets one item a line.
                let room = columns.saturating_sub(INDENT.len() + 1);
                if !line.is_empty() && shown_width(&line) + 2 + shown_width(&item) > room {
                    text.push_str(&format!("\n{INDENT}{line},"));
                    line.clear();
                }
                if !line.is_empty() {
                    line.push_str(", ");
                }
                line.push_str(&item);
            }
            if !line.is_empty() {
                text.push_str(&format!("\n{INDENT}{line}"));
            }
        }
        text
    }
}

/// The indent of a row's paragraph.
const INDENT: &str = "  ";

/// Returns the columns of the terminal on standard output, if there is one.
fn terminal_columns() -> Option<usize> {
    let term = console::Term::stdout();
    let size = term.is_term().then(|| term.size_checked()).flatten();
    size.map(|(_, columns)| usize::from(columns))
}

/// Returns the number of characters that a terminal shows of a text; escapes take no room.
fn shown_width(text: &str) -> usize {
    let mut escaped = false;
    let shown = text.chars().filter(|character| {
        let hidden = escaped || *character == '\u{1b}';
        escaped = hidden && *character != 'm';
        !hidden
    });
    shown.count()
}

/// Returns names and values, one per line.
pub fn pairs(pairs: &[(&str, String)]) -> String {
    // Without pairs there is no line to align.
    let width = pairs.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let ink = stdout_ink();
    let mut text = String::new();
    for (name, value) in pairs {
        let mut lines = value.lines();
        let name = ink.paint(Ink::BOLD, &format!("{name:<width$}"));
        // An empty value is shown as a dash.
        text.push_str(&format!("{name}  {}\n", lines.next().unwrap_or("-")));
        for more in lines {
            text.push_str(&format!("{:<width$}  {more}\n", ""));
        }
    }
    text
}

/// Writes a flag as a table shows it.
pub fn yes_or_no(flag: bool) -> String {
    if flag { "yes" } else { "no" }.to_owned()
}

/// Writes a count with its noun: `1 block`, `2 blocks`.
pub fn counted(count: impl Into<u64>, noun: &str) -> String {
    match count.into() {
        1 => format!("1 {noun}"),
        count => format!("{} {noun}s", grouped(count)),
    }
}

/// Returns a number with its digits in groups of three.
pub fn grouped(number: impl std::fmt::Display) -> String {
    let digits = number.to_string();
    let first = digits.len() % 3;
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && at % 3 == first % 3 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_narrow_terminal_gets_paragraphs() {
        let mut table = Table::new(&["node", "state", ">waiting", "note"]);
        let ink = Ink::of_test(true);
        let state = ink.paint(Ink::GREEN, "connected");
        for name in ["Bank A", "Bank B"] {
            let cells = [name, &state, "5 bytes", ""];
            table.row(cells.map(str::to_owned));
        }
        let plain = Ink::of_test(false);
        let wide = table.fitted(plain, Some(80));
        assert_eq!(wide, table.fitted(plain, None));
        let line = format!("Bank A  {state}  5 bytes");
        assert_eq!(
            wide.lines().nth(1),
            Some(line.as_str()),
            "escapes take no room"
        );
        assert_eq!(
            wide.lines().next(),
            Some("node    state      waiting  note")
        );
        let narrow = table.fitted(plain, Some(24));
        let row = |name: &str| format!("{name}\n  state {state},\n  waiting 5 bytes");
        assert_eq!(narrow, [row("Bank A"), row("Bank B")].join("\n"));
        assert!(narrow.lines().all(|line| shown_width(line) <= 24));
    }

    #[test]
    fn columns_line_up() {
        let mut table = Table::new(&["name", ">sum"]);
        table.row(["é".to_owned(), "5".to_owned()]);
        table.row(["longer".to_owned(), "1,000".to_owned()]);
        let plain = Ink::of_test(false);
        assert_eq!(
            table.render(plain),
            "name      sum\né           5\nlonger  1,000"
        );
        assert!(table.render(Ink::of_test(true)).starts_with("\x1b[1mname"));
    }

    #[test]
    fn one_thing_has_no_plural() {
        for (count, text) in [(0u32, "0 blocks"), (1, "1 block"), (1_000, "1,000 blocks")] {
            assert_eq!(counted(count, "block"), text);
        }
    }

    #[test]
    fn digits_in_threes() {
        for (number, text) in [
            (0, "0"),
            (999, "999"),
            (1_000, "1,000"),
            (12_345, "12,345"),
            (123_456_789, "123,456,789"),
        ] {
            assert_eq!(grouped(number), text);
        }
    }
}
