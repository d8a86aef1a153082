//! What waits to be sent to one peer, and how it becomes frames.

use std::collections::VecDeque;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::frame::{Chunk, FLAG_ZSTD, HEADER_BYTES, Header, Kind};
use crate::stats::{NetStats, add};

/// Messages larger than this travel in chunks, between which small ones pass.
const CHUNK_BYTES: usize = 128 << 10;
/// Bytes of whole messages in one frame, about.
const FRAME_BYTES: usize = 256 << 10;
/// Frames smaller than this are not worth compressing.
const COMPRESS_BYTES_MIN: usize = 512;
/// Fast rather than small.
const ZSTD_LEVEL: i32 = 1;

/// The queue of one peer. Pushing never blocks; what does not fit is dropped and counted.
pub(crate) struct Outgoing {
    state: Mutex<State>,
    pub(crate) wake: Notify,
    bytes_max: usize,
    stats: Arc<NetStats>,
}

#[derive(Default)]
struct State {
    up: bool,
    small: VecDeque<Vec<u8>>,
    large: VecDeque<Large>,
    bytes: usize,
    next_stream: u32,
}

struct Large {
    stream: u32,
    bytes: Vec<u8>,
    sent: usize,
}

/// Frames ready to be written, and how many bytes of messages they hold.
#[derive(Default)]
pub(crate) struct Batch {
    pub(crate) frames: Vec<u8>,
    pub(crate) message_bytes: usize,
}

impl Outgoing {
    pub(crate) fn new(bytes_max: usize, stats: Arc<NetStats>) -> Self {
        Self { state: Mutex::default(), wake: Notify::new(), bytes_max, stats }
    }

    /// A connection stands, or stands no more; either way what waited is gone, as the protocols above expect.
    pub(crate) fn set_up(&self, up: bool) {
        *self.lock() = State { up, ..State::default() };
    }

    pub(crate) fn push(&self, messages: impl IntoIterator<Item = Vec<u8>>) {
        let mut state = self.lock();
        let was_empty = state.small.is_empty() && state.large.is_empty();
        let mut dropped = 0;
        for message in messages {
            if !state.up || state.bytes > self.bytes_max {
                dropped += 1;
                continue;
            }
            state.bytes += message.len();
            if message.len() > CHUNK_BYTES {
                let stream = state.next_stream;
                state.next_stream = stream.wrapping_add(1);
                state.large.push_back(Large { stream, bytes: message, sent: 0 });
            } else {
                state.small.push_back(message);
            }
        }
        let wake = was_empty && !(state.small.is_empty() && state.large.is_empty());
        drop(state);
        if dropped > 0 {
            add(&self.stats.dropped, dropped);
        }
        if wake {
            self.wake.notify_one();
        }
    }

    /// The next frames: small messages first, then one part of a large one. Nothing if nothing waits.
    pub(crate) fn take(&self, compress: bool, credit: u32) -> Option<Batch> {
        let mut small = Vec::new();
        let mut large = None;
        {
            let mut state = self.lock();
            let mut bytes = 0;
            while bytes < FRAME_BYTES
                && let Some(message) = state.small.pop_front()
            {
                bytes += message.len();
                small.push(message);
            }
            state.bytes = state.bytes.saturating_sub(bytes);
            if let Some(mut next) = state.large.pop_front() {
                let end = (next.sent + CHUNK_BYTES).min(next.bytes.len());
                let part = next.bytes[next.sent..end].to_vec();
                let total = (next.sent == 0).then_some(next.bytes.len() as u64);
                let chunk = match (next.sent == 0, end == next.bytes.len()) {
                    (true, _) => Chunk::First,
                    (false, true) => Chunk::Last,
                    (false, false) => Chunk::Middle,
                };
                large = Some((next.stream, chunk, total, part));
                next.sent = end;
                if end < next.bytes.len() {
                    // Large messages take turns.
                    state.large.push_back(next);
                } else {
                    state.bytes = state.bytes.saturating_sub(next.bytes.len());
                }
            }
        }
        if small.is_empty() && large.is_none() {
            return None;
        }
        let mut batch = Batch::default();
        let mut credit = credit;
        if !small.is_empty() {
            let length = small.iter().map(|message| message.len() + 4).sum();
            let mut payload = Vec::with_capacity(length);
            for message in &small {
                payload.extend_from_slice(&(message.len() as u32).to_be_bytes());
                payload.extend_from_slice(message);
                batch.message_bytes += message.len();
            }
            let header = Header { credit, ..Header::new(Kind::Messages, 0) };
            credit = 0;
            self.frame(header, payload, compress, &mut batch.frames);
            add(&self.stats.messages_out, small.len());
        }
        if let Some((stream, chunk, total, part)) = large {
            batch.message_bytes += part.len();
            let mut payload = Vec::with_capacity(part.len() + 8);
            if let Some(total) = total {
                payload.extend_from_slice(&total.to_be_bytes());
                add(&self.stats.messages_out, 1);
            }
            payload.extend_from_slice(&part);
            let header = Header { chunk, stream, credit, priority: 1, ..Header::new(Kind::Chunk, 0) };
            self.frame(header, payload, compress, &mut batch.frames);
        }
        add(&self.stats.bytes_out, batch.message_bytes);
        Some(batch)
    }

    fn frame(&self, mut header: Header, payload: Vec<u8>, compress: bool, into: &mut Vec<u8>) {
        let packed = if compress && payload.len() >= COMPRESS_BYTES_MIN {
            zstd::bulk::compress(&payload, ZSTD_LEVEL).ok().filter(|p| p.len() < payload.len())
        } else {
            None
        };
        if packed.is_some() {
            header.flags = FLAG_ZSTD;
        }
        let payload = packed.unwrap_or(payload);
        header.length = payload.len() as u32;
        into.reserve(HEADER_BYTES + payload.len());
        into.extend_from_slice(&header.to_bytes());
        into.extend_from_slice(&payload);
        self.stats.frames_out.fetch_add(1, Ordering::Relaxed);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
