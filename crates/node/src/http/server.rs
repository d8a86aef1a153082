//! The listener, and the tasks behind it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use primitives::{Coded, ErrorInfo};
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;

use super::connection::serve;
use super::connections::{Admitted, Connections};
use super::front::{Front, HttpCounters};
use super::options::HttpOptions;
use super::router::router;
use super::services::Services;
use super::state::ApiState;
use crate::metrics::NodeMetrics;
use crate::open_files::ENDING_MAX;

/// After an accept that failed (most often: no file descriptors left).
const REST_AFTER_FAULT: Duration = Duration::from_millis(50);

/// The address cannot be listened on.
#[derive(Debug, thiserror::Error)]
#[error("the API cannot listen on {address}: {source}")]
pub struct ListenError {
    /// The address.
    pub address: SocketAddr,
    /// The error of the operating system.
    pub source: std::io::Error,
}

pub(super) const CANNOT_LISTEN: ErrorInfo = ErrorInfo {
    code: "http.cannot_listen",
    cause: "The API's address is in use, or not this machine's.",
    action: "Choose another address in the node's configuration, or stop the program that uses it.",
};

impl Coded for ListenError {
    fn code(&self) -> &'static str {
        CANNOT_LISTEN.code
    }

    fn hint(&self) -> &'static str {
        CANNOT_LISTEN.action
    }
}

/// The API's server. Start it with [`HttpServer::start`].
#[derive(Debug)]
pub struct HttpServer;

/// A running server. Dropping it closes the listener and all connections.
#[derive(Debug)]
pub struct HttpHandle {
    address: SocketAddr,
    stop: watch::Sender<bool>,
    patience: Duration,
    task: tokio::task::JoinHandle<()>,
}

impl HttpServer {
    /// Listens and serves on the runtime that this is called on.
    pub async fn start(
        options: HttpOptions,
        services: Services,
        metrics: Arc<NodeMetrics>,
    ) -> Result<HttpHandle, ListenError> {
        let counters = HttpCounters::of_node(&metrics);
        listen(options, counters, |front| {
            router(Arc::new(ApiState::new(
                Arc::clone(front),
                services,
                metrics,
            )))
        })
        .await
    }
}

impl HttpHandle {
    /// Returns the listening address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Stops accepting, lets requests in flight end within the configured time, and closes the remaining connections.
    pub async fn stop(mut self) {
        // Fails only when the server has ended already.
        let _ = self.stop.send(true);
        if tokio::time::timeout(self.patience, &mut self.task)
            .await
            .is_err()
        {
            self.task.abort();
            // The task was cancelled, as intended.
            let _ = (&mut self.task).await;
        }
    }
}

impl Drop for HttpHandle {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Listens, and serves the router that `router` makes, on the current runtime.
pub(crate) async fn listen(
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
        connections: Arc::new(Connections::new(&options)),
        options,
        counters,
        stopping,
    });
    let router = router(&front);
    let task = tokio::spawn(accept(listener, front, router));
    Ok(HttpHandle {
        address,
        stop,
        patience,
        task,
    })
}

/// Accepts until the server stops, then waits for the connections. Aborting it ends them all.
async fn accept(listener: TcpListener, front: Arc<Front>, router: Router) {
    let most = front.options.connections_max + ENDING_MAX;
    let tasks = Arc::new(Semaphore::new(most.min(Semaphore::MAX_PERMITS)));
    let mut stopping = front.stopping.clone();
    let mut connections = JoinSet::new();
    loop {
        let next = async {
            let task = Arc::clone(&tasks).acquire_owned().await;
            (task, listener.accept().await)
        };
        let (task, accepted) = tokio::select! {
            next = next => next,
            Some(_) = connections.join_next() => continue,
            _ = stopping.wait_for(|stopping| *stopping) => break,
        };
        let client = match accepted {
            Ok(client) => client,
            Err(error) => {
                tracing::warn!(%error, "a client's connection could not be accepted");
                if front.connections.shed() {
                    front.counters.connections_evicted.increment();
                }
                tokio::time::sleep(REST_AFTER_FAULT).await;
                continue;
            }
        };
        let Some(Admitted { place, evicted }) = front.connections.admit(client.1.ip()) else {
            front.counters.connections_refused.increment();
            tracing::debug!(
                most = front.options.connections_max,
                "too many connections of clients"
            );
            continue;
        };
        if evicted {
            front.counters.connections_evicted.increment();
        }
        let (front, router) = (Arc::clone(&front), router.clone());
        connections.spawn(async move {
            let gauge = front.counters.connections.clone();
            gauge.increment();
            let _leaving = scopeguard(move || gauge.decrement());
            serve(front, router, client, place).await;
            drop(task);
        });
    }
    drop(listener);
    while connections.join_next().await.is_some() {}
}

/// Runs something at the end of a scope, however that is left.
fn scopeguard(run: impl FnMut()) -> impl Drop {
    struct Guard<F: FnMut()>(F);
    impl<F: FnMut()> Drop for Guard<F> {
        fn drop(&mut self) {
            (self.0)();
        }
    }
    Guard(run)
}
