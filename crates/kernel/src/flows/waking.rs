//! Flows that the node found in its store when it started: brought back from their journals page by page, within a budget of
//! memory, so that a node whose store is full of journals opens its API at once and its operator can end flows before they run.
//!
//! # Invariants
//! - Locks are restored from all journals before any flow comes back.
//! - Flows that came back weigh no more than the budget, but for one flow. The rest waits until some have ended.
//! - Flows of clients come first. The responders of one peer take at most half of the remaining budget.
//! - Messages for a flow that waits are kept, as for a paused one.

use std::collections::{BTreeMap, BTreeSet};

use flow::FlowId;
use ledger::PartyId;

/// A flow of the store that has not come back yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Shelved {
    /// The peer whose session it answers; `None` for a client's flow, and those come first.
    origin: Option<PartyId>,
    /// The size of its journal, in bytes.
    bytes: usize,
}

/// The flows of the store that wait, and those that came back. Bounded by the flows in the store.
#[derive(Debug, Default)]
pub(crate) struct Waking {
    /// The operator decides which flows come back.
    held: bool,
    bytes_max: usize,
    shelved: BTreeMap<FlowId, Shelved>,
    /// The shelved flows that may come back, by origin.
    ready: BTreeMap<Option<PartyId>, BTreeSet<FlowId>>,
    /// Flows that came back and have not ended.
    awake: BTreeMap<FlowId, Shelved>,
    awake_bytes: usize,
    awake_of: BTreeMap<PartyId, usize>,
}

impl Waking {
    /// Creates an empty set. With `held`, flows come back only when an operator says so.
    pub(crate) fn new(bytes_max: usize, held: bool) -> Self {
        Self {
            held,
            bytes_max,
            ..Self::default()
        }
    }

    /// Adds a flow that was found in the store. If it is gated, it waits until peers are [met](Waking::met).
    pub(crate) fn found(
        &mut self,
        flow: FlowId,
        origin: Option<PartyId>,
        bytes: usize,
        is_gated: bool,
    ) {
        self.shelved.insert(flow, Shelved { origin, bytes });
        if !is_gated {
            self.met(flow);
        }
    }

    /// Notes that the peers of a flow's sessions are met. The flow may come back, unless the operator decides that.
    pub(crate) fn met(&mut self, flow: FlowId) {
        if !self.held {
            self.release(flow);
        }
    }

    /// Returns all flows that were found in the store and have not ended, those that came back included.
    pub(crate) fn copied(&self) -> Vec<FlowId> {
        let flows = self.shelved.keys().chain(self.awake.keys());
        flows.copied().collect()
    }

    /// Lets a flow come back, by an operator's order.
    pub(super) fn release(&mut self, flow: FlowId) {
        if let Some(shelved) = self.shelved.get(&flow) {
            self.ready.entry(shelved.origin).or_default().insert(flow);
        }
    }

    pub(super) fn is_shelved(&self, flow: &FlowId) -> bool {
        self.shelved.contains_key(flow)
    }

    /// Returns the number of flows that have not come back yet.
    pub(crate) fn len(&self) -> usize {
        self.shelved.len()
    }

    fn fits(&self, flow: &FlowId) -> bool {
        let Some(Shelved { origin, bytes }) = self.shelved.get(flow) else {
            return false;
        };
        // Clipped at 0: one flow may exceed the budget.
        let left = self.bytes_max.saturating_sub(self.awake_bytes);
        let own = match origin {
            Some(peer) => self.awake_of.get(peer).copied().unwrap_or(0),
            None => 0,
        };
        // A single flow larger than its share still comes back.
        left > 0 && (own == 0 || own.saturating_add(*bytes) <= left)
    }

    /// Returns the next flow that fits into the budget.
    pub(super) fn next(&self, may_wake: impl Fn(&FlowId) -> bool) -> Option<FlowId> {
        let firsts = self.ready.values().filter_map(BTreeSet::first);
        firsts
            .copied()
            .find(|flow| self.fits(flow) && may_wake(flow))
    }

