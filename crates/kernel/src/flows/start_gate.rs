//! The gate at a start: flows of the journal continue once peers have shown which data marks of this node they hold.
//!
//! ```text
//!   start ──► flow held ──► each peer of its sessions has told its standing ─┐
//!                                                                            ├──► the flow goes on
//!             any peer shows a mark of this node, and the data justifies it; ─┘
//!             all nodes of the network are met, or a second is over
//! ```
//! An older copy of the data looks like the data after any restart: its files are consistent, and an anchor beside the
//! identity key that was restored with it agrees. Only other nodes can tell the difference, so they are met first. If a mark
//! proves the copy, its flows are paused until an operator decides (`Flows::stop_copied`). A copy justifies an old mark too, so the
//! first peer does not decide alone while others may be connecting.
//!
//! # Invariants
//! - A node that holds no mark of another node of its network has no witness, and waits for none.
//! - No proof of a copy that comes within [`WITNESSES_MEET_MS`] after the first peer has vouched comes too late.
//! - The wait for peers of sessions is bounded. The wait for a witness is bounded only if the operator says so.
//! - A notary waits for half of its witnesses before it judges, and [`NOTARY_MEETS_MS_MAX`] at most.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use flow::FlowId;
use ledger::PartyId;
use primitives::Monotonic;

/// Maximum time after a start for which a notary judges nothing because it has met too few peers, in milliseconds.
pub const NOTARY_MEETS_MS_MAX: u64 = 10_000;
/// Time for which the other nodes of the network are heard after one has vouched for the data, in milliseconds. Those that are up
/// connect within it.
pub const WITNESSES_MEET_MS: u64 = 1_000;
/// Maximum number of peers of each kind that [`HeldFlows`] names.
pub const AWAITED_SHOWN_MAX: usize = 16;

/// Flows that are held, and the peers that they wait for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HeldFlows {
    /// Flows held.
    pub flows: u64,
    /// The wait has been longer than configured.
    pub overdue: bool,
    /// Peers that may show the mark that is still needed: at most [`AWAITED_SHOWN_MAX`].
    pub any_of: Vec<PartyId>,
    /// Peers of sessions that have not sent their standing: at most [`AWAITED_SHOWN_MAX`].
    pub each_of: Vec<PartyId>,
}

/// The flows held back at the start, and the peers they wait for. Bounded by the flows in the store and the nodes of the network.
#[derive(Debug)]
pub(crate) struct StartGate {
    hold: bool,
    /// Nodes of the network whose mark this node holds. They hold marks of this node as well.
    witnesses: BTreeSet<PartyId>,
    /// All other nodes of the network. One that was met for the first time after a copy was made can prove it too.
    others: BTreeSet<PartyId>,
    /// A peer has vouched for the data and the others have had the time to contradict, or there is no need for that.
    witnessed: bool,
    met: BTreeSet<PartyId>,
    until: Monotonic,
    /// The time until which the other nodes are heard, once one has vouched for the data.
    heard_until: Option<Monotonic>,
    notary_until: Monotonic,
    overdue: bool,
    /// Flows that wait for peers of their sessions, with the number of those.
    waiting: BTreeMap<FlowId, usize>,
    /// Flows by the peers that they wait for.
    of_peer: BTreeMap<PartyId, Vec<FlowId>>,
    /// Flows whose peers are met. They wait only for a mark that vouches for the data.
    clear: BTreeSet<FlowId>,
    shown: Option<Arc<HeldFlows>>,
}

impl StartGate {
    /// Creates the gate of a node that starts. `witnesses` are the nodes that can vouch for its data. The gate is open if there are
    /// none, or if the wait is 0.
    pub(crate) fn new(
        witnesses: BTreeSet<PartyId>,
        others: BTreeSet<PartyId>,
        wait_ms: u64,
        hold: bool,
        now: Monotonic,
    ) -> Self {
        let after = |ms| now.after_ms(ms);
        let open = witnesses.is_empty() || wait_ms == 0;
        Self {
            hold,
            witnesses,
            others,
            witnessed: open,
            met: BTreeSet::new(),
            until: after(wait_ms),
            heard_until: None,
            notary_until: after(wait_ms.min(NOTARY_MEETS_MS_MAX)),
            overdue: open,
            waiting: BTreeMap::new(),
            of_peer: BTreeMap::new(),
            clear: BTreeSet::new(),
            shown: None,
        }
    }

    /// Holds a flow of the journal that has sessions with these peers. Returns false if the gate is open.
    pub(crate) fn hold(&mut self, flow: FlowId, peers: BTreeSet<PartyId>) -> bool {
        if self.witnessed && self.overdue {
            return false;
        }
        match peers.len() {
            0 => drop(self.clear.insert(flow)),
            count => drop(self.waiting.insert(flow, count)),
        }
        for peer in peers {
            self.of_peer.entry(peer).or_default().push(flow);
        }
        true
    }

