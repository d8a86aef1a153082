//! Compares the output of commands with a quote of it, except for values that differ from run to run.
//!
//! | a quote has | the output has |
//! |---|---|
//! | a line `...` | any lines, or none |
//! | `..` as a word of its own, or before a comma | any one word, with the comma |
//! | an id, all of its digits or the first six or more and `..` | an id: 16 or more hexadecimal digits. One id of the quotes stands for one id of the outputs |
//! | a port of 127.0.0.1 | any such port |
//! | a number with a unit of time or of bytes | any number with the same unit |
//! | a date and time | any date and time |
//! | the JSON fields `pid` and `.._ms`; a number of 13 digits, which is a time in milliseconds | any number |
//! | any other text | the same text; the number of spaces between words does not count |

use std::collections::BTreeMap;
use std::fmt;

/// A line of a quote that stands for any lines.
const ANY_LINES: &str = "...";
/// A word of a quote that stands for any word, and the end of a shortened id.
const SHORT: &str = "..";
/// The fewest digits of a shortened id.
const SHORT_DIGITS_MIN: usize = 6;
/// The fewest digits of an id.
const ID_DIGITS_MIN: usize = 16;
/// The host whose ports are chosen by the system.
const HOST: &str = "127.0.0.1";
/// Units whose numbers depend on the run.
const UNITS: &[&str] = &["ms", "s", "bytes", "KB", "MB", "GB", "KiB", "MiB", "GiB"];
/// The form of a date and time. A digit stands for any digit.
const TIME: &str = "0000-00-00T00:00:00";
/// Digits of a time in milliseconds since 1970.
const TIME_MS_DIGITS: usize = 13;

/// The ids of the outputs so far, by the ids of the quotes.
#[derive(Clone, Debug, Default)]
pub struct Ids(BTreeMap<String, String>);

impl Ids {
    /// Notes that one id stands for another. Returns false if either is already paired with a third.
    fn pair(&mut self, quoted: &str, printed: &str) -> bool {
        if let Some(known) = self.0.get(quoted) {
            return known == printed;
        }
        let is_new = self.0.values().all(|known| known != printed);
        if is_new {
            self.0.insert(quoted.to_owned(), printed.to_owned());
        }
        is_new
    }

    /// Replaces the shortened ids of a command, or returns the first one that no output has shown.
    pub fn fill(&self, command: &str) -> Result<String, String> {
        let mut filled = String::new();
        let mut rest = command;
        while let Some(first) = rest.chars().next() {
            let word = leading(rest, char::is_alphanumeric);
            if is_short_id(word, &rest[word.len()..]) {
                let id = self.0.get(word).ok_or_else(|| format!("{word}{SHORT}"))?;
                filled.push_str(id);
                rest = &rest[word.len() + SHORT.len()..];
            } else {
                let end = word.len().max(first.len_utf8());
                filled.push_str(&rest[..end]);
                rest = &rest[end..];
            }
        }
        Ok(filled)
    }
}

/// The first difference between a quote and an output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The line of the quote, counted from 1.
    pub line: usize,
    quoted: Option<String>,
    printed: Option<String>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |line: &Option<String>| {
            line.as_ref()
                .map_or("no more lines".to_owned(), |line| format!("'{line}'"))
        };
        write!(
            f,
            "line {} of the quote: expected {}, found {}",
            self.line,
            shown(&self.quoted),
            shown(&self.printed)
        )
    }
}

/// Compares an output with its quote. Adds the ids of both to `ids` if they agree.
pub fn compare(quoted: &str, printed: &str, ids: &mut Ids) -> Result<(), Difference> {
    let quoted: Vec<&str> = quoted.trim_end().lines().collect();
    let printed: Vec<&str> = printed.trim_end().lines().collect();
    let mut furthest = (0, 0);
    if let Some(found) = matched(&quoted, &printed, (0, 0), ids, &mut furthest) {
        *ids = found;
        return Ok(());
    }
    let (line, other) = furthest;
    Err(Difference {
        line: line + 1,
        quoted: quoted.get(line).map(|line| (*line).to_owned()),
        printed: printed.get(other).map(|line| (*line).to_owned()),
    })
}

/// Matches the lines from `at` on. Returns the ids with those of the lines. Notes the differing lines furthest into the quote.
fn matched(
    quoted: &[&str],
    printed: &[&str],
    at: (usize, usize),
    ids: &Ids,
    furthest: &mut (usize, usize),
) -> Option<Ids> {
    let (mut line, mut other) = at;
    let mut ids = ids.clone();
    loop {
        match (quoted.get(line), printed.get(other)) {
            (None, None) => return Some(ids),
            (Some(any), _) if any.trim() == ANY_LINES => {
                return (other..=printed.len())
                    .find_map(|other| matched(quoted, printed, (line + 1, other), &ids, furthest));
            }
            (Some(one), Some(two)) if is_same(one, two, &mut ids) => {}
            _ => {
                *furthest = (*furthest).max((line, other));
                return None;
            }
        }
        (line, other) = (line + 1, other + 1);
    }
}

/// Compares two lines, and pairs their ids.
fn is_same(quoted: &str, printed: &str, ids: &mut Ids) -> bool {
    let (quoted, printed) = (tokens(quoted, true), tokens(printed, false));
    let mut others = printed.iter().peekable();
    for token in &quoted {
        let same = match (token, others.next()) {
            (Token::AnyWord(end), Some(first)) => {
                let mut last = first;
                while let Some(other) = others.next_if(|other| **other != Token::Space) {
                    last = other;
                }
                let is_ended = end.is_empty() || *last == Token::Text(end.clone());
                *first != Token::Space && is_ended
            }
            (Token::Id(one), Some(Token::Id(two))) => ids.pair(one, two),
            (one, other) => Some(one) == other,
        };
        if !same {
            return false;
        }
    }
    others.next().is_none()
}

