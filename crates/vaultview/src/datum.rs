//! Values of the view as data of a query.

use rusqlite::types::Value;

use super::numbers::quantity_of;
use super::query::Field;
use super::rows::ColumnKind;
use super::rows::Datum;

/// Converts a value of a column of the view.
pub(super) fn datum(kinds: &[ColumnKind], field: Field, value: Value) -> Option<Datum> {
    let quantity = match field {
        Field::Quantity => true,
        Field::Column(id) => {
            usize::try_from(id).ok().and_then(|id| kinds.get(id)) == Some(&ColumnKind::Number)
        }
        _ => false,
    };
    match value {
        value if quantity => quantity_of(value).map(Datum::Number),
        Value::Text(text) => Some(Datum::Text(text)),
        Value::Integer(number) => u64::try_from(number).ok().map(Datum::Number),
        Value::Blob(bytes) => Some(Datum::Bytes(bytes)),
        _ => None,
    }
}
