//! For any bytes in any pieces: frames are cut the same way, and the decoder neither panics nor hoards
//! memory.

use net::frame::{
    BODY_BYTES_MAX, Flags, FrameDecoder, FrameError, HEADER_BYTES, Header, Hello, Kind,
};
use proptest::collection::vec;
use proptest::prelude::*;

type Frames = Vec<(Header, Vec<u8>)>;

/// Feeds bytes in pieces that end at these places.
fn cut(bytes: &[u8], places: &[usize]) -> (Frames, Result<(), FrameError>, usize) {
    let mut decoder = FrameDecoder::new();
    let mut frames = Vec::new();
    let mut places: Vec<usize> = places
        .iter()
        .map(|place| place % (bytes.len() + 1))
        .collect();
    places.push(bytes.len());
    places.sort_unstable();
    let mut from = 0;
    for to in places {
        let fed = decoder.feed(&bytes[from..to], |header, body| {
            frames.push((header, body.to_vec()));
            Ok(())
        });
        if let Err(error) = fed {
            return (frames, Err(error), decoder.pending());
        }
        from = to;
    }
    (frames, Ok(()), decoder.pending())
}

fn frame() -> impl Strategy<Value = (Header, Vec<u8>)> {
    let body = prop_oneof![9 => vec(any::<u8>(), 0..100), 1 => vec(any::<u8>(), 0..70_000)];
    (body, 0..4u8, 0..16u32, any::<bool>(), any::<bool>()).prop_map(
        |(body, kind, stream, first, last)| {
            let flags = Flags {
                compressed: false,
                first,
                last,
            };
            let header = match kind {
                0 => Header {
                    stream,
                    priority: 3,
                    ..Header::new(Kind::Batch, body.len())
                },
                1 => Header {
                    stream,
                    flags,
                    ..Header::new(Kind::Chunk, body.len())
                },
                2 => Header::new(Kind::Credit, body.len()),
                _ => Header::new(Kind::Ping, body.len()),
            };
            (header, body)
        },
    )
}

proptest! {
    #![proptest_config(properties::config!(256))]

    #[test]
    fn frames_come_back_however_they_are_cut(
        frames in vec(frame(), 0..20),
        places in vec(any::<usize>(), 0..20),
        short in 0..40usize,
    ) {
        let mut bytes = Vec::new();
        for (header, body) in &frames {
            bytes.extend_from_slice(&header.to_bytes());
            bytes.extend_from_slice(body);
        }
        let (found, ended, pending) = cut(&bytes, &places);
        prop_assert_eq!((&found, ended, pending), (&frames, Ok(()), 0));
        // All but the last frame of a stream that is cut short.
        if let Some((_, body)) = frames.last() {
            let short = short.clamp(1, HEADER_BYTES + body.len());
            let (found, ended, pending) = cut(&bytes[..bytes.len() - short], &places);
            prop_assert_eq!(&found[..], &frames[..frames.len() - 1]);
            prop_assert_eq!((ended, pending), (Ok(()), HEADER_BYTES + body.len() - short));
        }
    }

    #[test]
    fn any_bytes_are_cut_the_same_way_however_they_come(
        bytes in vec(prop_oneof![4 => 0..6u8, 1 => any::<u8>()], 0..300),
        places in vec(any::<usize>(), 0..20),
    ) {
        let whole = cut(&bytes, &[]);
        let pieces = cut(&bytes, &places);
        prop_assert_eq!(&whole.0, &pieces.0);
        prop_assert_eq!(whole.1.is_err(), pieces.1.is_err());
        prop_assert!(pieces.2 <= bytes.len());
    }

    #[test]
    fn a_header_is_read_or_refused(bytes: [u8; HEADER_BYTES]) {
        if let Ok(header) = Header::parse(&bytes) {
            prop_assert!(header.length as usize <= BODY_BYTES_MAX);
            prop_assert!(header.raw_length as usize <= BODY_BYTES_MAX);
            prop_assert_eq!(header.to_bytes(), bytes);
        }
    }

    #[test]
    fn a_hello_is_read_or_refused(bytes in vec(any::<u8>(), 0..200), at: usize, byte: u8) {
        // Nothing but: it does not panic.
        let _ = Hello::parse(&bytes);
        let good = Hello {
            party: ledger::PartyId::from_array([1; 32]),
            epoch: 7,
            software: "x".into(),
            takes_zstd: true,
            window: 9,
            max_message_bytes: 10,
            clock_ms: 5,
        };
        let mut changed = good.to_bytes();
        let at = at % changed.len();
        changed[at] = byte;
        if let Ok(hello) = Hello::parse(&changed) {
            prop_assert!(hello != good || changed == good.to_bytes());
        }
    }
}
