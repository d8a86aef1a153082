//! Finds a test of a query that few states meet. These states are looked up first, and the other tests are applied to each of
//! them.
//!
//! SQLite chooses its plan without knowing how common a value is. This module counts the states of a value, up to a limit,
//! before the statement is made.

use rusqlite::params_from_iter;
use rusqlite::types::Value;

use super::numbers::unsigned;
use super::query::{Criterion, Field, QueryError};
use super::reader::VaultReader;
use super::rows::Datum;
use super::values::{bound, look_up, prefix_tests, set};

/// A statement that finds no state. It replaces a test with an empty list of values, because SQLite cannot combine an empty
/// list with `INDEXED BY`.
const NOTHING: &str = "SELECT id FROM state WHERE 0";
/// Maximum number of tokens that a test by token, symbol or issuer is resolved to.
pub(super) const TOKENS_MAX: usize = 1_000;
/// Maximum number of keys of owners and participants whose states are counted. A party may have many more keys.
const KEYS_MAX: usize = 1_000;

/// A set of states that contains all that meet a criterion. It may contain other states, and a state more than once.
#[derive(Clone, Debug)]
pub(super) struct Source {
    /// A statement that returns their positions as `id`.
    pub(super) text: String,
    pub(super) values: Vec<Value>,
    pub(super) states: u64,
}

impl Source {
    /// Returns the source as a table expression of a statement.
    pub(super) fn table(&self) -> String {
        format!("(SELECT DISTINCT id FROM ({})) d", self.text)
    }
}

/// Restrictions that other tests of the query add to one test.
#[derive(Clone, Copy)]
struct Restrictions<'a> {
    /// Only unconsumed states count.
    open: bool,
    /// Only these tokens count.
    tokens: Option<&'a [i64]>,
}

/// Returns the same criterion without `All` inside `All`.
pub(super) fn flat(criterion: &Criterion) -> Criterion {
    fn add(criterion: &Criterion, parts: &mut Vec<Criterion>) {
        match criterion {
            Criterion::All(inner) => inner.iter().for_each(|part| add(part, parts)),
            part => parts.push(part.clone()),
        }
    }
    let mut parts = Vec::new();
    add(criterion, &mut parts);
    Criterion::All(parts)
}

impl VaultReader {
    /// Returns the states of the test that the fewest states meet, if there are at most `most` of them.
    pub(super) fn source(
        &self,
        criterion: &Criterion,
        most: u64,
    ) -> Result<Option<Source>, QueryError> {
        let around = Restrictions {
            open: false,
            tokens: None,
        };
        self.best(criterion, around, most)
    }

    fn best(
        &self,
        criterion: &Criterion,
        around: Restrictions<'_>,
        most: u64,
    ) -> Result<Option<Source>, QueryError> {
        match criterion {
            Criterion::All(parts) => {
                let tokens = self.tokens(parts)?;
                let around = Restrictions {
                    open: around.open || parts.contains(&Criterion::Consumed(false)),
                    tokens: tokens.as_deref().or(around.tokens),
                };
                let mut best: Option<Source> = None;
                for part in parts {
                    let found = self.best(part, around, most)?;
                    let states = best.as_ref().map_or(u64::MAX, |best| best.states);
                    best = found.filter(|found| found.states < states).or(best);
                }
                Ok(best)
            }
            Criterion::Any(parts) => {
                let mut all = Source {
                    text: NOTHING.to_owned(),
                    values: Vec::new(),
                    states: 0,
                };
                for part in parts {
                    let Some(source) = self.best(part, around, most - all.states)? else {
                        return Ok(None);
                    };
                    all.text.push_str(" UNION ALL ");
                    all.text
                        .push_str(&format!("SELECT id FROM ({})", source.text));
                    all.values.extend(source.values);
                    all.states += source.states;
                }
                Ok(Some(all))
            }
            leaf => match self.places(leaf, around)? {
                Some((text, values)) => self.counted(text, values, most),
                None => Ok(None),
            },
        }
    }

