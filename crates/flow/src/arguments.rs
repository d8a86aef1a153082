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

/// Decodes arguments; unknown fields are refused whether or not the type asks for that.
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
        if let Some(near) = nearest(unknown, fields) {
            text.push_str(&format!(", did you mean '{near}'?"));
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

/// The names of a struct's fields; none for other types.
pub(crate) fn fields_of<T: DeserializeOwned>() -> &'static [&'static str] {
    let mut fields: &'static [&'static str] = &[];
    let _ = T::deserialize(Probe(&mut fields));
    fields
}

/// The known word nearest to a mistyped one, if one is near: at most a third of its letters away, and at least two.
pub(crate) fn nearest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    let far = (word.chars().count() / 3).max(2);
    known
        .iter()
        .map(|candidate| (strsim::osa_distance(word, candidate), *candidate))
        .filter(|(distance, _)| *distance <= far)
        .min()
        .map(|(_, candidate)| candidate)
}

/// A deserializer that holds nothing and only learns which fields a struct asks for.
struct Probe<'a>(&'a mut &'static [&'static str]);

impl<'de> Deserializer<'de> for Probe<'_> {
    type Error = PlainError;

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

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}
