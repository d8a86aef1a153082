//! The running transport: one thread for all connections, and a handle that any thread sends through.

use std::collections::HashMap;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};
use std::thread::JoinHandle;
use std::time::Duration;

use ledger::PartyId;
use primitives::Coded;
use thiserror::Error;
use tokio::runtime;
use tokio::sync::oneshot;

use crate::errors;
use crate::frame::{Hello, SOFTWARE_CHARS_MAX};
use crate::link::INLINE_BYTES;
use crate::metrics::{Counters, NetFigures};
use crate::options::{Compression, NetLimits, Options, PeerAddress};
use crate::outbox::Sent;
use crate::peer::Peer;
use crate::refusal::{Refusal, RefusalLog};
use crate::sink::Sink;
use crate::tls::{TlsConfigs, TlsMaterialError};
use crate::{accept, dial};

/// What all connections share.
pub(crate) struct Shared {
    pub(crate) me: PartyId,
    pub(crate) tls: TlsConfigs,
    pub(crate) sink: Arc<dyn Sink>,
    pub(crate) counters: Arc<Counters>,
    pub(crate) limits: NetLimits,
    pub(crate) compression: Compression,
    pub(crate) linger: Duration,
    epoch: u64,
    software: String,
    peers: RwLock<HashMap<PartyId, Arc<Peer>>>,
    log: RefusalLog,
    /// Bytes handed to the sink since it was full.
    overrun: AtomicUsize,
}

/// Why a transport does not start.
#[derive(Debug, Error)]
pub enum StartError {
    /// The address cannot be listened on.
    #[error("cannot listen for peers on {address}: {source}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
    /// The TLS material is of no use.
    #[error(transparent)]
    Tls(#[from] TlsMaterialError),
    /// A setting is out of range.
    #[error("connections between nodes: {0}")]
    Option(&'static str),
    /// The system gives no thread or event loop.
    #[error("the thread of the connections does not start: {0}")]
    System(io::Error),
}

impl Coded for StartError {
    fn code(&self) -> &'static str {
        match self {
            Self::Listen { .. } => "net.listen_failed",
            Self::Tls(error) => error.code(),
            Self::Option(_) => "net.bad_option",
            Self::System(_) => "net.start_failed",
        }
    }

    fn hint(&self) -> &'static str {
        errors::action(self.code())
    }
}

/// The running connections of a node. Dropping it ends them.
pub struct Transport {
    handle: Handle,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// Sends, from any thread; cheap to clone.
#[derive(Clone)]
pub struct Handle {
    shared: Arc<Shared>,
    runtime: runtime::Handle,
    address: SocketAddr,
}

/// What became of the messages of one [`Handle::send_many`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SendReport {
    /// Wait for their turn, or are on their way.
    pub queued: usize,
    /// Dropped because too much waits for their peer.
    pub full: usize,
    /// Dropped because there is no connection to their peer, or no such peer.
    pub down: usize,
    /// Dropped because their peer takes none of their size.
    pub too_large: usize,
}

/// A peer and the state of its connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerStatus {
    /// The peer.
    pub peer: PartyId,
    /// The other end of the connection, if one stands.
    pub address: Option<SocketAddr>,
    /// Messages that wait for it, in bytes, with 64 for each message.
    pub queued_bytes: usize,
}

