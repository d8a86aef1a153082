//! Criteria to SQL. Text of a statement comes from here and from [`super::plan`] alone; values are bound.

use rusqlite::params_from_iter;
use rusqlite::types::Value;

use super::query::{
    Criterion, Datum, Field, QUERY_DEPTH_MAX, QUERY_NODES_MAX, QUERY_VALUES_MAX, QueryError,
};
use super::reader::VaultReader;

/// Numbers of repeated things that are put in the place of a look-up.
const RESOLVED_MAX: usize = 1_000;

/// A statement's text, and the values for its `?`, in order.
pub(super) struct Sql<'r> {
    reader: &'r VaultReader,
    pub(super) text: String,
    pub(super) values: Vec<Value>,
    /// Tests of contract, owner and token keep away from their indexes: the order has an index of its own.
    pub(super) by_order: bool,
    nodes: usize,
    /// Values that came with the query.
    given: usize,
}

pub(super) fn bad<T>(text: impl Into<String>) -> Result<T, QueryError> {
    Err(QueryError::Bad(text.into()))
}

impl<'r> Sql<'r> {
    pub(super) fn new(reader: &'r VaultReader, text: String) -> Self {
        Self {
            reader,
            text,
            values: Vec::new(),
            by_order: false,
            nodes: 0,
            given: 0,
        }
    }

    pub(super) fn add(&mut self, text: &str) {
        self.text.push_str(text);
    }

    fn bind(&mut self, value: Value) -> Result<(), QueryError> {
        if self.given >= QUERY_VALUES_MAX {
            return bad(format!("more than {QUERY_VALUES_MAX} values"));
        }
        self.given += 1;
        self.values.push(value);
        Ok(())
    }

    /// A condition on `state s`.
    pub(super) fn criterion(
        &mut self,
        criterion: &Criterion,
        depth: usize,
    ) -> Result<(), QueryError> {
        self.nodes += 1;
        if depth > QUERY_DEPTH_MAX {
            return bad(format!("criteria nested deeper than {QUERY_DEPTH_MAX}"));
        }
        if self.nodes > QUERY_NODES_MAX {
            return bad(format!("more than {QUERY_NODES_MAX} criteria"));
        }
        match criterion {
            Criterion::All(parts) => self.joined(parts, " AND ", "1", depth),
            Criterion::Any(parts) => self.joined(parts, " OR ", "0", depth),
            Criterion::Not(part) => {
                self.add("(");
                self.criterion(part, depth + 1)?;
                // Also where the test is neither true nor false: the state lacks the field.
                self.add(" IS NOT TRUE)");
                Ok(())
            }
            Criterion::Consumed(true) => {
                // Both say the same; the second leads to the index of times.
                self.add("(s.consumed_seq IS NOT NULL AND s.consumed_at IS NOT NULL)");
                Ok(())
            }
            Criterion::Consumed(false) => {
                self.add("(s.consumed_seq IS NULL)");
                Ok(())
            }
            Criterion::In(field @ (Field::Participant | Field::ParticipantParty), values) => {
                self.participants(*field, values)
            }
            Criterion::At(places) => {
                self.add("(s.id IN (SELECT value FROM json_each(?)))");
                self.values.push(Value::Text(places.json().to_owned()));
                Ok(())
            }
            Criterion::In(field, values) => self.one_of(*field, values),
            Criterion::Between(field, from, to) => {
                let tests = [(">= ?", from.as_ref()), ("<= ?", to.as_ref())];
                self.compared(*field, &tests)
            }
            Criterion::Less(field, value) => self.compared(*field, &[("< ?", Some(value))]),
            Criterion::Greater(field, value) => self.compared(*field, &[("> ?", Some(value))]),
            Criterion::Prefix(field, prefix) => {
                let from = Datum::Text(prefix.clone());
                let upto = after_prefix(prefix).map(Datum::Text);
                if matches!(field, Field::Contract | Field::Symbol | Field::Issuer) {
                    let look_up = look_up(*field)
                        .rsplit_once(' ')
                        .map_or(("", ""), |parts| parts);
                    let column = look_up.1;
                    let mut text = format!("{} {column} >= ?", look_up.0);
                    let mut values = vec![Value::Text(prefix.clone())];
                    self.given += 1;
                    if let Some(Datum::Text(upto)) = upto {
                        text.push_str(&format!(" AND {column} < ?"));
                        values.push(Value::Text(upto));
                    }
                    return self.numbered(*field, &text, values);
                }
                if !matches!(field, Field::Column(_)) {
                    return bad(format!("{field:?} is no text: it has no prefix"));
                }
                self.compared(*field, &[(">= ?", Some(&from)), ("< ?", upto.as_ref())])
            }
        }
    }

    /// A field that lies in a range.
    fn compared(
        &mut self,
        field: Field,
        tests: &[(&str, Option<&Datum>)],
    ) -> Result<(), QueryError> {
        let column = match field {
            Field::Quantity => "s.quantity",
            Field::RecordedAt => "s.recorded_at",
            Field::ConsumedAt => "s.consumed_at",
            Field::Number => "s.id",
            Field::Column(id) => {
                self.add(&format!(
                    "(s.id IN (SELECT state FROM extra WHERE column = {id}"
                ));
                for (operator, value) in tests {
                    let Some(value) = value else { continue };
                    self.add(&format!(" AND value {operator}"));
                    self.bind(bound(field, value)?)?;
                }
                self.add("))");
                return Ok(());
            }
            _ => return bad(format!("{field:?} has no order: give its values")),
        };
        self.add(&format!("({column} IS NOT NULL"));
        for (operator, value) in tests {
            let Some(value) = value else { continue };
            self.add(&format!(" AND {column} {operator}"));
            self.bind(bound(field, value)?)?;
        }
        self.add(")");
        Ok(())
    }