    /// Notes that a peer has sent its standing, with or without a mark that the data justifies. Returns the flows that may
    /// continue.
    pub(crate) fn met(
        &mut self,
        peer: PartyId,
        shows_mark: bool,
        now: Monotonic,
    ) -> BTreeSet<FlowId> {
        self.met.insert(peer);
        if shows_mark && self.heard_until.is_none() {
            self.heard_until = Some(now.after_ms(WITNESSES_MEET_MS));
        }
        self.witnessed |= self.heard_until.is_some() && self.others.is_subset(&self.met);
        for flow in self.of_peer.remove(&peer).unwrap_or_default() {
            let Some(left) = self.waiting.get_mut(&flow) else {
                continue;
            };
            *left = left.saturating_sub(1); // Listed once for each peer, so never below 0.
            if *left == 0 {
                self.waiting.remove(&flow);
                self.clear.insert(flow);
            }
        }
        self.released()
    }

    /// Opens the gate, because the operator has confirmed the data. Returns the flows that may continue.
    pub(crate) fn settle(&mut self) -> BTreeSet<FlowId> {
        self.witnessed = true;
        self.released()
    }

    /// Ends the waits whose time has come. Returns the flows that may continue, and whether the wait has ended although no peer
    /// has shown a mark. Returns `None` if no wait ended.
    pub(crate) fn on_time(&mut self, now: Monotonic) -> Option<(BTreeSet<FlowId>, bool)> {
        let is_over = self.heard_until.is_some_and(|until| now >= until);
        let is_heard = is_over && !self.witnessed;
        self.witnessed |= is_heard;
        if self.overdue || now < self.until {
            return is_heard.then(|| (self.released(), false));
        }
        self.overdue = true;
        self.of_peer.clear();
        let unmet = std::mem::take(&mut self.waiting);
        self.clear.extend(unmet.into_keys());
        let witnessed = self.witnessed || !self.hold;
        let unwitnessed = !self.witnessed && !self.clear.is_empty();
        self.witnessed = witnessed;
        Some((self.released(), unwitnessed))
    }

    fn released(&mut self) -> BTreeSet<FlowId> {
        let flows = match self.witnessed {
            true => std::mem::take(&mut self.clear),
            false => BTreeSet::new(),
        };
        self.show();
        flows
    }

    /// Returns whether flows may be started: a peer has shown a mark, or the wait is over. On an older copy a client id that was
    /// used since would begin its flow again.
    pub(super) fn allows_starts(&self) -> bool {
        self.witnessed || self.overdue
    }

    /// Returns whether the data is vouched for, or need not be.
    pub(crate) fn is_witnessed(&self) -> bool {
        self.witnessed
    }

    /// Removes a flow that has ended or that an operator lets continue.
    pub(crate) fn forget(&mut self, flow: &FlowId) {
        let waited = self.waiting.remove(flow).is_some();
        if self.clear.remove(flow) || waited {
            self.show();
        }
    }

    /// Brings the figures up to date.
    pub(crate) fn show(&mut self) {
        let flows = self.waiting.len() + self.clear.len();
        let first = |peers: &mut dyn Iterator<Item = &PartyId>| {
            peers.take(AWAITED_SHOWN_MAX).copied().collect()
        };
        self.shown = (flows > 0).then(|| {
            let any_of = match self.witnessed {
                true => Vec::new(),
                false => first(&mut self.witnesses.iter()),
            };
            Arc::new(HeldFlows {
                flows: flows as u64,
                overdue: self.overdue,
                any_of,
                each_of: first(&mut self.of_peer.keys()),
            })
        });
    }

    /// Returns the held flows, or `None` if none is held.
    pub(crate) fn held(&self) -> Option<Arc<HeldFlows>> {
        self.shown.clone()
    }

    /// Returns the time at which the next wait ends.
    pub(crate) fn next_time(&self) -> Option<Monotonic> {
        if let Some(until) = self.heard_until.filter(|_| !self.witnessed) {
            return Some(until);
        }
        let waits = !self.witnessed || self.shown.is_some();
        (waits && !self.overdue).then_some(self.until)
    }

    /// Returns the time from which a notary judges in any case, while too few peers have vouched for its data.
    pub(crate) fn notary_waits(&self, now: Monotonic) -> Option<Monotonic> {
        if now >= self.notary_until {
            return None;
        }
        let met = self.witnesses.intersection(&self.met).count();
        let enough = met * 2 >= self.witnesses.len();
        (!enough).then_some(self.notary_until)
    }
}

#[cfg(test)]
mod tests {
    use primitives::Hash;

    use super::*;

    fn peer(number: u8) -> PartyId {
        PartyId::from_hash(Hash::plain(&[number]))
    }

    fn peers(numbers: &[u8]) -> BTreeSet<PartyId> {
        numbers.iter().copied().map(peer).collect()
    }

    fn flow(number: u8) -> FlowId {
        FlowId([number; 16])
    }

    /// Creates a gate at time 0 with a wait of 100 ms. Flow 1 has no session, flow 2 has sessions with peers 1 and 2.
    fn gate(witnesses: &[u8], hold: bool) -> (StartGate, [bool; 2]) {
        let others = peers(witnesses);
        let mut gate = StartGate::new(others.clone(), others, 100, hold, Monotonic::START);
        let held = [
            gate.hold(flow(1), peers(&[])),
            gate.hold(flow(2), peers(&[1, 2])),
        ];
        gate.show();
        (gate, held)
    }

