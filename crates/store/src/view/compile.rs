//! Criteria to SQL. Text of a statement comes from this file alone; values are bound.

use rusqlite::types::Value;

use super::query::{
    Criterion, Datum, Field, QUERY_DEPTH_MAX, QUERY_NODES_MAX, QUERY_VALUES_MAX, QueryError, Sort,
};

/// A statement's text, and the values for its `?`, in order.
#[derive(Default)]
pub(super) struct Sql {
    pub(super) text: String,
    pub(super) values: Vec<Value>,
    nodes: usize,
}

fn bad<T>(text: impl Into<String>) -> Result<T, QueryError> {
    Err(QueryError::Bad(text.into()))
}

impl Sql {
    fn add(&mut self, text: &str) {
        self.text.push_str(text);
    }

    fn bind(&mut self, value: Value) -> Result<(), QueryError> {
        if self.values.len() >= QUERY_VALUES_MAX {
            return bad(format!("more than {QUERY_VALUES_MAX} values"));
        }
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
                self.add("(s.consumed_seq IS NOT NULL)");
                Ok(())
            }
            Criterion::Consumed(false) => {
                self.add("(s.consumed_seq IS NULL)");
                Ok(())
            }
            Criterion::In(Field::Participant, values) => {
                self.add("((s.participants IS NULL AND ");
                self.one_of(Field::Owner, values)?;
                self.add(") OR ");
                self.one_of(Field::Participant, values)?;
                self.add(")");
                Ok(())
            }
            Criterion::In(field, values) => self.one_of(*field, values),
            Criterion::Between(field, from, to) => {
                let (column, after) = test(*field);
                if !after.is_empty() {
                    return bad(format!("{field:?} has no order: give its values"));
                }
                self.add(&format!("({column} IS NOT NULL"));
                for (value, operator) in [(from, ">= ?"), (to, "<= ?")] {
                    let Some(value) = value else { continue };
                    self.add(&format!(" AND {column} {operator}"));
                    self.bind(bound(*field, value)?)?;
                    if let (Field::Quantity, Datum::Number(number)) = (field, value) {
                        // The same of the clamped quantity, which is indexed.
                        self.add(&format!(" AND s.magnitude {operator}"));
                        self.bind(Value::Integer(super::schema::magnitude(*number)))?;
                    }
                }
                self.add(")");
                Ok(())
            }
        }
    }

    fn one_of(&mut self, field: Field, values: &[Datum]) -> Result<(), QueryError> {
        let (before, after) = test(field);
        self.add(&format!("({before} IN ("));
        for (i, value) in values.iter().enumerate() {
            self.add(if i == 0 { "?" } else { ",?" });
            self.bind(bound(field, value)?)?;
        }
        self.add(")");
        self.add(after);
        self.add(")");
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

    /// What comes after a row with these values, in this order.
    pub(super) fn after(&mut self, order: &[(&str, bool)], values: &[Value]) {
        self.add("(");
        for (i, ((column, descending), value)) in order.iter().zip(values).enumerate() {
            if i > 0 {
                self.add(" OR ");
            }
            self.add("(");
            for ((column, _), value) in order.iter().zip(values).take(i) {
                self.add(column);
                self.add(" IS ? AND ");
                self.values.push(value.clone());
            }
            match (value, descending) {
                (Value::Null, false) => self.add(&format!("{column} IS NOT NULL")),
                (Value::Null, true) => self.add("0"),
                (value, descending) => {
                    if *descending {
                        self.add(&format!("({column} < ? OR {column} IS NULL)"));
                    } else {
                        self.add(&format!("{column} > ?"));
                    }
                    self.values.push(value.clone());
                }
            }
            self.add(")");
        }
        self.add(")");
        // The first column alone, so that an index on it can be entered at the right place.
        if let (Some((column, descending)), Some(value)) = (order.first(), values.first())
            && !matches!(value, Value::Null)
        {
            if *descending && !column.ends_with(".id") {
                return;
            }
            self.add(&format!(
                " AND {column} {} ?",
                if *descending { "<=" } else { ">=" }
            ));
            self.values.push(value.clone());
        }
    }
}

/// What stands before and after the comparison of a field; nothing after it where the state itself has the column.
fn test(field: Field) -> (&'static str, &'static str) {
    match field {
        Field::Contract => ("s.contract IN (SELECT id FROM contract WHERE name", ")"),
        Field::Owner => ("s.owner IN (SELECT id FROM key WHERE bytes", ")"),
        Field::Notary => ("s.notary IN (SELECT id FROM key WHERE bytes", ")"),
        Field::Participant => (
            "s.id IN (SELECT p.state FROM participant p JOIN key pk ON pk.id = p.key WHERE pk.bytes",
            ")",
        ),
        Field::Token => ("s.token IN (SELECT id FROM token WHERE hash", ")"),
        Field::Symbol => ("s.token IN (SELECT id FROM token WHERE symbol", ")"),
        Field::Issuer => ("s.token IN (SELECT id FROM token WHERE issuer", ")"),
        Field::Quantity => ("s.quantity", ""),
        Field::RecordedAt => ("s.recorded_at", ""),
        Field::ConsumedAt => ("s.consumed_at", ""),
        Field::Number => ("s.id", ""),
        Field::LinearId => ("s.linear_id", ""),
    }
}

/// The column that is sorted and grouped by. Needs the joins of a page.
pub(super) fn column(field: Field) -> Result<&'static str, QueryError> {
    Ok(match field {
        Field::Contract => "c.name",
        Field::Owner => "o.bytes",
        Field::Notary => "n.bytes",
        Field::Token => "t.hash",
        Field::Symbol => "t.symbol",
        Field::Issuer => "t.issuer",
        Field::Quantity => "s.quantity",
        Field::RecordedAt => "s.recorded_at",
        Field::ConsumedAt => "s.consumed_at",
        Field::Number => "s.id",
        Field::LinearId => "s.linear_id",
        Field::Participant => return bad("a state has several participants: no order or groups"),
    })
}

/// The columns of an order, the state's place at the end. A quantity goes by its clamped value first, which is indexed.
pub(super) fn order(sort: &[Sort]) -> Result<Vec<(&'static str, bool)>, QueryError> {
    let mut columns: Vec<(&str, bool)> = Vec::new();
    for sort in sort {
        if sort.by == Field::Quantity {
            columns.push(("s.magnitude", sort.descending));
        }
        columns.push((column(sort.by)?, sort.descending));
        if sort.by == Field::Number {
            return Ok(columns);
        }
    }
    columns.push(("s.id", sort.last().is_some_and(|sort| sort.descending)));
    Ok(columns)
}

/// A value as the field's column holds it.
fn bound(field: Field, value: &Datum) -> Result<Value, QueryError> {
    Ok(match (field, value) {
        (Field::Quantity, Datum::Number(number)) => super::writer::quantity_value(*number),
        (Field::RecordedAt | Field::ConsumedAt | Field::Number, Datum::Number(number)) => {
            Value::Integer(super::schema::magnitude(*number))
        }
        (Field::Contract | Field::Symbol | Field::Issuer, Datum::Text(text)) => {
            Value::Text(text.clone())
        }
        (
            Field::Owner | Field::Participant | Field::Notary | Field::Token | Field::LinearId,
            Datum::Bytes(bytes),
        ) => Value::Blob(bytes.clone()),
        _ => return bad(format!("{field:?} is not compared with {value:?}")),
    })
}