    /// Moves a flow to those that came back.
    pub(super) fn woken(&mut self, flow: &FlowId) {
        let Some(shelved) = self.forget(flow) else {
            return;
        };
        self.awake_bytes += shelved.bytes;
        if let Some(peer) = shelved.origin {
            *self.awake_of.entry(peer).or_default() += shelved.bytes;
        }
        self.awake.insert(*flow, shelved);
    }

    fn forget(&mut self, flow: &FlowId) -> Option<Shelved> {
        let shelved = self.shelved.remove(flow)?;
        if let Some(ready) = self.ready.get_mut(&shelved.origin) {
            ready.remove(flow);
            if ready.is_empty() {
                self.ready.remove(&shelved.origin);
            }
        }
        Some(shelved)
    }

    /// Removes a flow that has ended.
    pub(crate) fn ended(&mut self, flow: &FlowId) {
        self.forget(flow);
        let Some(shelved) = self.awake.remove(flow) else {
            return;
        };
        self.awake_bytes -= shelved.bytes;
        if let Some(peer) = shelved.origin
            && let Some(own) = self.awake_of.get_mut(&peer)
        {
            *own -= shelved.bytes;
            if *own == 0 {
                self.awake_of.remove(&peer);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use primitives::Hash;

    use super::*;

    fn flow(number: u8) -> FlowId {
        FlowId([number; 16])
    }

    fn peer(number: u8) -> Option<PartyId> {
        Some(PartyId::from_hash(Hash::plain(&[number])))
    }

    fn wake_all(waking: &mut Waking) -> Vec<u8> {
        let mut woken = Vec::new();
        while let Some(flow) = waking.next(|_| true) {
            waking.woken(&flow);
            woken.push(flow.0[0]);
        }
        woken
    }

    #[test]
    fn flows_of_clients_come_first_and_peers_share_the_rest() {
        let mut waking = Waking::new(100, false);
        (10..30).for_each(|number| waking.found(flow(number), peer(1), 10, false));
        (30..50).for_each(|number| waking.found(flow(number), peer(2), 10, false));
        (1..=2).for_each(|number| waking.found(flow(number), None, 10, false));
        let woken = wake_all(&mut waking);
        let of = |from: u8, to: u8| woken.iter().filter(|n| (from..to).contains(*n)).count();
        assert_eq!(woken[..2], [1, 2]);
        // Eighty are left: the first peer has half of them, and the next peer half of the rest.
        let mut shares = [of(10, 30), of(30, 50)];
        shares.sort_unstable();
        assert_eq!(shares, [2, 4]);
        assert_eq!(waking.len(), 42 - 8);
        // Ended flows make room.
        woken.iter().for_each(|number| waking.ended(&flow(*number)));
        assert_eq!((waking.awake_bytes, waking.awake_of.len()), (0, 0));
        assert!(!wake_all(&mut waking).is_empty());
    }

    #[test]
    fn all_come_back_in_the_end_whatever_they_weigh() {
        let mut waking = Waking::new(100, false);
        (0..50).for_each(|number| waking.found(flow(number), peer(number % 3), 170, false));
        let mut rounds = 0;
        while waking.len() > 0 {
            let woken = wake_all(&mut waking);
            assert_eq!(woken.len(), 1, "one exceeds the budget");
            waking.ended(&flow(woken[0]));
            rounds += 1;
        }
        assert_eq!(rounds, 50);
    }

    #[test]
    fn held_flows_wait_for_the_operator() {
        let mut waking = Waking::new(100, true);
        (0..5).for_each(|number| waking.found(flow(number), None, 1, false));
        assert_eq!(wake_all(&mut waking), [0_u8; 0]);
        waking.release(flow(3));
        waking.ended(&flow(4));
        assert_eq!(wake_all(&mut waking), [3]);
        assert_eq!(waking.len(), 3);
    }
}
