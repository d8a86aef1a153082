//! The metrics of a node: the one list from which the fields, `/metrics` and `docs/reference/metrics.md` are made.

use runtime::metrics::{Counter, Gauge, Histogram, Registry, Unit};
use runtime::{RoundMetrics, WorkerMetrics};

use super::cache::{CacheMetrics, KernelCacheMetrics};
use super::peers::PeerMetrics;
use super::process::Process;

/// A metric without labels of its own, by type, registered.
macro_rules! registered {
    ($registry:ident, Counter, $name:literal, $help:literal, $labels:expr) => {
        $registry.counter($name, $help, $labels)
    };
    ($registry:ident, Gauge, $name:literal, $help:literal, $labels:expr) => {
        $registry.gauge($name, $help, $labels)
    };
    ($registry:ident, Histogram $unit:ident, $name:literal, $help:literal, $labels:expr) => {
        $registry.histogram($name, $help, $labels, Unit::$unit)
    };
}

/// `field: Type [Unit] = "name" ["label" "value"], "meaning";` Metrics of one name stand side by side and share a meaning.
macro_rules! node_metrics {
    ($($field:ident: $kind:ident $($unit:ident)? = $name:literal $([$label:literal $value:literal])?, $help:literal;)*) => {
        /// The metrics of a node. Any thread records to the fields directly.
        #[derive(Debug)]
        pub struct NodeMetrics {
            /// Renders everything; for metrics that a part of the node keeps for itself.
            pub registry: Registry,
            process: Process,
            /// The kernel's caches, in the order of [`kernel::CACHES`].
            pub caches: [KernelCacheMetrics; kernel::CACHES.len()],
            /// The store's cache of blocks.
            pub blocks: CacheMetrics,
            /// Pages of the vault's events that followers share.
            pub vault_events: CacheMetrics,
            /// The cost of each peer.
            pub peers: PeerMetrics,
            $(#[doc = $help] $(#[doc = concat!("Those of ", $label, " ", $value, ".")])? pub $field: $kind,)*
        }

        impl NodeMetrics {
            /// All at zero.
            pub fn new() -> Self {
                let registry = Registry::default();
                let r = &registry;
                Self {
                    $($field: registered!(r, $kind $($unit)?, $name, $help, &[$(($label, $value))?]),)*
                    caches: kernel::CACHES.map(|name| KernelCacheMetrics::new(r, name)),
                    blocks: CacheMetrics::new(r, "blocks"),
                    vault_events: CacheMetrics::new(r, "vault_events"),
                    peers: PeerMetrics::new(r),
                    process: Process::new(r),
                    registry,
                }
            }
        }
    };
}

node_metrics! {
    certificates_end: Gauge = "tally_certificates_end_seconds", "End of the first TLS certificate that ends, the root's included, in seconds since 1970.";
    flows_in_flight: Gauge = "tally_flows_in_flight", "Flows that have not ended, responders included.";
    flows_queued: Gauge = "tally_flows_queued", "Starts that wait until another flow ends.";
    flows_bytes: Gauge = "tally_flows_bytes", "Expected weight of the running flows of clients, in bytes. At most about `limits.live_bytes`.";
    flows_parked: Gauge = "tally_flows_parked", "Parked flows: they need an operator.";
    flows_retrying: Gauge = "tally_flows_retrying", "Flows that had a transient failure and wait for their retry.";
    flows_paused: Gauge = "tally_flows_paused", "Flows that an operator paused.";
    flows_shelved: Gauge = "tally_flows_shelved", "Flows found in the store at the start that are not restored yet.";
    flows_stuck: Gauge = "tally_flows_stuck", "Flows without a step for 60 s that do not merely wait for a point in time; counted every 10 s.";
    flows_in_history: Gauge = "tally_flows_in_history", "Ended flows that the flow history keeps.";
    flow_retries: Counter = "tally_flow_retries_total", "Retries of flows that were scheduled after a transient failure.";
    flows_started: Counter = "tally_flows_started_total", "Flows started by clients.";
    flows_done: Counter = "tally_flows_done_total" ["side" "initiating"], "Flows ended well.";
    responders_done: Counter = "tally_flows_done_total" ["side" "responding"], "Flows ended well.";
    flows_failed: Counter = "tally_flows_failed_total" ["side" "initiating"], "Flows ended with an error.";
    responders_failed: Counter = "tally_flows_failed_total" ["side" "responding"], "Flows ended with an error.";
    flows_refused: Counter = "tally_flows_refused_total", "Starts refused because the node was at capacity.";
    scheduled_started: Counter = "tally_scheduled_started_total", "Flows started because a state had scheduled them.";
    scheduled_refused: Counter = "tally_scheduled_refused_total", "Flows that states had scheduled and that could not be started.";
    flow_time: Histogram Milliseconds = "tally_flow_seconds" ["side" "initiating"], "From a flow's start, without its wait for a place, to its end.";
    responder_time: Histogram Milliseconds = "tally_flow_seconds" ["side" "responding"], "From a flow's start, without its wait for a place, to its end.";

    round_events: Histogram Count = "tally_step_events", "Events decided in one step of the kernel.";
    round_time: Histogram Seconds = "tally_step_seconds", "Time to decide one step of the kernel, with its signature checks and without its commit.";
    jobs_by_kernel: Counter = "tally_jobs_total" ["thread" "kernel"], "Jobs done by the kernel's own thread and by the workers: steps of flows, contracts, tear-offs, signatures to make, and portions of signatures to check.";
    jobs_by_workers: Counter = "tally_jobs_total" ["thread" "worker"], "Jobs done by the kernel's own thread and by the workers: steps of flows, contracts, tear-offs, signatures to make, and portions of signatures to check.";
    jobs_time: Histogram Seconds = "tally_jobs_kernel_seconds", "Processor time that the kernel's thread spent on batches of jobs with an estimated time of more than 40 microseconds.";
    signature_batch: Histogram Count = "tally_signature_batch_checks", "Signatures checked in one batch.";
    signatures_put_off: Counter = "tally_signatures_put_off_total", "Signatures checked in idle time, because they exceeded the rate of the peer that caused them.";
    signatures_bad: Counter = "tally_signatures_bad_total", "Signatures that were not valid.";

    commit_rows: Histogram Count = "tally_commit_rows", "Rows of one commit.";
    commit_bytes: Histogram Bytes = "tally_commit_bytes", "Size of one commit.";
    commit_time: Histogram Seconds = "tally_commit_seconds", "From handing a commit over until it is durable.";
    commit_failures: Counter = "tally_commit_failures_total", "Failed reads, writes and syncs of the store. After the first one the node accepts no more work.";
    record_batches: Counter = "tally_notary_record_batches_total", "Batches that the record which a replicated notary's workers share has answered.";
    record_states: Counter = "tally_notary_record_states_total", "States entered into it by this worker.";
    record_round_trips: Counter = "tally_notary_record_round_trips_total", "Round trips to its database.";
    record_round_trips_us: Counter = "tally_notary_record_round_trips_microseconds_total", "Time of these round trips together, in microseconds.";
    record_duplicates: Counter = "tally_notary_record_duplicates_total", "Batches in which its database found a transaction or a consumed state that was there already.";
    record_retries: Counter = "tally_notary_record_retries_total", "Repetitions of batches because other transactions were in the way: deadlocks and certification failures.";
    record_lost: Counter = "tally_notary_record_lost_total", "Connections to its database that were lost with the outcome of a batch unknown.";
    record_unavailable: Counter = "tally_notary_record_unavailable_total", "Batches whose requesters were asked to come again because its database did not answer in time.";
    record_connected: Gauge = "tally_notary_record_connected", "1 while this worker is connected to its database.";
    database_reconnections: Counter = "tally_database_reconnections_total", "Connections to the database server that replaced a lost one.";
    database_read_back: Counter = "tally_database_read_back_total", "Commits whose outcome was unknown or refused, so that the server's last commit was read.";
    database_unfolded: Gauge = "tally_database_unfolded_commits", "Commits that the server's table of present rows does not include yet.";
    database_rows: Counter = "tally_database_rows_total", "Rows written to and deleted from the server's table of present rows.";
    database_vault_lag: Gauge = "tally_database_vault_lag_transactions", "Transactions of the ledger that the server's vault tables do not include yet.";
    database_vault_rows: Counter = "tally_database_vault_rows_total", "Rows written to the server's vault tables.";
    database_vault_failures: Counter = "tally_database_vault_failures_total", "Failed attempts to write the server's vault tables.";
    journal_rows: Counter = "tally_journal_rows_total", "Rows written to the journals of flows.";

    transactions_recorded: Counter = "tally_transactions_recorded_total", "Transactions recorded.";
    transactions_refused: Counter = "tally_transactions_refused_total", "Transactions refused as invalid.";
    equivocations: Counter = "tally_equivocations_total", "Transactions refused because the ledger records another consumer of a state, although the notary signed both.";
    equivocations_kept: Gauge = "tally_equivocations_kept", "Proofs that a notary signed two consumers of a state.";
    links_renumbered: Counter = "tally_links_renumbered_total", "Links that were renumbered because a peer's numbers contradicted this node's.";
    rolled_back: Gauge = "tally_rolled_back", "1 while the node's data is known to be an older copy.";
    transactions_arriving: Gauge = "tally_transactions_arriving", "Transactions that are being verified or wait for dependencies before they are recorded.";
    back_chains: Counter = "tally_back_chains_total", "Back chains fetched from other nodes.";
    back_chain_transactions: Counter = "tally_back_chain_transactions_total", "Transactions recorded as part of a back chain.";
    deliveries_pending: Gauge = "tally_deliveries_pending", "Deliveries of recorded transactions that a participant has not answered.";
    deliveries_waiting: Gauge = "tally_deliveries_waiting", "Of these, deliveries that the participant cannot record at present.";
    clock_jumps: Counter = "tally_clock_jumps_total", "Times that the machine's clock was set forward or back.";
    clock_in_doubt: Gauge = "tally_clock_in_doubt", "1 while a clock that was set is not confirmed.";
    deliveries_refused: Counter = "tally_deliveries_refused_total", "Deliveries that a participant refused.";

    files_here: Gauge = "tally_files_here", "Attachments that the ledger lists, at the last check.";
    files_lost: Gauge = "tally_files_lost", "Attachments whose file is missing.";
    files_fetches: Gauge = "tally_files_fetches", "Files that are being fetched from other nodes or are queued for it.";
    files_moving: Gauge = "tally_files_moving", "Files whose bytes are being received; at most `attachments.at_once`.";
    files_served: Gauge = "tally_files_served", "Files that other nodes are fetching.";
    files_memory_in: Gauge = "tally_files_memory_bytes" ["direction" "in"], "Memory reserved for file transfers; at most `attachments.memory_bytes` in each direction.";
    files_memory_out: Gauge = "tally_files_memory_bytes" ["direction" "out"], "Memory reserved for file transfers; at most `attachments.memory_bytes` in each direction.";
    files_bytes_received: Counter = "tally_files_received_bytes_total", "Bytes of files received from other nodes and stored.";
    files_bytes_sent: Counter = "tally_files_sent_bytes_total", "Bytes of files sent to other nodes.";
    files_arrived: Counter = "tally_files_arrived_total", "Files fetched completely from other nodes.";
    files_resumed: Counter = "tally_files_resumed_total", "Of these, files whose fetch resumed an earlier attempt.";
    files_failed: Counter = "tally_files_failed_total", "Fetches that failed, temporarily or finally.";
    files_mismatched: Counter = "tally_files_mismatched_total", "Received files with another hash than the requested one. They were discarded.";
    files_asked_again: Counter = "tally_files_asked_again_total", "Repeated requests for a file to a silent peer.";
    files_unasked_bytes: Counter = "tally_files_unasked_bytes_total", "Bytes of files that were not requested or came twice. They were dropped.";
    files_malformed: Counter = "tally_files_messages_bad_total", "Malformed messages about files.";
    files_refused: Counter = "tally_files_refused_total", "Requests of other nodes for files that were refused, temporarily or finally.";
    files_dropped: Counter = "tally_files_messages_dropped_total", "Messages about files dropped because the queue was full. They are requested again.";
    uploads_open: Gauge = "tally_uploads_open", "Uploads of users that were begun and are not complete.";
    transfers_running: Gauge = "tally_user_transfers_running", "Uploads and downloads that are transferring bytes, of all users.";
    transfers_received: Counter = "tally_user_transfer_bytes_total" ["direction" "in"], "Bytes of files that users uploaded and downloaded, including incomplete transfers.";
    transfers_sent: Counter = "tally_user_transfer_bytes_total" ["direction" "out"], "Bytes of files that users uploaded and downloaded, including incomplete transfers.";
    transfers_refused: Counter = "tally_user_transfers_refused_total", "Uploads and downloads refused because the limit of open transfers was reached.";

    peers_connected: Gauge = "tally_peers_connected", "Nodes connected now.";
    messages_sent: Counter = "tally_messages_sent_total", "Messages sent to other nodes.";
    messages_received: Counter = "tally_messages_received_total", "Messages received from other nodes.";
    message_bytes_sent: Counter = "tally_message_sent_bytes_total", "Messages sent, before compression.";
    message_bytes_received: Counter = "tally_message_received_bytes_total", "Messages received, after decompression.";
    wire_bytes_sent: Counter = "tally_wire_sent_bytes_total", "Written to the connections of other nodes, TLS and compression included.";
    wire_bytes_received: Counter = "tally_wire_received_bytes_total", "Read from the connections of other nodes, TLS and compression included.";
    dropped_full: Counter = "tally_messages_dropped_total" ["why" "full"], "Messages dropped: the queue of the peer is full (full), the peer is not connected (down), or the message exceeds the peer's limit (too_large). Important messages are sent again.";
    dropped_down: Counter = "tally_messages_dropped_total" ["why" "down"], "Messages dropped: the queue of the peer is full (full), the peer is not connected (down), or the message exceeds the peer's limit (too_large). Important messages are sent again.";
    dropped_too_large: Counter = "tally_messages_dropped_total" ["why" "too_large"], "Messages dropped: the queue of the peer is full (full), the peer is not connected (down), or the message exceeds the peer's limit (too_large). Important messages are sent again.";
    messages_bad: Counter = "tally_messages_bad_total", "Malformed messages received.";
    outbox_pending: Gauge = "tally_outbox_pending", "Messages of flows that their peer has not acknowledged.";
    requests_outstanding: Gauge = "tally_requests_outstanding", "Requests to other nodes in flight.";

    ledger_seq: Gauge = "tally_ledger_seq", "The last recorded position.";
    view_seq: Gauge = "tally_view_seq", "The position that the vault's view has reached.";
    view_batch: Histogram Count = "tally_view_batch_rows", "Rows changed in one batch of the vault's view.";
    view_time: Histogram Seconds = "tally_view_batch_seconds", "Time for one batch of the vault's view.";

    notary_batch: Histogram Count = "tally_notary_batch_requests", "Requests decided in one batch of the notary.";
    notary_batch_time: Histogram Seconds = "tally_notary_batch_seconds", "From the question to the store about a batch's states until the batch is durable.";
    notary_signed: Counter = "tally_notary_requests_total" ["verdict" "signed"], "Requests answered by the notary: signed, an input was consumed before (conflict), refused for another reason, or refused because the queue is full (busy).";
    notary_conflicts: Counter = "tally_notary_requests_total" ["verdict" "conflict"], "Requests answered by the notary: signed, an input was consumed before (conflict), refused for another reason, or refused because the queue is full (busy).";
    notary_refused: Counter = "tally_notary_requests_total" ["verdict" "refused"], "Requests answered by the notary: signed, an input was consumed before (conflict), refused for another reason, or refused because the queue is full (busy).";
    notary_busy: Counter = "tally_notary_requests_total" ["verdict" "busy"], "Requests answered by the notary: signed, an input was consumed before (conflict), refused for another reason, or refused because the queue is full (busy).";
    notary_states: Counter = "tally_notary_states_total", "States consumed at the notary.";
    notary_queued: Gauge = "tally_notary_queued", "Requests that wait for the notary's decision.";

    http_connections: Gauge = "tally_http_connections", "Connections of clients.";
    http_connections_refused: Counter = "tally_http_connections_refused_total", "Connections of clients refused: too many, or no TLS.";
    http_connections_evicted: Counter = "tally_http_connections_evicted_total", "Anonymous connections of clients ended to make room for others.";
    http_received: Counter = "tally_http_bytes_total" ["direction" "in"], "Bytes of clients' connections, TLS included.";
    http_sent: Counter = "tally_http_bytes_total" ["direction" "out"], "Bytes of clients' connections, TLS included.";
    http_streams: Gauge = "tally_http_streams", "Streams of clients.";
    http_followers: Gauge = "tally_http_followers", "Clients that follow events.";
    http_good: Counter = "tally_http_requests_total" ["class" "2xx"], "HTTP requests answered, by class of status; 1xx and 3xx count as 2xx.";
    http_client_errors: Counter = "tally_http_requests_total" ["class" "4xx"], "HTTP requests answered, by class of status; 1xx and 3xx count as 2xx.";
    http_server_errors: Counter = "tally_http_requests_total" ["class" "5xx"], "HTTP requests answered, by class of status; 1xx and 3xx count as 2xx.";
    http_time: Histogram Seconds = "tally_http_request_seconds", "Time from a request's head to its answer's head, without streams.";
    stream_starts: Counter = "tally_stream_starts_total", "Starts received over streams.";
}

impl Default for NodeMetrics {
    fn default() -> Self {
        Self::new()
    }
}

impl NodeMetrics {
    /// Returns the metrics that the runtime of the kernel records.
    pub fn rounds(&self) -> RoundMetrics {
        RoundMetrics {
            round_events: self.round_events.clone(),
            round_time: self.round_time.clone(),
            commit_rows: self.commit_rows.clone(),
            commit_bytes: self.commit_bytes.clone(),
            commit_time: self.commit_time.clone(),
            commit_failures: self.commit_failures.clone(),
        }
    }

    /// Returns the metrics that the workers of the kernel record.
    pub fn workers(&self) -> WorkerMetrics {
        WorkerMetrics {
            by_caller: self.jobs_by_kernel.clone(),
            by_workers: self.jobs_by_workers.clone(),
            caller_time: self.jobs_time.clone(),
        }
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
    use std::time::Duration;

    /// Checks the rules of Prometheus' own linter, and that no metric is listed twice.
    #[test]
    fn names_are_well_formed() {
        let listed = NodeMetrics::new().registry.list();
        for metric in &listed {
            let (name, kind, unit) = (metric.name, metric.kind, metric.unit);
            let lower = |c: char| c.is_ascii_lowercase() || c == '_';
            assert!(name.chars().all(lower), "{name}");
            assert_eq!(name.ends_with("_total"), kind == "counter", "{name} {kind}");
            let stem = name.trim_end_matches("_total");
            if unit != "count" {
                assert!(stem.ends_with(unit), "{name} in {unit}");
            }
            assert!(metric.help.ends_with('.') && !metric.help.contains(['|', '\n', '\\']));
        }
        let mut names: Vec<&str> = listed.iter().map(|metric| metric.name).collect();
        names.sort_unstable();
        names.dedup();
        assert!(names.len() == listed.len() && names.len() > 45);
    }

    /// Copies the kernel's counts bucket by bucket.
    #[test]
    fn the_buckets_are_the_kernels() {
        let powers: Vec<u64> = (0..kernel::SIZE_BUCKETS - 1).map(|at| 1 << at).collect();
        for unit in [Unit::Count, Unit::Milliseconds] {
            assert_eq!(unit.bounds(), powers);
        }
    }

    #[test]
    fn rendered() {
        let metrics = NodeMetrics::new();
        crate::http::front::HttpCounters::of_node(&metrics).answered(503, Duration::from_millis(3));
        metrics.caches[0].cache.hits.increment();
        let text = metrics.render();
        for line in [
            "tally_http_requests_total{class=\"5xx\"} 1",
            "tally_cache_lookups_total{cache=\"transactions\",result=\"hit\"} 1",
            "tally_cache_bytes{cache=\"outcomes\"} 0",
            "tally_flow_seconds_bucket{side=\"initiating\",le=\"0.016\"} 0",
        ] {
            assert!(text.lines().any(|l| l == line), "{line} is not in\n{text}");
        }
        let resident = text
            .lines()
            .find(|line| line.starts_with("process_resident_memory_bytes "));
        assert!(
            resident.is_some_and(|line| !line.ends_with(" 0")),
            "{resident:?}"
        );
    }
}