    fn counted(
        &self,
        text: String,
        values: Vec<Value>,
        most: u64,
    ) -> Result<Option<Source>, QueryError> {
        let limit = most + 1;
        let states = self.searched(|| {
            let count = format!("SELECT count(*) FROM (SELECT 1 FROM ({text}) LIMIT {limit})");
            let mut select = self.connection.prepare_cached(&count)?;
            select.query_row(params_from_iter(&values), |row| unsigned(row, 0))
        })?;
        Ok((states <= most).then_some(Source {
            text,
            values,
            states,
        }))
    }

    /// Returns the tokens that all tests of tokens among `parts` allow, or `None` if there is no such test.
    pub(super) fn tokens(&self, parts: &[Criterion]) -> Result<Option<Vec<i64>>, QueryError> {
        let mut allowed: Option<Vec<i64>> = None;
        for part in parts {
            let Some(tokens) = self.tokens_of(part)? else {
                continue;
            };
            allowed = Some(match allowed {
                None => tokens,
                Some(mut allowed) => {
                    allowed.retain(|token| tokens.contains(token));
                    allowed
                }
            });
        }
        Ok(allowed)
    }

    /// Returns the tokens that one test allows, or `None` if it tests something else or allows more than [`TOKENS_MAX`].
    pub(super) fn tokens_of(&self, part: &Criterion) -> Result<Option<Vec<i64>>, QueryError> {
        let (text, values) = match part {
            Criterion::In(field @ (Field::Token | Field::Symbol | Field::Issuer), values) => (
                format!("{} {}", look_up(*field), set(values.len())),
                bounds(*field, values)?,
            ),
            Criterion::Prefix(field @ (Field::Symbol | Field::Issuer), prefix) => {
                prefix_tests(look_up(*field), prefix)
            }
            _ => return Ok(None),
        };
        let numbers = self.numbers(&text, &values, TOKENS_MAX + 1)?;
        Ok((numbers.len() <= TOKENS_MAX).then_some(numbers))
    }

    pub(super) fn numbers(
        &self,
        select: &str,
        values: &[Value],
        limit: usize,
    ) -> Result<Vec<i64>, QueryError> {
        self.searched(|| {
            let mut statement = self
                .connection
                .prepare_cached(&format!("{select} LIMIT {limit}"))?;
            let rows = statement.query_map(params_from_iter(values), |row| row.get(0))?;
            rows.collect()
        })
    }