    fn one_of(&mut self, field: Field, values: &[Datum]) -> Result<(), QueryError> {
        let given = self.given + values.len();
        let values = values.iter().map(|value| bound(field, value));
        let values: Vec<Value> = values.collect::<Result<_, _>>()?;
        if given > QUERY_VALUES_MAX {
            return bad(format!("more than {QUERY_VALUES_MAX} values"));
        }
        self.given = given;
        let column = match field {
            Field::Quantity => "s.quantity",
            Field::RecordedAt => "s.recorded_at",
            Field::ConsumedAt => "s.consumed_at",
            Field::Number => "s.id",
            Field::LinearId => "s.linear_id",
            Field::Column(id) => {
                self.add(&format!(
                    "(s.id IN (SELECT state FROM extra WHERE column = {id} AND value {}))",
                    set(values.len())
                ));
                self.values.extend(values);
                return Ok(());
            }
            _ => {
                let text = format!("{} {}", look_up(field), set(values.len()));
                return self.numbered(field, &text, values);
            }
        };
        self.add(&format!("({column} {})", set(values.len())));
        self.values.extend(values);
        Ok(())
    }

    /// A test of a repeated thing: the numbers that `select` finds now are what the state is compared with, because an
    /// index gives its order only behind a value that is known.
    fn numbered(
        &mut self,
        field: Field,
        select: &str,
        values: Vec<Value>,
    ) -> Result<(), QueryError> {
        let column = match field {
            Field::Contract => "s.contract",
            Field::Owner | Field::OwnerParty => "s.owner",
            Field::Notary => "s.notary",
            _ => "s.token",
        };
        let plus = if self.by_order { "+" } else { "" };
        let numbers = self.reader.searched(|| {
            let mut statement = self
                .reader
                .connection
                .prepare_cached(&format!("{select} LIMIT {}", RESOLVED_MAX + 1))?;
            let rows = statement.query_map(params_from_iter(&values), |row| row.get(0))?;
            rows.collect::<rusqlite::Result<Vec<i64>>>()
        })?;
        if numbers.len() > RESOLVED_MAX && field == Field::OwnerParty {
            // One of a party's many keys: asked of each state that is looked at, rather than of each key.
            let (_, test) = select.split_once(" WHERE ").unwrap_or_default();
            self.add(&format!(
                "(EXISTS (SELECT 1 FROM key k WHERE k.id = s.owner AND k.{test}))"
            ));
            self.values.extend(values);
        } else if numbers.len() > RESOLVED_MAX {
            self.add(&format!("({plus}{column} IN ({select}))"));
            self.values.extend(values);
        } else {
            self.add(&format!("({plus}{column} {})", set(numbers.len())));
            self.values.extend(numbers.into_iter().map(Value::Integer));
        }
        Ok(())
    }

    fn participants(&mut self, field: Field, values: &[Datum]) -> Result<(), QueryError> {
        let (owner, column) = match field {
            Field::ParticipantParty => (Field::OwnerParty, "party"),
            _ => (Field::Owner, "bytes"),
        };
        self.add("((s.participants IS NULL AND ");
        self.one_of(owner, values)?;
        self.add(&format!(") OR s.id IN (SELECT p.state FROM participant p JOIN key pk ON pk.id = p.key WHERE pk.{column} "));
        self.add(&set(values.len()));
        self.add("))");
        for value in values {
            let value = bound(Field::Participant, value)?;
            self.bind(value)?;
        }
        Ok(())
    }

    fn joined(
        &mut self,
        parts: &[Criterion],
        between: &str,
        none: &str,
        depth: usize,
    ) -> Result<(), QueryError> {
        self.add("(");
        if parts.is_empty() {
            self.add(none);
        }
        for (i, part) in parts.iter().enumerate() {
            if i > 0 {
                self.add(between);
            }
            self.criterion(part, depth + 1)?;
        }
        self.add(")");
        Ok(())
    }
}

/// So many `?`. One is an equality, behind which an index gives its order.
fn set(values: usize) -> String {
    match values {
        1 => "= ?".to_owned(),
        values => format!("IN ({})", vec!["?"; values].join(",")),
    }
}

/// Where the numbers of a repeated thing are found; ends in the column that is compared.
fn look_up(field: Field) -> &'static str {
    match field {
        Field::Contract => "SELECT id FROM contract WHERE name",
        Field::Token => "SELECT id FROM token WHERE hash",
        Field::Symbol => "SELECT id FROM token WHERE symbol",
        Field::Issuer => "SELECT id FROM token WHERE issuer",
        Field::OwnerParty => "SELECT id FROM key WHERE party",
        _ => "SELECT id FROM key WHERE bytes",
    }
}

/// The least text after all those that begin with `prefix`; none where there is no such text.
fn after_prefix(prefix: &str) -> Option<String> {
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

/// A value as the field's column holds it.
fn bound(field: Field, value: &Datum) -> Result<Value, QueryError> {
    Ok(match (field, value) {
        (Field::Quantity, Datum::Number(number)) => super::writer::quantity_value(*number),
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
