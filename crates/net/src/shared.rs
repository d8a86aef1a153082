//! State shared by all connections of a transport.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;

use ledger::PartyId;
use primitives::Coded;

use crate::frame::{Hello, SOFTWARE_CHARS_MAX};
use crate::history::{ConnectionEvent, PeerEvent};
use crate::metrics::Counters;
use crate::options::{Compression, NetLimits, Options};
use crate::peer::{Peer, clock_ms};
use crate::refusal::{Refusal, RefusalLog};
use crate::sink::Sink;
use crate::tls::{TlsConfigs, TlsMaterialError};

/// State shared by all connections of a transport.
pub(crate) struct TransportState {
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
    /// Bytes delivered to the sink since it became full.
    overrun: AtomicUsize,
}

impl TransportState {
    /// Creates the state without any peer.
    pub(crate) fn new(options: Options, sink: Arc<dyn Sink>) -> Result<Self, TlsMaterialError> {
        Ok(Self {
            me: options.me,
            tls: options.tls.configs(&options.me)?,
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
        })
    }

    pub(crate) fn peer(&self, id: &PartyId) -> Option<Arc<Peer>> {
        self.peers().get(id).cloned()
    }

    /// Returns the legal name of a party of the network map, and the id of any other party.
    pub(crate) fn name_of(&self, id: &PartyId) -> String {
        self.peer(id)
            .map_or_else(|| format!("party {id}"), |peer| peer.name.clone())
    }

    /// Returns this node's hello.
    pub(crate) fn hello(&self) -> Hello {
        Hello {
            party: self.me,
            epoch: self.epoch,
            software: self.software.clone(),
            takes_zstd: self.compression != Compression::Off,
            window: self.limits.window_bytes,
            max_message_bytes: self.limits.message_bytes_max,
            clock_ms: clock_ms(),
        }
    }

    /// Counts and logs a refused connection.
    pub(crate) fn refused(&self, from: SocketAddr, refusal: &Refusal) {
        self.counters.refused.add(1);
        self.log.refused(&from.to_string(), refusal);
    }

    /// Counts a failed attempt to reach a peer. Only the first of consecutive failures is logged for operators.
    pub(crate) fn not_reached(&self, peer: &Peer, refusal: &Refusal, tell: bool) {
        self.counters.unreachable.add(1);
        let (code, hint) = (refusal.code(), refusal.hint());
        let event = PeerEvent::new(ConnectionEvent::NotReached, clock_ms());
        peer.note(event.because(code, refusal.to_string()));
        let peer = &peer.name;
        if tell {
            tracing::warn!(code, peer, hint, "peer not reached: {refusal}");
        } else {
            tracing::debug!(code, peer, "peer not reached: {refusal}");
        }
    }

    /// Counts bytes delivered to a full sink. The count returns to 0 once the sink has room.
    pub(crate) fn note_taken(&self, bytes: usize) {
        if self.sink.has_room() {
            self.overrun.store(0, Ordering::Relaxed);
        } else {
            self.overrun.fetch_add(bytes, Ordering::Relaxed);
        }
    }

    /// Returns whether reading of sockets must pause, because the full sink has received more than `overrun_bytes_max`.
    pub(crate) fn is_overrun(&self) -> bool {
        self.overrun.load(Ordering::Relaxed) > self.limits.overrun_bytes_max
    }

    /// Closes all connections in order: sends what it can without waiting, then a TLS close_notify.
    pub(crate) fn finish(&self) {
        for peer in self.peers().values() {
            if let Some(link) = peer.link() {
                link.finish();
            }
        }
    }

    pub(crate) fn peers(&self) -> RwLockReadGuard<'_, HashMap<PartyId, Arc<Peer>>> {
        self.peers.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn peers_mut(&self) -> RwLockWriteGuard<'_, HashMap<PartyId, Arc<Peer>>> {
        self.peers.write().unwrap_or_else(PoisonError::into_inner)
    }
}
