//! What a node counts.

use std::time::Duration;

use super::counter::{Counter, Gauge};
use super::histogram::{Histogram, Unit};
use super::process::Process;
use super::registry::Registry;

/// What a node counts. Fields are recorded to directly, from any thread.
#[derive(Debug)]
pub struct NodeMetrics {
    /// Renders everything; for metrics that a part of the node keeps for itself.
    pub registry: Registry,
    process: Process,

    /// Flows that have not ended.
    pub flows_in_flight: Gauge,
    /// Starts that wait for a place.
    pub flows_queued: Gauge,
    /// Flows that cannot go on by themselves.
    pub flows_parked: Gauge,
    /// Flows started, by clients and by counterparties.
    pub flows_started: Counter,
    /// Flows ended well.
    pub flows_completed: Counter,
    /// Flows ended with an error.
    pub flows_failed: Counter,
    /// Starts refused as busy or draining.
    pub flows_refused: Counter,
    /// From start to end.
    pub flow_time: Histogram,

    /// Events of one round.
    pub round_events: Histogram,
    /// Time to decide one round, without its commit.
    pub round_time: Histogram,
    /// Signatures checked in one batch.
    pub signature_batch: Histogram,
    /// Time for one batch of signature checks.
    pub signature_time: Histogram,

    /// Rows of one durable batch.
    pub commit_rows: Histogram,
    /// Bytes of one durable batch.
    pub commit_bytes: Histogram,
    /// From handing a batch over until it is durable.
    pub commit_time: Histogram,
    /// Writes and syncs of the store that failed.
    pub commit_failures: Counter,

    /// Nodes connected now.
    pub peers_connected: Gauge,
    /// Messages sent to other nodes.
    pub messages_sent: Counter,
    /// Messages received from other nodes.
    pub messages_received: Counter,
    /// Bytes of messages sent, before compression.
    pub message_bytes_sent: Counter,
    /// Bytes of messages received, after decompression.
    pub message_bytes_received: Counter,
    /// Transactions recorded here and not yet by all their participants.
    pub deliveries_pending: Gauge,

    /// The last recorded position.
    pub ledger_seq: Gauge,
    /// The position that the vault's view has reached.
    pub view_seq: Gauge,
    /// Rows changed in one batch of the vault's view.
    pub view_batch: Histogram,
    /// Time for one batch of the vault's view.
    pub view_time: Histogram,

    /// Requests in one batch of the notary.
    pub notary_batch: Histogram,
    /// Requests answered with a signature.
    pub notary_signed: Counter,
    /// Requests refused because an input was consumed.
    pub notary_conflicts: Counter,
    /// Requests refused for another reason.
    pub notary_refused: Counter,
    /// Requests that wait.
    pub notary_queued: Gauge,

    /// Connections of clients.
    pub http_connections: Gauge,
    /// Connections of clients refused because there are too many, or because TLS failed.
    pub http_connections_refused: Counter,
    /// Streams of clients.
    pub http_streams: Gauge,
    /// Requests answered with 1xx to 3xx.
    pub http_good: Counter,
    /// Requests answered with 4xx.
    pub http_client_errors: Counter,
    /// Requests answered with 5xx.
    pub http_server_errors: Counter,
    /// From a single request's head to its answer's.
    pub http_time: Histogram,
    /// Starts that came over streams.
    pub stream_starts: Counter,
}

impl Default for NodeMetrics {
    fn default() -> Self {
        Self::new()
    }
}

