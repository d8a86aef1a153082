//! Runs queries: pages whose marks hold the last row's values (so that writes in between move nothing), and groups.

use primitives::hex;
use rusqlite::types::Value;
use rusqlite::{InterruptHandle, params_from_iter};
use xxhash_rust::xxh3::xxh3_64;

use super::compile::{Sql, column, order};
use super::failure::ViewError;
use super::query::{
    Criterion, Datum, Field, Group, QUERY_GROUPS_MAX, QUERY_PAGE_MAX, QUERY_SORTS_MAX, QueryError,
    QueryPage, StateQuery,
};
use super::reader::{COLUMNS, JOINS, VaultReader, state_row};

/// Length of a mark, in hexadecimal digits.
const MARK_MAX: usize = 8_192;
/// Columns before those of the order.
const ROW_COLUMNS: usize = 15;
/// The upper half of a quantity above what an SQLite integer holds: eight bytes, of which these are the first four.
const HIGH: [u32; 8] = [1, 2, 3, 4, 5, 6, 7, 8];

impl VaultReader {
    /// Stops what this reader is doing, from another thread.
    pub fn interrupt_handle(&self) -> InterruptHandle {
        self.connection.get_interrupt_handle()
    }

    /// A page of states.
    pub fn query(&self, query: &StateQuery) -> Result<QueryPage, QueryError> {
        if query.sort.len() > QUERY_SORTS_MAX {
            return Err(QueryError::Bad(format!(
                "more than {QUERY_SORTS_MAX} columns to sort by"
            )));
        }
        let limit = query.limit.clamp(1, QUERY_PAGE_MAX);
        let order = order(&query.sort)?;
        let mut sql = Sql::default();
        let keys: Vec<&str> = order.iter().map(|(column, _)| *column).collect();
        sql.text = format!(
            "SELECT {COLUMNS}, {} FROM state s {JOINS} WHERE ",
            keys.join(", ")
        );
        sql.criterion(&query.criterion, 0)?;
        let print = fingerprint(&sql, &order);
        if let Some(mark) = &query.after {
            let values = unmark(mark, print, order.len())?;
            sql.text.push_str(" AND ");
            sql.after(&order, &values);
        }
        let terms: Vec<String> = order
            .iter()
            .map(|(column, descending)| {
                format!("{column}{}", if *descending { " DESC" } else { "" })
            })
            .collect();
        sql.text.push_str(&format!(
            " ORDER BY {} LIMIT {}",
            terms.join(", "),
            limit + 1
        ));
        let found = self.searched(|| {
            let mut select = self.connection.prepare_cached(&sql.text)?;
            let rows = select.query_map(params_from_iter(&sql.values), |row| {
                let keys = (0..order.len()).map(|i| row.get::<_, Value>(ROW_COLUMNS + i));
                Ok((state_row(row)?, keys.collect::<Result<Vec<_>, _>>()?))
            })?;
            rows.collect::<rusqlite::Result<Vec<_>>>()
        })?;
        let next = match found.get(limit - 1) {
            Some((_, keys)) if found.len() > limit => Some(mark(print, keys)),
            _ => None,
        };
        let rows = found.into_iter().take(limit).map(|(row, _)| row).collect();
        Ok(QueryPage { rows, next })
    }

    /// States that meet the criterion, counted and summed in groups of equal values, in the order of those; without
    /// fields all are one group. Refused when there are more than [`QUERY_GROUPS_MAX`].
    pub fn groups(&self, criterion: &Criterion, by: &[Field]) -> Result<Vec<Group>, QueryError> {
        if by.len() > QUERY_SORTS_MAX {
            return Err(QueryError::Bad(format!(
                "more than {QUERY_SORTS_MAX} fields to group by"
            )));
        }
        // Grouped by the numbers of repeated things, which are in the row; what they stand for is looked up once a group.
        let mut numbers = Vec::new();
        let mut shown = Vec::new();
        for field in by {
            let column = column(*field)?;
            numbers.push(match field {
                Field::Contract => "s.contract",
                Field::Owner => "s.owner",
                Field::Notary => "s.notary",
                Field::Token => "s.token",
                _ => column,
            });
            shown.push(match field {
                Field::Contract => "(SELECT name FROM contract WHERE id = s.contract)",
                Field::Owner => "(SELECT bytes FROM key WHERE id = s.owner)",
                Field::Notary => "(SELECT bytes FROM key WHERE id = s.notary)",
                Field::Token => "(SELECT hash FROM token WHERE id = s.token)",
                _ => column,
            });
        }
        let joins = if by
            .iter()
            .any(|field| matches!(field, Field::Symbol | Field::Issuer))
        {
            "LEFT JOIN token t ON t.id = s.token"
        } else {
            ""
        };
        let mut sql = Sql::default();
        sql.text = format!(
            "SELECT count(*), total_high, total_low{} FROM state s {joins} WHERE ",
            shown
                .iter()
                .map(|text| format!(", {text}"))
                .collect::<String>()
        )
        .replace("total_high", &half(true))
        .replace("total_low", &half(false));
        sql.criterion(criterion, 0)?;
        if !by.is_empty() {
            let (by, order) = (numbers.join(", "), (4..4 + by.len()).map(|i| i.to_string()));
            sql.text.push_str(&format!(
                " GROUP BY {by} ORDER BY {}",
                order.collect::<Vec<_>>().join(", ")
            ));
        }
        sql.text
            .push_str(&format!(" LIMIT {}", QUERY_GROUPS_MAX + 1));
        let groups = self.searched(|| {
            let mut select = self.connection.prepare_cached(&sql.text)?;
            let rows = select.query_map(params_from_iter(&sql.values), |row| {
                let sum = |i| row.get::<_, Option<i64>>(i).map(|sum| sum.unwrap_or(0));
                let high = u128::try_from(sum(1)?).unwrap_or(0);
                let low = u128::try_from(sum(2)?).unwrap_or(0);
                let key = by
                    .iter()
                    .enumerate()
                    .map(|(i, field)| row.get::<_, Value>(3 + i).map(|value| datum(*field, value)));
                Ok(Group {
                    key: key.collect::<Result<_, _>>()?,
                    states: row.get::<_, i64>(0)?.try_into().unwrap_or(0),
                    quantity: (high << 32) + low,
                })
            })?;
            rows.collect::<rusqlite::Result<Vec<_>>>()
        })?;
        if groups.len() > QUERY_GROUPS_MAX {
            return Err(QueryError::Bad(format!(
                "more than {QUERY_GROUPS_MAX} groups; narrow the criteria"
            )));
        }
        Ok(groups)
    }

