//! Rejections as they cross a session, the API or a journal.

use std::fmt;

use primitives::{Coded, Decode, DecodeError, Decoder, Encode, Encoder};
use serde::{Deserialize, Serialize};

use crate::limits::{CODE_BYTES_MAX, HINT_BYTES_MAX, MESSAGE_BYTES_MAX};

/// A valid answer that refuses: a stable code, a description of the event, and the advised action. Encoded as `[code,
/// message, hint]`, three text strings of at most 64, 2048 and 1024 bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rejection {
    /// `domain.snake_case`, stable.
    pub code: String,
    /// Description of the event, for people.
    pub message: String,
    /// Advised action.
    pub hint: String,
}

impl Rejection {
    /// Makes a rejection; texts over their limits are cut.
    pub fn new(
        code: impl Into<String>,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) -> Self {
        Self {
            code: cut(code.into(), CODE_BYTES_MAX),
            message: cut(message.into(), MESSAGE_BYTES_MAX),
            hint: cut(hint.into(), HINT_BYTES_MAX),
        }
    }

    /// Returns the rejection that an error stands for.
    pub fn of(error: &(impl Coded + ?Sized)) -> Self {
        Self::new(error.code(), error.to_string(), error.hint())
    }
}

impl From<&dyn Coded> for Rejection {
    fn from(error: &dyn Coded) -> Self {
        Self::of(error)
    }
}

/// Cuts a text at a character boundary.
fn cut(mut text: String, bytes_max: usize) -> String {
    text.truncate(text.floor_char_boundary(bytes_max));
    text
}

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.message)?;
        if self.hint.is_empty() {
            Ok(())
        } else {
            write!(f, "; {}", self.hint)
        }
    }
}

impl std::error::Error for Rejection {}

impl Encode for Rejection {
    fn encode(&self, e: &mut Encoder) {
        e.array(3);
        for (text, bytes_max) in [
            (&self.code, CODE_BYTES_MAX),
            (&self.message, MESSAGE_BYTES_MAX),
            (&self.hint, HINT_BYTES_MAX),
        ] {
            // The fields are public: texts of a rejection made by hand are cut here.
            e.text(&text[..text.floor_char_boundary(bytes_max)]);
        }
    }
}

impl Decode for Rejection {
    fn decode(d: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        d.expect_array(3)?;
        Ok(Self {
            code: d.text_within(CODE_BYTES_MAX)?.to_owned(),
            message: d.text_within(MESSAGE_BYTES_MAX)?.to_owned(),
            hint: d.text_within(HINT_BYTES_MAX)?.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_cut_at_a_character() {
        let long = "é".repeat(3000);
        let rejection = Rejection::new("a.b", long.clone(), "do");
        assert_eq!(rejection.message.len(), 2048);
        let by_hand = Rejection {
            code: "a.b".into(),
            message: long,
            hint: "do".into(),
        };
        assert_eq!(
            Rejection::from_bytes(&by_hand.to_bytes()).unwrap(),
            rejection
        );
    }
}
