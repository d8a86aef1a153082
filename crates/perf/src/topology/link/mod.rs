//! Links between the nodes of a network on one machine: loopback proxies that delay bytes like a distance and a
//! bandwidth.
//!
//! ```text
//!  node ──► accept ──► pump: read, when is it due? ──► wait ──► write ──► node        one pump each way
//! ```
//! Each node has a proxy in front of it. The other nodes know the proxy's address instead of the node's own. One of two
//! nodes dials, so every connection between nodes passes exactly one proxy. Bytes are not inspected: TLS passes from end
//! to end. Clients of a node's API do not pass through.

mod dialler;
mod pace;
mod pump;
mod speed;

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::task::JoinSet;

use dialler::Dialler;
pub use speed::{LinkSpeed, LinkSpeeds};

/// Upper limit on concurrent connections through one proxy. A node has one with each peer, and briefly those that fail.
/// Further ones are closed.
const CONNECTIONS_MAX: usize = 256;
/// Pause after the system refused a connection.
const PAUSE_AFTER_FAILURE: std::time::Duration = std::time::Duration::from_millis(50);

/// A node behind a proxy.
#[derive(Clone, Debug)]
pub(super) struct Behind {
    /// Its address for other nodes.
    pub address: SocketAddr,
    /// Its process id while it runs, else 0. It identifies the dialler.
    pub pid: Arc<AtomicU32>,
}

/// The proxies of one network, on a thread of their own. Dropping them cuts every connection.
#[derive(Debug)]
pub struct Links {
    addresses: Vec<SocketAddr>,
    speeds: watch::Sender<LinkSpeeds>,
    carried: Arc<AtomicU64>,
    thread: Option<std::thread::JoinHandle<()>>,
    stop: Option<tokio::sync::oneshot::Sender<()>>,
}

/// The state that every connection needs.
#[derive(Clone)]
struct LinkState {
    speeds: watch::Receiver<LinkSpeeds>,
    carried: Arc<AtomicU64>,
    pids: Arc<Vec<Arc<AtomicU32>>>,
}

impl Links {
    /// Starts a proxy in front of each node, in order, without any delay yet.
    pub(super) fn start(nodes: Vec<Behind>) -> io::Result<Self> {
        let listeners: io::Result<Vec<TcpListener>> = nodes
            .iter()
            .map(|_| {
                let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
                listener.set_nonblocking(true)?;
                Ok(listener)
            })
            .collect();
        let listeners = listeners?;
        let addresses: io::Result<Vec<SocketAddr>> =
            listeners.iter().map(TcpListener::local_addr).collect();
        let (speeds, receiver) = watch::channel(LinkSpeeds::default());
        let (stop, stopped) = tokio::sync::oneshot::channel();
        let carried = Arc::new(AtomicU64::new(0));
        let shared = LinkState {
            speeds: receiver,
            carried: Arc::clone(&carried),
            pids: Arc::new(nodes.iter().map(|node| Arc::clone(&node.pid)).collect()),
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .build()?;
        let thread = std::thread::Builder::new()
            .name("links".to_owned())
            .spawn(move || {
                runtime.block_on(async move {
                    let mut proxies = JoinSet::new();
                    for (at, (listener, node)) in listeners.into_iter().zip(nodes).enumerate() {
                        proxies.spawn(accept(listener, at, node.address, shared.clone()));
                    }
                    // Sent or dropped: both mean the end.
                    let _ = stopped.await;
                });
                // Remaining tasks are dropped with the runtime, and with them their sockets.
            })?;
        Ok(Self {
            addresses: addresses?,
            speeds,
            carried,
            thread: Some(thread),
            stop: Some(stop),
        })
    }

    /// Returns the addresses of the proxies, in order.
    pub(super) fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// Changes the speeds. Existing connections continue with them.
    pub fn set(&self, speeds: LinkSpeeds) {
        self.speeds.send_replace(speeds);
    }

    /// Returns the bytes that have arrived at the far ends, over all connections and both ways.
    pub fn carried_bytes(&self) -> u64 {
        self.carried.load(Ordering::Relaxed)
    }
}

impl Drop for Links {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // The thread returns nothing, and a panic in it has been printed.
            let _ = thread.join();
        }
    }
}

/// Accepts connections for the node at a position until dropped.
async fn accept(listener: TcpListener, at: usize, to: SocketAddr, shared: LinkState) {
    let Ok(listener) = tokio::net::TcpListener::from_std(listener) else {
        return;
    };
    let mut connections = JoinSet::new();
    loop {
        while connections.try_join_next().is_some() {}
        match listener.accept().await {
            Ok((near, from)) if connections.len() < CONNECTIONS_MAX => {
                connections.spawn(connect(near, from, at, to, shared.clone()));
            }
            Ok(_) => {}
            // The system lacks a resource. An immediate retry would not help.
            Err(_) => tokio::time::sleep(PAUSE_AFTER_FAILURE).await,
        }
    }
}

/// Carries one connection until either end closes or fails. If the node does not listen, closes it at once.
async fn connect(near: TcpStream, from: SocketAddr, at: usize, to: SocketAddr, shared: LinkState) {
    let dialler = Dialler {
        address: from,
        proxy: match near.local_addr() {
            Ok(proxy) => proxy,
            Err(_) => return,
        },
    };
    let pids = shared.pids.iter().map(|pid| pid.load(Ordering::Relaxed));
    // Only links of single nodes depend on the dialler.
    let needed = shared.speeds.borrow().has_own();
    let who = needed.then(|| dialler.position(pids)).flatten();
    let speed = {
        let speeds = shared.speeds.clone();
        move || speeds.borrow().between(who, at)
    };
    // Establishing a connection takes a round trip.
    tokio::time::sleep(2 * speed().delay).await;
    let Ok(far) = TcpStream::connect(to).await else {
        return;
    };
    // Without these options the system's own delays would be measured.
    if near.set_nodelay(true).is_err() || far.set_nodelay(true).is_err() {
        return;
    }
    let (near_read, near_write) = near.into_split();
    let (far_read, far_write) = far.into_split();
    let there = pump::pump(near_read, far_write, speed.clone(), &shared.carried);
    let back = pump::pump(far_read, near_write, speed, &shared.carried);
    // If an end fails, both ways end. If it closes, the bytes on the way back still arrive.
    let _ = tokio::try_join!(there, back);
}

#[cfg(test)]
mod tests;
