//! All connections of a node: one with each peer, made by the one with the smaller id.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ledger::PartyId;
use primitives::{Coded, ErrorInfo};
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Mutex, Notify, Semaphore, watch};
use tokio::time::timeout;
use tokio_rustls::{TlsAcceptor, TlsConnector};

use crate::connection::{ConnectionError, HANDSHAKE, Link, receive_hello, send_hello};
use crate::hello::Hello;
use crate::outgoing::Outgoing;
use crate::stats::NetStats;
use crate::tls::{TlsConfigs, TlsError, TlsMaterial, is_certificate_of, server_name};

/// Connections whose peer is not known yet.
const HALF_OPEN_MAX: usize = 128;
/// Between attempts to reach a peer: the first and the longest pause.
const PAUSE_MIN: Duration = Duration::from_millis(50);
const PAUSE_MAX: Duration = Duration::from_secs(5);

/// Takes what comes in; called from the connections' tasks, so it must not block.
pub trait Consumer: Send + Sync {
    /// A connection stands. Comes before the peer's messages, and after `peer_down` of an earlier connection.
    fn peer_up(&self, peer: PartyId, epoch: u64);
    /// The connection is gone.
    fn peer_down(&self, peer: PartyId);
    /// Messages in the order sent.
    fn messages(&self, peer: PartyId, messages: Vec<Vec<u8>>);
    /// Whether further messages have to wait: the connection stops reading.
    fn is_full(&self) -> bool;
}

/// See the fields.
pub struct TransportOptions {
    /// This node.
    pub me: PartyId,
    /// Names this node's store.
    pub epoch: u64,
    /// For the peers' logs.
    pub software: String,
    /// Where to listen; port 0 for any free one.
    pub listen: SocketAddr,
    /// Certificate, key and root.
    pub tls: TlsMaterial,
    /// All peers with their addresses, `host:port`.
    pub peers: BTreeMap<PartyId, Vec<String>>,
    /// Whether to compress, and to ask the peers to.
    pub compression: bool,
    /// How long to gather before each write, in microseconds. 0 never waits.
    pub linger_us: u64,
    /// Largest message, in bytes.
    pub message_bytes_max: usize,
    /// Bytes that wait for one peer; what is more is dropped, and sent again by the protocols above.
    pub queue_bytes_max: usize,
}

/// Why a transport does not start.
#[derive(Debug, Error)]
pub enum TransportError {
    /// The address is taken, or not this machine's.
    #[error("can't listen on {address}: {source}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// What the system said.
        source: std::io::Error,
    },
    /// The TLS material does not work.
    #[error(transparent)]
    Tls(#[from] TlsError),
}

/// The codes of this crate.
pub const ERRORS: &[ErrorInfo] = &[
    ErrorInfo {
        code: "net.cannot_listen",
        cause: "The node's peer-to-peer address is in use, or not this machine's.",
        action: "Choose another p2p.listen in the node's configuration, or stop what uses it.",
    },
    ErrorInfo {
        code: "net.tls_material",
        cause: "The node's certificate, key and network root do not fit together.",
        action: "Restore the node's folder, or bootstrap the network again.",
    },
    ErrorInfo {
        code: "net.connection_lost",
        cause: "A connection to a peer ended, or TLS with it failed: a wrong certificate, another network's root.",
        action: "Nothing, if the peer was restarted; else compare both nodes' network root and certificates.",
    },
    ErrorInfo {
        code: "net.frame_invalid",
        cause: "A peer sent bytes that are no frames of this protocol, or a frame over the limit.",
        action: "Check what runs at the peer's address, and its version.",
    },
    ErrorInfo {
        code: "net.too_slow",
        cause: "A peer was silent, or took nothing, for longer than allowed.",
        action: "Check the peer and the network between; the connection is made again by itself.",
    },
    ErrorInfo {
        code: "net.identity_refused",
        cause: "A peer's certificate is not that of the party it says it is, or the party is not in the network map.",
        action: "Give the node the certificate that was issued for its legal name; update the network map.",
    },
];

impl Coded for TransportError {
    fn code(&self) -> &'static str {
        match self {
            TransportError::Listen { .. } => "net.cannot_listen",
            TransportError::Tls(_) => "net.tls_material",
        }
    }

    fn hint(&self) -> &'static str {
        ErrorInfo::action_of(ERRORS, self.code())
    }
}

struct Peer {
    addresses: Vec<String>,
    outgoing: Arc<Outgoing>,
    /// Held while a connection is served.
    slot: Mutex<()>,
    /// A newer connection wants the slot.
    replaced: Notify,
    up: AtomicBool,
}

