//! The figures of the kernel and of the connections, copied into metrics for each request for metrics.

use std::collections::BTreeMap;

use kernel::{Figures, PeerFigures};
use ledger::{NetworkMap, PartyId};
use net::NetFigures;
use notarydb::RecordFigures;
use pgstore::DatabaseFigures;

use crate::metrics::NodeMetrics;
use crate::uploads::Uploads;

/// Shows the kernel's figures. `turned_away` starts were refused before they reached it.
pub(super) fn show_kernel(metrics: &NodeMetrics, figures: &Figures, turned_away: u64) {
    let gauges = [
        (&metrics.flows_in_flight, figures.flows_live),
        (&metrics.flows_bytes, figures.flows_bytes),
        (&metrics.flows_queued, figures.flows_queued),
        (&metrics.flows_parked, figures.flows_parked),
        (&metrics.flows_retrying, figures.flows_retrying),
        (&metrics.flows_paused, figures.flows_paused),
        (&metrics.flows_shelved, figures.flows_shelved),
        (&metrics.flows_in_history, figures.flows_in_history),
        (&metrics.transactions_arriving, figures.intake_items),
        (&metrics.deliveries_pending, figures.deliveries_pending),
        (&metrics.deliveries_waiting, figures.deliveries_waiting),
        (&metrics.clock_in_doubt, u64::from(figures.clock.in_doubt)),
        (&metrics.outbox_pending, figures.outbox_pending),
        (&metrics.requests_outstanding, figures.requests_outstanding),
        (&metrics.ledger_seq, figures.transactions),
        (&metrics.notary_queued, figures.notary_queued),
        (&metrics.rolled_back, figures.rolled_back),
        (&metrics.equivocations_kept, figures.equivocations_kept),
    ];
    for (gauge, value) in gauges {
        gauge.set_count(value);
    }
    let (responded, responders_failed) = (figures.responders_done, figures.responders_failed);
    let counters = [
        (&metrics.flows_started, figures.flows_started),
        (&metrics.flow_retries, figures.flow_retries),
        (&metrics.flows_done, figures.flows_done - responded),
        (&metrics.responders_done, responded),
        (
            &metrics.flows_failed,
            figures.flows_failed - responders_failed,
        ),
        (&metrics.responders_failed, responders_failed),
        (&metrics.flows_refused, figures.starts_busy + turned_away),
        (&metrics.scheduled_started, figures.scheduled_started),
        (&metrics.scheduled_refused, figures.scheduled_refused),
        (&metrics.signatures_put_off, figures.signatures_put_off),
        (&metrics.signatures_bad, figures.signatures_bad),
        (&metrics.journal_rows, figures.journal_rows),
        (
            &metrics.transactions_recorded,
            figures.transactions_recorded,
        ),
        (&metrics.transactions_refused, figures.transactions_refused),
        (&metrics.links_renumbered, figures.links_renumbered),
        (&metrics.equivocations, figures.equivocations),
        (&metrics.back_chains, figures.resolutions),
        (
            &metrics.back_chain_transactions,
            figures.resolved_transactions,
        ),
        (&metrics.deliveries_refused, figures.deliveries_refused),
        (&metrics.clock_jumps, figures.clock.jumps),
        (&metrics.messages_bad, figures.messages_bad),
        (&metrics.notary_signed, figures.notary_signed),
        (&metrics.notary_conflicts, figures.notary_conflicts),
        (&metrics.notary_refused, figures.notary_refused),
        (&metrics.notary_busy, figures.notary_busy),
        (&metrics.notary_states, figures.notary_states),
    ];
    for (counter, value) in counters {
        counter.set(value);
    }
    let distributions = [
        (&metrics.flow_time, &figures.flow_ms),
        (&metrics.responder_time, &figures.responder_ms),
        (&metrics.signature_batch, &figures.signature_batch_checks),
        (&metrics.notary_batch, &figures.notary_batch_requests),
    ];
    for (histogram, sizes) in distributions {
        histogram.set(sizes.buckets(), sizes.sum());
    }
    for (cache, figures) in metrics.caches.iter().zip(figures.caches) {
        cache.set(figures);
    }
}

/// Shows the figures of each peer.
pub(super) fn show_peers(
    metrics: &NodeMetrics,
    network: &NetworkMap,
    peers: &BTreeMap<PartyId, PeerFigures>,
) {
    let named = peers.iter().filter_map(|(peer, figures)| {
        let party = network.party(peer)?;
        Some((party.name.to_string(), figures))
    });
    metrics.peers.set(&metrics.registry, named);
}

/// Shows the figures of the connections.
pub(super) fn show_net(metrics: &NodeMetrics, figures: &NetFigures) {
    metrics.messages_sent.set(figures.messages_out);
    metrics.messages_received.set(figures.messages_in);
    metrics.message_bytes_sent.set(figures.bytes_out);
    metrics.message_bytes_received.set(figures.bytes_in);
    metrics.wire_bytes_sent.set(figures.wire_bytes_out);
    metrics.wire_bytes_received.set(figures.wire_bytes_in);
    metrics.dropped_full.set(figures.dropped_full);
    metrics.dropped_down.set(figures.dropped_down);
    metrics.dropped_too_large.set(figures.dropped_too_large);
}

/// Shows the counters of the record that the workers of a replicated notary share.
pub(super) fn show_record(metrics: &NodeMetrics, figures: &RecordFigures) {
    metrics.record_batches.set(figures.batches);
    metrics.record_states.set(figures.states);
    metrics.record_round_trips.set(figures.round_trips);
    metrics.record_round_trips_us.set(figures.round_trips_us);
    metrics.record_duplicates.set(figures.duplicates);
    metrics.record_retries.set(figures.retries);
    metrics.record_lost.set(figures.lost);
    metrics.record_unavailable.set(figures.unavailable);
    let is_connected = !figures.server.is_empty();
    metrics.record_connected.set_count(is_connected.into());
}

/// Shows the counters of the database server. `ledger_end` is the ledger's last sequence.
pub(super) fn show_database(metrics: &NodeMetrics, figures: &DatabaseFigures, ledger_end: u64) {
    metrics.database_reconnections.set(figures.reconnections);
    metrics.database_read_back.set(figures.read_back);
    metrics.database_rows.set(figures.rows_folded);
    // Read one after the other, so the second one may be newer.
    let waiting = figures.confirmed.saturating_sub(figures.folded);
    metrics.database_unfolded.set_count(waiting);
    // Likewise.
    let lag = ledger_end.saturating_sub(figures.vault_upto);
    metrics.database_vault_lag.set_count(lag);
    metrics.database_vault_rows.set(figures.vault_rows);
    metrics.database_vault_failures.set(figures.vault_failures);
}

/// Shows the transfers of users.
pub(super) fn show_uploads(metrics: &NodeMetrics, uploads: &Uploads) {
    let figures = uploads.figures();
    metrics.uploads_open.set_count(uploads.count() as u64);
    metrics.transfers_running.set_count(figures.running);
    metrics.transfers_received.set(figures.received);
    metrics.transfers_sent.set(figures.sent);
    metrics.transfers_refused.set(figures.refused);
}
