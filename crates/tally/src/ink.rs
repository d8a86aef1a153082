//! The colours of text for people.

use std::io::IsTerminal;

/// Colours, used on a terminal unless disabled (no-color.org).
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

    /// Returns the colours for an output, which is a terminal or not.
    fn new(terminal: bool) -> Self {
        let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        Self {
            on: terminal && !refused,
        }
    }

    /// Returns colours that are used, or not, regardless of any terminal.
    #[cfg(test)]
    pub(crate) fn of_test(on: bool) -> Self {
        Self { on }
    }

    /// Returns whether colours are used.
    pub fn is_on(self) -> bool {
        self.on
    }

    /// Returns the code that begins a text, if it is one that [`Ink::paint`] writes now.
    pub fn code_at(self, text: &str) -> Option<&str> {
        if !self.on {
            return None;
        }
        let colours = [
            Self::RED,
            Self::GREEN,
            Self::YELLOW,
            Self::CYAN,
            Self::BOLD,
            "0",
        ];
        let code = text.strip_prefix("\x1b[")?;
        let colour = colours.into_iter().find(
            |colour| matches!(code.strip_prefix(colour), Some(end) if end.starts_with('m')),
        )?;
        text.get(..2 + colour.len() + 1)
    }

    /// Returns the text in a colour, or unchanged.
    pub fn paint(self, colour: &str, text: &str) -> String {
        if self.on {
            format!("\x1b[{colour}m{text}\x1b[0m")
        } else {
            text.to_owned()
        }
    }
}

/// Returns the colours for standard output.
pub fn stdout_ink() -> Ink {
    Ink::new(std::io::stdout().is_terminal())
}

/// Returns the colours for standard error.
pub fn stderr_ink() -> Ink {
    Ink::new(std::io::stderr().is_terminal())
}
