//! The requests that wait for coins of one token, in the order of service.

use std::collections::{BTreeMap, BTreeSet};

use ledger::PartyId;
use primitives::Monotonic;

use crate::FlowKey;

/// A place in a line. Flows that already hold coins come first, since others may wait for those coins; then the earlier
/// ticket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub(super) holds_nothing: bool,
    pub(super) ticket: u64,
}

/// A request that waits.
#[derive(Clone, Debug)]
pub(super) struct Waiter {
    pub(super) flow: FlowKey,
    pub(super) number: u32,
    pub(super) quantity: u64,
    pub(super) notary: Option<PartyId>,
    pub(super) deadline: Monotonic,
    pub(super) deadline_ms: u64,
    /// The last ledger sequence that the selection had applied when the request arrived. An older sum of the view cannot prove
    /// that funds are lacking.
    pub(super) arrived_seq: u64,
    /// The last ledger sequence recorded when the request arrived. The request is not refused before it is durable.
    pub(super) recorded_seq: u64,
}

/// The waiting requests for one token, in their order and by the notary that they name.
#[derive(Default)]
pub(super) struct Line {
    waiters: BTreeMap<Place, Waiter>,
    by_notary: BTreeMap<Option<PartyId>, BTreeSet<Place>>,
}

impl Line {
    pub(super) fn is_empty(&self) -> bool {
        self.waiters.is_empty()
    }

    pub(super) fn join(&mut self, place: Place, waiter: Waiter) {
        self.by_notary
            .entry(waiter.notary)
            .or_default()
            .insert(place);
        self.waiters.insert(place, waiter);
    }

    pub(super) fn leave(&mut self, place: &Place) -> Option<Waiter> {
        let waiter = self.waiters.remove(place)?;
        if let Some(places) = self.by_notary.get_mut(&waiter.notary) {
            places.remove(place);
            if places.is_empty() {
                self.by_notary.remove(&waiter.notary);
            }
        }
        Some(waiter)
    }

    /// Returns the first request that does not ask for one of the `blocked` notaries: an earlier request waits for those.
    pub(super) fn first_beside(&self, blocked: &BTreeSet<PartyId>) -> Option<(Place, &Waiter)> {
        let place = self
            .by_notary
            .iter()
            .filter(|(notary, _)| notary.is_none_or(|notary| !blocked.contains(&notary)))
            .filter_map(|(_, places)| places.first())
            .min()?;
        self.waiters.get(place).map(|waiter| (*place, waiter))
    }
}
