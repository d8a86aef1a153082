//! The metrics of each peer.
//!
//! Labels are names of the network map, and at most [`PEERS_LABELLED_MAX`] of them; further peers are counted together.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use kernel::PeerFigures;
use runtime::metrics::{Counter, Gauge, Registry};

/// Peers with metrics of their own; further ones share those of `others`.
pub const PEERS_LABELLED_MAX: usize = 500;
/// The label of the peers that have none of their own.
const OTHERS: &str = "others";

/// One peer's metrics, or those of several.
#[derive(Debug)]
struct Labelled {
    responders: Gauge,
    held_bytes: Gauge,
    journal_bytes: Gauge,
    refused: Counter,
    idle_ended: Counter,
    deferred: Counter,
    dropped: Counter,
    garbage: Counter,
    cut_offs: Counter,
    undelivered: Gauge,
    notary_queued: Gauge,
    notary_signed: Counter,
    notary_refused: Counter,
    notary_busy: Counter,
    notary_states: Counter,
}

/// The metrics of peers, with labels.
#[derive(Debug)]
pub struct PeerMetrics {
    others: Labelled,
    named: Mutex<BTreeSet<String>>,
}

impl Labelled {
    fn new(registry: &Registry, peer: &str) -> Self {
        let label = &[("peer", peer)];
        let gauge = |name, help| registry.gauge(name, help, label);
        let counter = |name, help| registry.counter(name, help, label);
        const VERDICTS: &str = "Requests of each requester answered by the notary: signed, refused, told to wait (busy).";
        let verdict = |verdict| {
            let labels = &[("peer", peer), ("verdict", verdict)];
            registry.counter("tally_notary_requester_requests_total", VERDICTS, labels)
        };
        Self {
            responders: gauge(
                "tally_peer_responders",
                "Flows that answer sessions of a peer and have not ended.",
            ),
            held_bytes: gauge(
                "tally_peer_held_bytes",
                "Bytes of a peer that live flows hold, or that wait to be handled.",
            ),
            journal_bytes: gauge(
                "tally_peer_journal_bytes",
                "Bytes of the journals of flows that answer sessions of a peer.",
            ),
            refused: counter(
                "tally_peer_sessions_refused_total",
                "Sessions and messages of a peer refused because it was over its share.",
            ),
            idle_ended: counter(
                "tally_peer_sessions_idle_total",
                "Sessions of a peer ended because it was silent on them.",
            ),
            deferred: counter(
                "tally_peer_messages_deferred_total",
                "Messages of a peer put off because it was over its share of a round.",
            ),
            dropped: counter(
                "tally_peer_messages_dropped_total",
                "Messages of a peer dropped because too many were put off, or it was cut off.",
            ),
            garbage: counter(
                "tally_peer_garbage_total",
                "Messages and signatures of a peer that made no sense.",
            ),
            cut_offs: counter(
                "tally_peer_cut_offs_total",
                "Times that a peer was cut off because of its garbage.",
            ),
            undelivered: gauge(
                "tally_peer_deliveries_pending",
                "Deliveries of recorded transactions that a peer has not answered.",
            ),
            notary_queued: gauge(
                "tally_notary_requester_queued",
                "Requests of each requester that wait for the notary's decision.",
            ),
            notary_states: counter(
                "tally_notary_requester_states_total",
                "States newly consumed by each requester at the notary.",
            ),
            notary_signed: verdict("signed"),
            notary_refused: verdict("refused"),
            notary_busy: verdict("busy"),
        }
    }

    fn set(&self, figures: &PeerFigures) {
        let PeerFigures {
            flows,
            work,
            undelivered,
            notary,
        } = figures;
        self.responders.set_count(flows.responders as u64);
        self.held_bytes
            .set_count((flows.bytes + work.backlog_bytes) as u64);
        self.journal_bytes.set_count(flows.journal_bytes as u64);
        self.refused.set(flows.refused);
        self.idle_ended.set(flows.idle_ended);
        self.deferred.set(work.deferred);
        self.dropped.set(work.dropped);
        self.garbage.set(work.garbage);
        self.cut_offs.set(work.cuts);
        self.undelivered.set_count(*undelivered);
        // A node that is no notary has done nothing as one.
        let notary = notary.unwrap_or_default();
        self.notary_queued.set_count(notary.queued_requests as u64);
        self.notary_signed.set(notary.signed);
        self.notary_refused.set(notary.refused);
        self.notary_busy.set(notary.busy);
        self.notary_states.set(notary.states);
    }
}

impl PeerMetrics {
    pub(super) fn new(registry: &Registry) -> Self {
        Self {
            others: Labelled::new(registry, OTHERS),
            named: Mutex::default(),
        }
    }

    /// The figures of all peers now, each with its name.
    pub fn set<'a>(
        &self,
        registry: &Registry,
        peers: impl Iterator<Item = (String, &'a PeerFigures)>,
    ) {
        let mut named = self.named.lock().unwrap_or_else(PoisonError::into_inner);
        let mut others = PeerFigures::default();
        for (name, figures) in peers {
            if !named.contains(&name) && named.len() >= PEERS_LABELLED_MAX {
                add(&mut others, figures);
                continue;
            }
            Labelled::new(registry, &name).set(figures);
            named.insert(name);
        }
        self.others.set(&others);
    }
}

/// Adds the figures of a peer to those of several peers.
fn add(sum: &mut PeerFigures, more: &PeerFigures) {
    sum.flows.responders += more.flows.responders;
    sum.flows.bytes += more.flows.bytes;
    sum.flows.journal_bytes += more.flows.journal_bytes;
    sum.flows.refused += more.flows.refused;
    sum.flows.idle_ended += more.flows.idle_ended;
    sum.work.backlog_bytes += more.work.backlog_bytes;
    sum.work.deferred += more.work.deferred;
    sum.work.dropped += more.work.dropped;
    sum.work.garbage += more.work.garbage;
    sum.work.cuts += more.work.cuts;
    sum.undelivered += more.undelivered;
    if let Some(more) = more.notary {
        let sum = sum.notary.get_or_insert_default();
        sum.queued_requests += more.queued_requests;
        sum.signed += more.signed;
        sum.refused += more.refused;
        sum.busy += more.busy;
        sum.states += more.states;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_bounded_and_further_peers_are_counted_together() {
        let registry = Registry::default();
        let metrics = PeerMetrics::new(&registry);
        let mut figures = PeerFigures::default();
        figures.work.garbage = 3;
        for _ in 0..2 {
            let names = (0..PEERS_LABELLED_MAX + 7).map(|n| format!("Bank {n}"));
            metrics.set(&registry, names.map(|name| (name, &figures)));
        }
        let text = registry.render();
        let lines = text
            .lines()
            .filter(|line| line.starts_with("tally_peer_garbage_total"));
        assert_eq!(lines.count(), PEERS_LABELLED_MAX + 1);
        assert!(text.contains("tally_peer_garbage_total{peer=\"others\"} 21\n"));
        assert!(text.contains("tally_peer_garbage_total{peer=\"Bank 0\"} 3\n"));
    }
}