struct Shared {
    options: TransportOptions,
    tls: TlsConfigs,
    peers: BTreeMap<PartyId, Peer>,
    consumer: Arc<dyn Consumer>,
    stats: Arc<NetStats>,
}

/// Running connections; cheap to clone. They end when [`Transport::stop`] is called or the runtime does.
#[derive(Clone)]
pub struct Transport {
    shared: Arc<Shared>,
    address: SocketAddr,
    stopped: watch::Sender<bool>,
}

impl Transport {
    /// Listens, and begins to reach the peers.
    pub async fn start(
        options: TransportOptions,
        consumer: Arc<dyn Consumer>,
    ) -> Result<Self, TransportError> {
        let tls = options.tls.configs()?;
        let address = options.listen;
        let failed = |source| TransportError::Listen { address, source };
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let stats = Arc::new(NetStats::default());
        let mut peers = BTreeMap::new();
        for (id, addresses) in &options.peers {
            if *id != options.me {
                let outgoing = Outgoing::new(options.queue_bytes_max, Arc::clone(&stats));
                let peer = Peer {
                    addresses: addresses.clone(),
                    outgoing: Arc::new(outgoing),
                    slot: Mutex::new(()),
                    replaced: Notify::new(),
                    up: AtomicBool::new(false),
                };
                peers.insert(*id, peer);
            }
        }
        let shared = Arc::new(Shared { options, tls, peers, consumer, stats });
        let (stopped, stop) = watch::channel(false);
        tokio::spawn(until(stop.clone(), accept(Arc::clone(&shared), listener, stop.clone())));
        for id in shared.peers.keys().copied().filter(|id| shared.options.me < *id) {
            tokio::spawn(until(stop.clone(), dial(Arc::clone(&shared), id)));
        }
        Ok(Self { shared, address, stopped })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Sends messages, each to its peer, in order. Never blocks: messages to a peer that is away, or whose queue is full,
    /// are dropped.
    pub fn send_many(&self, messages: Vec<(PartyId, Vec<u8>)>) {
        let mut by_peer: BTreeMap<PartyId, Vec<Vec<u8>>> = BTreeMap::new();
        for (peer, message) in messages {
            by_peer.entry(peer).or_default().push(message);
        }
        for (id, messages) in by_peer {
            if let Some(peer) = self.shared.peers.get(&id) {
                peer.outgoing.push(messages);
            }
        }
    }

    /// The peers connected now.
    pub fn connected(&self) -> Vec<PartyId> {
        let up = self.shared.peers.iter().filter(|(_, peer)| peer.up.load(Ordering::Relaxed));
        up.map(|(id, _)| *id).collect()
    }

    /// What was counted.
    pub fn stats(&self) -> &NetStats {
        &self.shared.stats
    }

    /// Ends all connections.
    pub fn stop(&self) {
        self.stopped.send_replace(true);
    }
}

async fn until(mut stop: watch::Receiver<bool>, work: impl Future<Output = ()>) {
    tokio::select! {
        () = work => {}
        // An error means that the transport is gone, which is a stop too.
        _ = stop.wait_for(|stopped| *stopped) => {}
    }
}

async fn accept(shared: Arc<Shared>, listener: TcpListener, stop: watch::Receiver<bool>) {
    let places = Arc::new(Semaphore::new(HALF_OPEN_MAX));
    loop {
        // The semaphore is never closed.
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
        match listener.accept().await {
            Ok((socket, from)) => {
                let shared = Arc::clone(&shared);
                let served = async move {
                    if let Err(error) = receive(&shared, socket, place).await {
                        refused(&shared, &from.to_string(), &error);
                    }
                };
                tokio::spawn(until(stop.clone(), served));
            }
            Err(error) => {
                tracing::warn!(code = "net.connection_lost", "can't accept a connection: {error}");
                tokio::time::sleep(PAUSE_MIN).await;
            }
        }
    }
}

fn refused(shared: &Shared, who: &str, error: &ConnectionError) {
    shared.stats.refused.fetch_add(1, Ordering::Relaxed);
    tracing::warn!(code = error.code(), "refused a connection from {who}: {error}");
}

async fn receive(
    shared: &Shared,
    socket: TcpStream,
    place: tokio::sync::OwnedSemaphorePermit,
) -> Result<(), ConnectionError> {
    socket.set_nodelay(true)?;
    let slow = |_| ConnectionError::TooSlow("the handshake");
    let greeted = async {
        let acceptor = TlsAcceptor::from(Arc::clone(&shared.tls.server));
        let mut stream = acceptor.accept(socket).await?;
        let hello = receive_hello(&mut stream).await?;
        let certificates = stream.get_ref().1.peer_certificates().unwrap_or_default();
        let own = certificates.first().is_some_and(|c| is_certificate_of(c, &hello.party));
        if !own {
            let text = format!("the certificate is not that of {}", hello.party);
            return Err(ConnectionError::Identity(text));
        }
        send_hello(&mut stream, &shared.hello()).await?;
        Ok((stream, hello))
    };
    let (stream, hello) = timeout(HANDSHAKE, greeted).await.map_err(slow)??;
    drop(place);
    let Some(peer) = shared.peers.get(&hello.party) else {
        let text = format!("{} is not in the network map", hello.party);
        return Err(ConnectionError::Identity(text));
    };
    serve(shared, peer, &hello, stream).await;
    Ok(())
}

async fn dial(shared: Arc<Shared>, id: PartyId) {
    let Some(peer) = shared.peers.get(&id) else { return };
    let mut pause = PAUSE_MIN;
    let mut told = false;
    loop {
        for address in &peer.addresses {
            match timeout(HANDSHAKE, reach(&shared, &id, address)).await {
                Ok(Ok((stream, hello))) => {
                    (pause, told) = (PAUSE_MIN, false);
                    serve(&shared, peer, &hello, stream).await;
                }
                Ok(Err(error)) if !told => {
                    told = true;
                    tracing::warn!(code = error.code(), "can't reach {id} at {address}: {error}");
                }
                Ok(Err(_)) => {}
                Err(_) => tracing::warn!(code = "net.too_slow", "{id} at {address} does not answer"),
            }
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(PAUSE_MAX);
    }
}

async fn reach(
    shared: &Shared,
    id: &PartyId,
    address: &str,
) -> Result<(tokio_rustls::client::TlsStream<TcpStream>, Hello), ConnectionError> {
    let socket = TcpStream::connect(address).await?;
    socket.set_nodelay(true)?;
    let name = server_name(id)
        .ok_or_else(|| ConnectionError::Identity("the party has no DNS name".to_owned()))?;
    let connector = TlsConnector::from(Arc::clone(&shared.tls.client));
    let mut stream = connector.connect(name, socket).await?;
    send_hello(&mut stream, &shared.hello()).await?;
    let hello = receive_hello(&mut stream).await?;
    if hello.party != *id {
        let text = format!("{} answers where {id} was expected", hello.party);
        return Err(ConnectionError::Identity(text));
    }
    Ok((stream, hello))
}

/// Serves a connection once an earlier one of the same peer has ended.
async fn serve<S: AsyncRead + AsyncWrite + Unpin>(
    shared: &Shared,
    peer: &Peer,
    hello: &Hello,
    stream: S,
) {
    peer.replaced.notify_waiters();
    let _slot = peer.slot.lock().await;
    let options = &shared.options;
    let link = Link::new(
        hello.party,
        Arc::clone(&peer.outgoing),
        Arc::clone(&shared.consumer),
        Arc::clone(&shared.stats),
        (
            options.compression && hello.compression,
            Duration::from_micros(options.linger_us),
            options.message_bytes_max,
        ),
    );
    let up = Up { shared, peer, id: hello.party };
    up.begin(hello.epoch);
    tracing::info!(peer = %hello.party, software = %hello.software, "connected");
    tokio::select! {
        error = link.serve(stream) => {
            tracing::info!(code = error.code(), peer = %hello.party, "disconnected: {error}");
        }
        () = peer.replaced.notified() => {
            tracing::info!(peer = %hello.party, "replaced by a newer connection");
        }
    }
}

/// Says "down" however the connection's task ends.
struct Up<'a> {
    shared: &'a Shared,
    peer: &'a Peer,
    id: PartyId,
}

impl Up<'_> {
    fn begin(&self, epoch: u64) {
        self.peer.outgoing.set_up(true);
        self.peer.up.store(true, Ordering::Relaxed);
        self.shared.stats.connections.fetch_add(1, Ordering::Relaxed);
        self.shared.consumer.peer_up(self.id, epoch);
    }
}

impl Drop for Up<'_> {
    fn drop(&mut self) {
        self.peer.outgoing.set_up(false);
        self.peer.up.store(false, Ordering::Relaxed);
        self.shared.consumer.peer_down(self.id);
    }
}

impl Shared {
    fn hello(&self) -> Hello {
        Hello {
            party: self.options.me,
            epoch: self.options.epoch,
            compression: self.options.compression,
            software: self.options.software.clone(),
        }
    }
}
