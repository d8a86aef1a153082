//! Links between the nodes of a network on one machine: proxies on loopback that hold bytes up as a distance and a bandwidth would.
//!
//! ```text
//!  node ──► accept ──► pump: read, when is it due? ──► wait ──► write ──► node        one pump each way
//! ```
//! Each node has a proxy in front of it, whose address the others know instead of its own. Of two nodes one dials, so every
//! connection between nodes passes exactly one proxy. Bytes are never looked at: TLS goes through from end to end. Clients of a
//! node's API do not pass through.

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

/// Connections through one proxy at once; a node has one with each peer, and those that fail in between. Further ones are closed.
const CONNECTIONS_MAX: usize = 256;
/// Pause after the system refused a connection.
const PAUSE_AFTER_FAILURE: std::time::Duration = std::time::Duration::from_millis(50);

/// A node behind a proxy.
#[derive(Clone, Debug)]
pub(super) struct Behind {
    /// Where it listens for other nodes.
    pub address: SocketAddr,
    /// Its process while it runs, else 0: tells who dials.
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

/// What every connection needs.
#[derive(Clone)]
struct Shared {
    speeds: watch::Receiver<LinkSpeeds>,
    carried: Arc<AtomicU64>,
    pids: Arc<Vec<Arc<AtomicU32>>>,
}

impl Links {
    /// Listens in front of each node, in order, without holding anything up yet.
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
        let shared = Shared {
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
                    // Whether it was sent or dropped: the end.
                    let _ = stopped.await;
                });
                // What still runs is dropped with the runtime, and so are its sockets.
            })?;
        Ok(Self {
            addresses: addresses?,
            speeds,
            carried,
            thread: Some(thread),
            stop: Some(stop),
        })
    }

    /// Where the nodes are found, in order.
    pub(super) fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// Changes how fast they are; connections that stand go on with it.
    pub fn set(&self, speeds: LinkSpeeds) {
        self.speeds.send_replace(speeds);
    }

    /// Bytes that arrived at the far ends so far, all connections and both ways together.
    pub fn carried_bytes(&self) -> u64 {
        self.carried.load(Ordering::Relaxed)
    }
}

impl Drop for Links {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // It has nothing to say; a panic in it has been printed.
            let _ = thread.join();
        }
    }
}

/// Takes connections for the node at a position, for ever.
async fn accept(listener: TcpListener, at: usize, to: SocketAddr, shared: Shared) {
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
            // The system is out of something; asking at once would not help.
            Err(_) => tokio::time::sleep(PAUSE_AFTER_FAILURE).await,
        }
    }
}

/// One connection, until either end closes or fails. A node that does not listen closes it at once.
async fn connect(near: TcpStream, from: SocketAddr, at: usize, to: SocketAddr, shared: Shared) {
    let dialler = Dialler {
        address: from,
        proxy: match near.local_addr() {
            Ok(proxy) => proxy,
            Err(_) => return,
        },
    };
    let pids = shared.pids.iter().map(|pid| pid.load(Ordering::Relaxed));
    // Only links of single nodes need to know who it is.
    let needed = shared.speeds.borrow().has_own();
    let who = needed.then(|| dialler.position(pids)).flatten();
    let speed = {
        let speeds = shared.speeds.clone();
        move || speeds.borrow().between(who, at)
    };
    // A connection itself takes a round trip.
    tokio::time::sleep(2 * speed().delay).await;
    let Ok(far) = TcpStream::connect(to).await else {
        return;
    };
    // Without these, what is measured is the system's own waiting.
    if near.set_nodelay(true).is_err() || far.set_nodelay(true).is_err() {
        return;
    }
    let (near_read, near_write) = near.into_split();
    let (far_read, far_write) = far.into_split();
    let there = pump::pump(near_read, far_write, speed.clone(), &shared.carried);
    let back = pump::pump(far_read, near_write, speed, &shared.carried);
    // An end that fails takes the other way with it; one that closes lets what comes back arrive.
    let _ = tokio::try_join!(there, back);
}

#[cfg(test)]
mod tests;
