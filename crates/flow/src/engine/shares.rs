//! The resources that live flows hold on behalf of each peer, and the share of the node that each peer may have.
//!
//! # Invariants
//! - A peer may hold no more than is left over for the others (a dynamic threshold). So one busy peer gets half of the node, and
//!   there is always room for one more peer, even if many peers fill their shares.
//! - Bytes are charged when they have arrived, never when they are announced. They are given back when their flow ends.
//! - There is one account for each peer that opened a session or sent on one in this run. Peers are members of the network, so
//!   the network map bounds the accounts.

use std::collections::{BTreeMap, BTreeSet};

use ledger::PartyId;
use primitives::Monotonic;
use primitives::collections::HashMap;

use crate::error::{SHARE_EXCEEDED, TOO_MANY_RESPONDERS};
use crate::{FlowError, FlowId, FlowLimits};

/// Bytes charged for a responder before it has received anything: its state, its session, the row of its start.
pub const RESPONDER_BYTES: usize = 2 << 10;

/// The resources of this node that one peer holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PeerUsage {
    /// Flows that answer sessions of the peer and have not ended.
    pub responders: usize,
    /// The number of these responders that are set aside, which means that they do not run.
    pub aside: usize,
    /// Bytes that live flows have received from the peer.
    pub bytes: usize,
    /// Bytes of the journals of its responders.
    pub journal_bytes: usize,
    /// Sessions and messages refused since the start because the peer was over its share.
    pub refused: u64,
    /// Sessions of the peer ended since the start because it was silent for too long.
    pub idle_ended: u64,
}

/// The resources charged to one flow.
#[derive(Default)]
struct Charge {
    /// The peer whose session a responder answers.
    origin: Option<PartyId>,
    aside: bool,
    journal_bytes: usize,
    /// Bytes received since the last row, a part of `journal_bytes`; the next row will contain them.
    unwritten: usize,
    /// Received bytes by peer; nearly always one peer.
    received: Vec<(PartyId, usize)>,
    idle_at: Option<Monotonic>,
}

/// The accounts of all peers and the charges of all flows.
#[derive(Default)]
pub(super) struct PeerShares {
    peers: BTreeMap<PartyId, PeerUsage>,
    total: PeerUsage,
    flows: HashMap<FlowId, Charge>,
    /// The times at which responders must be checked, because their peer may have been silent for too long.
    idle: BTreeSet<(Monotonic, FlowId)>,
}

/// Returns whether a peer that holds `own` may get `more`, if all peers together use `used` of `max`. Its total may not exceed
/// the unused part of `max`.
fn admits(own: usize, more: usize, used: usize, max: usize) -> bool {
    // Clipped at 0: lowered limits may leave more in use than the maximum.
    own + more <= max.saturating_sub(used)
}

impl PeerShares {
    /// Returns the resources that a peer holds. A peer without an account holds none.
    pub(super) fn of(&self, peer: &PartyId) -> PeerUsage {
        self.peers.get(peer).copied().unwrap_or_default()
    }