    fn searched<T>(&self, search: impl FnOnce() -> rusqlite::Result<T>) -> Result<T, QueryError> {
        search().map_err(|error| match error.sqlite_error_code() {
            Some(rusqlite::ErrorCode::OperationInterrupted) => QueryError::Interrupted,
            _ => QueryError::View(ViewError::sqlite(&self.path, error)),
        })
    }
}

/// The sum of quantities' upper or lower 32 bits: neither can overflow. Larger ones than an integer are read from hex.
fn half(high: bool) -> String {
    let digits = HIGH.map(|i| {
        let digit = if high { i } else { i + 8 };
        let shift = 4 * (8 - i);
        format!("(instr('0123456789ABCDEF', substr(hex(s.quantity), {digit}, 1)) - 1 << {shift})")
    });
    let small = if high {
        "s.magnitude >> 32"
    } else {
        "s.magnitude & 4294967295"
    };
    format!(
        "sum(CASE WHEN s.magnitude = 9223372036854775807 AND typeof(s.quantity) = 'blob' THEN {} ELSE {small} END)",
        digits.join(" + ")
    )
}

fn datum(field: Field, value: Value) -> Option<Datum> {
    match (field, value) {
        (_, Value::Text(text)) => Some(Datum::Text(text)),
        (Field::Quantity, value) => super::writer::quantity_of(value).map(Datum::Number),
        (_, Value::Integer(number)) => u64::try_from(number).ok().map(Datum::Number),
        (_, Value::Blob(bytes)) => Some(Datum::Bytes(bytes)),
        _ => None,
    }
}

fn fingerprint(sql: &Sql, order: &[(&str, bool)]) -> u64 {
    xxh3_64(format!("{} {:?} {order:?}", sql.text, sql.values).as_bytes())
}

/// The query's fingerprint and a row's values: a kind, a length, the bytes.
fn mark(print: u64, values: &[Value]) -> String {
    let mut bytes = print.to_be_bytes().to_vec();
    for value in values {
        let (kind, content) = match value {
            Value::Integer(number) => (1, number.to_be_bytes().to_vec()),
            Value::Text(text) => (2, text.clone().into_bytes()),
            Value::Blob(blob) => (3, blob.clone()),
            Value::Null | Value::Real(_) => (0, Vec::new()),
        };
        bytes.push(kind);
        bytes.extend_from_slice(&u16::try_from(content.len()).unwrap_or(0).to_be_bytes());
        bytes.extend_from_slice(&content);
    }
    hex::encode(&bytes)
}

fn unmark(mark: &str, print: u64, columns: usize) -> Result<Vec<Value>, QueryError> {
    let bad = || QueryError::Bad("'after' is no mark of an answer to this query".into());
    if mark.len() > MARK_MAX {
        return Err(bad());
    }
    let bytes = hex::decode(mark).ok_or_else(bad)?;
    let (head, mut rest) = bytes.split_first_chunk::<8>().ok_or_else(bad)?;
    if *head != print.to_be_bytes() {
        return Err(bad());
    }
    let mut values = Vec::with_capacity(columns);
    while let Some(([kind, a, b], more)) = rest.split_first_chunk::<3>() {
        let length = usize::from(u16::from_be_bytes([*a, *b]));
        let (content, more) = more.split_at_checked(length).ok_or_else(bad)?;
        rest = more;
        values.push(match kind {
            0 => Value::Null,
            1 => Value::Integer(i64::from_be_bytes(content.try_into().map_err(|_| bad())?)),
            2 => Value::Text(String::from_utf8(content.to_vec()).map_err(|_| bad())?),
            3 => Value::Blob(content.to_vec()),
            _ => return Err(bad()),
        });
    }
    if rest.is_empty() && values.len() == columns {
        Ok(values)
    } else {
        Err(bad())
    }
}