    /// Returns the rows that an index gives for one test; none if the test has no index.
    fn places(
        &self,
        leaf: &Criterion,
        around: Restrictions<'_>,
    ) -> Result<Option<(String, Vec<Value>)>, QueryError> {
        let (field, test, values) = match leaf {
            Criterion::Quarantined(true) => {
                let text = "SELECT state AS id FROM quarantined".to_owned();
                return Ok(Some((text, Vec::new())));
            }
            Criterion::At(places) => {
                let text = "SELECT value AS id FROM json_each(?)".to_owned();
                let values = vec![Value::Text(places.json().to_owned())];
                return Ok(Some((text, values)));
            }
            Criterion::In(field, values) => (*field, set(values.len()), bounds(*field, values)?),
            Criterion::Between(field, None, None) => (*field, "IS NOT NULL".to_owned(), vec![]),
            Criterion::Between(field, from, to) => match (from, to) {
                (Some(from), Some(to)) => (
                    *field,
                    "BETWEEN ? AND ?".to_owned(),
                    vec![bound(*field, from)?, bound(*field, to)?],
                ),
                (Some(from), None) => (*field, ">= ?".to_owned(), vec![bound(*field, from)?]),
                (None, to) => (
                    *field,
                    "<= ?".to_owned(),
                    to.iter()
                        .map(|to| bound(*field, to))
                        .collect::<Result<_, _>>()?,
                ),
            },
            Criterion::Less(field, than) => (*field, "< ?".to_owned(), vec![bound(*field, than)?]),
            Criterion::Greater(field, than) => {
                (*field, "> ?".to_owned(), vec![bound(*field, than)?])
            }
            _ => return Ok(None),
        };
        let nothing = matches!(leaf, Criterion::In(_, values) if values.is_empty())
            || around.tokens.is_some_and(<[i64]>::is_empty);
        if nothing {
            return Ok(Some((NOTHING.to_owned(), Vec::new())));
        }
        let open = "consumed_seq IS NULL";
        let text = match field {
            Field::LinearId => format!(
                "SELECT id FROM state INDEXED BY state_linear WHERE linear_id IS NOT NULL AND linear_id {test}"
            ),
            Field::Number => format!("SELECT id FROM state WHERE id {test}"),
            Field::RecordedAt => {
                format!("SELECT id FROM state INDEXED BY state_recorded WHERE recorded_at {test}")
            }
            Field::ConsumedAt => format!(
                "SELECT id FROM state INDEXED BY state_consumed WHERE consumed_at IS NOT NULL AND consumed_at {test}"
            ),
            Field::Column(id) => {
                format!("SELECT state AS id FROM extra WHERE column = {id} AND value {test}")
            }
            Field::Contract if around.open => format!(
                "SELECT id FROM state INDEXED BY state_contract WHERE {open} AND contract IN (SELECT id FROM contract WHERE name {test})"
            ),
            Field::Owner | Field::OwnerParty if around.open => {
                let keys = format!("{} {test}", look_up(field));
                let keys = self.numbers(&keys, &values, KEYS_MAX + 1)?;
                if keys.len() > KEYS_MAX {
                    return Ok(None);
                }
                let text = format!(
                    "SELECT id FROM state INDEXED BY state_owner WHERE {open} AND owner IS NOT NULL AND owner IN ({})",
                    list(&keys)
                );
                let text = if keys.is_empty() {
                    NOTHING.to_owned()
                } else {
                    text
                };
                return Ok(Some((text, Vec::new())));
            }
            Field::Token | Field::Symbol | Field::Issuer if around.open => {
                return Ok(around.tokens.map(|tokens| {
                    let text = format!(
                        "SELECT id FROM state INDEXED BY state_coin WHERE {open} AND token IS NOT NULL AND token IN ({})",
                        list(tokens)
                    );
                    (text, Vec::new())
                }));
            }
            Field::Quantity if around.open => {
                let tokens = around
                    .tokens
                    .map_or_else(|| "SELECT id FROM token".to_owned(), list);
                format!(
                    "SELECT id FROM state INDEXED BY state_coin WHERE {open} AND token IS NOT NULL AND token IN ({tokens}) \
                     AND quantity {test}"
                )
            }
            Field::Participant | Field::ParticipantParty => {
                return self.participants_places(field, &values, around.open);
            }
            _ => return Ok(None),
        };
        Ok(Some((text, values)))
    }

    fn participants_places(
        &self,
        field: Field,
        values: &[Value],
        open: bool,
    ) -> Result<Option<(String, Vec<Value>)>, QueryError> {
        let column = match field {
            Field::ParticipantParty => "party",
            _ => "bytes",
        };
        let keys = format!("SELECT id FROM key WHERE {column} {}", set(values.len()));
        let keys = self.numbers(&keys, values, KEYS_MAX + 1)?;
        if keys.len() > KEYS_MAX {
            return Ok(None);
        }
        if keys.is_empty() {
            return Ok(Some((NOTHING.to_owned(), Vec::new())));
        }
        let keys = list(&keys);
        let mut text = format!("SELECT state AS id FROM participant WHERE key IN ({keys})");
        let owners = format!("SELECT key FROM sole_owner WHERE key IN ({keys})");
        if !self.numbers(&owners, &[], 1)?.is_empty() {
            if !open {
                // No index knows the consumed states of an owner.
                return Ok(None);
            }
            text.push_str(&format!(
                " UNION ALL SELECT id FROM state INDEXED BY state_owner WHERE consumed_seq IS NULL \
                 AND owner IS NOT NULL AND owner IN ({keys})"
            ));
        }
        Ok(Some((text, Vec::new())))
    }
}

fn bounds(field: Field, values: &[Datum]) -> Result<Vec<Value>, QueryError> {
    values.iter().map(|value| bound(field, value)).collect()
}

/// Returns numbers as a statement lists them.
pub(super) fn list(numbers: &[i64]) -> String {
    let numbers: Vec<String> = numbers.iter().map(i64::to_string).collect();
    numbers.join(",")
}
