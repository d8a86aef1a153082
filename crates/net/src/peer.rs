//! One peer: its waiting messages and its current connection.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use ledger::PartyId;
use primitives::{Coded, whole_ms};
use tokio::sync::Notify;

use crate::frame::Hello;
use crate::history::{ConnectionEvent, History, PeerEvent};
use crate::link::Link;
use crate::options::PeerAddress;
use crate::outbox::{Outbox, SharedOutbox};
use crate::refusal::Refusal;
use crate::sink::{Inbound, Sink};

/// The facts that a peer announced in its last hello.
#[derive(Clone, Debug)]
pub(crate) struct Met {
    pub(crate) software: String,
    /// The peer's clock minus ours at the last hello, in milliseconds. It is too low by up to the duration of the handshake.
    pub(crate) clock_offset_ms: i64,
}

/// Milliseconds since the Unix epoch; 0 on a clock before it.
pub(crate) fn clock_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, whole_ms)
}

/// One peer of the network.
pub(crate) struct Peer {
    pub(crate) id: PartyId,
    /// Its name, for people.
    pub(crate) name: String,
    /// Notified when the pause between attempts to reach the peer should end.
    pub(crate) retry: Notify,
    addresses: Mutex<Vec<String>>,
    outbox: SharedOutbox,
    link: Mutex<Option<Arc<Link>>>,
    met: Mutex<Option<Met>>,
    retired: AtomicBool,
    /// The end of the cut-off. Until then the peer is not dialled, and its connections are refused.
    cut_off_until: Mutex<Option<Instant>>,
    history: Mutex<History>,
}

impl Peer {
    pub(crate) fn new(address: PeerAddress, queue_bytes_max: usize) -> Self {
        let PeerAddress {
            id,
            name,
            addresses,
        } = address;
        Self {
            id,
            name,
            retry: Notify::new(),
            addresses: Mutex::new(addresses),
            outbox: SharedOutbox::new(queue_bytes_max),
            link: Mutex::new(None),
            met: Mutex::new(None),
            retired: AtomicBool::new(false),
            cut_off_until: Mutex::new(None),
            history: Mutex::default(),
        }
    }

    pub(crate) fn addresses(&self) -> Vec<String> {
        lock(&self.addresses).clone()
    }

    /// Sets new addresses of the peer, and dials them at once.
    pub(crate) fn set_addresses(&self, addresses: Vec<String>) {
        let mut known = lock(&self.addresses);
        if *known != addresses {
            *known = addresses;
            self.retry.notify_one();
        }
    }

    pub(crate) fn outbox(&self) -> MutexGuard<'_, Outbox> {
        self.outbox.lock()
    }

    /// Returns the outbox for a connection.
    pub(crate) fn shared_outbox(&self) -> SharedOutbox {
        self.outbox.clone()
    }

    pub(crate) fn link(&self) -> Option<Arc<Link>> {
        lock(&self.link).clone()
    }

    /// Returns the facts of the peer's last hello.
    pub(crate) fn met(&self) -> Option<Met> {
        lock(&self.met).clone()
    }

    /// The peer is no longer in the network.
    pub(crate) fn retire(&self) {
        self.retired.store(true, Ordering::Release);
        self.retry.notify_one();
        if let Some(link) = self.link() {
            link.close();
        }
    }

    /// Cuts the peer off: ends its connection, and refuses new ones for the given time.
    pub(crate) fn cut_off(&self, time: Duration) {
        *lock(&self.cut_off_until) = Instant::now().checked_add(time);
        let reason = format!("for {} s", time.as_secs_f32().ceil());
        let event = PeerEvent::new(ConnectionEvent::CutOff, clock_ms());
        self.note(event.because(Refusal::CutOff(self.name.clone(), 0).code(), reason));
        if let Some(link) = self.link() {
            link.close();
        }
    }

    /// Returns the remaining time for which the peer is cut off, if it is.
    pub(crate) fn cut_off_for(&self) -> Option<Duration> {
        let until = (*lock(&self.cut_off_until))?;
        // Clipped at 0: the time is over.
        let left = until.saturating_duration_since(Instant::now());
        (!left.is_zero()).then_some(left)
    }

    /// Checks that the peer is not cut off. Otherwise returns the refusal with the remaining time.
    pub(crate) fn check_admitted(&self) -> Result<(), Refusal> {
        match self.cut_off_for() {
            Some(left) => Err(Refusal::CutOff(self.name.clone(), left.as_millis())),
            None => Ok(()),
        }
    }

    /// The peer has announced itself over another connection than the present one. Dials it at once if there is none. Otherwise the present one
    /// must show that the peer is at its other end.
    pub(crate) fn announced(&self) {
        match self.link() {
            Some(link) => link.question(),
            None => self.retry.notify_one(),
        }
    }

    /// Adds an event to the history of its connection.
    pub(crate) fn note(&self, event: PeerEvent) {
        lock(&self.history).note(event);
    }

    /// Returns the last events of its connection, oldest first.
    pub(crate) fn history(&self) -> Vec<PeerEvent> {
        lock(&self.history).events()
    }

    pub(crate) fn is_retired(&self) -> bool {
        self.retired.load(Ordering::Acquire)
    }

    /// Registers an established connection. An older one is closed, and the sink gets both events in order. Called only on the thread of the
    /// connections, so that nothing of the old one comes after this. Returns whether there was an older one.
    pub(crate) fn install(&self, link: &Arc<Link>, hello: &Hello, sink: &dyn Sink) -> bool {
        let old = lock(&self.link).replace(Arc::clone(link));
        let offset = i128::from(hello.clock_ms) - i128::from(clock_ms());
        // Only a clock that is ahead, the peer's, can be beyond the range.
        *lock(&self.met) = Some(Met {
            software: hello.software.clone(),
            clock_offset_ms: i64::try_from(offset).unwrap_or(i64::MAX),
        });
        self.outbox().open(hello.window, hello.max_message_bytes);
        let mut batch = Vec::with_capacity(2);
        if let Some(old) = &old {
            old.close();
            batch.push(Inbound::PeerDown { peer: self.id });
        }
        batch.push(Inbound::PeerUp {
            peer: self.id,
            epoch: hello.epoch,
        });
        sink.deliver(&mut batch);
        old.is_some()
    }

    /// A connection has ended. Does nothing if another one has taken its place.
    pub(crate) fn remove(&self, link: &Arc<Link>, sink: &dyn Sink) {
        let mut current = lock(&self.link);
        if current
            .as_ref()
            .is_some_and(|current| Arc::ptr_eq(current, link))
        {
            *current = None;
            self.outbox().close();
            drop(current);
            sink.deliver(&mut vec![Inbound::PeerDown { peer: self.id }]);
        }
    }
}

/// Locks a mutex, even a poisoned one: no holder of these locks can leave the guarded data half changed.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
