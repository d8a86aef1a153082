//! Runs queries: pages whose marks hold the last row's values, so that writes in between move nothing.

use primitives::hex;
use rusqlite::types::Value;
use rusqlite::{InterruptHandle, params_from_iter};
use xxhash_rust::xxh3::xxh3_64;

use super::compile::{Sql, Way};
use super::datum::datum;
use super::failure::ViewError;
use super::groups::{EVERY_TOKEN, in_totals};
use super::narrow::{Source, flat};
use super::plan::{Key, Plan, Step, order_of};
use super::query::{
    Criterion, Field, QUERY_PAGE_MAX, QUERY_SORTS_MAX, QueryError, QueryPage, StateQuery, bad,
};
use super::reader::{COLUMNS, JOINS, VaultReader, state_row};
use super::rows::{ColumnKind, StateRow};

/// Maximum length of a page mark, in hexadecimal digits.
const MARK_MAX: usize = 8_192;
/// Number of columns before those of the order.
const ROW_COLUMNS: usize = 16;

/// A row, and its values in the order.
type Found = (StateRow, Vec<Value>);

/// How the states of a query are found.
struct Search {
    criterion: Criterion,
    plan: Plan,
    /// A small set of states that contains all wanted ones, if one was found.
    source: Option<Source>,
    /// The field whose index has the order, if there is one.
    order: Option<Field>,
    /// See [`EVERY_TOKEN`].
    every_token: bool,
}

impl VaultReader {
    /// Returns a handle that stops this reader's current query from another thread.
    pub fn interrupt_handle(&self) -> InterruptHandle {
        self.connection.get_interrupt_handle()
    }

    /// Returns a page of states.
    pub fn query(&self, query: &StateQuery) -> Result<QueryPage, QueryError> {
        if query.sort.len() > QUERY_SORTS_MAX {
            return bad(format!("more than {QUERY_SORTS_MAX} columns to sort by"));
        }
        let limit = query.limit.clamp(1, QUERY_PAGE_MAX);
        let criterion = flat(&query.criterion);
        let plan = Plan::of(&criterion, &query.sort)?;
        let print = fingerprint(&query.criterion, &plan.keys);
        let after = match &query.after {
            Some(mark) => Some(unmark(mark, print, plan.keys.len())?),
            None => None,
        };
        // All of it at one point in time.
        let _moment = self.searched(|| self.connection.unchecked_transaction())?;
        if self.none(&criterion)? {
            // Errors of the criterion are reported even though nothing is found.
            Sql::new(self, String::new()).criterion(&criterion, 0)?;
            return Ok(QueryPage::default());
        }
        let search = Search {
            source: self.source(&criterion, self.common)?,
            order: order_of(&query.sort),
            every_token: self.wants_every_token(&criterion, order_of(&query.sort))?,
            criterion,
            plan,
        };
        let plan = &search.plan;
        let mut found: Vec<Found> = Vec::new();
        for (step, goes_on) in plan.left(after.as_deref()) {
            let after = after.as_deref().filter(|_| goes_on);
            let wanted = limit + 1 - found.len();
            found.extend(self.step(&search, step, after, wanted)?);
            if found.len() > limit {
                break;
            }
        }
        let next = match found.get(limit - 1) {
            Some((_, keys)) if found.len() > limit => Some(self.mark(print, keys)?),
            _ => None,
        };
        let rows = found.into_iter().take(limit).map(|(row, _)| row);
        let mut rows: Vec<StateRow> = rows.collect();
        self.add_columns(&mut rows)?;
        Ok(QueryPage { rows, next })
    }

    /// Reads the first rows of one step. An inner query finds them with only the columns of the order; the other columns are
    /// read for the found rows only.
    fn step(
        &self,
        search: &Search,
        step: Step,
        after: Option<&[Value]>,
        wanted: usize,
    ) -> Result<Vec<Found>, QueryError> {
        let plan = &search.plan;
        let keys = plan.keys.iter().enumerate();
        let names: String = keys
            .clone()
            .map(|(i, key)| format!(", {} AS k{i}", key.expression))
            .collect();
        let inner_order: Vec<String> = plan
            .keys
            .iter()
            .map(|key| term(&key.expression, key))
            .collect();
        let outer_order: Vec<String> = keys
            .clone()
            .map(|(i, key)| term(&format!("q.k{i}"), key))
            .collect();
        let outer: String = keys.map(|(i, _)| format!(", q.k{i}")).collect();
        let source = search.source.as_ref().map(Source::table);
        let mut sql = Sql::new(
            self,
            format!(
                "SELECT {COLUMNS}{outer} FROM (SELECT s.id AS place{names} FROM {} WHERE {}",
                plan.from(source.as_deref()),
                plan.demands
            ),
        );
        sql.way = match (&search.source, search.order) {
            (Some(source), _) => {
                sql.values.extend(source.values.iter().cloned());
                Way::Given
            }
            (None, Some(field)) => Way::Order(field),
            (None, None) => Way::Free,
        };
        sql.criterion(&search.criterion, 0)?;
        plan.step(&mut sql, step);
        if search.every_token && search.source.is_none() && step == Step::With {
            sql.add(EVERY_TOKEN);
        }
        if let Some(values) = after {
            plan.after(&mut sql, values);
        }
        sql.add(&format!(
            " ORDER BY {} LIMIT {wanted}) q CROSS JOIN state s ON s.id = q.place {JOINS} ORDER BY {}",
            inner_order.join(", "),
            outer_order.join(", ")
        ));
        self.searched(|| {
            let mut select = self.connection.prepare_cached(&sql.text)?;
            let rows = select.query_map(params_from_iter(&sql.values), |row| {
                let keys = (0..plan.keys.len()).map(|i| row.get::<_, Value>(ROW_COLUMNS + i));
                Ok((state_row(row)?, keys.collect::<Result<Vec<_>, _>>()?))
            })?;
            rows.collect::<rusqlite::Result<Vec<_>>>()
        })
    }

