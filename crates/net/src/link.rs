//! An established connection, and its sending side.
//!
//! # The sending thread writes
//! TLS has one state for both directions, so a link has one lock. A thread that sends queues its message and tries the
//! lock. If it gets the lock, it frames, encrypts and writes right there, and no other thread has to wake up. If not, the
//! lock's holder checks the queue again after it has released the lock, and sends. So no thread waits and no message is
//! forgotten. Under load the queue gathers while one thread writes, and goes out with one write.

use std::io::{self, IoSlice, Write};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};

use ledger::PartyId;
use rustls::Connection;
use tokio::net::TcpStream;
use tokio::sync::Notify;

use crate::assembly::Assembly;
use crate::compression::{Packer, Unpacker};
use crate::frame::FrameDecoder;
use crate::metrics::Counters;
use crate::outbox::SharedOutbox;
use crate::refusal::Refusal;

/// The send buffer of the socket is full. The net thread continues once it has room.
const WANT_WRITE: u8 = 1;
/// More is queued than one call should send. The net thread continues.
const MORE: u8 = 2;
/// Sending failed: the net thread ends the connection.
const FAILED: u8 = 4;
/// The connection is to end.
const CLOSED: u8 = 8;
/// The peer must show that it is at the other end.
const QUESTIONED: u8 = 16;

/// Approximate size of the frames that are encrypted and written in one step, in bytes.
const GATHER_BYTES: usize = 128 << 10;
/// Maximum bytes that a sending thread writes before it leaves the rest to the net thread.
pub(crate) const INLINE_BYTES: usize = 256 << 10;
/// Maximum bytes that the net thread writes to one peer before the other peers get their turn.
pub(crate) const TURN_BYTES: usize = 1 << 20;

/// One connection and its lock.
pub(crate) struct Link {
    pub(crate) peer: PartyId,
    pub(crate) outbox: SharedOutbox,
    pub(crate) address: SocketAddr,
    pub(crate) socket: TcpStream,
    /// Wakes the net thread.
    pub(crate) wake: Notify,
    pub(crate) counters: Arc<Counters>,
    state: Mutex<LinkState>,
    flags: AtomicU8,
}

/// The state that the lock guards.
pub(crate) struct LinkState {
    pub(crate) tls: Connection,
    pub(crate) decoder: FrameDecoder,
    pub(crate) assembly: Assembly,
    pub(crate) unpacker: Unpacker,
    /// Frames of the connection itself that go before everything else: credit, pings, pongs.
    pub(crate) controls: Vec<u8>,
    packer: Option<Packer>,
    frames: Vec<u8>,
    failure: Option<Refusal>,
}

enum Progress {
    /// Nothing can be sent now.
    Idle,
    /// The socket accepts no more bytes.
    Full,
    /// The budget is used up.
    More,
}

impl Link {
    pub(crate) fn new(
        (peer, outbox): (PartyId, SharedOutbox),
        (socket, address): (TcpStream, SocketAddr),
        mut tls: Connection,
        (assembly, packer): (Assembly, Option<Packer>),
        counters: Arc<Counters>,
    ) -> Self {
        // GATHER_BYTES bounds the bytes that are encrypted at once.
        tls.set_buffer_limit(None);
        let state = LinkState {
            tls,
            decoder: FrameDecoder::new(),
            assembly,
            unpacker: Unpacker::default(),
            controls: Vec::new(),
            packer,
            frames: Vec::new(),
            failure: None,
        };
        Self {
            peer,
            outbox,
            address,
            socket,
            wake: Notify::new(),
            counters,
            state: Mutex::new(state),
            flags: AtomicU8::new(0),
        }
    }

    /// Sends the queue, unless another thread holds the lock: that thread then sends it. Never blocks.
    pub(crate) fn pump(&self, mut budget: usize) {
        // If the socket is full, the net thread continues on its own once there is room.
        while self.flags.load(Ordering::SeqCst) & (WANT_WRITE | FAILED | CLOSED) == 0 {
            let mut state = match self.state.try_lock() {
                Ok(state) => state,
                Err(TryLockError::WouldBlock) => return,
                Err(TryLockError::Poisoned(_)) => return self.attention(FAILED),
            };
            let progress = state.send(self, &mut budget);
            let flag = match progress {
                Ok(Progress::Idle) => None,
                Ok(Progress::Full) => Some(WANT_WRITE),
                Ok(Progress::More) => Some(MORE),
                Err(error) => {
                    state.failure = Some(error);
                    Some(FAILED)
                }
            };
            // Before the net thread is called: it must not find the lock taken by a thread that is about to leave.
            drop(state);
            if let Some(flag) = flag {
                return self.attention(flag);
            }
            // After the last check of the queue, another thread may have queued a message and found the lock taken.
            if !self.outbox.lock().is_ready() {
                return;
            }
        }
    }

    /// Ends the connection soon.
    pub(crate) fn close(&self) {
        self.attention(CLOSED);
    }