/// A part of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    /// Any number of spaces between words.
    Space,
    /// The comma after it, if it has one.
    AnyWord(String),
    Id(String),
    Port,
    Time,
    /// A number that depends on the run.
    Number,
    Text(String),
}

/// Divides a line into its parts. Only a quote has shortened ids and stands for any word.
fn tokens(line: &str, is_quote: bool) -> Vec<Token> {
    let mut found: Vec<Token> = Vec::new();
    let mut rest = line.trim();
    while !rest.is_empty() {
        let (token, length) = first_token(rest, &found, is_quote);
        debug_assert!(length > 0, "each token takes a part of the line");
        found.push(token);
        rest = &rest[length..];
    }
    found
}

/// Returns the first part of a line's rest, and its length in bytes.
fn first_token(rest: &str, before: &[Token], is_quote: bool) -> (Token, usize) {
    let spaces = leading(rest, char::is_whitespace);
    if !spaces.is_empty() {
        return (Token::Space, spaces.len());
    }
    let begins_word = matches!(before.last(), None | Some(Token::Space));
    let whole = leading(rest, |c| !c.is_whitespace());
    if let Some(end @ ("" | ",")) = whole
        .strip_prefix(SHORT)
        .filter(|_| is_quote && begins_word)
    {
        return (Token::AnyWord(end.to_owned()), whole.len());
    }
    let word = leading(rest, char::is_alphanumeric);
    let after = &rest[word.len()..];
    if is_quote && is_short_id(word, after) {
        return (Token::Id(word.to_owned()), word.len() + SHORT.len());
    }
    if is_hexadecimal(word) && word.len() >= ID_DIGITS_MIN {
        return (Token::Id(word.to_owned()), word.len());
    }
    if let Some(length) = time(rest) {
        return (Token::Time, length);
    }
    if rest.starts_with(|c: char| c.is_ascii_digit())
        && leading(word, |c| c.is_ascii_digit()) == word
    {
        return number(rest, before);
    }
    let length = match word {
        "" => rest.chars().next().map_or(0, char::len_utf8),
        word => word.len(),
    };
    (Token::Text(rest[..length].to_owned()), length)
}

/// Returns the number at the start of a text, such as `7`, `1,234` or `1.5`.
fn number(rest: &str, before: &[Token]) -> (Token, usize) {
    let mut length = leading(rest, |c| c.is_ascii_digit()).len();
    while let Some(more) = rest[length..].strip_prefix(['.', ',']) {
        let digits = leading(more, |c| c.is_ascii_digit()).len();
        if digits == 0 {
            break;
        }
        length += 1 + digits;
    }
    let (digits, after) = rest.split_at(length);
    let unit = leading(after.trim_start_matches(' '), char::is_alphanumeric);
    let token = if is_port(before) {
        Token::Port
    } else if UNITS.contains(&unit) || digits.len() == TIME_MS_DIGITS || is_run_field(before) {
        Token::Number
    } else {
        Token::Text(digits.to_owned())
    };
    (token, length)
}

/// Returns whether a number is a port, from the parts before it.
fn is_port(before: &[Token]) -> bool {
    matches!(before, [.., Token::Text(host), Token::Text(colon)] if host == HOST && colon == ":")
}

/// Returns whether a number is the value of a JSON field that depends on the run, from the parts before it.
fn is_run_field(before: &[Token]) -> bool {
    let mut words = before.iter().rev().filter(|token| **token != Token::Space);
    let mut is =
        |expected: &str| matches!(words.next(), Some(Token::Text(text)) if text == expected);
    if !is(":") || !is("\"") {
        return false;
    }
    let name: Vec<&Token> = words.by_ref().take(2).collect();
    match name.as_slice() {
        [Token::Text(last), before] => {
            last == "pid" || last == "ms" && **before == Token::Text("_".to_owned())
        }
        _ => false,
    }
}

/// Returns the length of a date and time at the start of a text, with its fraction and zone.
fn time(rest: &str) -> Option<usize> {
    let matches = |(form, c): (char, char)| {
        if form == '0' {
            c.is_ascii_digit()
        } else {
            form == c
        }
    };
    let part = rest.get(..TIME.len())?;
    if !TIME.chars().zip(part.chars()).all(matches) {
        return None;
    }
    let more = leading(&rest[TIME.len()..], |c| c.is_ascii_digit() || c == '.');
    let zone = rest[TIME.len() + more.len()..].starts_with('Z');
    Some(TIME.len() + more.len() + usize::from(zone))
}

/// Returns whether a word is a shortened id, from the text after it.
fn is_short_id(word: &str, after: &str) -> bool {
    let is_long_enough = is_hexadecimal(word) && word.len() >= SHORT_DIGITS_MIN;
    is_long_enough && after.starts_with(SHORT) && !after.starts_with(ANY_LINES)
}

fn is_hexadecimal(word: &str) -> bool {
    word.chars().all(|c| matches!(c, '0'..='9' | 'a'..='f'))
}

/// Returns the characters at the start of a text that meet the condition.
fn leading(text: &str, mut is: impl FnMut(char) -> bool) -> &str {
    let end = text.find(|c| !is(c)).unwrap_or(text.len());
    &text[..end]
}