    /// Returns whether the totals prove that no state meets the criterion.
    fn none(&self, criterion: &Criterion) -> Result<bool, QueryError> {
        let Criterion::All(parts) = criterion else {
            return Ok(false);
        };
        let known = parts.iter().filter(|part| in_totals(part));
        let known = Criterion::All(known.cloned().collect());
        Ok(self.count(&known)?.states == 0)
    }

    /// Returns whether the query is for unconsumed states by quantity, and no test restricts their tokens.
    pub(super) fn wants_every_token(
        &self,
        criterion: &Criterion,
        order: Option<Field>,
    ) -> Result<bool, QueryError> {
        let Criterion::All(parts) = criterion else {
            return Ok(false);
        };
        let open = parts.contains(&Criterion::Consumed(false));
        Ok(open && order == Some(Field::Quantity) && self.tokens(parts)?.is_none())
    }

    /// Encodes a page mark: the query's fingerprint, and for each value of the last row its kind, its length and its bytes.
    fn mark(&self, print: u64, values: &[Value]) -> Result<String, QueryError> {
        let mut bytes = print.to_be_bytes().to_vec();
        for value in values {
            let (kind, content) = match value {
                Value::Integer(number) => (1, number.to_be_bytes().to_vec()),
                Value::Text(text) => (2, text.clone().into_bytes()),
                Value::Blob(blob) => (3, blob.clone()),
                Value::Null | Value::Real(_) => (0, Vec::new()),
            };
            // The view's writer stores no value of this length.
            let length = u16::try_from(content.len()).map_err(|_| ViewError::Damaged {
                path: self.path.clone(),
                reason: format!("a column to sort by has {} bytes", content.len()),
                corrupt: true,
            })?;
            bytes.push(kind);
            bytes.extend_from_slice(&length.to_be_bytes());
            bytes.extend_from_slice(&content);
        }
        Ok(hex::encode(&bytes))
    }

    fn add_columns(&self, rows: &mut [StateRow]) -> Result<(), QueryError> {
        let kinds = self.column_kinds()?;
        if kinds.is_empty() {
            return Ok(());
        }
        for row in rows {
            let values = self.searched(|| {
                let mut select = self
                    .connection
                    .prepare_cached("SELECT column, value FROM extra WHERE state = ?1")?;
                let values =
                    select.query_map([row.cursor], |row| Ok((row.get(0)?, row.get(1)?)))?;
                values.collect::<rusqlite::Result<Vec<(u32, Value)>>>()
            })?;
            row.columns = values
                .into_iter()
                .filter_map(|(id, value)| Some((id, datum(&kinds, Field::Column(id), value)?)))
                .collect();
        }
        Ok(())
    }

    /// Returns the types of the columns that contracts declare.
    pub(super) fn column_kinds(&self) -> Result<Vec<ColumnKind>, QueryError> {
        self.searched(|| {
            let mut select = self
                .connection
                .prepare_cached("SELECT kind FROM custom ORDER BY id")?;
            let kinds = select.query_map([], |row| {
                Ok(match row.get::<_, String>(0)?.as_str() {
                    "number" => ColumnKind::Number,
                    "text" => ColumnKind::Text,
                    _ => ColumnKind::Bytes,
                })
            })?;
            kinds.collect()
        })
    }

    pub(super) fn searched<T>(
        &self,
        search: impl FnOnce() -> rusqlite::Result<T>,
    ) -> Result<T, QueryError> {
        search().map_err(|error| match error.sqlite_error_code() {
            Some(rusqlite::ErrorCode::OperationInterrupted) => QueryError::Interrupted,
            _ => QueryError::View(ViewError::sqlite(&self.path, error)),
        })
    }
}

fn term(column: &str, key: &Key) -> String {
    format!("{column}{}", if key.descending { " DESC" } else { "" })
}

fn fingerprint(criterion: &Criterion, order: &[Key]) -> u64 {
    xxh3_64(format!("{criterion:?} {order:?}").as_bytes())
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
