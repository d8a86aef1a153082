//! Translates criteria to SQL. The text of a statement comes only from here and from [`super::plan`]. Values of a query are
//! never part of it, but bound.

use rusqlite::types::Value;

use super::narrow::list;
use super::query::{
    Criterion, Field, QUERY_DEPTH_MAX, QUERY_NODES_MAX, QUERY_VALUES_MAX, QueryError, bad,
};
use super::reader::VaultReader;
use super::rows::Datum;
use super::values::{after_prefix, bound, look_up, of_column, prefix_tests, set};

/// Maximum number of dictionary numbers that a statement lists in place of a look-up.
const RESOLVED_MAX: usize = 1_000;

/// Maximum number of participants' keys that are looked up for each state. With more keys, the states of all of them are found
/// first.
const KEYS_MAX: usize = 16;

/// A statement's text, and the values for its placeholders `?`, in order.
pub(super) struct Sql<'r> {
    reader: &'r VaultReader,
    pub(super) text: String,
    pub(super) values: Vec<Value>,
    pub(super) way: Way,
    /// The nesting of the test that is being written.
    depth: usize,
    nodes: usize,
    /// Number of values in the query.
    given: usize,
}

/// How a statement finds states. It determines which tests may use an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// SQLite chooses the index.
    Free,
    /// The statement reads totals of states, not single states.
    Totals,
    /// Another part of the statement provides the states one by one, so no test uses an index.
    Given,
    /// The states are read in the order of this field, by its index. Only tests that keep this order may use the index.
    Order(Field),
}

impl<'r> Sql<'r> {
    pub(super) fn new(reader: &'r VaultReader, text: String) -> Self {
        Self {
            reader,
            text,
            values: Vec::new(),
            way: Way::Free,
            depth: 0,
            nodes: 0,
            given: 0,
        }
    }

    pub(super) fn add(&mut self, text: &str) {
        self.text.push_str(text);
    }

    fn bind(&mut self, value: Value) -> Result<(), QueryError> {
        self.take(1)?;
        self.values.push(value);
        Ok(())
    }