    /// Returns every account, in order of the peers' ids.
    pub(super) fn all(&self) -> impl Iterator<Item = (PartyId, PeerUsage)> + '_ {
        self.peers.iter().map(|(peer, usage)| (*peer, *usage))
    }

    /// Decides whether a peer may open one more session.
    ///
    /// # Errors
    /// `flow.too_many_responders` if the node is full, `flow.share_exceeded` if only the peer's share is.
    pub(super) fn check_open(
        &mut self,
        peer: PartyId,
        limits: &FlowLimits,
    ) -> Result<(), FlowError> {
        let (own, total) = (self.of(&peer), self.total);
        let refusal = if total.responders >= limits.responders_max {
            let text = format!("{} responder flows are live", total.responders);
            FlowError::listed(&TOO_MANY_RESPONDERS, text)
        } else if own.responders > 0
            && !admits(own.responders, 1, total.responders, limits.responders_max)
        {
            let text = format!(
                "this peer has {} live responder flows, its full share; all peers together may have {}",
                own.responders, limits.responders_max
            );
            FlowError::listed(&SHARE_EXCEEDED, text)
        } else if !self.has_room(&peer, RESPONDER_BYTES, limits) {
            self.exceeded(&peer, limits)
        } else {
            return Ok(());
        };
        self.peers.entry(peer).or_default().refused += 1;
        Err(refusal)
    }

    /// Charges the peer for a new responder.
    pub(super) fn open(&mut self, flow: FlowId, peer: PartyId) {
        self.release(&flow);
        let own = self.peers.entry(peer).or_default();
        own.responders += 1;
        self.total.responders += 1;
        self.flows.insert(
            flow,
            Charge {
                origin: Some(peer),
                ..Charge::default()
            },
        );
        self.receive(flow, peer, RESPONDER_BYTES);
    }

    /// Returns whether a peer's share has room for this many more bytes.
    pub(super) fn has_room(&self, peer: &PartyId, bytes: usize, limits: &FlowLimits) -> bool {
        let (own, total) = (self.of(peer), self.total);
        admits(own.bytes, bytes, total.bytes, limits.peers_bytes_max)
            && admits(
                own.journal_bytes,
                bytes,
                total.journal_bytes,
                limits.peers_journal_bytes_max,
            )
    }

    /// Counts a message that found no room and returns the reason.
    pub(super) fn refuse(&mut self, peer: PartyId, limits: &FlowLimits) -> FlowError {
        self.peers.entry(peer).or_default().refused += 1;
        self.exceeded(&peer, limits)
    }

    fn exceeded(&self, peer: &PartyId, limits: &FlowLimits) -> FlowError {
        let own = self.of(peer);
        let text = format!(
            "the node's flows hold {} bytes of this peer and {} bytes of journals for it, of at most {} and {} for all peers together",
            own.bytes, own.journal_bytes, limits.peers_bytes_max, limits.peers_journal_bytes_max
        );
        FlowError::listed(&SHARE_EXCEEDED, text)
    }

    /// Charges bytes that a flow has received from a peer.
    pub(super) fn receive(&mut self, flow: FlowId, peer: PartyId, bytes: usize) {
        let charge = self.flows.entry(flow).or_default();
        match charge.received.iter_mut().find(|(known, _)| *known == peer) {
            Some((_, received)) => *received += bytes,
            None => charge.received.push((peer, bytes)),
        }
        let own = self.peers.entry(peer).or_default();
        own.bytes += bytes;
        self.total.bytes += bytes;
        if charge.origin == Some(peer) {
            charge.unwritten += bytes;
            charge.journal_bytes += bytes;
            own.journal_bytes += bytes;
            self.total.journal_bytes += bytes;
        }
    }

    /// Charges a written row of a flow's journal to the peer of a responder. Rows of client flows are not charged.
    pub(super) fn journal(&mut self, flow: &FlowId, bytes: usize) {
        let Some(charge) = self.flows.get_mut(flow) else {
            return;
        };
        let Some(own) = charge.origin.and_then(|peer| self.peers.get_mut(&peer)) else {
            return;
        };
        let unwritten = std::mem::take(&mut charge.unwritten);
        for sum in [
            &mut charge.journal_bytes,
            &mut own.journal_bytes,
            &mut self.total.journal_bytes,
        ] {
            *sum = *sum - unwritten + bytes;
        }
    }

    /// Returns whether one more responder of a peer may be kept for an operator.
    pub(super) fn may_keep(&self, peer: &PartyId, max: usize) -> bool {
        let own = self.of(peer).aside;
        // The first responder kept for a peer may take any free place.
        let more = usize::from(own > 0);
        self.total.aside < max && admits(own, more, self.total.aside, max)
    }

    /// Counts that a responder is set aside, or runs again.
    pub(super) fn set_aside(&mut self, flow: &FlowId, aside: bool) {
        let Some(charge) = self.flows.get_mut(flow) else {
            return;
        };
        let Some(own) = charge.origin.and_then(|peer| self.peers.get_mut(&peer)) else {
            return;
        };
        if charge.aside != aside {
            charge.aside = aside;
            let (own, total) = (&mut own.aside, &mut self.total.aside);
            match aside {
                true => (*own, *total) = (*own + 1, *total + 1),
                false => (*own, *total) = (*own - 1, *total - 1),
            }
        }
    }

    /// Releases all charges of a flow that has ended.
    pub(super) fn release(&mut self, flow: &FlowId) {
        self.set_aside(flow, false);
        let Some(charge) = self.flows.remove(flow) else {
            return;
        };
        if let Some(at) = charge.idle_at {
            self.idle.remove(&(at, *flow));
        }
        for (peer, bytes) in charge.received {
            self.total.bytes -= bytes;
            if let Some(own) = self.peers.get_mut(&peer) {
                own.bytes -= bytes;
            }
        }
        if let Some(own) = charge.origin.and_then(|peer| self.peers.get_mut(&peer)) {
            own.responders -= 1;
            own.journal_bytes -= charge.journal_bytes;
            self.total.responders -= 1;
            self.total.journal_bytes -= charge.journal_bytes;
        }
    }

    /// Sets the time at which a responder is checked, in place of any earlier setting; `None` cancels the check.
    pub(super) fn look_at(&mut self, flow: FlowId, at: Option<Monotonic>) {
        let Some(charge) = self.flows.get_mut(&flow) else {
            return;
        };
        if let Some(before) = std::mem::replace(&mut charge.idle_at, at) {
            self.idle.remove(&(before, flow));
        }
        if let Some(at) = at {
            self.idle.insert((at, flow));
        }
    }

    /// Returns whether a check of a responder for silence is scheduled.
    pub(super) fn is_looked_at(&self, flow: &FlowId) -> bool {
        let charge = self.flows.get(flow);
        charge.is_some_and(|charge| charge.idle_at.is_some())
    }

    /// Returns the next time at which a responder must be checked.
    pub(super) fn next_look(&self) -> Option<Monotonic> {
        self.idle.first().map(|(at, _)| *at)
    }

    /// Returns a responder that must be checked now.
    pub(super) fn due(&self, now: Monotonic) -> Option<FlowId> {
        let (at, flow) = self.idle.first()?;
        (*at <= now).then_some(*flow)
    }

    /// Counts a session that was ended because its peer was silent.
    pub(super) fn note_idle(&mut self, peer: PartyId) {
        self.peers.entry(peer).or_default().idle_ended += 1;
    }
}

