//! The receiving side of one peer: assembles frames into messages and accounts for credit. Pure.

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
    /// Credit that the peer may still spend, in bytes.
    credit: i64,
    /// Credit of delivered messages that is not granted again yet, in bytes.
    owed: u64,
    /// An unfinished message in chunks: its announced size and the bytes received so far.
    partial: Option<(usize, Vec<u8>)>,
}

impl Assembly {
    /// Creates the receiving side for a peer to which this window and this message limit were announced.
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

    /// Handles the decompressed body of a batch, and passes its messages to the callback.
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

    /// Handles the decompressed body of a chunk. Returns the message once it is complete.
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
            // Grows with the bytes that arrived, never with the announced size alone.
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

    /// Appends a frame that grants credit again for delivered messages, for streams that are owed at least a quarter of
    /// the window.
    pub(crate) fn grant(&mut self, out: &mut Vec<u8>) {
        let worth = u64::from(self.window / 4);
        let mut body = Vec::new();
        for (index, stream) in (0u32..).zip(&mut self.streams) {
            if stream.owed < worth.max(1) {
                continue;
            }
            // A clipped part of it is granted, and the rest with the next frame.
            let bytes = u32::try_from(stream.owed).unwrap_or(u32::MAX);
            stream.owed -= u64::from(bytes);
            stream.credit += i64::from(bytes);
            body.extend_from_slice(&index.to_be_bytes());
            body.extend_from_slice(&bytes.to_be_bytes());
        }
        if !body.is_empty() {
            out.reserve(HEADER_BYTES + body.len());
            out.extend_from_slice(&Header::new(Kind::Credit, body.len()).to_bytes());
            out.extend_from_slice(&body);
        }
    }

    /// Whether a stream is owed enough credit for a grant.
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
        // The limit of a message is far below the range.
        self.credit -= message_cost(size) as i64;
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

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;
    use crate::frame::FrameDecoder;
    use crate::outbox::{LANES, Outbox, Sent};

    const WINDOW: u32 = 150_000;
    const MESSAGE_MAX: u32 = 300_000;

    /// The sending and the receiving side of a peer, joined in memory without a socket.
    struct Sides {
        outbox: Outbox,
        assembly: Assembly,
        received: Vec<Vec<u8>>,
    }

    impl Sides {
        fn new() -> Self {
            let mut outbox = Outbox::new(usize::MAX);
            outbox.open(WINDOW, MESSAGE_MAX);
            Self {
                outbox,
                assembly: Assembly::new(WINDOW, MESSAGE_MAX),
                received: Vec::new(),
            }
        }

        /// Sends frames until credit is used up or nothing waits; returns how many went.
        fn send(&mut self) -> usize {
            let (mut bytes, mut count, mut messages) = (Vec::new(), 0, 0);
            while let Some(made) = self.outbox.next_frame(&mut bytes) {
                count += 1;
                messages += made.messages;
            }
            let (before, mut decoder) = (self.received.len(), FrameDecoder::new());
            let Self {
                assembly, received, ..
            } = self;
            let fed = decoder.feed(&bytes, |header, body| match header.kind {
                Kind::Batch => assembly.batch(&header, body, |message| received.push(message)),
                _ => assembly
                    .chunk(&header, body)
                    .map(|message| received.extend(message)),
            });
            fed.expect("what an outbox makes is taken");
            assert_eq!(messages, (self.received.len() - before) as u64);
            count
        }

        /// Grants the credit that is owed.
        fn grant(&mut self) {
            let mut frame = Vec::new();
            self.assembly.grant(&mut frame);
            if let Some((header, body)) = frame.split_first_chunk::<HEADER_BYTES>() {
                assert_eq!(Header::parse(header).expect("a header").kind, Kind::Credit);
                for (stream, bytes) in grants(body).expect("good grants") {
                    self.outbox.grant(stream, bytes).expect("in range");
                }
            }
        }
    }

    fn message(lane: usize, number: usize, size: usize) -> Vec<u8> {
        let mut message = vec![0; size.max(16)];
        message[..8].copy_from_slice(&lane.to_be_bytes());
        message[8..16].copy_from_slice(&number.to_be_bytes());
        message
    }

