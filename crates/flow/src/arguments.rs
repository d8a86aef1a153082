//! Arguments from JSON, with error messages that name the field and suggest one.

use serde::de::value::Error as PlainError;
use serde::de::{DeserializeOwned, Deserializer, Error as _, Visitor};
use serde::forward_to_deserialize_any;

/// A field of a flow's arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArgumentField {
    /// Its name in JSON.
    pub name: &'static str,
}

/// Decodes arguments. Unknown fields are refused even if the type would accept them.
pub(crate) fn from_json<T: DeserializeOwned>(json: &[u8]) -> Result<T, String> {
    let fields = fields_of::<T>();
    let json = if json.iter().all(u8::is_ascii_whitespace) {
        b"null"
    } else {
        json
    };
    if !fields.is_empty()
        && let Ok(serde_json::Value::Object(object)) = serde_json::from_slice(json)
        && let Some(unknown) = object.keys().find(|key| !fields.contains(&key.as_str()))
    {
        let mut text = format!("unknown field '{unknown}'");
        match nearest(unknown, fields) {
            Some(near) => text.push_str(&format!(", did you mean '{near}'?")),
            None => text.push('.'),
        }
        text.push_str(&format!(" The fields are: {}", fields.join(", ")));
        return Err(text);
    }
    serde_json::from_slice(json).map_err(|error| {
        let mut text = error.to_string();
        if !fields.is_empty() {
            text.push_str(&format!(". The fields are: {}", fields.join(", ")));
        }
        text
    })
}

/// Returns the names of a struct's fields; empty for other types.
pub(crate) fn fields_of<T: DeserializeOwned>() -> &'static [&'static str] {
    let mut fields: &'static [&'static str] = &[];
    let _ = T::deserialize(Probe(&mut fields));
    fields
}

/// Returns the known word nearest to a mistyped one, if its distance is at most the larger of 2 and a third of the word's
/// letters.
pub(crate) fn nearest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    let far = (word.chars().count() / 3).max(2);
    known
        .iter()
        .map(|candidate| (distance(word, candidate), *candidate))
        .filter(|(distance, _)| *distance <= far)
        .min()
        .map(|(_, candidate)| candidate)
}

/// Counts the letters to insert, delete, replace or swap with a neighbour to turn one word into another.
fn distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().take(WORD_CHARS_MAX).collect();
    let mut before_last: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=to.len()).collect();
    let mut left = None;
    for (i, a) in from.chars().take(WORD_CHARS_MAX).enumerate() {
        let mut row = vec![i + 1];
        for (j, b) in to.iter().enumerate() {
            let mut best = (last[j] + usize::from(a != *b))
                .min(last[j + 1] + 1)
                .min(row[j] + 1);
            if j > 0 && left == Some(*b) && a == to[j - 1] {
                best = best.min(before_last[j - 1] + 1);
            }
            row.push(best);
        }
        before_last = std::mem::replace(&mut last, row);
        left = Some(a);
    }
    // Each row begins with the distance to no letters, so it has one entry more than `to` has letters.
    last[to.len()]
}

/// Number of leading characters compared; the rest of a longer word is ignored.
const WORD_CHARS_MAX: usize = 64;

/// A deserializer without data. It only records the fields that a struct asks for.
struct Probe<'a>(&'a mut &'static [&'static str]);

impl<'de> Deserializer<'de> for Probe<'_> {
    type Error = PlainError;

    /// A type that takes text as well as a struct then asks for its struct.
    fn is_human_readable(&self) -> bool {
        false
    }

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, PlainError> {
        Err(PlainError::custom("nothing here"))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, PlainError> {
        *self.0 = fields;
        Err(PlainError::custom("nothing here"))
    }

    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, PlainError> {
        self.deserialize_any(visitor)
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, PlainError> {
        self.deserialize_any(visitor)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

#[cfg(test)]
mod tests {
    use ledger::StateRef;

    use super::{distance, fields_of, from_json, nearest};

    #[test]
    fn a_state_has_fields_and_is_taken_as_text() {
        assert_eq!(fields_of::<StateRef>(), ["tx", "index"]);
        let tx = "75".repeat(32);
        for json in [
            format!(r#"{{"tx":"{tx}","index":0}}"#),
            format!(r#""{tx}(0)""#),
        ] {
            let state = from_json::<StateRef>(json.as_bytes()).expect("a state");
            assert_eq!(state.to_string(), format!("{tx}(0)"));
        }
        let error = from_json::<StateRef>(br#""75(0)""#).expect_err("too short");
        assert!(error.contains("expected TX(INDEX)"), "{error}");
    }

    #[test]
    fn distances() {
        for (from, to, expected) in [
            ("", "", 0),
            ("", "abc", 3),
            ("abc", "", 3),
            ("amount", "amount", 0),
            ("amout", "amount", 1),
            ("amuont", "amount", 1),
            ("emount", "amount", 1),
            ("amountt", "amount", 1),
            ("kitten", "sitting", 3),
        ] {
            assert_eq!(distance(from, to), expected, "{from} {to}");
        }
    }

    #[test]
    fn nothing_is_suggested_for_a_word_that_is_far_from_all() {
        assert_eq!(
            nearest("curency", &["amount", "currency"]),
            Some("currency")
        );
        assert_eq!(nearest("payee", &["amount", "currency"]), None);
        assert_eq!(nearest("payee", &[]), None);
    }
}
