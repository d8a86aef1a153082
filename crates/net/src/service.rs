//! The service of an established connection, as a task of the net thread.

use std::cell::RefCell;
use std::sync::Arc;
use std::time::Duration;

use primitives::Coded;
use tokio::time::{Instant, sleep_until};

use crate::assembly::Assembly;
use crate::compression::Packer;
use crate::handshake::Met;
use crate::history::{ConnectionEvent, PeerEvent};
use crate::link::Link;
use crate::options::Compression;
use crate::peer::{Peer, clock_ms};
use crate::reader::{Buffers, Turn};
use crate::refusal::Refusal;
use crate::shared::TransportState;

/// Interval at which a full sink is asked whether it has room again.
const FULL_POLL: Duration = Duration::from_millis(1);
/// Resolution of the runtime's timer. Shorter waits block the thread.
const CLOCK_TICK: Duration = Duration::from_millis(1);

thread_local! {
    /// The buffers for reading, shared by all connections: the net thread reads one connection at a time.
    static BUFFERS: RefCell<Option<Buffers>> = const { RefCell::new(None) };
}

fn with_buffers<T>(work: impl FnOnce(&mut Buffers) -> T) -> T {
    BUFFERS.with_borrow_mut(|buffers| work(buffers.get_or_insert_with(Buffers::new)))
}

/// Serves a connection until it ends. Returns its duration.
pub(crate) async fn serve(shared: &Arc<TransportState>, met: Met) -> Duration {
    let Met {
        peer,
        hello,
        socket,
        address,
        tls,
    } = met;
    let limits = &shared.limits;
    let compress = hello.takes_zstd
        && match shared.compression {
            Compression::Off => false,
            Compression::Auto => !address.ip().to_canonical().is_loopback(),
            Compression::On => true,
        };
    // If the compressor gets no memory, frames are sent uncompressed.
    let packer = if compress { Packer::new().ok() } else { None };
    let assembly = Assembly::new(limits.window_bytes, limits.message_bytes_max);
    let counters = Arc::clone(&shared.counters);
    let link = Link::new(
        (peer.id, peer.shared_outbox()),
        (socket, address),
        tls,
        (assembly, packer),
        counters,
    );
    let link = Arc::new(link);
    let replaced = peer.install(&link, &hello, &*shared.sink);
    shared.counters.connected.add(1);
    if replaced {
        let refusal = Refusal::Replaced;
        let event = PeerEvent::new(ConnectionEvent::Disconnected, clock_ms());
        peer.note(event.because(refusal.code(), refusal.to_string()));
        tracing::warn!(
            code = refusal.code(),
            peer = peer.name,
            hint = refusal.hint(),
            "the peer connected again; the older connection is closed"
        );
    }
    peer.note(PeerEvent::new(ConnectionEvent::Connected, clock_ms()).at(address));
    tracing::info!(peer = peer.name, %address, software = hello.software, compress, "connected");
    let began = Instant::now();
    let ended = Service {
        shared,
        peer: &peer,
        link: &link,
        heard: began,
        questioned: None,
        owing: false,
    }
    .run()
    .await;
    if link.is_closed() || matches!(ended, Refusal::Stopped) {
        link.finish();
    }
    peer.remove(&link, &*shared.sink);
    shared.counters.disconnected.add(1);
    let (code, stood) = (ended.code(), began.elapsed());
    // The end of a replaced connection was noted before the next one began.
    if !matches!(ended, Refusal::Replaced) {
        let event = PeerEvent::new(ConnectionEvent::Disconnected, clock_ms());
        peer.note(event.at(address).because(code, ended.to_string()));
    }
    if ended.is_harmless() || matches!(ended, Refusal::Replaced) {
        tracing::info!(code, peer = peer.name, %address, "disconnected: {ended}");
    } else {
        tracing::warn!(code, peer = peer.name, %address, hint = ended.hint(), "disconnected: {ended}");
    }
    stood
}

struct Service<'a> {
    shared: &'a TransportState,
    peer: &'a Peer,
    link: &'a Link,
    /// The time at which the last bytes of the peer arrived.
    heard: Instant,
    /// The time at which the peer was asked to show that it is there, until it is heard again.
    questioned: Option<Instant>,
    /// The peer is owed credit, which is granted once the sink has room.
    owing: bool,
}