impl Transport {
    /// Listens, connects to the peers that this node is to connect to, and hands to `sink` what comes.
    pub fn start(options: Options, sink: Arc<dyn Sink>) -> Result<Self, StartError> {
        options.check().map_err(StartError::Option)?;
        let address = options.listen;
        let listening = |source| StartError::Listen { address, source };
        let tls = options.tls.configs(&options.me)?;
        let listener = TcpListener::bind(address).map_err(listening)?;
        listener.set_nonblocking(true).map_err(listening)?;
        let address = listener.local_addr().map_err(listening)?;
        let shared = Arc::new(Shared {
            me: options.me,
            tls,
            sink,
            counters: Arc::default(),
            limits: options.limits,
            compression: options.compression,
            linger: Duration::from_micros(options.linger_us),
            epoch: options.epoch,
            software: options.software.chars().take(SOFTWARE_CHARS_MAX).collect(),
            peers: RwLock::default(),
            log: RefusalLog::default(),
            overrun: AtomicUsize::new(0),
        });
        let runtime = runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(StartError::System)?;
        let handle = Handle {
            shared,
            runtime: runtime.handle().clone(),
            address,
        };
        let listener = {
            let _in_runtime = runtime.enter();
            tokio::net::TcpListener::from_std(listener).map_err(listening)?
        };
        handle.set_peers(options.peers);
        let (stop, stopped) = oneshot::channel();
        let shared = Arc::clone(&handle.shared);
        let work = move || {
            runtime.block_on(async {
                let accepting = tokio::spawn(accept::accept(Arc::clone(&shared), listener));
                // Told, or whoever could tell is gone.
                let _ = stopped.await;
                accepting.abort();
                shared.finish();
            });
            // A look-up of a host name may hang; nobody waits for it.
            runtime.shutdown_background();
        };
        let thread = std::thread::Builder::new()
            .name("net".into())
            .spawn(work)
            .map_err(StartError::System)?;
        Ok(Self {
            handle,
            stop: Some(stop),
            thread: Some(thread),
        })
    }

    /// What others send through.
    pub fn handle(&self) -> &Handle {
        &self.handle
    }
}

impl Drop for Transport {
    /// Sends what can be sent at once, says goodbye and waits for the thread.
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            // Fails only if the thread is gone already.
            let _ = stop.send(());
        }
        if let Some(thread) = self.thread.take() {
            // A panic of the thread has been reported where it happened.
            let _ = thread.join();
        }
    }
}

impl Handle {
    /// Where this node listens.
    pub fn local_address(&self) -> SocketAddr {
        self.address
    }

    /// Sends a message; see [`Handle::send_many`].
    pub fn send(&self, peer: &PartyId, priority: u8, message: Vec<u8>) -> Sent {
        let peers = self.shared.peers();
        let Some(known) = peers.get(peer) else {
            self.shared.counters.dropped_down.add(1);
            return Sent::Unknown;
        };
        let mut report = SendReport::default();
        let sent = known.outbox().push(priority, message);
        report.count(sent);
        self.shared.note_dropped(&report);
        if sent == Sent::Queued {
            self.shared.pump(known);
        }
        sent
    }

    /// Sends messages: peer, priority (0 the most urgent, 3 the least) and bytes. Those of one peer and one priority
    /// arrive in order, each once or not at all. Never blocks; what cannot be queued is dropped and counted.
    ///
    /// Everything for one peer goes with one write, on the calling thread if the connection is free.
    pub fn send_many(
        &self,
        messages: impl IntoIterator<Item = (PartyId, u8, Vec<u8>)>,
    ) -> SendReport {
        let peers = self.shared.peers();
        let mut report = SendReport::default();
        let mut touched: Vec<&Arc<Peer>> = Vec::new();
        let mut messages = messages.into_iter().peekable();
        while let Some((id, priority, message)) = messages.next() {
            let Some(peer) = peers.get(&id) else {
                report.down += 1;
                continue;
            };
            let mut outbox = peer.outbox();
            report.count(outbox.push(priority, message));
            while let Some((_, priority, message)) = messages.next_if(|next| next.0 == id) {
                report.count(outbox.push(priority, message));
            }
            drop(outbox);
            if !touched.iter().any(|known| Arc::ptr_eq(known, peer)) {
                touched.push(peer);
            }
        }
        for peer in touched {
            self.shared.pump(peer);
        }
        self.shared.note_dropped(&report);
        report
    }

    /// Whether a message of this size to the peer would be dropped because too much waits.
    pub fn is_full(&self, peer: &PartyId, message_bytes: usize) -> bool {
        let peers = self.shared.peers();
        peers
            .get(peer)
            .is_some_and(|peer| peer.outbox().is_full_for(message_bytes))
    }

    /// Who else is in the network from now on. Connections to others end.
    pub fn set_peers(&self, wanted: Vec<PeerAddress>) {
        let me = self.shared.me;
        let mut peers = self
            .shared
            .peers
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        let mut kept = HashMap::with_capacity(wanted.len());
        for PeerAddress { id, addresses } in wanted.into_iter().filter(|peer| peer.id != me) {
            if let Some(known) = peers.remove(&id) {
                known.set_addresses(addresses);
                kept.insert(id, known);
                continue;
            }
            let peer = Peer::new(id, addresses, self.shared.limits.queue_bytes_max);
            let peer = kept.entry(id).or_insert_with(|| Arc::new(peer));
            if me < id {
                self.runtime
                    .spawn(dial::dial(Arc::clone(&self.shared), Arc::clone(peer)));
            }
        }
        let gone = std::mem::replace(&mut *peers, kept);
        drop(peers);
        gone.values().for_each(|peer| peer.retire());
    }

