//! Numbers in columns of the view.
//!
//! The writer stores only numbers that are not negative. A negative one was not written by it: the view is damaged, and is filled
//! again from the ledger. It must never be shown as a smaller number of money.

use rusqlite::types::{Type, Value};
use rusqlite::{Error, Result, Row};

/// Reads a number that is not negative.
pub(super) fn unsigned(row: &Row<'_>, column: usize) -> Result<u64> {
    to_unsigned(row.get(column)?, column)
}

/// Reads a number that is not negative, or `None` for `NULL`.
pub(super) fn unsigned_or_null(row: &Row<'_>, column: usize) -> Result<Option<u64>> {
    let number: Option<i64> = row.get(column)?;
    number.map(|it| to_unsigned(it, column)).transpose()
}

/// Reads a sum from the sums of its upper parts and of its lower 32 bits, in this order. A sum over no rows is `NULL`, so 0.
pub(super) fn sum(row: &Row<'_>, high: usize, low: usize) -> Result<u128> {
    let part = |column| -> Result<u64> { Ok(unsigned_or_null(row, column)?.unwrap_or(0)) };
    Ok((u128::from(part(high)?) << 32) + u128::from(part(low)?))
}

/// Reads a quantity. A state without a quantity has `NULL`, so 0.
pub(super) fn quantity(row: &Row<'_>, column: usize) -> Result<u64> {
    let value: Value = row.get(column)?;
    if value == Value::Null {
        return Ok(0);
    }
    let damaged = || Error::InvalidColumnType(column, "quantity".to_owned(), Type::Blob);
    match value {
        Value::Integer(number) => to_unsigned(number, column),
        value => quantity_of(value).ok_or_else(damaged),
    }
}

/// Returns a quantity as a value that SQLite sorts in numeric order: an integer, or above `i64::MAX` a blob of eight bytes, big
/// endian. SQLite sorts blobs after integers.
pub(super) fn quantity_value(quantity: u64) -> Value {
    match i64::try_from(quantity) {
        Ok(quantity) => Value::Integer(quantity),
        Err(_) => Value::Blob(quantity.to_be_bytes().to_vec()),
    }
}

/// Returns the quantity of a value that [`quantity_value`] made.
pub(super) fn quantity_of(value: Value) -> Option<u64> {
    match value {
        Value::Integer(quantity) => u64::try_from(quantity).ok(),
        Value::Blob(bytes) => Some(u64::from_be_bytes(bytes.try_into().ok()?)),
        _ => None,
    }
}

fn to_unsigned(number: i64, column: usize) -> Result<u64> {
    u64::try_from(number).map_err(|_| Error::IntegralValueOutOfRange(column, number))
}