impl NodeMetrics {
    /// All at zero.
    pub fn new() -> Self {
        let registry = Registry::default();
        let r = &registry;
        let count = Unit::Count;
        let time = Unit::Seconds;
        let requests = "HTTP requests answered, by class of status.";
        let requests_name = "tally_http_requests_total";
        let notarised = "Notary requests answered, by verdict.";
        let notarised_name = "tally_notary_requests_total";
        Self {
            flows_in_flight: r.gauge("tally_flows_in_flight", "Flows that have not ended.", &[]),
            flows_queued: r.gauge("tally_flows_queued", "Starts that wait for a place.", &[]),
            flows_parked: r.gauge(
                "tally_flows_parked",
                "Flows that cannot go on by themselves.",
                &[],
            ),
            flows_started: r.counter("tally_flows_started_total", "Flows started.", &[]),
            flows_completed: r.counter("tally_flows_done_total", "Flows ended well.", &[]),
            flows_failed: r.counter(
                "tally_flows_failed_total",
                "Flows ended with an error.",
                &[],
            ),
            flows_refused: r.counter(
                "tally_flows_refused_total",
                "Starts refused as busy or draining.",
                &[],
            ),
            flow_time: r.histogram(
                "tally_flow_seconds",
                "From a flow's start to its end.",
                &[],
                time,
            ),
            round_events: r.histogram("tally_step_events", "Events of one round.", &[], count),
            round_time: r.histogram(
                "tally_step_seconds",
                "Time to decide one round, without its commit.",
                &[],
                time,
            ),
            signature_batch: r.histogram(
                "tally_signature_batch_checks",
                "Signatures checked in one batch.",
                &[],
                count,
            ),
            signature_time: r.histogram(
                "tally_signature_batch_seconds",
                "Time for one batch of signature checks.",
                &[],
                time,
            ),
            commit_rows: r.histogram(
                "tally_commit_rows",
                "Rows of one durable batch.",
                &[],
                count,
            ),
            commit_bytes: r.histogram(
                "tally_commit_bytes",
                "Bytes of one durable batch.",
                &[],
                Unit::Bytes,
            ),
            commit_time: r.histogram(
                "tally_commit_seconds",
                "From handing a batch over until it is durable.",
                &[],
                time,
            ),
            commit_failures: r.counter(
                "tally_commit_failures_total",
                "Writes and syncs that failed.",
                &[],
            ),
            peers_connected: r.gauge("tally_peers_connected", "Nodes connected now.", &[]),
            messages_sent: r.counter(
                "tally_messages_sent_total",
                "Messages sent to other nodes.",
                &[],
            ),
            messages_received: r.counter(
                "tally_messages_received_total",
                "Messages received from other nodes.",
                &[],
            ),
            message_bytes_sent: r.counter(
                "tally_message_sent_bytes_total",
                "Bytes of messages sent, before compression.",
                &[],
            ),
            message_bytes_received: r.counter(
                "tally_message_received_bytes_total",
                "Bytes of messages received, after decompression.",
                &[],
            ),
            deliveries_pending: r.gauge(
                "tally_deliveries_pending",
                "Transactions recorded here and not yet by all their participants.",
                &[],
            ),
            ledger_seq: r.gauge("tally_ledger_seq", "The last recorded position.", &[]),
            view_seq: r.gauge(
                "tally_view_seq",
                "The position that the vault's view has reached.",
                &[],
            ),
            view_batch: r.histogram(
                "tally_view_batch_rows",
                "Rows changed in one batch of the vault's view.",
                &[],
                count,
            ),
            view_time: r.histogram(
                "tally_view_batch_seconds",
                "Time for one batch of the vault's view.",
                &[],
                time,
            ),
            notary_batch: r.histogram(
                "tally_notary_batch_requests",
                "Requests in one batch of the notary.",
                &[],
                count,
            ),
            notary_signed: r.counter(notarised_name, notarised, &[("verdict", "signed")]),
            notary_conflicts: r.counter(notarised_name, notarised, &[("verdict", "conflict")]),
            notary_refused: r.counter(notarised_name, notarised, &[("verdict", "refused")]),
            notary_queued: r.gauge("tally_notary_queued", "Notary requests that wait.", &[]),
            http_connections: r.gauge("tally_http_connections", "Connections of clients.", &[]),
            http_connections_refused: r.counter(
                "tally_http_connections_refused_total",
                "Connections of clients refused: too many, or no TLS.",
                &[],
            ),
            http_streams: r.gauge("tally_http_streams", "Streams of clients.", &[]),
            http_good: r.counter(requests_name, requests, &[("class", "2xx")]),
            http_client_errors: r.counter(requests_name, requests, &[("class", "4xx")]),
            http_server_errors: r.counter(requests_name, requests, &[("class", "5xx")]),
            http_time: r.histogram(
                "tally_http_request_seconds",
                "From a request's head to its answer's.",
                &[],
                time,
            ),
            stream_starts: r.counter(
                "tally_stream_starts_total",
                "Starts that came over streams.",
                &[],
            ),
            process: Process::new(r),
            registry,
        }
    }

    /// A cache's hits and misses.
    pub fn cache(&self, name: &'static str) -> (Counter, Counter) {
        let (metric, help) = (
            "tally_cache_lookups_total",
            "Look-ups in caches, by cache and result.",
        );
        (
            self.registry
                .counter(metric, help, &[("cache", name), ("result", "hit")]),
            self.registry
                .counter(metric, help, &[("cache", name), ("result", "miss")]),
        )
    }

    /// One answered request.
    pub fn http_answered(&self, status: u16, took: Duration) {
        match status {
            ..400 => self.http_good.increment(),
            400..500 => self.http_client_errors.increment(),
            _ => self.http_server_errors.increment(),
        }
        self.http_time.record_time(took);
    }

    /// Everything as Prometheus text.
    pub fn render(&self) -> String {
        self.process.refresh();
        self.registry.render()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What Prometheus' own linter asks for, and that nothing is listed twice.
    #[test]
    fn names_are_well_formed() {
        let metrics = NodeMetrics::new();
        metrics.http_answered(503, Duration::from_millis(3));
        metrics.cache("transactions").0.increment();
        let text = metrics.render();
        let mut names = Vec::new();
        for line in text.lines().filter(|line| line.starts_with("# TYPE ")) {
            let mut words = line.split(' ').skip(2);
            let (name, kind) = (
                words.next().unwrap_or_default(),
                words.next().unwrap_or_default(),
            );
            assert!(
                name.chars().all(|c| c.is_ascii_lowercase() || c == '_'),
                "{name}"
            );
            assert_eq!(name.ends_with("_total"), kind == "counter", "{name} {kind}");
            names.push(name);
        }
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert!(names.len() == count && count > 35);
        assert!(text.contains("tally_http_requests_total{class=\"5xx\"} 1\n"));
        assert!(
            text.contains("tally_cache_lookups_total{cache=\"transactions\",result=\"hit\"} 1\n")
        );
        let resident = text
            .lines()
            .find(|line| line.starts_with("process_resident_memory_bytes "));
        assert!(
            resident.is_some_and(|line| !line.ends_with(" 0")),
            "{resident:?}"
        );
    }
}
