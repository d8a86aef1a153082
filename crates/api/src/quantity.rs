//! Quantities in JSON, for `#[serde(with = "..")]`. Answers carry them as decimal text, because many readers of JSON, such as
//! JavaScript, round numbers above 2^53. Requests may carry numbers too.
//!
//! `primitives` has the same forms with their tests, for flows. A test in `node` compares them.

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