    proptest! {
        #![proptest_config(properties::config!(64))]
        /// Every message arrives, in the order of its lane, as long as credit for consumed bytes is granted again. The bytes in
        /// flight never exceed the windows and one message each.
        #[test]
        fn what_is_queued_arrives_in_order(
            sizes in vec((0..LANES, prop_oneof![8 => 0..2_000usize, 2 => 0..MESSAGE_MAX as usize]), 1..60),
        ) {
            let mut ends = Sides::new();
            for (number, (lane, size)) in sizes.iter().enumerate() {
                let sent = ends.outbox.push(*lane as u8, message(*lane, number, *size));
                prop_assert_eq!(sent, Sent::Queued);
            }
            let mut rounds = 0;
            while ends.outbox.bytes() > 0 {
                let before: usize = ends.received.iter().map(Vec::len).sum();
                ends.send();
                let after: usize = ends.received.iter().map(Vec::len).sum();
                prop_assert!(after - before <= LANES * (WINDOW + MESSAGE_MAX) as usize);
                ends.grant();
                rounds += 1;
                prop_assert!(rounds <= sizes.len() + 1, "it does not come to a stop");
            }
            for lane in 0..LANES {
                let key = lane.to_be_bytes();
                let received: Vec<&Vec<u8>> = ends.received.iter().filter(|m| m[..8] == key).collect();
                let sent = sizes.iter().enumerate().filter(|(_, (l, _))| *l == lane);
                let sent: Vec<Vec<u8>> = sent.map(|(n, (l, size))| message(*l, n, *size)).collect();
                prop_assert!(received.iter().copied().eq(sent.iter()));
            }
        }

        /// Checks that any bytes of an authenticated peer are accepted or refused without a panic.
        #[test]
        fn any_body_is_taken_or_refused(
            frames in vec((any::<bool>(), any::<bool>(), 0..2u32, vec(0..3u8, 0..40)), 0..20),
        ) {
            let mut assembly = Assembly::new(1_000, 100);
            let mut bytes = 0;
            for (first, last, stream, body) in frames {
                let flags = crate::frame::Flags { compressed: false, first, last };
                let header = Header { stream, flags, ..Header::new(Kind::Chunk, body.len()) };
                let chunk = assembly.chunk(&header, &body);
                let batch = assembly.batch(&header, &body, |message| bytes += message.len());
                if let Ok(Some(message)) = &chunk {
                    prop_assert!(message.len() <= 100);
                    bytes += message.len();
                }
                prop_assert!(chunk.is_err() || batch.is_err() || body.len() > 3);
            }
            prop_assert!(bytes <= 2 * (1_000 + 100));
        }
    }

    #[test]
    fn without_grants_a_lane_stops_and_the_others_go_on() {
        let mut ends = Sides::new();
        for _ in 0..100 {
            assert_eq!(ends.outbox.push(1, vec![0; 10_000]), Sent::Queued);
        }
        assert!(ends.send() > 0);
        assert_eq!(
            ends.received.len(),
            15,
            "150,000 bytes of credit, 10,064 a message"
        );
        assert_eq!((ends.send(), ends.outbox.is_ready()), (0, false));
        assert_eq!(ends.outbox.push(0, vec![1]), Sent::Queued);
        assert_eq!(ends.send(), 1);
        assert_eq!(ends.received.pop(), Some(vec![1]));
        ends.grant();
        assert!(ends.outbox.is_ready());
    }

    #[test]
    fn the_least_urgent_lane_is_not_starved() {
        let mut outbox = Outbox::new(usize::MAX);
        outbox.open(u32::MAX, MESSAGE_MAX);
        for _ in 0..20 {
            for lane in [0, 3] {
                assert_eq!(outbox.push(lane, vec![0; 60_000]), Sent::Queued);
            }
        }
        let mut lanes = Vec::new();
        while let Some(made) = outbox.next_frame(&mut Vec::new()) {
            lanes.push(made.header.stream);
        }
        assert_eq!(lanes[..8], [0, 0, 0, 0, 0, 0, 0, 3]);
        assert_eq!(lanes.len(), 20, "two messages a frame");
    }

    #[test]
    fn bounds_of_the_outbox() {
        let mut outbox = Outbox::new(1_000);
        assert_eq!(outbox.push(0, vec![]), Sent::Down);
        outbox.open(WINDOW, 500);
        assert_eq!(outbox.push(0, vec![0; 501]), Sent::TooLarge);
        assert_eq!(outbox.push(200, vec![0; 436]), Sent::Queued);
        assert_eq!(outbox.push(0, vec![0; 437]), Sent::Full);
        assert!(outbox.is_full_for(437) && !outbox.is_full_for(436));
        assert_eq!(outbox.push(0, vec![0; 436]), Sent::Queued);
        assert_eq!(outbox.grant(0, u32::MAX), Ok(()));
        assert_eq!(outbox.grant(99, u32::MAX), Ok(()), "none of our streams");
        outbox.close();
        assert_eq!(
            (outbox.bytes(), outbox.is_ready(), outbox.is_up()),
            (0, false, false)
        );
    }
}
