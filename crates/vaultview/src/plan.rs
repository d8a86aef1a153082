//! The plan of a page: the columns of its order, its start, and the index that has the order.
//!
//! SQLite sorts states that lack a field first. A page whose order begins with such a field is found in two steps, those
//! that lack it and those that have it, so that each is one range of an index.

use rusqlite::types::Value;

use super::compile::Sql;
use super::query::{Criterion, Field, QueryError, Sort, bad};

/// A column of the order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Key {
    pub(super) expression: String,
    pub(super) descending: bool,
    /// Whether a state may lack it.
    nullable: bool,
}

/// A part of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// All states, where none lacks the first field.
    All,
    /// Those that have the first field.
    With,
    /// Those that lack it.
    Without,
}

/// An order of a query, with the steps that carry it out.
pub(super) struct Plan {
    pub(super) keys: Vec<Key>,
    /// The contract's column whose values, in a table of their own, are in the order.
    column: Option<u32>,
    /// The tables that the order needs in addition to `state s`.
    joins: String,
    /// The condition of the order on a state.
    pub(super) demands: String,
    pub(super) steps: Vec<Step>,
}

/// Returns the expression of a field for sorting and grouping, and the join that it needs.
pub(super) fn column(field: Field) -> Result<(String, &'static str), QueryError> {
    let (column, join) = match field {
        Field::Contract => ("c.name", " LEFT JOIN contract c ON c.id = s.contract"),
        Field::Owner => ("o.bytes", " LEFT JOIN key o ON o.id = s.owner"),
        Field::Notary => ("n.bytes", " LEFT JOIN key n ON n.id = s.notary"),
        Field::Token => ("t.hash", TOKEN),
        Field::Symbol => ("t.symbol", TOKEN),
        Field::Issuer => ("t.issuer", TOKEN),
        Field::Quantity => ("s.quantity", ""),
        Field::RecordedAt => ("s.recorded_at", ""),
        Field::ConsumedAt => ("s.consumed_at", ""),
        Field::Number => ("s.id", ""),
        Field::LinearId => ("s.linear_id", ""),
        Field::Column(id) => {
            let value = format!("(SELECT value FROM extra WHERE state = s.id AND column = {id})");
            return Ok((value, ""));
        }
        Field::OwnerParty => {
            return bad("states are in no order of their owners' parties: take the owner's");
        }
        Field::Participant | Field::ParticipantParty => {
            return bad("a state has several participants: no order or groups");
        }
    };
    Ok((column.to_owned(), join))
}

const TOKEN: &str = " LEFT JOIN token t ON t.id = s.token";

fn nullable(field: Field) -> bool {
    !matches!(
        field,
        Field::Contract | Field::Notary | Field::RecordedAt | Field::Number | Field::Column(_)
    )
}

impl Plan {
    pub(super) fn of(criterion: &Criterion, sort: &[Sort]) -> Result<Self, QueryError> {
        let mut plan = Self {
            keys: Vec::new(),
            column: None,
            joins: String::new(),
            demands: String::new(),
            steps: vec![Step::All],
        };
        let mut place = "s.id";
        if let Some(Sort {
            by: Field::Column(id),
            ..
        }) = sort.first()
        {
            // The side table's index gives the order.
            plan.column = Some(*id);
            plan.demands = format!("x.column = {id} AND ");
            place = "x.state";
        }
        let mut joins: Vec<&str> = Vec::new();
        for (at, sort) in sort.iter().enumerate() {
            let (mut expression, join) = column(sort.by)?;
            if let Field::Column(_) = sort.by {
                if at == 0 {
                    expression = "x.value".to_owned();
                } else {
                    plan.demands
                        .push_str(&format!("{expression} IS NOT NULL AND "));
                }
            }
            if sort.by == Field::Number {
                expression = place.to_owned();
            }
            if !join.is_empty() && !joins.contains(&join) {
                joins.push(join);
            }
            plan.keys.push(Key {
                expression,
                descending: sort.descending,
                nullable: nullable(sort.by),
            });
            if sort.by == Field::Number {
                break;
            }
        }
        if !sort.iter().any(|sort| sort.by == Field::Number) {
            plan.keys.push(Key {
                expression: place.to_owned(),
                descending: sort.last().is_some_and(|sort| sort.descending),
                nullable: false,
            });
        }
        plan.joins = joins.concat();
        if let Some(first) = sort.first().filter(|sort| nullable(sort.by)) {
            plan.steps = match (presence(criterion, first.by), first.descending) {
                (Some(true), _) => vec![Step::With],
                (Some(false), _) => vec![Step::Without],
                (None, true) => vec![Step::With, Step::Without],
                (None, false) => vec![Step::Without, Step::With],
            };
        }
        Ok(plan)
    }

    /// Returns the tables to read: the states of `source` if there is one, else all.
    pub(super) fn from(&self, source: Option<&str>) -> String {
        let states = match (source, self.column) {
            (None, None) => "state s".to_owned(),
            (None, Some(_)) => "extra x CROSS JOIN state s ON s.id = x.state".to_owned(),
            (Some(source), None) => format!("{source} CROSS JOIN state s ON s.id = d.id"),
            (Some(source), Some(_)) => format!(
                "{source} CROSS JOIN extra x ON x.state = d.id CROSS JOIN state s ON s.id = x.state"
            ),
        };
        states + &self.joins
    }