    /// Has the peer pinged, and the connection given up if it does not answer soon.
    pub(crate) fn question(&self) {
        self.attention(QUESTIONED);
    }

    /// Returns whether the connection is questioned since the last call.
    pub(crate) fn take_question(&self) -> bool {
        self.flags.fetch_and(!QUESTIONED, Ordering::SeqCst) & QUESTIONED != 0
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.flags.load(Ordering::SeqCst) & CLOSED != 0
    }

    pub(crate) fn wants_write(&self) -> bool {
        self.flags.load(Ordering::SeqCst) & WANT_WRITE != 0
    }

    /// Returns whether messages are left to send although the socket is not full.
    pub(crate) fn has_more(&self) -> bool {
        self.flags.load(Ordering::SeqCst) & MORE != 0
    }

    /// Continues to send, on the net thread.
    pub(crate) fn resume(&self) {
        self.flags.fetch_and(!(WANT_WRITE | MORE), Ordering::SeqCst);
        self.pump(TURN_BYTES);
    }

    /// Returns the error of a failed send.
    pub(crate) fn failure(&self) -> Option<Refusal> {
        if self.flags.load(Ordering::SeqCst) & FAILED == 0 {
            return None;
        }
        let broken = || Refusal::Lost("its state was lost in a panic".to_owned());
        let failure = self
            .state
            .lock()
            .ok()
            .and_then(|mut state| state.failure.take());
        Some(failure.unwrap_or_else(broken))
    }

    /// The state, for the net thread.
    pub(crate) fn lock(&self) -> Result<MutexGuard<'_, LinkState>, Refusal> {
        self.state
            .lock()
            .map_err(|_| Refusal::Lost("its state was lost in a panic".to_owned()))
    }

    /// Sends what it can without waiting, then a TLS close_notify.
    pub(crate) fn finish(&self) {
        if let Ok(mut state) = self.state.lock() {
            let mut budget = TURN_BYTES;
            // The connection ends in any case.
            let _ = state.send(self, &mut budget);
            state.tls.send_close_notify();
            let _ = state.flush(self);
        }
    }

    fn attention(&self, flag: u8) {
        self.flags.fetch_or(flag, Ordering::SeqCst);
        self.wake.notify_one();
    }
}

impl LinkState {
    fn send(&mut self, link: &Link, budget: &mut usize) -> Result<Progress, Refusal> {
        loop {
            if !self
                .flush(link)
                .map_err(|error| Refusal::Lost(error.to_string()))?
            {
                return Ok(Progress::Full);
            }
            self.frames.clear();
            self.frames.append(&mut self.controls);
            self.gather(link);
            if self.frames.is_empty() {
                return Ok(Progress::Idle);
            }
            let sent = self.tls.writer().write_all(&self.frames);
            sent.map_err(|error| Refusal::Lost(error.to_string()))?;
            // Clipped at 0: the last frames may exceed the budget.
            *budget = budget.saturating_sub(self.frames.len());
            if *budget == 0 {
                let flushed = self.flush(link).map_err(|e| Refusal::Lost(e.to_string()))?;
                return Ok(if flushed {
                    Progress::More
                } else {
                    Progress::Full
                });
            }
        }
    }

    /// Makes frames of the queued messages.
    fn gather(&mut self, link: &Link) {
        let (mut frames, mut messages, mut bytes) = (0, 0, 0);
        while self.frames.len() < GATHER_BYTES {
            // The lock is held for one frame only: others queue meanwhile.
            let made = link.outbox.lock().next_frame(&mut self.frames);
            let Some(mut made) = made else { break };
            if let Some(packer) = &mut self.packer {
                packer.pack(&mut self.frames, &mut made);
            }
            frames += 1;
            messages += made.messages;
            bytes += made.bytes;
        }
        if frames > 0 {
            link.counters.frames_out.add(frames);
            link.counters.messages_out.add(messages);
            link.counters.bytes_out.add(bytes);
        }
    }

    /// Writes the encrypted bytes. Returns false if the socket accepts no more.
    pub(crate) fn flush(&mut self, link: &Link) -> io::Result<bool> {
        while self.tls.wants_write() {
            match self.tls.write_tls(&mut SocketWriter(link)) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    /// Frees memory that an idle connection does not need.
    pub(crate) fn shrink(&mut self) {
        self.frames = Vec::new();
        self.controls.shrink_to_fit();
        self.unpacker.shrink();
    }
}

/// Writes to the socket without waiting, and counts the bytes.
struct SocketWriter<'a>(&'a Link);

impl SocketWriter<'_> {
    fn count(&self, written: io::Result<usize>) -> io::Result<usize> {
        if let Ok(bytes) = &written {
            self.0.counters.writes.add(1);
            self.0.counters.wire_bytes_out.add(*bytes as u64);
        }
        written
    }
}

impl Write for SocketWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.count(self.0.socket.try_write(bytes))
    }

    fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        self.count(self.0.socket.try_write_vectored(slices))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
