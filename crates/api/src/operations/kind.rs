//! The kind of a parameter's values: its schema in the description, and the check of a value. Both follow from the kind here, so that
//! the node accepts exactly the values that the description allows.

use serde_json::{Value, json};

/// The kind of a parameter's values.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// A number that is not negative.
    Number,
    /// A number that fits 32 bits.
    Count,
    /// A number that fits 32 bits, and is not 0.
    Positive,
    /// A number that fits 8 bits.
    Byte,
    /// This many hexadecimal digits, in either case.
    Hex(usize),
    /// Text of one character to this many.
    Text(usize),
    /// Text that matches a regular expression. The handler parses it.
    Form(&'static str),
    /// One of these words.
    Words(&'static [&'static str]),
    /// True or false.
    Bool,
    /// One of these words; if left out, the second field.
    WordsOr(&'static [&'static str], &'static str),
    /// A header with a number.
    Header,
    /// A header with text that matches a regular expression.
    HeaderText(&'static str),
}

impl Kind {
    /// Returns the place of a parameter outside the path.
    pub(crate) fn place(self) -> &'static str {
        if self.is_in_query() {
            "query"
        } else {
            "header"
        }
    }

    /// Returns whether a parameter outside the path is in the query. Otherwise it is a header.
    pub fn is_in_query(self) -> bool {
        !matches!(self, Kind::Header | Kind::HeaderText(_))
    }

    /// Returns the schema of the values.
    pub(crate) fn schema(self) -> Value {
        match self {
            Kind::Number | Kind::Header => whole("uint64", 0, None),
            Kind::Count => whole("uint32", 0, Some(u32::MAX)),
            Kind::Positive => whole("uint32", 1, Some(u32::MAX)),
            Kind::Byte => whole("uint8", 0, Some(u8::MAX.into())),
            Kind::Hex(digits) => {
                json!({ "type": "string", "pattern": format!("^[0-9a-fA-F]{{{digits}}}$") })
            }
            Kind::Text(most) => json!({ "type": "string", "minLength": 1, "maxLength": most }),
            Kind::Form(form) | Kind::HeaderText(form) => {
                json!({ "type": "string", "pattern": form })
            }
            Kind::Words(words) => json!({ "type": "string", "enum": words }),
            Kind::Bool => json!({ "type": "boolean" }),
            Kind::WordsOr(words, default) => {
                json!({ "type": "string", "enum": words, "default": default })
            }
        }
    }

    /// Checks a value of a query.
    ///
    /// # Errors
    /// The accepted form in words, if the value does not have it.
    pub fn check(self, value: &str) -> Result<(), String> {
        let (fits, form) = match self {
            Kind::Number => (is_decimal::<u64>(value), numbers(0, u64::MAX)),
            Kind::Count => (is_decimal::<u32>(value), numbers(0, u32::MAX)),
            Kind::Positive => (
                is_decimal::<u32>(value) && value != "0",
                numbers(1, u32::MAX),
            ),
            Kind::Byte => (is_decimal::<u8>(value), numbers(0, u8::MAX)),
            Kind::Hex(digits) => (
                value.len() == digits && value.bytes().all(|byte| byte.is_ascii_hexdigit()),
                format!("a text of {digits} hexadecimal digits"),
            ),
            Kind::Text(most) => (
                (1..=most).contains(&value.chars().count()),
                format!("a text of 1 to {most} characters"),
            ),
            Kind::Words(words) | Kind::WordsOr(words, _) => (
                words.contains(&value),
                format!("one of {}", words.join(", ")),
            ),
            Kind::Bool => (
                matches!(value, "true" | "false"),
                "one of true, false".to_owned(),
            ),
            // The handler parses values of a special form, and names the fault.
            Kind::Form(_) | Kind::Header | Kind::HeaderText(_) => (true, String::new()),
        };
        if fits { Ok(()) } else { Err(form) }
    }
}

fn whole(format: &str, minimum: u32, maximum: Option<u32>) -> Value {
    let mut schema = json!({ "type": "integer", "format": format, "minimum": minimum });
    if let Some(maximum) = maximum {
        schema["maximum"] = maximum.into();
    }
    schema
}

fn numbers(minimum: u32, maximum: impl std::fmt::Display) -> String {
    format!("a whole number from {minimum} to {maximum}")
}

