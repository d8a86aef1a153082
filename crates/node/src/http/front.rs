//! The parts that every HTTP server of a node shares: limits, counters, places for requests, and the stop.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use super::claim::Claim;
use super::connections::{Connections, Visitor};
use super::options::HttpOptions;
use super::refusal::{Refusal, no_place};
use crate::metrics::{Counter, Gauge, Histogram, NodeMetrics, Registry, Unit};

/// The shared part of an HTTP server.
pub(crate) struct Front {
    pub(crate) options: HttpOptions,
    pub(crate) counters: HttpCounters,
    /// The connections, and the shares of their clients.
    pub(crate) connections: Arc<Connections>,
    /// True once the server stops.
    pub(crate) stopping: watch::Receiver<bool>,
}

impl Front {
    /// The shares that a user's request draws on, on a connection that is the user's from then on.
    pub(crate) fn claim_of(
        &self,
        user: &Arc<str>,
        visitor: &Arc<Visitor>,
    ) -> Result<Claim, Refusal> {
        if !self.connections.trust(visitor, user) {
            return Err(no_place("connections"));
        }
        Ok(self.connections.claim_of_user(visitor, user))
    }
}

/// The counters of requests and connections.
#[derive(Clone, Debug)]
pub(crate) struct HttpCounters {
    pub(crate) connections: Gauge,
    pub(crate) connections_refused: Counter,
    pub(crate) connections_evicted: Counter,
    pub(crate) received: Counter,
    pub(crate) sent: Counter,
    pub(crate) followers: Gauge,
    good: Counter,
    client_errors: Counter,
    server_errors: Counter,
    time: Histogram,
}

impl HttpCounters {
    /// A notarised ledger's node counts them among its own.
    pub(crate) fn of_node(metrics: &NodeMetrics) -> Self {
        Self {
            connections: metrics.http_connections.clone(),
            connections_refused: metrics.http_connections_refused.clone(),
            connections_evicted: metrics.http_connections_evicted.clone(),
            received: metrics.http_received.clone(),
            sent: metrics.http_sent.clone(),
            followers: metrics.http_followers.clone(),
            good: metrics.http_good.clone(),
            client_errors: metrics.http_client_errors.clone(),
            server_errors: metrics.http_server_errors.clone(),
            time: metrics.http_time.clone(),
        }
    }

    /// The same metrics in another registry.
    pub(crate) fn register(r: &Registry) -> Self {
        let answered = |class| {
            r.counter(
                "tally_http_requests_total",
                "HTTP requests answered, by class of status; 1xx and 3xx count as 2xx.",
                &[("class", class)],
            )
        };
        let bytes = |direction| {
            r.counter(
                "tally_http_bytes_total",
                "Bytes of clients' connections, TLS included.",
                &[("direction", direction)],
            )
        };
        Self {
            received: bytes("in"),
            sent: bytes("out"),
            connections: r.gauge("tally_http_connections", "Connections of clients.", &[]),
            connections_refused: r.counter(
                "tally_http_connections_refused_total",
                "Connections of clients refused: too many, or no TLS.",
                &[],
            ),
            connections_evicted: r.counter(
                "tally_http_connections_evicted_total",
                "Anonymous connections of clients ended to make room for others.",
                &[],
            ),
            followers: r.gauge("tally_http_followers", "Clients that follow events.", &[]),
            good: answered("2xx"),
            client_errors: answered("4xx"),
            server_errors: answered("5xx"),
            time: r.histogram(
                "tally_http_request_seconds",
                "Time from a request's head to its answer's head, without streams.",
                &[],
                Unit::Seconds,
            ),
        }
    }

    /// One answered request.
    pub(crate) fn answered(&self, status: u16, took: Duration) {
        match status {
            ..400 => self.good.increment(),
            400..500 => self.client_errors.increment(),
            _ => self.server_errors.increment(),
        }
        self.time.record_time(took);
    }
}
