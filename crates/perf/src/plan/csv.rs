//! Reads the tables that load tests of the Ardor family keep as files: servers, chains and accounts. One row per line,
//! with or without a header.

use std::fs::File;
use std::io::Read;

use toml::{Table, Value};

use super::document::{Document, joined};
use super::fields::{Kind, kind};
use super::problems::Problems;

/// Columns of `servers.csv`.
const SERVERS: &[&str] = &["name", "url"];
/// Columns of `chains.csv`; the fee may be left out.
const CHAINS: &[&str] = &["id", "name", "decimals", "fee"];
/// Columns of `accounts.csv`; the node may be left out.
const ACCOUNTS: &[&str] = &["passphrase", "node"];
/// The sections and keys that such a file can give, with its columns.
const FILES: [(&str, &str, &[&str]); 3] = [
    ("chain", "chains", CHAINS),
    ("chain", "accounts", ACCOUNTS),
    ("chain.target", "servers", SERVERS),
];

/// The size limit of a file.
const BYTES_MAX: usize = 1 << 20;
/// Upper limit on the rows of one file.
const ROWS_MAX: usize = 10_000;

/// Replaces the names of files in a document by their rows, as if the scenario had them: `chains_csv` by `chains`. They have
/// the place of the name.
pub(super) fn expand(document: &mut Document, problems: &mut Problems<'_>) {
    for (section, key, columns) in FILES {
        let (file, name) = (format!("{section}.{key}_csv"), joined(section, key));
        let Some(path) = document.get(&file).and_then(Value::as_str) else {
            continue;
        };
        let why = format!("contradicts `{key}_csv`; take one");
        problems.forbid(document, section, &[key], &why);
        let rows = load(path, columns).unwrap_or_else(|message| {
            problems.wrong(document.at(&file), format!("{path}: {message}"));
            Vec::new()
        });
        let rows = rows.into_iter().map(|row| match columns {
            SERVERS => row[1].clone().unwrap_or_default().into(),
            _ => Value::Table(entry(&name, columns, row)),
        });
        document.replace(section, key, Value::Array(rows.collect()), &file);
    }
}

/// Returns the table of a row.
fn entry(section: &str, columns: &[&str], row: Vec<Option<String>>) -> Table {
    let cells = columns.iter().zip(row);
    let cells = cells.filter_map(|(column, cell)| match cell {
        // A list in a scenario has a default here. A file without this column is probably another table.
        None if *column == "decimals" => Some((*column, String::new())),
        cell => Some((*column, cell?)),
    });
    let value = |column: &str, cell: String| match (kind(&joined(section, column)), cell.parse()) {
        (Kind::Whole(..), Ok(number)) => Value::Integer(number),
        _ => Value::String(cell),
    };
    cells
        .map(|(column, cell)| (column.to_owned(), value(column, cell)))
        .collect()
}

/// Reads the rows of a file. Missing cells are `None`. A header line may put the columns in a different order.
fn load(path: &str, columns: &[&str]) -> Result<Vec<Vec<Option<String>>>, String> {
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(|error| error.to_string())?;
    let read = file.take(BYTES_MAX as u64 + 1).read_to_end(&mut bytes);
    read.map_err(|error| error.to_string())?;
    if bytes.len() > BYTES_MAX {
        return Err(format!("longer than {BYTES_MAX} bytes"));
    }
    let text = String::from_utf8(bytes).map_err(|_| "not UTF-8".to_owned())?;
    rows(&text, columns)
}

/// Reads the rows of a text.
fn rows(text: &str, columns: &[&str]) -> Result<Vec<Vec<Option<String>>>, String> {
    // The mark of the byte order is optional.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut order: Vec<Option<usize>> = (0..columns.len()).map(Some).collect();
    let mut rows = Vec::new();
    let lines = text.lines().enumerate();
    let lines = lines.filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'));
    for (first, (number, line)) in lines.enumerate() {
        let cells =
            cells(line).ok_or_else(|| format!("line {}: a quote is not closed", number + 1))?;
        let place = |cell: &String| {
            columns
                .iter()
                .position(|column| column.eq_ignore_ascii_case(cell.trim()))
        };
        let named: Vec<Option<usize>> = cells.iter().map(place).collect();
        if first == 0 && !named.is_empty() && named.iter().all(Option::is_some) {
            order = named;
            continue;
        }
        if cells.len() > order.len() {
            return Err(format!(
                "line {}: {} columns; there are {}",
                number + 1,
                cells.len(),
                columns.join(", ")
            ));
        }
        let mut row = vec![None; columns.len()];
        for (cell, place) in cells.into_iter().zip(&order) {
            if let Some(place) = place {
                row[*place] = Some(cell).filter(|cell| !cell.is_empty());
            }
        }
        rows.push(row);
        if rows.len() > ROWS_MAX {
            return Err(format!("more than {ROWS_MAX} rows"));
        }
    }
    Ok(rows)
}

/// Returns the cells of a line, `None` if a quote is not closed. Blanks around an unquoted cell are trimmed.
fn cells(line: &str) -> Option<Vec<String>> {
    let mut cells = vec![String::new()];
    let (mut quoted, mut was_quoted) = (false, false);
    let mut letters = line.chars().peekable();
    while let Some(letter) = letters.next() {
        let cell = cells.last_mut()?;
        match letter {
            '"' if quoted && letters.peek() == Some(&'"') => {
                letters.next();
                cell.push('"');
            }
            '"' if quoted => quoted = false,
            '"' if cell.trim().is_empty() => {
                cell.clear();
                (quoted, was_quoted) = (true, true);
            }
            ',' | ';' if !quoted => {
                if !was_quoted {
                    *cell = cell.trim().to_owned();
                }
                was_quoted = false;
                cells.push(String::new());
            }
            other => cell.push(other),
        }
    }
    if !was_quoted && let Some(cell) = cells.last_mut() {
        *cell = cell.trim().to_owned();
    }
    (!quoted).then_some(cells)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str, columns: &[&str]) -> Result<Vec<String>, String> {
        let line = |row: Vec<Option<String>>| {
            let cells: Vec<String> = row
                .into_iter()
                .map(|cell| cell.unwrap_or_else(|| "-".to_owned()))
                .collect();
            cells.join("|")
        };
        rows(text, columns).map(|rows| rows.into_iter().map(line).collect())
    }

    #[test]
    fn tables_with_and_without_a_head() {
        for (text, columns, wanted) in [
            (
                "a,http://x:1\nb , http://y:2\n",
                SERVERS,
                vec!["a|http://x:1", "b|http://y:2"],
            ),
            ("url,name\nhttp://x:1,a\n", SERVERS, vec!["a|http://x:1"]),
            (
                "id;name;decimals\n1;P;8\n# more\n\n2;Q;4",
                CHAINS,
                vec!["1|P|8|-", "2|Q|4|-"],
            ),
            (
                "\"a, \"\"b\"\"\",2\n0\n",
                ACCOUNTS,
                vec!["a, \"b\"|2", "0|-"],
            ),
            ("\u{feff}passphrase\n0", ACCOUNTS, vec!["0|-"]),
            ("", ACCOUNTS, vec![]),
        ] {
            let wanted: Vec<String> = wanted.into_iter().map(str::to_owned).collect();
            assert_eq!(shown(text, columns), Ok(wanted), "{text}");
        }
        assert!(shown("a,b,c", SERVERS).is_err_and(|error| error.contains("3 columns")));
        assert!(shown("\"a", SERVERS).is_err_and(|error| error.contains("quote")));
        assert!(load("/nowhere/at/all.csv", SERVERS).is_err());
    }
}