    /// Adds a condition on `state s`.
    pub(super) fn criterion(
        &mut self,
        criterion: &Criterion,
        depth: usize,
    ) -> Result<(), QueryError> {
        self.nodes += 1;
        self.depth = depth;
        if depth > QUERY_DEPTH_MAX {
            return bad(format!("criteria nested deeper than {QUERY_DEPTH_MAX}"));
        }
        if self.nodes > QUERY_NODES_MAX {
            return bad(format!("more than {QUERY_NODES_MAX} criteria"));
        }
        match criterion {
            Criterion::All(parts) => self.all(parts, depth),
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
                let plus = self.plus(Field::ConsumedAt);
                self.add(&format!(
                    "(s.consumed_seq IS NOT NULL AND {plus}s.consumed_at IS NOT NULL)"
                ));
                Ok(())
            }
            Criterion::Consumed(false) => {
                self.add("(s.consumed_seq IS NULL)");
                Ok(())
            }
            Criterion::Quarantined(quarantined) => {
                let test = match (self.way, quarantined) {
                    (Way::Totals, true) => "(s.quarantined = 1)",
                    (Way::Totals, false) => "(s.quarantined = 0)",
                    // This test uses no index: if these states are few, the statement reads only them in any case.
                    (_, true) => "(+s.id IN (SELECT state FROM quarantined))",
                    (_, false) => "(s.id NOT IN (SELECT state FROM quarantined))",
                };
                self.add(test);
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
                    let (text, values) = prefix_tests(look_up(*field), prefix);
                    self.take(1)?;
                    return self.numbered(*field, &text, values);
                }
                if !matches!(field, Field::Column(_)) {
                    return bad(format!("{field:?} is no text: it has no prefix"));
                }
                self.compared(*field, &[(">= ?", Some(&from)), ("< ?", upto.as_ref())])
            }
        }
    }

    /// Adds a test of a field that lies in a range.
    fn compared(
        &mut self,
        field: Field,
        tests: &[(&str, Option<&Datum>)],
    ) -> Result<(), QueryError> {
        if let Field::Column(id) = field {
            self.add("(");
            for (at, (operator, value)) in tests
                .iter()
                .filter_map(|(operator, value)| value.map(|value| (operator, value)))
                .enumerate()
            {
                self.add(if at > 0 { " AND " } else { "" });
                self.add(&format!("{} {operator}", of_column(id)));
                self.bind(bound(field, value)?)?;
            }
            if tests.iter().all(|(_, value)| value.is_none()) {
                self.add(&format!("{} IS NOT NULL", of_column(id)));
            }
            self.add(")");
            return Ok(());
        }
        let column = match field {
            Field::Quantity => "s.quantity",
            Field::RecordedAt => "s.recorded_at",
            Field::ConsumedAt => "s.consumed_at",
            Field::Number => "s.id",
            _ => return bad(format!("{field:?} has no order: give its values")),
        };
        let plus = self.plus(field);
        self.add(&format!("({plus}{column} IS NOT NULL"));
        for (operator, value) in tests {
            let Some(value) = value else { continue };
            self.add(&format!(" AND {plus}{column} {operator}"));
            self.bind(bound(field, value)?)?;
        }
        self.add(")");
        Ok(())
    }

    /// Returns the prefix `+`, which keeps SQLite from using an index for a test of the field, if the index must not be used.
    /// Otherwise returns an empty text.
    fn plus(&self, field: Field) -> &'static str {
        let leads = match self.way {
            Way::Free | Way::Totals => true,
            Way::Given => false,
            // Tests inside alternatives and negations use no index.
            Way::Order(_) if self.depth != 1 => false,
            Way::Order(Field::Number) => {
                matches!(
                    field,
                    Field::Number | Field::Contract | Field::Owner | Field::OwnerParty
                )
            }
            Way::Order(Field::Quantity) => matches!(
                field,
                Field::Quantity | Field::Token | Field::Symbol | Field::Issuer
            ),
            Way::Order(first) => field == first,
        };
        if leads { "" } else { "+" }
    }

    /// Counts values that came with the query.
    fn take(&mut self, values: usize) -> Result<(), QueryError> {
        self.given += values;
        if self.given > QUERY_VALUES_MAX {
            return bad(format!("more than {QUERY_VALUES_MAX} values"));
        }
        Ok(())
    }

    fn one_of(&mut self, field: Field, values: &[Datum]) -> Result<(), QueryError> {
        let values = values.iter().map(|value| bound(field, value));
        let values: Vec<Value> = values.collect::<Result<_, _>>()?;
        self.take(values.len())?;
        let column = match field {
            Field::Quantity => "s.quantity",
            Field::RecordedAt => "s.recorded_at",
            Field::ConsumedAt => "s.consumed_at",
            Field::Number => "s.id",
            Field::LinearId => "s.linear_id",
            Field::Column(id) => {
                self.add(&format!("({} {})", of_column(id), set(values.len())));
                self.values.extend(values);
                return Ok(());
            }
            _ => {
                let text = format!("{} {}", look_up(field), set(values.len()));
                return self.numbered(field, &text, values);
            }
        };
        let plus = self.plus(field);
        self.add(&format!("({plus}{column} {})", set(values.len())));
        self.values.extend(values);
        Ok(())
    }

    /// Adds a test of a value that is stored in a dictionary. The state's column is compared with the numbers that `select`
    /// finds now, because an index returns rows in its order only if the values of its first columns are known.
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
        let numbers = self.reader.numbers(select, &values, RESOLVED_MAX + 1)?;
        if numbers.len() > RESOLVED_MAX {
            if field == Field::OwnerParty {
                // The party has too many keys to list. Each examined state is tested for having one of them.
                let (_, test) = select.split_once(" WHERE ").expect("a look-up's test");
                self.add(&format!(
                    "(EXISTS (SELECT 1 FROM key k WHERE k.id = s.owner AND k.{test}))"
                ));
            } else {
                self.add(&format!("(+{column} IN ({select}))"));
            }
            self.values.extend(values);
            return Ok(());
        }
        // With several values, an index returns a separately ordered range for each. Only ranges of the quantity index are
        // merged.
        let merged = numbers.len() == 1
            || column == "s.token"
            || matches!(self.way, Way::Free | Way::Totals);
        let plus = if merged { self.plus(field) } else { "+" };
        self.add(&format!("({plus}{column} {})", set(numbers.len())));
        self.values.extend(numbers.into_iter().map(Value::Integer));
        Ok(())
    }

    fn participants(&mut self, field: Field, values: &[Datum]) -> Result<(), QueryError> {
        let (owner, column) = match field {
            Field::ParticipantParty => (Field::OwnerParty, "party"),
            _ => (Field::Owner, "bytes"),
        };
        let given: Vec<Value> =
            (values.iter().map(|value| bound(field, value))).collect::<Result<_, _>>()?;
        let test = set(values.len());
        let keys = format!("SELECT id FROM key WHERE {column} {test}");
        let keys = self.reader.numbers(&keys, &given, KEYS_MAX + 1)?;
        if keys.len() > KEYS_MAX {
            self.add("((s.participants IS NULL AND ");
            self.one_of(owner, values)?;
            self.take(values.len())?;
            self.add(&format!(
                ") OR s.id IN (SELECT p.state FROM participant p JOIN key pk ON pk.id = p.key WHERE pk.{column} {test}))"
            ));
            self.values.extend(given);
            return Ok(());
        }
        self.take(values.len())?;
        let keys = list(&keys);
        self.add(&format!(
            "((s.participants IS NULL AND +s.owner IN ({keys})) OR \
             (SELECT 1 FROM participant WHERE state = s.id AND key IN ({keys})) IS NOT NULL)"
        ));
        Ok(())
    }

    /// Adds the parts of an `All`. All its tests of tokens become one test, behind which an index gives its order.
    fn all(&mut self, parts: &[Criterion], depth: usize) -> Result<(), QueryError> {
        let mut tokens: Option<Vec<i64>> = None;
        let mut rest = Vec::new();
        for part in parts {
            let Some(mut allowed) = self.reader.tokens_of(part)? else {
                rest.push(part.clone());
                continue;
            };
            self.nodes += 1;
            self.take(match part {
                Criterion::In(_, values) => values.len(),
                _ => 1,
            })?;
            if let Some(tokens) = tokens {
                allowed.retain(|token| tokens.contains(token));
            }
            tokens = Some(allowed);
        }
        let Some(tokens) = tokens else {
            return self.joined(parts, " AND ", "1", depth);
        };
        self.depth = depth + 1;
        let plus = self.plus(Field::Token);
        let test = match tokens.as_slice() {
            [token] => format!("= {token}"),
            tokens => format!("IN ({})", list(tokens)),
        };
        self.add(&format!("({plus}s.token {test} AND "));
        self.joined(&rest, " AND ", "1", depth)?;
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
}