#[cfg(test)]
mod tests {
    use primitives::Hash;

    use super::*;

    fn peer(name: &str) -> PartyId {
        PartyId::from_hash(Hash::plain(name.as_bytes()))
    }

    fn flow(number: u64) -> FlowId {
        let mut id = [0; 16];
        id[..8].copy_from_slice(&number.to_be_bytes());
        FlowId(id)
    }

    fn limits() -> FlowLimits {
        FlowLimits {
            responders_max: 64,
            peers_bytes_max: 64 * RESPONDER_BYTES,
            peers_journal_bytes_max: 64 * RESPONDER_BYTES,
            ..FlowLimits::default()
        }
    }

    #[test]
    fn peers_that_fill_their_shares_leave_room_for_one_more() {
        let (mut shares, limits) = (PeerShares::default(), limits());
        let mut next = 0;
        let mut fill = |shares: &mut PeerShares, name: &str| {
            let before = next;
            while shares.check_open(peer(name), &limits).is_ok() {
                shares.open(flow(next), peer(name));
                next += 1;
            }
            next - before
        };
        let counts = ["a", "b", "c", "d", "e"].map(|name| fill(&mut shares, name));
        assert_eq!(counts, [32, 16, 8, 4, 2]);
        let code = |shares: &mut PeerShares, name| {
            let refused = shares.check_open(peer(name), &limits);
            refused.map_err(|error| error.code.into_owned())
        };
        assert_eq!(
            code(&mut shares, "a"),
            Err("flow.share_exceeded".to_owned())
        );
        assert_eq!(code(&mut shares, "f"), Ok(()));
        // Released shares are available again to any peer.
        (0..32).for_each(|number| shares.release(&flow(number)));
        assert_eq!(shares.of(&peer("a")).bytes, 0);
        assert_eq!(fill(&mut shares, "f"), 17);
    }

    #[test]
    fn every_kind_of_charge_is_bounded_and_given_back() {
        let limits = limits();
        let most = 32 * RESPONDER_BYTES;
        // Bytes received and journaled by the first flow: whether the peer has room for one more byte.
        for (received, journaled, has_room) in [
            (0, 0, true),
            (most - RESPONDER_BYTES - 1, 0, true),
            (most - RESPONDER_BYTES, 0, false),
            (0, most - 1, true),
            (0, most, false),
        ] {
            let mut shares = PeerShares::default();
            shares.open(flow(1), peer("a"));
            shares.receive(flow(1), peer("a"), received);
            shares.journal(&flow(1), journaled);
            let found = shares.has_room(&peer("a"), 1, &limits);
            assert_eq!(found, has_room, "{received}, {journaled}");
            assert!(shares.has_room(&peer("b"), 1, &limits));
            shares.set_aside(&flow(1), true);
            shares.release(&flow(1));
            let usage = shares.of(&peer("a"));
            assert_eq!(usage, PeerUsage::default());
            assert_eq!(shares.total, PeerUsage::default());
        }
    }

    #[test]
    fn bytes_sent_to_flows_of_clients_count_for_their_sender() {
        let (mut shares, limits) = (PeerShares::default(), limits());
        shares.receive(flow(1), peer("a"), limits.peers_bytes_max / 2);
        shares.receive(flow(1), peer("b"), 10);
        shares.journal(&flow(1), limits.peers_journal_bytes_max);
        assert!(!shares.has_room(&peer("a"), 1, &limits));
        assert!(shares.has_room(&peer("b"), 1, &limits));
        shares.release(&flow(1));
        assert!(shares.has_room(&peer("a"), 1, &limits));
    }

    #[test]
    fn responders_are_looked_at_once_and_not_after_their_end() {
        let mut shares = PeerShares::default();
        let at = Monotonic::from_ms;
        for (number, ms) in [(1, 10), (2, 20)] {
            shares.open(flow(number), peer("a"));
            assert!(!shares.is_looked_at(&flow(number)));
            shares.look_at(flow(number), Some(at(ms)));
        }
        assert_eq!(
            (shares.due(at(9)), shares.due(at(10))),
            (None, Some(flow(1)))
        );
        shares.look_at(flow(1), Some(at(30)));
        assert_eq!(shares.next_look(), Some(at(20)));
        shares.release(&flow(2));
        assert_eq!(shares.due(at(30)), Some(flow(1)));
        shares.look_at(flow(1), None);
        assert_eq!(shares.next_look(), None);
    }
}
