//! The values of a test in the form of the database's columns, and the look-ups in dictionaries.

use rusqlite::types::Value;

use super::query::{Field, QueryError, bad};
use super::rows::Datum;

/// Returns the expression for a state's value in a column that a contract declares.
pub(super) fn of_column(id: u32) -> String {
    format!("(SELECT value FROM extra WHERE state = s.id AND column = {id})")
}

/// Returns the tests for texts that begin with `prefix`, appended to `look_up`, which ends in the column.
pub(super) fn prefix_tests(look_up: &str, prefix: &str) -> (String, Vec<Value>) {
    let (select, column) = look_up.rsplit_once(' ').expect("a look-up's column");
    let mut text = format!("{select} {column} >= ?");
    let mut values = vec![Value::Text(prefix.to_owned())];
    if let Some(upto) = after_prefix(prefix) {
        text.push_str(&format!(" AND {column} < ?"));
        values.push(Value::Text(upto));
    }
    (text, values)
}

/// Returns the comparison with so many placeholders `?`. For one value it is an equality, because an index then keeps its
/// order.
pub(super) fn set(values: usize) -> String {
    match values {
        1 => "= ?".to_owned(),
        values => format!("IN ({})", vec!["?"; values].join(",")),
    }
}

/// Returns the start of a statement that finds numbers in a dictionary. It ends in the column that is compared.
pub(super) fn look_up(field: Field) -> &'static str {
    match field {
        Field::Contract => "SELECT id FROM contract WHERE name",
        Field::Token => "SELECT id FROM token WHERE hash",
        Field::Symbol => "SELECT id FROM token WHERE symbol",
        Field::Issuer => "SELECT id FROM token WHERE issuer",
        Field::OwnerParty => "SELECT id FROM key WHERE party",
        _ => "SELECT id FROM key WHERE bytes",
    }
}

/// Returns the least text that sorts after all texts with this prefix, or `None` if there is none.
pub(super) fn after_prefix(prefix: &str) -> Option<String> {
    let mut text = prefix.to_owned();
    while let Some(last) = text.pop() {
        let next = match last {
            '\u{d7ff}' => Some('\u{e000}'),
            last => char::from_u32(u32::from(last) + 1),
        };
        if let Some(next) = next {
            text.push(next);
            return Some(text);
        }
    }
    None
}

/// Returns a value in the form of the field's column.
pub(super) fn bound(field: Field, value: &Datum) -> Result<Value, QueryError> {
    Ok(match (field, value) {
        (Field::Quantity, Datum::Number(number)) => super::numbers::quantity_value(*number),
        (Field::RecordedAt | Field::ConsumedAt | Field::Number, Datum::Number(number)) => {
            Value::Integer(super::schema::clamped(*number))
        }
        (Field::Contract | Field::Symbol | Field::Issuer, Datum::Text(text)) => {
            Value::Text(text.clone())
        }
        (
            Field::Owner
            | Field::OwnerParty
            | Field::Participant
            | Field::ParticipantParty
            | Field::Notary
            | Field::Token
            | Field::LinearId,
            Datum::Bytes(bytes),
        ) => Value::Blob(bytes.clone()),
        (Field::Column(_), value) => super::feed::column_value(value),
        _ => return bad(format!("{field:?} is not compared with {value:?}")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_after_a_prefix() {
        for (prefix, after) in [
            ("a", Some("b")),
            ("", None),
            ("a\u{10ffff}", Some("b")),
            ("\u{d7ff}", Some("\u{e000}")),
            ("\u{10ffff}", None),
        ] {
            assert_eq!(after_prefix(prefix).as_deref(), after);
        }
    }
}
