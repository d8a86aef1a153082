//! What people and programs read: tables, or JSON.

use std::io::{IsTerminal, Write};

use serde::Serialize;

use crate::failure::Failure;

/// Colours, if somebody looks and has not asked for none (no-color.org).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ink {
    on: bool,
}

impl Ink {
    pub const RED: &str = "31";
    pub const GREEN: &str = "32";
    pub const YELLOW: &str = "33";
    pub const CYAN: &str = "36";
    pub const BOLD: &str = "1";

    fn new(terminal: bool) -> Self {
        let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        Self {
            on: terminal && !refused,
        }
    }

    /// Whether colours are used.
    pub fn is_on(self) -> bool {
        self.on
    }

    /// The text in a colour, or as it is.
    pub fn paint(self, colour: &str, text: &str) -> String {
        if self.on {
            format!("\x1b[{colour}m{text}\x1b[0m")
        } else {
            text.to_owned()
        }
    }
}

/// For standard output.
pub fn stdout_ink() -> Ink {
    Ink::new(std::io::stdout().is_terminal())
}

/// For standard error.
pub fn stderr_ink() -> Ink {
    Ink::new(std::io::stderr().is_terminal())
}

/// How a command's result is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::Args)]
pub struct Output {
    /// Print JSON instead of a table
    #[arg(long)]
    pub json: bool,
}

impl Output {
    /// Shows `value` as JSON, or what `people` makes of it.
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
            people(value)
        };
        print(&text)
    }
}

/// Prints a text and the end of its line. Whoever reads may have had enough: that is no failure.
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
            "Check where the output goes.",
        )),
        Ok(()) => Ok(()),
    }
}

/// Columns that line up. Columns whose header begins with `>` are numbers and stand at the right.
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

    /// The table as text.
    pub fn render(&self, ink: Ink) -> String {
        let widths: Vec<usize> = (0..self.headers.len())
            .map(|at| {
                let cells = self.rows.iter().filter_map(|row| row.get(at));
                cells
                    .chain(self.headers.get(at))
                    .map(|cell| cell.chars().count())
                    .max()
                    .unwrap_or(0)
            })
            .collect();
        let line = |cells: &[String]| {
            let padded =
                cells
                    .iter()
                    .zip(&widths)
                    .zip(&self.right)
                    .map(|((cell, width), right)| {
                        if *right {
                            format!("{cell:>width$}")
                        } else {
                            format!("{cell:<width$}")
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

/// Names and values, one a line.
pub fn pairs(pairs: &[(&str, String)]) -> String {
    let width = pairs.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let ink = stdout_ink();
    let mut text = String::new();
    for (name, value) in pairs {
        let mut lines = value.lines();
        let name = ink.paint(Ink::BOLD, &format!("{name:<width$}"));
        text.push_str(&format!("{name}  {}\n", lines.next().unwrap_or("-")));
        for more in lines {
            text.push_str(&format!("{:<width$}  {more}\n", ""));
        }
    }
    text
}

/// A number in groups of three digits.
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
    fn columns_line_up() {
        let mut table = Table::new(&["name", ">sum"]);
        table.row(["é".to_owned(), "5".to_owned()]);
        table.row(["longer".to_owned(), "1,000".to_owned()]);
        let plain = Ink { on: false };
        assert_eq!(
            table.render(plain),
            "name      sum\né           5\nlonger  1,000"
        );
        assert!(table.render(Ink { on: true }).starts_with("\x1b[1mname"));
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