    /// Returns the numbers of flows.
    fn numbers(flows: BTreeSet<FlowId>) -> Vec<u8> {
        flows.iter().map(|flow| flow.0[0]).collect()
    }

    #[test]
    fn flows_wait_for_a_witness_and_their_sessions() {
        let (mut gate, held) = gate(&[1, 3], true);
        assert_eq!(held, [true, true]);
        let shown = gate.held().expect("held");
        assert_eq!((shown.flows, shown.any_of.len()), (2, 2));
        assert_eq!(
            numbers(gate.met(peer(1), false, Monotonic::START)),
            [0_u8; 0]
        );
        assert_eq!(numbers(gate.met(peer(3), true, Monotonic::START)), [1]);
        assert_eq!(gate.held().expect("held").each_of, [peer(2)]);
        assert_eq!(numbers(gate.met(peer(2), false, Monotonic::START)), [2]);
        assert_eq!((gate.held(), gate.next_time()), (None, None));
    }

    #[test]
    fn all_nodes_are_heard_before_one_that_vouches_decides() {
        for late in [false, true] {
            let start = Monotonic::from_ms(500);
            // Peer 3 was met for the first time after the copy was made.
            let mut gate = StartGate::new(peers(&[1, 2]), peers(&[1, 2, 3]), 30_000, true, start);
            gate.hold(flow(1), peers(&[]));
            assert_eq!(numbers(gate.met(peer(2), false, start)), [0_u8; 0]);
            let vouched = Monotonic::from_ms(700);
            assert_eq!(numbers(gate.met(peer(1), true, vouched)), [0_u8; 0]);
            assert!(!gate.is_witnessed() && !gate.allows_starts());
            let next = gate.next_time().expect("a time");
            assert_eq!(next, Monotonic::from_ms(700 + WITNESSES_MEET_MS));
            assert_eq!(gate.on_time(Monotonic::from_ms(1_699)), None);
            let released = match late {
                false => gate.met(peer(3), false, vouched),
                true => gate.on_time(next).expect("the others had their time").0,
            };
            assert_eq!((numbers(released), gate.is_witnessed()), (vec![1], true));
            assert_eq!(gate.on_time(next), None, "told once");
        }
    }

    #[test]
    fn an_overdue_gate_holds_or_opens_as_configured() {
        for (hold, expected) in [(true, vec![]), (false, vec![1, 2])] {
            let (mut gate, _) = gate(&[1, 2, 3], hold);
            let until = gate.next_time().expect("a time");
            assert_eq!(gate.on_time(Monotonic::START), None);
            let (released, unwitnessed) = gate.on_time(until).expect("overdue");
            assert_eq!((numbers(released), unwitnessed), (expected, true));
            assert_eq!(gate.on_time(until), None, "told once");
            // Peers of sessions and the other witnesses are no longer waited for.
            let late = gate.met(peer(3), true, until);
            assert_eq!(numbers(late), [0_u8; 0]);
            let heard = Monotonic::from_ms(100 + WITNESSES_MEET_MS);
            let late = gate.on_time(heard).map(|(flows, _)| numbers(flows));
            assert_eq!(late, hold.then(|| vec![1, 2]));
        }
    }

    #[test]
    fn a_witnessed_gate_waits_for_sessions_within_bounds() {
        let (mut gate, _) = gate(&[3], true);
        assert_eq!(numbers(gate.met(peer(3), true, Monotonic::START)), [1]);
        let until = gate.next_time().expect("a time");
        let (released, unwitnessed) = gate.on_time(until).expect("overdue");
        assert_eq!((numbers(released), unwitnessed), (vec![2], false));
    }

    #[test]
    fn a_node_without_witnesses_waits_for_none() {
        let (gate, held) = gate(&[], true);
        assert_eq!((held, gate.held()), ([false, false], None));
        assert_eq!(gate.notary_waits(Monotonic::START), None);
    }

    #[test]
    fn operators_release_flows_and_ended_ones_are_forgotten() {
        let (mut gate, _) = gate(&[1], true);
        gate.forget(&flow(1));
        gate.forget(&flow(2));
        assert_eq!(gate.held(), None);
        assert_eq!(
            numbers(gate.met(peer(1), true, Monotonic::START)),
            [0_u8; 0]
        );
    }

    #[test]
    fn a_notary_waits_for_half_of_its_witnesses() {
        let (mut gate, _) = gate(&[1, 2, 3], true);
        assert!(gate.notary_waits(Monotonic::START).is_some());
        gate.met(peer(1), true, Monotonic::START);
        gate.met(peer(9), true, Monotonic::START);
        assert!(gate.notary_waits(Monotonic::START).is_some());
        let until = gate.until;
        assert_eq!(gate.notary_waits(until), None, "the wait is bounded");
        gate.met(peer(2), false, Monotonic::START);
        assert_eq!(gate.notary_waits(Monotonic::START), None);
    }
}