impl Service<'_> {
    async fn run(mut self) -> Refusal {
        match self.work().await {
            Ok(refusal) | Err(refusal) => refusal,
        }
    }

    async fn work(&mut self) -> Result<Refusal, Refusal> {
        let (link, shared) = (self.link, self.shared);
        let turn = with_buffers(|buffers| link.begin(buffers, &*shared.sink))?;
        self.after(turn);
        let mut timer = Box::pin(sleep_until(self.deadline()));
        loop {
            if link.is_closed() {
                self.peer.check_admitted()?;
                let retired = self.peer.is_retired();
                return Ok(if retired {
                    Refusal::Stopped
                } else {
                    Refusal::Replaced
                });
            }
            if link.take_question() && self.questioned.is_none() {
                self.questioned = Some(Instant::now());
                link.ping()?;
                link.pump(crate::link::TURN_BYTES);
                timer.as_mut().reset(self.deadline());
            }
            if let Some(failure) = link.failure() {
                return Err(failure);
            }
            if link.has_more() {
                link.resume();
                tokio::task::yield_now().await;
            }
            let held_up = self.owing || shared.is_overrun();
            if held_up && timer.deadline() > Instant::now() + FULL_POLL {
                timer.as_mut().reset(self.deadline());
            }
            tokio::select! {
                () = link.wake.notified() => self.linger().await,
                ready = link.socket.writable(), if link.wants_write() => {
                    ready.map_err(|error| Refusal::Lost(error.to_string()))?;
                    link.resume();
                }
                ready = link.socket.readable(), if !shared.is_overrun() => {
                    ready.map_err(|error| Refusal::Lost(error.to_string()))?;
                    let turn = with_buffers(|buffers| link.read(buffers, &*shared.sink))?;
                    self.after(turn);
                    if turn.more {
                        tokio::task::yield_now().await;
                    }
                }
                () = &mut timer => {
                    self.on_time()?;
                    timer.as_mut().reset(self.deadline());
                }
            }
        }
    }

    /// Acts on a turn of reading: credit may have arrived, or may be owed.
    fn after(&mut self, turn: Turn) {
        if turn.heard {
            self.heard = Instant::now();
            self.questioned = None;
        }
        self.owing = turn.owing;
        self.shared.note_taken(turn.bytes);
        self.link.pump(crate::link::TURN_BYTES);
    }

    /// Waits out the linger time after a sender's wake-up, then writes. With a linger, senders leave
    /// the writing to this thread.
    async fn linger(&self) {
        let linger = self.shared.linger;
        if linger.is_zero() {
            return;
        }
        if linger < CLOCK_TICK {
            std::thread::sleep(linger);
        } else {
            tokio::time::sleep(linger).await;
        }
        self.link.pump(crate::link::TURN_BYTES);
    }

    fn deadline(&self) -> Instant {
        if self.owing || self.shared.is_overrun() {
            return Instant::now() + FULL_POLL;
        }
        let limits = &self.shared.limits;
        let silence = self.heard.elapsed();
        let until = if silence < limits.ping_after {
            limits.ping_after
        } else {
            limits.silence_max
        };
        // Pings are repeated while nothing is heard.
        let next = self.heard + until.min(silence + limits.ping_after);
        match self.questioned {
            Some(at) => next.min(at + limits.answer_after_announcement),
            None => next,
        }
    }

    fn on_time(&mut self) -> Result<(), Refusal> {
        let (limits, silence) = (&self.shared.limits, self.heard.elapsed());
        if self.owing && self.shared.sink.has_room() {
            self.link.grant()?;
            self.owing = false;
        }
        self.shared.note_taken(0);
        if self.shared.is_overrun() {
            // Reading is paused, so silence does not mean that the peer is gone.
            self.heard = Instant::now();
            self.questioned = None;
        } else if self
            .questioned
            .is_some_and(|at| at.elapsed() >= limits.answer_after_announcement)
        {
            return Err(Refusal::Idle(limits.answer_after_announcement));
        } else if silence >= limits.silence_max {
            return Err(Refusal::Idle(limits.silence_max));
        } else if silence >= limits.ping_after {
            self.link.ping()?;
        }
        self.link.pump(crate::link::TURN_BYTES);
        Ok(())
    }
}
