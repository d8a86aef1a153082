//! Inbound connections.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use primitives::ErrorInfo;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::AbortHandle;
use tokio::time::timeout;

use crate::errors;
use crate::handshake;
use crate::refusal::Refusal;
use crate::service;
use crate::shared::TransportState;

/// Pause after the operating system refused a connection, for lack of a resource: an immediate retry would fail again.
const PAUSE: Duration = Duration::from_millis(100);

/// Connections in their handshake, oldest first.
#[derive(Default)]
struct HalfOpen(Mutex<VecDeque<(u64, SocketAddr, AbortHandle)>>);

impl HalfOpen {
    fn lock(&self) -> MutexGuard<'_, VecDeque<(u64, SocketAddr, AbortHandle)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn remove(&self, number: u64) {
        self.lock().retain(|(known, ..)| *known != number);
    }
}

/// Accepts connections until the transport stops. If too many handshakes are unfinished, the oldest goes first. A
/// flood therefore displaces its own connections, because a party of the network needs only a few milliseconds.
pub(crate) async fn accept(shared: Arc<TransportState>, listener: TcpListener) {
    let half_open = Arc::new(HalfOpen::default());
    for number in 0.. {
        match listener.accept().await {
            Ok((socket, address)) => begin(&shared, &half_open, number, socket, address),
            Err(error) => {
                let code = "net.accept_failed";
                let hint = ErrorInfo::action_of(errors::ERRORS, code);
                tracing::warn!(code, hint, "cannot accept a connection: {error}");
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
}

fn begin(
    shared: &Arc<TransportState>,
    half_open: &Arc<HalfOpen>,
    number: u64,
    socket: TcpStream,
    address: SocketAddr,
) {
    let mut waiting = half_open.lock();
    if waiting.len() >= shared.limits.handshakes_max
        && let Some((_, oldest, task)) = waiting.pop_front()
    {
        task.abort();
        shared.refused(
            oldest,
            &Refusal::TooManyHandshakes(shared.limits.handshakes_max),
        );
    }
    let task = one(
        Arc::clone(shared),
        Arc::clone(half_open),
        number,
        socket,
        address,
    );
    // On this one thread the task cannot run, and so not remove itself, before it is listed here.
    waiting.push_back((number, address, tokio::spawn(task).abort_handle()));
}

async fn one(
    shared: Arc<TransportState>,
    half_open: Arc<HalfOpen>,
    number: u64,
    socket: TcpStream,
    address: SocketAddr,
) {
    let limit = shared.limits.handshake_timeout;
    let met = timeout(limit, handshake::accept(&shared, socket, address)).await;
    half_open.remove(number);
    match met {
        Ok(Ok(met)) => {
            service::serve(&shared, met).await;
        }
        Ok(Err(refusal)) => shared.refused(address, &refusal),
        Err(_) => shared.refused(address, &Refusal::HandshakeTimeout(limit)),
    }
}
