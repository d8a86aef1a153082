//! The figures of the transfers as metrics. They are copied when the metrics are read.

use super::handle::TransferHandle;
use crate::metrics::NodeMetrics;

/// Shows them.
pub(crate) fn show(metrics: &NodeMetrics, transfers: &TransferHandle) {
    let (figures, dropped) = transfers.figures();
    let gauges = [
        (&metrics.files_fetches, figures.fetches),
        (&metrics.files_moving, figures.moving),
        (&metrics.files_served, figures.served),
        (&metrics.files_memory_in, figures.memory_in),
        (&metrics.files_memory_out, figures.memory_out),
    ];
    for (gauge, value) in gauges {
        gauge.set_count(value);
    }
    let counters = [
        (&metrics.files_bytes_received, figures.bytes_in),
        (&metrics.files_bytes_sent, figures.bytes_out),
        (&metrics.files_arrived, figures.arrived),
        (&metrics.files_resumed, figures.resumed),
        (&metrics.files_failed, figures.failed),
        (&metrics.files_mismatched, figures.mismatched),
        (&metrics.files_asked_again, figures.asked_again),
        (&metrics.files_unasked_bytes, figures.unasked_bytes),
        (&metrics.files_malformed, figures.malformed),
        (&metrics.files_refused, figures.refused),
        (&metrics.files_dropped, dropped),
    ];
    for (counter, value) in counters {
        counter.set(value);
    }
}
