//! The messages that wait for one peer, and their conversion into frames. Pure: it neither locks nor writes.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::frame::{Flags, FrameError, HEADER_BYTES, Header, Kind};

/// Priorities of messages, 0 the most urgent; higher numbers count as the last. Each has a stream of its own.
pub const LANES: usize = 4;

/// Chunk size, in bytes. Larger messages are sent in chunks, with frames of other messages in between.
const CHUNK_BYTES: usize = 64 << 10;
/// Size at which the body of a batch is full, in bytes. The last message may exceed it.
const BATCH_BYTES: usize = 64 << 10;
/// Interval, in frames, at which the least urgent lane that can send goes first, so that it never starves.
const FAIR_TURN: u32 = 8;

/// The outcome of queueing a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// The message is queued, or was sent.
    Queued,
    /// Dropped: the queue of the peer is full.
    Full,
    /// Dropped: the peer is not connected.
    Down,
    /// Dropped: the message exceeds the limit of the peer.
    TooLarge,
    /// Dropped: the peer is not known.
    Unknown,
}

/// Bytes of a stream's credit that a message costs.
pub const fn message_cost(bytes: usize) -> usize {
    bytes + crate::frame::MESSAGE_OVERHEAD
}

/// The queues of one peer, a lane for each priority.
#[derive(Debug)]
pub(crate) struct Outbox {
    lanes: [Lane; LANES],
    bytes: usize,
    bytes_max: usize,
    message_bytes_max: usize,
    up: bool,
    frames: u32,
}

#[derive(Debug, Default)]
struct Lane {
    queue: VecDeque<Vec<u8>>,
    /// Bytes of the first message that were already sent in chunks.
    sent: usize,
    credit: i64,
}

/// The outbox of a peer, which the peer shares with its connection.
#[derive(Clone)]
pub(crate) struct SharedOutbox(Arc<Mutex<Outbox>>);

impl SharedOutbox {
    pub(crate) fn new(queue_bytes_max: usize) -> Self {
        Self(Arc::new(Mutex::new(Outbox::new(queue_bytes_max))))
    }

    /// Locks it, even if it is poisoned: no holder of the lock can leave it half changed.
    pub(crate) fn lock(&self) -> MutexGuard<'_, Outbox> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A frame just written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Made {
    /// Its header.
    pub(crate) header: Header,
    /// Messages that it completes.
    pub(crate) messages: u64,
    /// Their bytes, or those of the chunk.
    pub(crate) bytes: u64,
}

impl Lane {
    fn is_ready(&self) -> bool {
        !self.queue.is_empty() && (self.sent > 0 || self.credit > 0)
    }
}

impl Outbox {
    /// No connection yet.
    pub(crate) fn new(bytes_max: usize) -> Self {
        Self {
            lanes: Default::default(),
            bytes: 0,
            bytes_max,
            message_bytes_max: 0,
            up: false,
            frames: 0,
        }
    }

    /// Starts a new connection: forgets all waiting messages and sets the credit to the peer's window.
    pub(crate) fn open(&mut self, window: u32, message_bytes_max: u32) {
        self.close();
        self.up = true;
        self.message_bytes_max = message_bytes_max as usize;
        for lane in &mut self.lanes {
            lane.credit = window.into();
        }
    }

    /// Ends the connection, and drops all queued messages.
    pub(crate) fn close(&mut self) {
        *self = Self::new(self.bytes_max);
    }

    /// Adds a message.
    pub(crate) fn push(&mut self, priority: u8, message: Vec<u8>) -> Sent {
        if !self.up {
            return Sent::Down;
        }
        if message.len() > self.message_bytes_max {
            return Sent::TooLarge;
        }
        let bytes = self.bytes + message_cost(message.len());
        if bytes > self.bytes_max {
            return Sent::Full;
        }
        self.bytes = bytes;
        self.lanes[usize::from(priority).min(LANES - 1)]
            .queue
            .push_back(message);
        Sent::Queued
    }