/// Returns whether a text is a number of this type as JSON writes it: Rust also parses a plus sign and leading zeros.
fn is_decimal<N: std::str::FromStr + std::fmt::Display>(text: &str) -> bool {
    let number = text.parse::<N>();
    number.is_ok_and(|number| number.to_string() == text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chain;
    use crate::operations::operations;

    /// Returns values of a kind, and values next to them that are not of the kind.
    fn samples(kind: Kind) -> (Vec<String>, Vec<String>) {
        let numbers = |maximum: u64| {
            let beyond = u128::from(maximum) + 1;
            (
                vec!["0".to_owned(), "1".to_owned(), maximum.to_string()],
                vec![
                    beyond.to_string(),
                    "-1".into(),
                    "+1".into(),
                    "01".into(),
                    "1.5".into(),
                ],
            )
        };
        let (fitting, mut others) = match kind {
            Kind::Number => numbers(u64::MAX),
            Kind::Count => numbers(u32::MAX.into()),
            Kind::Positive => (
                vec!["1".to_owned(), u32::MAX.to_string()],
                vec!["0".to_owned(), "4294967296".to_owned(), "01".to_owned()],
            ),
            Kind::Byte => numbers(u8::MAX.into()),
            Kind::Hex(digits) => (
                ["0", "9", "a", "f", "A", "F"]
                    .map(|digit| digit.repeat(digits))
                    .into(),
                vec![
                    "0".repeat(digits - 1),
                    "0".repeat(digits + 1),
                    "g".repeat(digits),
                    "é".repeat(digits / 2),
                ],
            ),
            Kind::Text(most) => (
                vec![
                    "x".into(),
                    "x".repeat(most),
                    "é".repeat(most),
                    "€".repeat(most),
                ],
                vec!["x".repeat(most + 1), "é".repeat(most + 1)],
            ),
            Kind::Words(words) | Kind::WordsOr(words, _) => (
                words.iter().map(|word| (*word).to_owned()).collect(),
                words
                    .iter()
                    .flat_map(|word| [word.to_uppercase(), format!("{word} ")])
                    .collect(),
            ),
            Kind::Bool => (
                vec!["true".into(), "false".into()],
                vec!["True".into(), "1".into()],
            ),
            Kind::Form(_) | Kind::Header | Kind::HeaderText(_) => return Default::default(),
        };
        others.push(String::new());
        (fitting, others)
    }

    /// Returns whether a schema of this module allows a value of a query.
    fn allows(schema: &Value, text: &str) -> bool {
        match schema["type"].as_str() {
            Some("boolean") => matches!(text, "true" | "false"),
            Some("integer") => {
                let number = serde_json::from_str::<Value>(text).ok();
                let number = number.and_then(|number| number.as_u64());
                let minimum = schema["minimum"].as_u64().unwrap_or(0);
                let maximum = schema["maximum"].as_u64().unwrap_or(u64::MAX);
                number.is_some_and(|number| (minimum..=maximum).contains(&number))
            }
            _ => {
                let count = text.chars().count() as u64;
                let length = |name: &str, or| schema[name].as_u64().unwrap_or(or);
                let fits =
                    (length("minLength", 0)..=length("maxLength", u64::MAX)).contains(&count);
                let words = schema["enum"].as_array();
                let listed = words.is_none_or(|words| words.iter().any(|word| word == text));
                let pattern = schema["pattern"].as_str();
                fits && listed && pattern.is_none_or(|pattern| is_hex(pattern, text))
            }
        }
    }

    /// Returns whether a text matches the pattern of hexadecimal digits.
    fn is_hex(pattern: &str, text: &str) -> bool {
        let digits = pattern
            .strip_prefix("^[0-9a-fA-F]{")
            .and_then(|rest| rest.strip_suffix("}$"));
        let digits: usize = digits
            .expect("the pattern of Kind::Hex")
            .parse()
            .expect("a count");
        text.len() == digits && text.chars().all(|digit| digit.is_ascii_hexdigit())
    }

    #[test]
    fn the_description_and_the_check_agree_on_every_parameter() {
        let mut checked = 0;
        for operation in operations().chain(chain::operations::operations()) {
            for parameter in operation.query.iter().chain(operation.segments) {
                let (kind, schema) = (parameter.kind, parameter.kind.schema());
                let (fitting, others) = samples(kind);
                let samples = fitting.iter().map(|value| (value, true));
                for (value, fits) in samples.chain(others.iter().map(|value| (value, false))) {
                    let at = format!("{} {}: '{value}'", operation.id, parameter.name);
                    assert_eq!(kind.check(value).is_ok(), fits, "the check of {at}");
                    assert_eq!(allows(&schema, value), fits, "the schema of {at}");
                    checked += 1;
                }
            }
        }
        assert!(checked > 300, "{checked} values");
    }
}
