//! Writes a document with one line for each repeat, so that two versions of a file differ in few lines.

use serde_json::{Map, Number, Value};

/// Digits of a fraction. Intervals that are computed from the file are right to six digits.
const DIGITS: i32 = 7;
/// A value whose text is not longer has one line.
const LINE_MAX: usize = 120;
/// The field whose elements have one line each, whatever their length.
const ONE_LINE_EACH: &str = "stretches";

/// Returns the text of a document: the fields in the order of the alphabet, fractions rounded to seven digits. Equal documents
/// have equal texts.
pub fn text(document: &Value) -> String {
    let mut out = String::new();
    lay(&ordered(document), "", 0, &mut out);
    out.push('\n');
    out
}

/// Returns the value with sorted fields and rounded fractions.
fn ordered(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let mut sorted: Vec<(&String, &Value)> = fields.iter().collect();
            sorted.sort_by_key(|(name, _)| name.as_str());
            let fields = sorted.into_iter();
            Value::Object(Map::from_iter(
                fields.map(|(name, value)| (name.clone(), ordered(value))),
            ))
        }
        Value::Array(values) => Value::Array(values.iter().map(ordered).collect()),
        Value::Number(number) if number.is_f64() => {
            let rounded = number.as_f64().map(rounded).and_then(Number::from_f64);
            rounded.map_or(Value::Null, Value::Number)
        }
        other => other.clone(),
    }
}

/// Rounds to seven significant digits.
pub fn rounded(value: f64) -> f64 {
    let text = format!("{value:.*e}", DIGITS.unsigned_abs() as usize - 1);
    // The text of a finite number is one.
    text.parse().unwrap_or(value)
}

fn lay(value: &Value, field: &str, depth: usize, out: &mut String) {
    let line = value.to_string();
    let is_open = |value: &Value| matches!(value, Value::Object(_) | Value::Array(_));
    if line.len() <= LINE_MAX || !is_open(value) {
        out.push_str(&line);
        return;
    }
    let indent = " ".repeat(depth + 1);
    let (open, close) = match value {
        Value::Object(_) => ('{', '}'),
        _ => ('[', ']'),
    };
    out.push(open);
    let mut is_first = true;
    let mut begin = |out: &mut String| {
        out.push_str(if is_first { "\n" } else { ",\n" });
        out.push_str(&indent);
        is_first = false;
    };
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                begin(out);
                out.push_str(&Value::String(name.clone()).to_string());
                out.push(':');
                lay(value, name, depth + 1, out);
            }
        }
        Value::Array(values) => {
            for value in values {
                begin(out);
                match field {
                    ONE_LINE_EACH => out.push_str(&value.to_string()),
                    _ => lay(value, field, depth + 1, out),
                }
            }
        }
        _ => {}
    }
    out.push('\n');
    out.push_str(&" ".repeat(depth));
    out.push(close);
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_repeat_has_one_line_and_fractions_seven_digits() {
        let long = "x".repeat(130);
        let document = json!({
            "stretches": [{ "b": long, "a": 0.123_456_789 }, { "a": 1e300 }],
            "count": 123_456_789,
            "at": [1.5, 2],
        });
        let expected = format!(
            "{{\n \"at\":[1.5,2],\n \"count\":123456789,\n \"stretches\":[\n  {{\"a\":0.1234568,\"b\":\"{long}\"}},\n  {{\"a\":1e+300}}\n ]\n}}\n"
        );
        assert_eq!(text(&document), expected);
        let again: Value = serde_json::from_str(&expected).expect("JSON");
        assert_eq!(text(&again), expected, "a text stays as it is");
    }
}
