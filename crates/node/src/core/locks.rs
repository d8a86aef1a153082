//! The states that flows have locked. A query about locks gets them from the kernel, and finds them in the view by their places.
//!
//! The view contains no locks, because they are in the kernel's memory and change with every step of a flow. A query gets a copy
//! of them. The kernel answers when all its earlier records are durable and on their way to the view, and then the query waits
//! for the view. So a state that a flow has spent in the meantime is consumed in the view, and no locked state is shown as free.

use std::collections::{BTreeSet, HashMap};

use api::query::{Criterion as Asked, Datum as Given, VaultQuery};
use flow::FlowId;
use kernel::port::Table;
use kernel::{Event, Reply};
use primitives::storage::Reads;
use vault::Lock;
use vaultview::{Criterion, Places};

use super::query_interrupt::{QueryInterrupt, bad, late};
use super::refusals::store_refusal;
use super::service::Service;
use crate::http::Refusal;
use crate::ledger_store::LedgerStore;

/// The field of a query that names flows; only tested for.
pub(super) const LOCKED_BY: &str = "locked_by";
/// Locked states that a query takes from the kernel.
const LOCKS_MAX: usize = 50_000;
/// Tests of locks in one query (`api.bad_query`): each carries the places of all locked states.
const LOCK_TESTS_MAX: usize = 8;
/// The `retry_after_ms` of a refusal because more states are locked.
const LOCKS_RETRY_MS: u64 = 1_000;
/// Look-ups in the ledger between two checks whether the caller still waits.
const LOOK_UPS: usize = 256;

/// The locks that a query needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Needed {
    /// No locks.
    None,
    /// The locks of these flows.
    Of(Vec<FlowId>),
    /// All locks.
    All,
}

/// Returns the locks that a query needs.
pub(super) fn needed(query: &VaultQuery) -> Result<Needed, Refusal> {
    let mut tested = Tested::default();
    if let Some(criterion) = &query.criterion {
        tested.look_at(criterion)?;
    }
    let all = query.locks || tested.all;
    Ok(match (all, tested.flows.is_empty()) {
        (true, _) => Needed::All,
        (false, true) => Needed::None,
        (false, false) => Needed::Of(tested.flows),
    })
}

/// The tests of locks in a criterion.
#[derive(Default)]
struct Tested {
    /// Locks of any flow.
    all: bool,
    /// The flows that it names.
    flows: Vec<FlowId>,
    tests: usize,
}

impl Tested {
    fn look_at(&mut self, criterion: &Asked) -> Result<(), Refusal> {
        match criterion {
            Asked::And(parts) | Asked::Or(parts) => {
                return parts.iter().try_for_each(|part| self.look_at(part));
            }
            Asked::Not(part) => return self.look_at(part),
            Asked::Locked(_) => self.all = true,
            Asked::Is(test) if test.field == LOCKED_BY => {
                self.flows
                    .extend(flow_ids(std::slice::from_ref(&test.value))?);
            }
            Asked::In(test) if test.field == LOCKED_BY => {
                self.flows.extend(flow_ids(&test.values)?);
            }
            _ => return Ok(()),
        }
        self.tests += 1;
        if self.tests > LOCK_TESTS_MAX {
            return Err(bad(format!("more than {LOCK_TESTS_MAX} tests of locks")));
        }
        Ok(())
    }
}

fn flow_ids(values: &[Given]) -> Result<Vec<FlowId>, Refusal> {
    if values.len() > vaultview::QUERY_VALUES_MAX {
        return Err(bad(format!(
            "more than {} values",
            vaultview::QUERY_VALUES_MAX
        )));
    }
    let id = |value: &Given| match value {
        Given::Text(text) => text.parse().ok(),
        Given::Number(_) => None,
    };
    let ids = values
        .iter()
        .map(|value| id(value).ok_or_else(|| bad("'locked_by' is compared with ids of flows")));
    ids.collect()
}

impl Service {
    /// Returns the current soft locks, if a query needs them.
    pub(super) async fn locks(&self, needed: Needed) -> Result<Option<Vec<Lock>>, Refusal> {
        let of = match needed {
            Needed::None => return Ok(None),
            Needed::Of(flows) => flows,
            Needed::All => Vec::new(),
        };
        let limit = LOCKS_MAX;
        match self.ask(|token| Event::Locks { of, limit, token }).await? {
            Reply::Locks { locks, more: false } => Ok(Some(locks)),
            _ => Err(Refusal::busy(LOCKS_RETRY_MS)),
        }
    }
}

