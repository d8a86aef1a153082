//! The origin of a value: a place in the file, or a `--set`.

use std::ops::Range;

/// Characters shown of the line around a place.
const SHOWN_CHARS: usize = 120;
/// Number of these characters before the place.
const BEFORE_CHARS: usize = 60;

/// A place in one of the [`Sources`], or nowhere for generated values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct At {
    /// Index of the source.
    source: u32,
    /// First byte.
    start: u32,
    /// The end, exclusive.
    end: u32,
}

impl At {
    /// No place.
    pub(super) const NOWHERE: Self = Self::new(u32::MAX, 0, 0);

    const fn new(source: u32, start: u32, end: u32) -> Self {
        Self { source, start, end }
    }

    /// Returns a range of a source.
    pub(super) fn of(source: u32, span: &Range<usize>) -> Self {
        Self::new(source, small(span.start), small(span.end))
    }
}

/// The texts of a scenario: first the file, then each `--set`.
#[derive(Clone, Debug, Default)]
pub(super) struct Sources(Vec<Source>);

#[derive(Clone, Debug)]
struct Source {
    name: String,
    text: String,
    /// Whether it is a file, so that messages give line numbers.
    file: bool,
}

/// A place for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The file's path, or the `--set` in full.
    pub source: String,
    /// The line, from 1; 0 for a `--set`.
    pub line: u32,
    /// The column in characters, from 1; 0 for a `--set`.
    pub column: u32,
    /// The line with a caret below the place, each line indented by two; empty if there is none.
    pub shown: String,
}

impl Sources {
    /// Adds a text and returns its number.
    pub(super) fn add(&mut self, name: &str, text: &str, file: bool) -> u32 {
        self.0.push(Source {
            name: name.to_owned(),
            text: text.to_owned(),
            file,
        });
        small(self.0.len() - 1)
    }

    /// Describes a place; `None` if it is nowhere.
    pub(super) fn place(&self, at: At) -> Option<Place> {
        let source = self.0.get(at.source as usize)?;
        if !source.file {
            return Some(Place {
                source: source.name.clone(),
                line: 0,
                column: 0,
                shown: String::new(),
            });
        }
        let text = source.text.as_str();
        let start = floor(text, at.start as usize);
        let end = floor(text, at.end as usize).max(start);
        let line_start = text[..start].rfind('\n').map_or(0, |found| found + 1);
        let line_end = text[start..]
            .find('\n')
            .map_or(text.len(), |found| start + found);
        let number = text[..start].matches('\n').count() + 1;
        let column = text[line_start..start].chars().count() + 1;
        Some(Place {
            source: source.name.clone(),
            line: small(number),
            column: small(column),
            shown: shown(
                number,
                &text[line_start..start],
                &text[start..end.min(line_end)],
                &text[end.min(line_end)..line_end],
            ),
        })
    }
}

/// Returns the nearest character boundary at or before a position.
fn floor(text: &str, position: usize) -> usize {
    let mut position = position.min(text.len());
    while !text.is_char_boundary(position) {
        position -= 1;
    }
    position
}

/// Formats a line given in three parts, cut to the screen's width, with carets under the middle part.
fn shown(number: usize, before: &str, marked: &str, after: &str) -> String {
    let clean = |text: &str| -> Vec<char> {
        let plain = |c: char| if c.is_control() { ' ' } else { c };
        text.chars().map(plain).collect()
    };
    let (before, marked, after) = (clean(before), clean(marked), clean(after));
    let left = before.len().min(BEFORE_CHARS);
    let middle = marked.len().min(SHOWN_CHARS - left);
    let right = after.len().min(SHOWN_CHARS - left - middle);
    let line: String = before[before.len() - left..]
        .iter()
        .chain(&marked[..middle])
        .chain(&after[..right])
        .collect();
    let gutter = " ".repeat(number.to_string().len());
    let carets = "^".repeat(middle.max(1));
    format!(
        "  {number} | {}\n  {gutter} | {}{carets}",
        line.trim_end(),
        " ".repeat(left)
    )
}

/// Converts a position in a source. Sources are files of at most [`FILE_BYTES_MAX`](super::limits::FILE_BYTES_MAX) bytes, and settings
/// of a command line.
fn small(position: usize) -> u32 {
    u32::try_from(position).expect("no source has 4 GiB")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_told_with_its_line_and_a_caret() {
        let mut sources = Sources::default();
        let file = sources.add("a.toml", "x = 1\nünder = \"two\"\n", true);
        let place = sources.place(At::of(file, &(15..20))).expect("a place");
        assert_eq!((place.line, place.column), (2, 9));
        assert_eq!(place.shown, "  2 | ünder = \"two\"\n    |         ^^^^^");
        let set = sources.add("--set x=1", "x=1", false);
        assert_eq!(sources.place(At::of(set, &(0..1))).expect("set").line, 0);
        assert_eq!(sources.place(At::NOWHERE), None);
    }

    #[test]
    fn places_beyond_the_text_and_within_characters_are_told_all_the_same() {
        let mut sources = Sources::default();
        let text = format!("{}ü\u{7}", "ü".repeat(500));
        let file = sources.add("a.toml", &text, true);
        for span in [0..0, 1..2, 1001..1002, 999..5000, 7000..9000] {
            let place = sources.place(At::of(file, &span)).expect("a place");
            assert!(place.shown.chars().count() < 300, "{place:?}");
            assert!(!place.shown.contains('\u{7}'), "{place:?}");
        }
    }
}