    /// Returns the steps that remain after a row. The flag tells whether a step begins after that row's values.
    pub(super) fn left(&self, after: Option<&[Value]>) -> Vec<(Step, bool)> {
        let Some(first) = after.and_then(<[Value]>::first) else {
            return self.steps.iter().map(|step| (*step, false)).collect();
        };
        let lacks = matches!(first, Value::Null);
        let here = self.steps.iter().position(|step| match step {
            Step::All => true,
            Step::With => !lacks,
            Step::Without => lacks,
        });
        // A row that belongs to no step of this plan comes after all of them.
        let left = self.steps.iter().skip(here.unwrap_or(self.steps.len()));
        left.enumerate().map(|(i, step)| (*step, i == 0)).collect()
    }

    /// Adds the condition of one step.
    pub(super) fn step(&self, sql: &mut Sql<'_>, step: Step) {
        let Some(first) = self.keys.first() else {
            return;
        };
        match step {
            Step::All => {}
            Step::With => sql.add(&format!(" AND {} IS NOT NULL", first.expression)),
            Step::Without => sql.add(&format!(" AND {} IS NULL", first.expression)),
        }
    }

    /// Adds the condition for the rows after one with these values, within a step.
    pub(super) fn after(&self, sql: &mut Sql<'_>, values: &[Value]) {
        let lacks = |value: &Value| matches!(value, Value::Null);
        // A field that all rows of the step lack orders nothing. The next field may be lacking, which the first one is
        // not.
        let skip = usize::from(values.first().is_some_and(lacks));
        let (keys, values) = (&self.keys[skip..], &values[skip..]);
        let Some(first) = keys.first() else { return };
        let one_way = keys.iter().all(|key| key.descending == first.descending);
        let whole = !values.iter().any(lacks);
        if one_way
            && whole
            && !(first.descending && keys.iter().skip(1 - skip).any(|key| key.nullable))
        {
            // One range of an index.
            let columns: Vec<&str> = keys.iter().map(|key| key.expression.as_str()).collect();
            let marks = vec!["?"; columns.len()].join(",");
            let operator = if first.descending { "<" } else { ">" };
            sql.add(&format!(
                " AND ({}) {operator} ({marks})",
                columns.join(",")
            ));
            sql.values.extend(values.iter().cloned());
            return;
        }
        sql.add(" AND (");
        for (i, (key, value)) in keys.iter().zip(values).enumerate() {
            sql.add(if i > 0 { " OR (" } else { "(" });
            for (key, value) in keys.iter().zip(values).take(i) {
                sql.add(&format!("{} IS ? AND ", key.expression));
                sql.values.push(value.clone());
            }
            let column = &key.expression;
            match (lacks(value), key.descending) {
                (true, false) => sql.add(&format!("{column} IS NOT NULL")),
                (true, true) => sql.add("0"),
                (false, descending) => {
                    if descending {
                        sql.add(&format!("({column} < ? OR {column} IS NULL)"));
                    } else {
                        sql.add(&format!("{column} > ?"));
                    }
                    sql.values.push(value.clone());
                }
            }
            sql.add(")");
        }
        sql.add(")");
        // Adds a test of the first column alone, so that SQLite starts at the right place of an index on it. All states of this
        // step have this column.
        if let (0, Some(value)) = (skip, values.first()) {
            let operator = if first.descending { "<=" } else { ">=" };
            sql.add(&format!(" AND {} {operator} ?", first.expression));
            sql.values.push(value.clone());
        }
    }
}

/// Returns `true` if it is certain that all states that meet the criterion have a field, `false` if it is certain that all lack
/// it, and otherwise `None`.
fn presence(criterion: &Criterion, field: Field) -> Option<bool> {
    let of_token = |field: Field| {
        matches!(
            field,
            Field::Token | Field::Symbol | Field::Issuer | Field::Quantity
        )
    };
    match criterion {
        Criterion::All(parts) => parts.iter().find_map(|part| presence(part, field)),
        Criterion::Consumed(consumed) => (field == Field::ConsumedAt).then_some(*consumed),
        Criterion::In(tested, _)
        | Criterion::Between(tested, ..)
        | Criterion::Less(tested, _)
        | Criterion::Greater(tested, _)
        | Criterion::Prefix(tested, _) => {
            (*tested == field || (of_token(*tested) && of_token(field))).then_some(true)
        }
        Criterion::Quarantined(_) | Criterion::Any(_) | Criterion::Not(_) | Criterion::At(_) => {
            None
        }
    }
}

/// Returns the field whose index has the order, if there is one.
pub(super) fn order_of(sort: &[Sort]) -> Option<Field> {
    let first = sort.first().map_or(Field::Number, |sort| sort.by);
    matches!(
        first,
        Field::Number
            | Field::RecordedAt
            | Field::ConsumedAt
            | Field::Quantity
            | Field::LinearId
            | Field::Column(_)
    )
    .then_some(first)
}
