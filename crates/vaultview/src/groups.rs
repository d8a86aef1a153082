//! Counts and sums: read from the totals if these hold the fields of the query, else from the states.

use rusqlite::params_from_iter;
use rusqlite::types::Value;

use super::compile::{Sql, Way};
use super::datum::datum;
use super::narrow::flat;
use super::numbers::{sum, unsigned};
use super::plan::column;
use super::query::{
    Count, Criterion, Field, Group, QUERY_COUNT_MAX, QUERY_GROUPS_MAX, QUERY_SORTS_MAX, QueryError,
    bad,
};
use super::reader::VaultReader;
use super::rows::Datum;

/// A condition that all coins meet. It makes SQLite search the quantity index once for each token.
pub(super) const EVERY_TOKEN: &str = " AND s.token IN (SELECT id FROM token)";

/// Positions of the hex digits in one half of a quantity that is too large for an SQLite integer: a blob of eight bytes.
const DIGITS: [u32; 8] = [1, 2, 3, 4, 5, 6, 7, 8];

/// Totals as if they were states, without owners.
const TOTALS: &str = "(SELECT nullif(token, 0) AS token, contract, notary, nullif(consumed, 0) AS consumed_seq, \
                      nullif(consumed, 0) AS consumed_at, quarantined, states, high, low FROM total WHERE states > 0) s";
/// The same of unconsumed states, with owners.
const HOLDINGS: &str = "(SELECT nullif(token, 0) AS token, contract, notary, nullif(owner, 0) AS owner, \
                        NULL AS consumed_seq, NULL AS consumed_at, quarantined, states, high, low FROM holding) s";

/// States that are looked up one by one to sum them up, at most; rather than that, all are read.
const LOOKED_UP_MAX: u64 = 200_000;

/// The table that is summed up.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Source {
    States,
    Totals,
    Holdings,
}

impl Source {
    fn of(criterion: &Criterion, by: &[Field]) -> Self {
        let mut fields = by.to_vec();
        tested(criterion, &mut fields);
        let mut source = Source::Totals;
        for field in fields {
            match field {
                Field::Token | Field::Symbol | Field::Issuer | Field::Contract | Field::Notary => {}
                Field::Owner | Field::OwnerParty if unconsumed(criterion) => {
                    source = Source::Holdings
                }
                _ => return Source::States,
            }
        }
        source
    }

    /// Returns the table expression to read, the values for it, and how the statement finds states.
    fn table(
        self,
        reader: &VaultReader,
        criterion: &Criterion,
    ) -> Result<(String, Vec<Value>, Way), QueryError> {
        let plain = |table: &str, way| Ok((table.to_owned(), Vec::new(), way));
        match self {
            Source::Totals => return plain(TOTALS, Way::Totals),
            Source::Holdings => return plain(HOLDINGS, Way::Totals),
            Source::States => {}
        }
        let source = reader.source(criterion, LOOKED_UP_MAX)?;
        let by_quantity = of_quantity(criterion);
        match source {
            Some(source) if source.states <= reader.common || !by_quantity => Ok((
                format!("{} CROSS JOIN state s ON s.id = d.id", source.table()),
                source.values,
                Way::Given,
            )),
            _ if by_quantity => Ok((
                "state s".to_owned(),
                Vec::new(),
                Way::Order(Field::Quantity),
            )),
            _ => plain("state s", Way::Free),
        }
    }
}

impl VaultReader {
    /// States that meet the criterion, counted and summed in groups of equal values, in the order of those; without
    /// fields all are one group. Refused when there are more than [`QUERY_GROUPS_MAX`].
    pub fn groups(&self, criterion: &Criterion, by: &[Field]) -> Result<Vec<Group>, QueryError> {
        if by.len() > QUERY_SORTS_MAX {
            return bad(format!("more than {QUERY_SORTS_MAX} fields to group by"));
        }
        let source = Source::of(criterion, by);
        // Groups by the numbers of repeated values, which are in the row; their text is looked up once for each group.
        let mut numbers = Vec::new();
        let mut shown = Vec::new();
        let mut joins = "";
        for field in by {
            let (column, join) = column(*field)?;
            let (number, show) = match field {
                Field::Contract => ("s.contract", "name FROM contract"),
                Field::Owner => ("s.owner", "bytes FROM key"),
                Field::Notary => ("s.notary", "bytes FROM key"),
                Field::Token => ("s.token", "hash FROM token"),
                _ => {
                    if !join.is_empty() {
                        joins = join;
                    }
                    numbers.push(column.clone());
                    shown.push(column);
                    continue;
                }
            };
            numbers.push(number.to_owned());
            shown.push(format!("(SELECT {show} WHERE id = {number})"));
        }
        let sums = match source {
            Source::States => format!("count(*), sum({}), sum({})", half(true), half(false)),
            _ => "coalesce(sum(s.states), 0), sum(s.high), sum(s.low)".to_owned(),
        };
        let mut text = format!("SELECT {sums}");
        for column in &shown {
            text.push_str(&format!(", {column}"));
        }
        let criterion = &flat(criterion);
        let (table, values, way) = source.table(self, criterion)?;
        text.push_str(&format!(" FROM {table}{joins} WHERE "));
        let mut sql = Sql::new(self, text);
        self.tests(&mut sql, values, way, criterion)?;
        if !by.is_empty() {
            let order: Vec<String> = (4..4 + by.len()).map(|i| i.to_string()).collect();
            sql.add(&format!(
                " GROUP BY {} ORDER BY {}",
                numbers.join(", "),
                order.join(", ")
            ));
        }
        sql.add(&format!(" LIMIT {}", QUERY_GROUPS_MAX + 1));
        let groups = self.searched(|| {
            let mut select = self.connection.prepare_cached(&sql.text)?;
            let rows = select.query_map(params_from_iter(&sql.values), |row| {
                let quantity = sum(row, 1, 2)?;
                let key = by
                    .iter()
                    .enumerate()
                    .map(|(i, field)| Ok((*field, row.get::<_, Value>(3 + i)?)));
                let states = unsigned(row, 0)?;
                Ok((key.collect::<rusqlite::Result<Vec<_>>>()?, states, quantity))
            })?;
            rows.collect::<rusqlite::Result<Vec<_>>>()
        })?;
        if groups.len() > QUERY_GROUPS_MAX {
            return bad(format!(
                "more than {QUERY_GROUPS_MAX} groups; narrow the criteria"
            ));
        }
        let kinds = self.column_kinds()?;
        let groups = groups.into_iter().map(|(key, states, quantity)| Group {
            key: key
                .into_iter()
                .map(|(field, value)| datum(&kinds, field, value))
                .collect::<Vec<Option<Datum>>>(),
            states,
            quantity,
        });
        Ok(groups.collect())
    }

