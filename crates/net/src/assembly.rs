//! What comes from one peer: frames become messages, and credit is accounted for. Pure.

use crate::frame::{FrameError, HEADER_BYTES, Header, Kind, STREAMS_MAX};
use crate::outbox::message_cost;

/// The streams of one connection as this side receives them.
#[derive(Debug)]
pub(crate) struct Assembly {
    streams: [Stream; STREAMS_MAX],
    window: u32,
    message_bytes_max: usize,
}

#[derive(Debug, Default)]
struct Stream {
    /// What the peer may still spend.
    credit: i64,
    /// What was handed on and not yet granted again.
    owed: u64,
    /// A message in chunks, unfinished: its size and what came of it.
    partial: Option<(usize, Vec<u8>)>,
}

impl Assembly {
    /// For a peer that was told this window and this limit.
    pub(crate) fn new(window: u32, message_bytes_max: u32) -> Self {
        let stream = |_| Stream {
            credit: window.into(),
            ..Stream::default()
        };
        let message_bytes_max = message_bytes_max as usize;
        Self {
            streams: std::array::from_fn(stream),
            window,
            message_bytes_max,
        }
    }

    /// Takes the body of a batch, decompressed; hands out its messages.
    pub(crate) fn batch(
        &mut self,
        header: &Header,
        mut body: &[u8],
        mut message: impl FnMut(Vec<u8>),
    ) -> Result<(), FrameError> {
        let limit = self.message_bytes_max;
        let stream = self.stream(header)?;
        if body.is_empty() || stream.partial.is_some() {
            return Err(FrameError::Body("batch"));
        }
        while !body.is_empty() {
            let damaged = FrameError::Body("batch");
            let (size, rest) = body
                .split_first_chunk::<4>()
                .ok_or_else(|| damaged.clone())?;
            let size = u32::from_be_bytes(*size) as usize;
            let (bytes, rest) = rest.split_at_checked(size).ok_or(damaged)?;
            stream.begin(header, size, limit)?;
            stream.owed += message_cost(size) as u64;
            message(bytes.to_vec());
            body = rest;
        }
        Ok(())
    }

    /// Takes the body of a chunk, decompressed; returns the message when it is complete.
    pub(crate) fn chunk(
        &mut self,
        header: &Header,
        mut body: &[u8],
    ) -> Result<Option<Vec<u8>>, FrameError> {
        let limit = self.message_bytes_max;
        let stream = self.stream(header)?;
        let misfit = || FrameError::Chunk(header.stream);
        let (size, mut bytes) = match (header.flags.first, stream.partial.take()) {
            (true, None) => {
                let (size, rest) = body
                    .split_first_chunk::<4>()
                    .ok_or(FrameError::Body("chunk"))?;
                let size = u32::from_be_bytes(*size) as usize;
                stream.begin(header, size, limit)?;
                body = rest;
                (size, Vec::new())
            }
            (false, Some(partial)) => partial,
            (true, Some(_)) | (false, None) => return Err(misfit()),
        };
        let arrived = bytes.len() + body.len();
        if arrived > size || (arrived == size) != header.flags.last || body.is_empty() {
            return Err(misfit());
        }
        if arrived > bytes.capacity() {
            // Grows with what has arrived, never by what was only announced.
            bytes.reserve_exact(size.min(2 * arrived) - bytes.len());
        }
        bytes.extend_from_slice(body);
        if header.flags.last {
            stream.owed += message_cost(size) as u64;
            return Ok(Some(bytes));
        }
        stream.partial = Some((size, bytes));
        Ok(None)
    }

    /// Appends a frame that grants what was handed on, for streams where it is worth it.
    pub(crate) fn grant(&mut self, out: &mut Vec<u8>) {
        let worth = u64::from(self.window / 4);
        let mut body = Vec::new();
        for (index, stream) in (0u32..).zip(&mut self.streams) {
            if stream.owed < worth.max(1) {
                continue;
            }
            let bytes = u32::try_from(stream.owed).unwrap_or(u32::MAX);
            stream.owed -= u64::from(bytes);
            stream.credit = stream.credit.saturating_add(bytes.into());
            body.extend_from_slice(&index.to_be_bytes());
            body.extend_from_slice(&bytes.to_be_bytes());
        }
        if !body.is_empty() {
            out.reserve(HEADER_BYTES + body.len());
            out.extend_from_slice(&Header::new(Kind::Credit, body.len()).to_bytes());
            out.extend_from_slice(&body);
        }
    }

    /// Whether something is owed that would be worth a grant.
    pub(crate) fn owes(&self) -> bool {
        let worth = u64::from(self.window / 4).max(1);
        self.streams.iter().any(|stream| stream.owed >= worth)
    }

    fn stream(&mut self, header: &Header) -> Result<&mut Stream, FrameError> {
        self.streams
            .get_mut(header.stream as usize)
            .ok_or(FrameError::Field)
    }
}

impl Stream {
    fn begin(&mut self, header: &Header, size: usize, limit: usize) -> Result<(), FrameError> {
        if size > limit {
            let (size, limit) = (size as u64, limit as u64);
            return Err(FrameError::MessageTooLarge { size, limit });
        }
        if self.credit <= 0 {
            return Err(FrameError::NoCredit(header.stream));
        }
        self.credit = self
            .credit
            .saturating_sub_unsigned(message_cost(size) as u64);
        Ok(())
    }
}

/// Reads the body of a credit frame: streams and bytes.
pub(crate) fn grants(body: &[u8]) -> Result<impl Iterator<Item = (u32, u32)>, FrameError> {
    let (entries, rest) = body.as_chunks::<8>();
    if entries.is_empty() || !rest.is_empty() || entries.len() > STREAMS_MAX {
        return Err(FrameError::Body("credit"));
    }
    Ok(entries.iter().map(|[a, b, c, d, e, f, g, h]| {
        (
            u32::from_be_bytes([*a, *b, *c, *d]),
            u32::from_be_bytes([*e, *f, *g, *h]),
        )
    }))
}