    /// Adds credit that the peer grants. Grants for streams that this side does not use are ignored.
    pub(crate) fn grant(&mut self, stream: u32, bytes: u32) -> Result<(), FrameError> {
        if let Some(lane) = self.lanes.get_mut(stream as usize) {
            lane.credit = lane
                .credit
                .checked_add(bytes.into())
                .ok_or(FrameError::Grant(stream))?;
        }
        Ok(())
    }

    /// Whether a frame could be made now.
    pub(crate) fn is_ready(&self) -> bool {
        self.lanes.iter().any(Lane::is_ready)
    }

    /// Returns the queued bytes, plus 64 for each message.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns whether a message of this size would be dropped because the queue is full.
    pub(crate) fn is_full_for(&self, message_bytes: usize) -> bool {
        self.bytes + message_cost(message_bytes) > self.bytes_max
    }

    /// Whether there is a connection.
    pub(crate) fn is_up(&self) -> bool {
        self.up
    }

    /// Appends the next frame, header and body, if one can be made.
    pub(crate) fn next_frame(&mut self, out: &mut Vec<u8>) -> Option<Made> {
        let index = self.next_lane()?;
        // A count that begins again changes one turn at most.
        self.frames = self.frames.wrapping_add(1);
        let lane = &mut self.lanes[index];
        let in_chunks = lane
            .queue
            .front()
            .is_some_and(|first| first.len() > CHUNK_BYTES);
        let at = out.len();
        out.extend_from_slice(&[0; HEADER_BYTES]);
        let (mut made, left) = if in_chunks {
            lane.chunk(out)?
        } else {
            lane.batch(out)
        };
        self.bytes -= left;
        let flags = made.header.flags;
        made.header = Header::new(made.header.kind, out.len() - at - HEADER_BYTES);
        // There are four lanes.
        (made.header.priority, made.header.stream) = (index as u8, index as u32);
        made.header.flags = flags;
        out[at..at + HEADER_BYTES].copy_from_slice(&made.header.to_bytes());
        Some(made)
    }

    fn next_lane(&self) -> Option<usize> {
        let mut ready = (0..LANES).filter(|index| self.lanes[*index].is_ready());
        if self.frames % FAIR_TURN == FAIR_TURN - 1 {
            ready.next_back()
        } else {
            ready.next()
        }
    }
}

impl Lane {
    /// Writes the body of a batch. Returns the size that leaves the queue.
    fn batch(&mut self, out: &mut Vec<u8>) -> (Made, usize) {
        let mut made = Made {
            header: Header::new(Kind::Batch, 0),
            messages: 0,
            bytes: 0,
        };
        let (end, mut left) = (out.len() + BATCH_BYTES, 0);
        while self.credit > 0
            && out.len() < end
            && let Some(message) = self
                .queue
                .pop_front_if(|message| message.len() <= CHUNK_BYTES)
        {
            // A chunk's size at most.
            out.extend_from_slice(&(message.len() as u32).to_be_bytes());
            out.extend_from_slice(&message);
            let cost = message_cost(message.len());
            // Credit that is left, less one message, is far from the end of the range.
            self.credit -= cost as i64;
            left += cost;
            made.messages += 1;
            made.bytes += message.len() as u64;
        }
        (made, left)
    }

    /// Writes the body of a chunk of the first message. Returns the size that leaves the queue.
    fn chunk(&mut self, out: &mut Vec<u8>) -> Option<(Made, usize)> {
        let message = self.queue.front()?;
        let (size, first) = (message.len(), self.sent == 0);
        let cost = message_cost(size);
        if first {
            // Checked when it was pushed: a message's size fits.
            out.extend_from_slice(&(size as u32).to_be_bytes());
            self.credit -= cost as i64;
        }
        let end = (self.sent + CHUNK_BYTES).min(size);
        let part = &message[self.sent..end];
        out.extend_from_slice(part);
        let (bytes, last) = (part.len() as u64, end == size);
        let flags = Flags {
            compressed: false,
            first,
            last,
        };
        let header = Header {
            flags,
            ..Header::new(Kind::Chunk, 0)
        };
        if last {
            self.sent = 0;
            self.queue.pop_front();
        } else {
            self.sent = end;
        }
        let made = Made {
            header,
            messages: u64::from(last),
            bytes,
        };
        Some((made, if last { cost } else { 0 }))
    }
}