    /// Counts the states that meet the criterion. If the totals do not have the number, counts at most [`QUERY_COUNT_MAX`]
    /// states.
    pub fn count(&self, criterion: &Criterion) -> Result<Count, QueryError> {
        if Source::of(criterion, &[]) != Source::States {
            let states = self.groups(criterion, &[])?.first().map_or(0, |g| g.states);
            return Ok(Count {
                states,
                more: false,
            });
        }
        let criterion = &flat(criterion);
        let (table, values, way) = Source::States.table(self, criterion)?;
        let text = format!("SELECT count(*) FROM (SELECT 1 FROM {table} WHERE ");
        let mut sql = Sql::new(self, text);
        self.tests(&mut sql, values, way, criterion)?;
        sql.add(&format!(" LIMIT {})", QUERY_COUNT_MAX + 1));
        let counted = self.searched(|| {
            let mut select = self.connection.prepare_cached(&sql.text)?;
            select.query_row(params_from_iter(&sql.values), |row| unsigned(row, 0))
        })?;
        Ok(Count {
            states: counted.min(QUERY_COUNT_MAX),
            more: counted > QUERY_COUNT_MAX,
        })
    }

    fn tests(
        &self,
        sql: &mut Sql<'_>,
        values: Vec<Value>,
        way: Way,
        criterion: &Criterion,
    ) -> Result<(), QueryError> {
        sql.values = values;
        sql.way = way;
        sql.criterion(criterion, 0)?;
        let order = match way {
            Way::Order(field) => Some(field),
            _ => None,
        };
        if self.wants_every_token(criterion, order)? {
            sql.add(EVERY_TOKEN);
        }
        Ok(())
    }
}

/// Returns whether the totals know how many states meet the criterion.
pub(super) fn in_totals(criterion: &Criterion) -> bool {
    Source::of(criterion, &[]) == Source::Totals
}

/// Returns whether the criterion asks for unconsumed states of certain quantities.
fn of_quantity(criterion: &Criterion) -> bool {
    let Criterion::All(parts) = criterion else {
        return false;
    };
    unconsumed(criterion)
        && parts.iter().any(|part| {
            matches!(
                part,
                Criterion::In(Field::Quantity, _)
                    | Criterion::Between(Field::Quantity, ..)
                    | Criterion::Less(Field::Quantity, _)
                    | Criterion::Greater(Field::Quantity, _)
            )
        })
}

/// Adds the fields that a criterion tests to `fields`.
fn tested(criterion: &Criterion, fields: &mut Vec<Field>) {
    match criterion {
        Criterion::All(parts) | Criterion::Any(parts) => {
            parts.iter().for_each(|part| tested(part, fields));
        }
        Criterion::Not(part) => tested(part, fields),
        Criterion::Consumed(_) | Criterion::Quarantined(_) => {}
        Criterion::At(_) => fields.push(Field::Number),
        Criterion::In(field, _)
        | Criterion::Between(field, ..)
        | Criterion::Less(field, _)
        | Criterion::Greater(field, _)
        | Criterion::Prefix(field, _) => fields.push(*field),
    }
}

/// Returns whether it is certain that only unconsumed states meet the criterion.
fn unconsumed(criterion: &Criterion) -> bool {
    match criterion {
        Criterion::All(parts) => parts.iter().any(unconsumed),
        Criterion::Consumed(consumed) => !consumed,
        Criterion::Quarantined(quarantined) => *quarantined,
        _ => false,
    }
}

/// Returns the expression for the upper or lower 32 bits of a quantity, so that no sum overflows. A quantity that is stored as
/// a blob is read from its hexadecimal form.
fn half(high: bool) -> String {
    let digits = DIGITS.map(|i| {
        let digit = if high { i } else { i + 8 };
        let shift = 4 * (8 - i);
        format!("(instr('0123456789ABCDEF', substr(hex(s.quantity), {digit}, 1)) - 1 << {shift})")
    });
    let small = if high {
        "s.quantity >> 32"
    } else {
        "s.quantity & 4294967295"
    };
    format!(
        "CASE WHEN typeof(s.quantity) = 'blob' THEN {} ELSE {small} END",
        digits.join(" + ")
    )
}
