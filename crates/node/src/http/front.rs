//! What every server of HTTP here has, whatever it serves: its limits, its counters, its places, its end.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};

use super::options::HttpOptions;
use super::refusal::Refusal;
use super::server::{HttpHandle, ListenError, accept};
use crate::metrics::{Counter, Gauge, Histogram, NodeMetrics, Registry, Unit};

/// See the module.
pub(crate) struct Front {
    pub(crate) options: HttpOptions,
    pub(crate) counters: HttpCounters,
    /// Places for requests, for streams, and for bytes of bodies.
    pub(crate) places: Places,
    /// True once the server stops.
    pub(crate) stopping: watch::Receiver<bool>,
}

impl Front {
    /// Listens, and serves what `router` makes of the front on the runtime that this is called on.
    pub(crate) async fn start(
        options: HttpOptions,
        counters: HttpCounters,
        router: impl FnOnce(&Arc<Front>) -> Router,
    ) -> Result<HttpHandle, ListenError> {
        let failed = |source| ListenError {
            address: options.listen,
            source,
        };
        let listener = TcpListener::bind(options.listen).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let (stop, stopping) = watch::channel(false);
        let patience = options.stop_patience;
        let front = Arc::new(Front {
            places: Places::new(&options),
            options,
            counters,
            stopping,
        });
        let router = router(&front);
        let task = tokio::spawn(accept(listener, front, router));
        Ok(HttpHandle::new(address, stop, patience, task))
    }
}

/// What bounds the memory that all clients together can take.
pub(crate) struct Places {
    pub(crate) requests: Semaphore,
    pub(crate) streams: Arc<Semaphore>,
    pub(crate) followers: Arc<Semaphore>,
    pub(crate) body_bytes: Semaphore,
}

impl Places {
    fn new(options: &HttpOptions) -> Self {
        let places = |most: usize| Semaphore::new(most.clamp(1, Semaphore::MAX_PERMITS));
        Self {
            requests: places(options.requests_max),
            streams: Arc::new(places(options.streams_max)),
            followers: Arc::new(places(options.followers_max)),
            body_bytes: places(options.bodies_bytes_max),
        }
    }
}

/// What "busy" suggests when a place is missing.
const PLACE_RETRY_MS: u64 = 200;

/// No place: try again later.
pub(crate) fn no_place(what: &str) -> Refusal {
    Refusal {
        message: format!("the node serves as many {what} as it accepts"),
        ..Refusal::busy(PLACE_RETRY_MS)
    }
}

/// What is counted of requests and connections.
#[derive(Clone, Debug)]
pub(crate) struct HttpCounters {
    pub(crate) connections: Gauge,
    pub(crate) connections_refused: Counter,
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
            followers: r.gauge("tally_http_followers", "Clients that follow events.", &[]),
            good: answered("2xx"),
            client_errors: answered("4xx"),
            server_errors: answered("5xx"),
            time: r.histogram(
                "tally_http_request_seconds",
                "From a request's head to its answer's, streams aside.",
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
