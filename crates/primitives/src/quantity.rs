//! Quantities in JSON, for `#[serde(with = "..")]`. Answers carry them as decimal text, because many readers of JSON, such as
//! JavaScript, round numbers above 2^53. Requests may carry numbers too.
//!
//! `api` has the same forms, because it depends on none of our crates. A test in `node` compares them.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserializer, Visitor};
use serde::ser::Serializer;

/// The pattern of decimal text: digits without a leading zero.
const DECIMAL: &str = "^(0|[1-9][0-9]*)$";

/// The form of a `u64` in answers: decimal text.
#[derive(Debug)]
pub enum QuantityText {}

/// The form of an `Option<u64>` in answers: decimal text, or null.
#[derive(Debug)]
pub enum OptionalQuantityText {}

/// The form of a `u64` in requests: a whole number, or decimal text.
#[derive(Debug)]
pub enum QuantityInput {}

/// The form of an `Option<u64>` in requests: a whole number, decimal text, or null.
#[derive(Debug)]
pub enum OptionalQuantityInput {}

macro_rules! form {
    ($form:ident of $quantity:ty, $write:ident, $read:ident, $($schema:tt)+) => {
        impl $form {
            /// Writes decimal text.
            pub fn serialize<S: Serializer>(quantity: &$quantity, serializer: S) -> Result<S::Ok, S::Error> {
                $write(quantity, serializer)
            }

            /// Reads a whole number or decimal text.
            pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<$quantity, D::Error> {
                $read(deserializer)
            }
        }

        impl JsonSchema for $form {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> Cow<'static, str> {
                stringify!($form).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!($($schema)+)
            }
        }
    };
}

form!(QuantityText of u64, write, read, {
    "type": "string", "pattern": DECIMAL
});
form!(OptionalQuantityText of Option<u64>, write_optional, read_optional, {
    "type": ["string", "null"], "pattern": DECIMAL
});
form!(QuantityInput of u64, write, read, {
    "type": ["integer", "string"], "minimum": 0, "pattern": DECIMAL
});
form!(OptionalQuantityInput of Option<u64>, write_optional, read_optional, {
    "type": ["integer", "string", "null"], "minimum": 0, "pattern": DECIMAL
});

fn write<S: Serializer>(quantity: &u64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(quantity)
}

fn write_optional<S: Serializer>(quantity: &Option<u64>, serializer: S) -> Result<S::Ok, S::Error> {
    match quantity {
        Some(quantity) => write(quantity, serializer),
        None => serializer.serialize_none(),
    }
}

fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    deserializer.deserialize_any(QuantityVisitor)
}

fn read_optional<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    deserializer.deserialize_option(OptionalVisitor)
}

/// Reads a number, or text in exactly the form in which it is written.
struct QuantityVisitor;

impl Visitor<'_> for QuantityVisitor {
    type Value = u64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a whole number from 0 to 18446744073709551615, or the same as decimal text")
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<u64, E> {
        Ok(number)
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<u64, E> {
        let negative = |_| E::invalid_value(de::Unexpected::Signed(number), &self);
        u64::try_from(number).map_err(negative)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<u64, E> {
        // Rust also reads a sign and leading zeros, which the pattern excludes.
        let number = text.parse().ok();
        let number = number.filter(|number: &u64| number.to_string() == text);
        number.ok_or_else(|| E::invalid_value(de::Unexpected::Str(text), &self))
    }
}

struct OptionalVisitor;

impl<'de> Visitor<'de> for OptionalVisitor {
    type Value = Option<u64>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        QuantityVisitor.expecting(f)
    }

    fn visit_none<E: de::Error>(self) -> Result<Option<u64>, E> {
        Ok(None)
    }

    fn visit_unit<E: de::Error>(self) -> Result<Option<u64>, E> {
        Ok(None)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Option<u64>, D::Error> {
        read(deserializer).map(Some)
    }
}

#[cfg(test)]
mod tests {
    use serde::{Deserialize, Serialize};

    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Sample {
        #[serde(with = "QuantityText")]
        owed: u64,
        #[serde(default, with = "OptionalQuantityInput")]
        most: Option<u64>,
    }

    #[test]
    fn numbers_and_their_text_are_read() {
        let maximum = format!(r#""{}""#, u64::MAX);
        for (json, expected) in [
            ("0", Some(0)),
            (r#""0""#, Some(0)),
            ("9007199254740993", Some(9_007_199_254_740_993)),
            (r#""9007199254740993""#, Some(9_007_199_254_740_993)),
            (maximum.as_str(), Some(u64::MAX)),
            (r#""18446744073709551616""#, None),
            ("-1", None),
            ("1.5", None),
            (r#""-1""#, None),
            (r#""+1""#, None),
            (r#""01""#, None),
            (r#""1e3""#, None),
            (r#""""#, None),
            ("null", None),
            ("true", None),
        ] {
            let owed = serde_json::from_str(&format!(r#"{{"owed":{json}}}"#));
            let owed = owed.ok().map(|sample: Sample| sample.owed);
            assert_eq!(owed, expected, "{json}");
            let most = serde_json::from_str(&format!(r#"{{"owed":0,"most":{json}}}"#));
            let most = most.ok().map(|sample: Sample| sample.most);
            let null = (json == "null").then_some(None);
            assert_eq!(most, null.or(expected.map(Some)), "{json}");
        }
        let most = serde_json::from_str(r#"{"owed":0}"#).map(|sample: Sample| sample.most);
        assert_eq!(most.ok(), Some(None));
    }

    #[test]
    fn quantities_are_written_as_text() {
        for (owed, most, expected) in [
            (0, None, r#"{"owed":"0","most":null}"#),
            (
                u64::MAX,
                Some(7),
                r#"{"owed":"18446744073709551615","most":"7"}"#,
            ),
        ] {
            let written = serde_json::to_string(&Sample { owed, most });
            assert_eq!(written.ok().as_deref(), Some(expected));
        }
    }
}
