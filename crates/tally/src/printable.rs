//! Text that a terminal shows as it is.
//!
//! Names, notes, messages of refusals and values of contracts can be the choice of another party. A terminal obeys some characters:
//! they move the cursor, ring the bell, rename the window or reverse the direction of writing, so that a line shows something else
//! than it says.

use std::borrow::Cow;

use crate::ink::Ink;

/// Returns a text with such characters as escapes. Ends of lines and tabs stay, and so do the colours of an [`Ink`] that is used.
pub fn printable(text: &str, ink: Ink) -> Cow<'_, str> {
    if !text.chars().any(is_obeyed) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(character) = rest.chars().next() {
        let size = match ink.code_at(rest) {
            Some(code) => code.len(),
            None => character.len_utf8(),
        };
        let (part, after) = rest.split_at(size);
        match size == character.len_utf8() && is_obeyed(character) {
            true => shown.extend(character.escape_unicode()),
            false => shown.push_str(part),
        }
        rest = after;
    }
    Cow::Owned(shown)
}

/// Returns a text for a cell of a table: its line ends and tabs are escapes too. A cell of two lines would look like two rows.
pub fn one_line(text: &str, ink: Ink) -> String {
    let shown = printable(text, ink);
    shown.replace('\n', "\\n").replace('\t', "\\t")
}

/// Returns whether a terminal obeys a character instead of showing it.
fn is_obeyed(character: char) -> bool {
    match character {
        '\n' | '\t' => false,
        // The direction of writing, and ends of lines and paragraphs (Unicode 16, sections 23.2 and 5.8).
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
            true
        }
        other => other.is_control(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_obeys_is_escaped() {
        let red = Ink::of_test(true).paint(Ink::RED, "error:");
        let table = [
            ("two\nlines\tand a tab", "two\nlines\tand a tab"),
            ("Zürich, 東京", "Zürich, 東京"),
            (&red, &red),
            ("\x1b[2Jgone", "\\u{1b}[2Jgone"),
            // Hidden text is no colour of ours.
            ("\x1b[8mhidden\x1b[0m", "\\u{1b}[8mhidden\x1b[0m"),
            ("\x1b]0;title\x07", "\\u{1b}]0;title\\u{7}"),
            ("9\r1", "9\\u{d}1"),
            ("\u{9b}2J", "\\u{9b}2J"),
            ("\u{202e}321", "\\u{202e}321"),
            ("\x1b", "\\u{1b}"),
        ];
        for (text, shown) in table {
            assert_eq!(printable(text, Ink::of_test(true)), shown);
        }
        let plain = printable(&red, Ink::of_test(false));
        assert_eq!(plain, "\\u{1b}[31merror:\\u{1b}[0m");
    }

    #[test]
    fn a_cell_is_one_line() {
        let ink = Ink::of_test(false);
        assert_eq!(one_line("a\nb\tc\x07", ink), "a\\nb\\tc\\u{7}");
        assert_eq!(one_line("a b", ink), "a b");
    }
}