    /// The peers, in order of their ids.
    pub fn peers(&self) -> Vec<PeerStatus> {
        let peers = self.shared.peers();
        let status = |peer: &Arc<Peer>| PeerStatus {
            peer: peer.id,
            address: peer.link().map(|link| link.address),
            queued_bytes: peer.outbox().bytes(),
        };
        let mut all: Vec<PeerStatus> = peers.values().map(status).collect();
        all.sort_unstable_by_key(|status| status.peer);
        all
    }

    /// Whether a connection to the peer stands.
    pub fn is_connected(&self, peer: &PartyId) -> bool {
        self.shared
            .peers()
            .get(peer)
            .is_some_and(|peer| peer.outbox().is_up())
    }

    /// What was counted since the start.
    pub fn figures(&self) -> NetFigures {
        self.shared.counters.figures()
    }
}

impl SendReport {
    fn count(&mut self, sent: Sent) {
        match sent {
            Sent::Queued => self.queued += 1,
            Sent::Full => self.full += 1,
            Sent::Down | Sent::Unknown => self.down += 1,
            Sent::TooLarge => self.too_large += 1,
        }
    }
}

impl Shared {
    pub(crate) fn peer(&self, id: &PartyId) -> Option<Arc<Peer>> {
        self.peers().get(id).cloned()
    }

    /// What this node says first.
    pub(crate) fn hello(&self) -> Hello {
        Hello {
            party: self.me,
            epoch: self.epoch,
            software: self.software.clone(),
            takes_zstd: self.compression != Compression::Off,
            window: self.limits.window_bytes,
            max_message_bytes: self.limits.message_bytes_max,
        }
    }

    /// A connection was refused.
    pub(crate) fn refused(&self, from: SocketAddr, refusal: &Refusal) {
        self.counters.refused.add(1);
        self.log.refused(&from.to_string(), refusal);
    }

    /// A peer was not reached; the first time in a row is worth a line for operators.
    pub(crate) fn not_reached(&self, peer: &PartyId, refusal: &Refusal, tell: bool) {
        self.counters.unreachable.add(1);
        let (code, hint) = (refusal.code(), refusal.hint());
        if tell {
            tracing::warn!(code, %peer, hint, "peer not reached: {refusal}");
        } else {
            tracing::debug!(code, %peer, "peer not reached: {refusal}");
        }
    }

    /// Keeps account of what a full sink was handed all the same.
    pub(crate) fn note_taken(&self, bytes: usize) {
        if self.sink.has_room() {
            self.overrun.store(0, Ordering::Relaxed);
        } else {
            self.overrun.fetch_add(bytes, Ordering::Relaxed);
        }
    }

    /// Whether so much came after the sink was full that sockets are not read.
    pub(crate) fn is_overrun(&self) -> bool {
        self.overrun.load(Ordering::Relaxed) > self.limits.overrun_bytes_max
    }

    fn pump(&self, peer: &Peer) {
        if let Some(link) = peer.link() {
            if self.linger.is_zero() {
                link.pump(INLINE_BYTES);
            } else {
                link.wake.notify_one();
            }
        }
    }

    fn note_dropped(&self, report: &SendReport) {
        let add = |counter: &crate::metrics::Counter, count: usize| {
            if count > 0 {
                counter.add(count as u64);
            }
        };
        add(&self.counters.dropped_full, report.full);
        add(&self.counters.dropped_down, report.down);
        add(&self.counters.dropped_too_large, report.too_large);
    }

    /// Says goodbye to everybody.
    fn finish(&self) {
        for peer in self.peers().values() {
            if let Some(link) = peer.link() {
                link.finish();
            }
        }
    }

    fn peers(&self) -> RwLockReadGuard<'_, HashMap<PartyId, Arc<Peer>>> {
        self.peers.read().unwrap_or_else(PoisonError::into_inner)
    }
}
