//! What comes from one peer, put together again.

use std::collections::BTreeMap;

use crate::frame::{Chunk, FrameError, Header, Kind, messages};

/// Messages in chunks that may be under way at once.
const STREAMS_MAX: usize = 64;

/// Puts chunks together. Memory grows with what has come, never with what was announced.
#[derive(Default)]
pub(crate) struct Assembly {
    streams: BTreeMap<u32, (usize, Vec<u8>)>,
}

impl Assembly {
    /// Takes an unpacked frame; gives every message that is whole now.
    pub(crate) fn take(
        &mut self,
        header: &Header,
        payload: &[u8],
        message_bytes_max: usize,
    ) -> Result<Vec<Vec<u8>>, FrameError> {
        let mut whole = Vec::new();
        match header.kind {
            Kind::Messages => messages(payload, |message| whole.push(message.to_vec()))?,
            Kind::Chunk => {
                if let Some(message) = self.chunk(header, payload, message_bytes_max)? {
                    whole.push(message);
                }
            }
            Kind::Ping => {}
            Kind::Hello => return Err(FrameError::Damaged("a second hello")),
        }
        Ok(whole)
    }

    fn chunk(
        &mut self,
        header: &Header,
        payload: &[u8],
        message_bytes_max: usize,
    ) -> Result<Option<Vec<u8>>, FrameError> {
        if header.chunk == Chunk::First {
            let Some((total, part)) = payload.split_first_chunk::<8>() else {
                return Err(FrameError::Damaged("a first chunk without its length"));
            };
            let total = usize::try_from(u64::from_be_bytes(*total)).unwrap_or(usize::MAX);
            if total > message_bytes_max {
                return Err(FrameError::Damaged("a message is larger than the network's limit"));
            }
            if self.streams.len() >= STREAMS_MAX || part.len() > total {
                return Err(FrameError::Damaged("too many messages in chunks, or too long a chunk"));
            }
            if part.len() == total {
                return Ok(Some(part.to_vec()));
            }
            if self.streams.insert(header.stream, (total, part.to_vec())).is_some() {
                return Err(FrameError::Damaged("a message begins twice"));
            }
            return Ok(None);
        }
        let Some((total, bytes)) = self.streams.get_mut(&header.stream) else {
            return Err(FrameError::Damaged("a chunk of no message"));
        };
        bytes.extend_from_slice(payload);
        let done = bytes.len() == *total;
        if bytes.len() > *total || done != (header.chunk == Chunk::Last) {
            return Err(FrameError::Damaged("chunks do not add up"));
        }
        Ok(if done { self.streams.remove(&header.stream).map(|(_, bytes)| bytes) } else { None })
    }
}
