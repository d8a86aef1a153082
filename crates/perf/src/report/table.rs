//! Tables for a terminal: the first column left-aligned, the others right-aligned, as wide as their widest cell.

use std::fmt;

/// Rows of text under headings.
#[derive(Clone, Debug, Default)]
pub struct Table {
    headings: Vec<String>,
    rows: Vec<Vec<String>>,
    bold: bool,
    left: bool,
}

impl Table {
    /// Creates a table without rows. `bold` highlights the headings with terminal escapes.
    pub fn new(headings: &[&str], bold: bool) -> Self {
        Self {
            headings: headings.iter().map(|text| (*text).to_owned()).collect(),
            rows: Vec::new(),
            bold,
            left: false,
        }
    }

    /// Aligns all columns left, for words.
    #[must_use]
    pub fn left(mut self) -> Self {
        self.left = true;
        self
    }

    /// Adds a row; missing cells stay empty, surplus ones are dropped.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        let mut row: Vec<String> = cells.into_iter().take(self.headings.len()).collect();
        row.resize(self.headings.len(), String::new());
        self.rows.push(row);
    }
}

impl fmt::Display for Table {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let widths: Vec<usize> = (0..self.headings.len())
            .map(|column| {
                std::iter::once(&self.headings)
                    .chain(&self.rows)
                    .map(|row| row[column].chars().count())
                    .max()
                    .expect("the heading, at least")
            })
            .collect();
        let line = |row: &[String]| {
            let cells: Vec<String> = row
                .iter()
                .zip(&widths)
                .enumerate()
                .map(|(column, (cell, &width))| match column {
                    0 => format!("{cell:<width$}"),
                    _ if self.left => format!("{cell:<width$}"),
                    _ => format!("{cell:>width$}"),
                })
                .collect();
            cells.join("  ").trim_end().to_owned()
        };
        if self.bold {
            writeln!(out, "\u{1b}[1m{}\u{1b}[0m", line(&self.headings))?;
        } else {
            writeln!(out, "{}", line(&self.headings))?;
        }
        for row in &self.rows {
            writeln!(out, "{}", line(row))?;
        }
        Ok(())
    }
}

/// Formats a number: thousands separated, and decimals only if they are significant.
pub fn number(value: f64) -> String {
    if !value.is_finite() {
        return "-".to_owned();
    }
    if value.abs() < 100.0 && value.fract().abs() > 0.001 {
        return match value.abs() {
            small if small < 1.0 => format!("{value:.2}"),
            _ => format!("{value:.1}"),
        };
    }
    let digits = format!("{:.0}", value.abs());
    let mut grouped = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    if value < 0.0 {
        grouped.insert(0, '-');
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns() {
        let mut table = Table::new(&["work", "per s"], false);
        table.row(["Issue".into(), "12,000".into()]);
        table.row(["Issue + Pay".into()]);
        assert_eq!(
            table.to_string(),
            "work          per s\nIssue        12,000\nIssue + Pay\n"
        );
    }

    #[test]
    fn numbers() {
        for (value, expected) in [
            (0.0, "0"),
            (0.251, "0.25"),
            (14.84, "14.8"),
            (146.0, "146"),
            (2580.4, "2,580"),
            (1_234_567.0, "1,234,567"),
            (-1000.0, "-1,000"),
            (f64::NAN, "-"),
        ] {
            assert_eq!(number(value), expected);
        }
    }
}