/// Locked states by their places in the view.
#[derive(Debug, Default)]
pub(super) struct Locked(HashMap<u64, FlowId>);

impl Locked {
    /// Looks up the places that the kernel did not know.
    pub(super) fn of(
        locks: Vec<Lock>,
        store: &LedgerStore,
        interrupt: &QueryInterrupt,
    ) -> Result<Self, Refusal> {
        let mut places = HashMap::with_capacity(locks.len());
        for (at, lock) in locks.into_iter().enumerate() {
            if at % LOOK_UPS == 0 && interrupt.is_given_up() {
                return Err(late());
            }
            let seq = match lock.seq {
                Some(seq) => Some(seq),
                None => {
                    let seq = store.get(Table::TxIndex, lock.state.tx.as_bytes());
                    let seq = seq.map_err(|failure| store_refusal(&failure))?;
                    seq.as_deref().and_then(kernel::rows::seq_of)
                }
            };
            if let Some(seq) = seq {
                places.insert(seq << 16 | u64::from(lock.state.index), FlowId(lock.by));
            }
        }
        Ok(Self(places))
    }

    /// The flow that holds the state at a place.
    pub(super) fn holder(&self, place: u64) -> Option<String> {
        self.0.get(&place).map(FlowId::to_string)
    }

    /// Returns the criterion for states that any flow holds, or that none does.
    pub(super) fn any(&self, locked: bool) -> Criterion {
        let held = Criterion::At(Places::new("locked".into(), self.0.keys().copied()));
        if locked {
            held
        } else {
            Criterion::Not(Box::new(held))
        }
    }

    /// Returns the criterion for states that one of these flows holds.
    pub(super) fn by(&self, values: &[Given]) -> Result<Criterion, Refusal> {
        let flows: BTreeSet<FlowId> = flow_ids(values)?.into_iter().collect();
        let held = self.0.iter().filter(|(_, flow)| flows.contains(flow));
        let places = held.map(|(place, _)| *place);
        Ok(Criterion::At(Places::new(format!("{flows:?}"), places)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_query_needs_to_know_of_locks() {
        let (one, two) = ("01".repeat(16), "02".repeat(16));
        let of = |ids: &[u8]| Needed::Of(ids.iter().map(|id| FlowId([*id; 16])).collect());
        let by = |flow: &str| format!(r#"{{"is":{{"field":"locked_by","value":"{flow}"}}}}"#);
        for (query, expected) in [
            ("{}".to_owned(), Ok(Needed::None)),
            (r#"{"locks":true}"#.to_owned(), Ok(Needed::All)),
            (r#"{"where":{"status":"all"}}"#.to_owned(), Ok(Needed::None)),
            (r#"{"where":{"locked":false}}"#.to_owned(), Ok(Needed::All)),
            (format!(r#"{{"where":{}}}"#, by(&one)), Ok(of(&[1]))),
            (
                format!(r#"{{"where":{{"or":[{},{}]}}}}"#, by(&one), by(&two)),
                Ok(of(&[1, 2])),
            ),
            (
                format!(
                    r#"{{"where":{{"not":{{"in":{{"field":"locked_by","values":["{one}","{two}"]}}}}}}}}"#
                ),
                Ok(of(&[1, 2])),
            ),
            (
                format!(r#"{{"where":{{"or":[{},{{"locked":false}}]}}}}"#, by(&one)),
                Ok(Needed::All),
            ),
            (
                format!(r#"{{"where":{}}}"#, by("who")),
                Err("api.bad_query"),
            ),
            (
                format!(r#"{{"where":{{"or":[{}]}}}}"#, vec![by(&one); 8].join(",")),
                Ok(of(&[1; 8])),
            ),
            (
                format!(r#"{{"where":{{"or":[{}]}}}}"#, vec![by(&one); 9].join(",")),
                Err("api.bad_query"),
            ),
        ] {
            let asked: VaultQuery = serde_json::from_str(&query).expect("a query");
            let found = needed(&asked);
            let found = found.as_ref().map_err(|refusal| refusal.code.as_ref());
            assert_eq!(found, expected.as_ref().map_err(|code| *code), "{query}");
        }
    }
}
