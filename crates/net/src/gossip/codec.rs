//! The encoding of requests and answers. Each request has a stream of its own.
//!
//! A request is its kind (1 byte: 0 the application's, 1 asks for addresses), its length (4 bytes, big-endian) and its bytes. An
//! answer is its length and its bytes. Each side writes once and closes.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use libp2p_request_response as request_response;
use libp2p_swarm::StreamProtocol;

/// Largest request, in bytes (`gossip.message_too_large`).
pub const REQUEST_BYTES_MAX: usize = 512 << 10;
/// Largest answer, in bytes (`gossip.message_too_large`): the largest body that a network may allow, and the fields before it.
pub const RESPONSE_BYTES_MAX: usize = (16 << 20) + (64 << 10);
/// Maximum bytes of long answers read at once, from all peers together. A further answer fails with `gossip.too_many_requests`.
pub const RESPONSES_BYTES_MAX: usize = 256 << 20;
/// Maximum size of a short answer, in bytes. A short answer is read even if the budget of long answers is used up.
const SHORT_BYTES: usize = 64 << 10;

/// Initial buffer size, in bytes. The buffer grows with the bytes received, so an announced length alone costs no memory.
const FIRST_ROOM_BYTES: usize = 16 << 10;

/// A request to a peer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Question {
    /// The application's.
    Application(Vec<u8>),
    /// A request for addresses of other nodes.
    Addresses,
    /// A malformed request. Nodes never send it; it is represented because libp2p does not report requests that fail to decode.
    Malformed,
}

/// Reads and writes requests and answers.
#[derive(Clone, Debug, Default)]
pub(super) struct RequestCodec {
    /// Bytes of long answers that are being read, of all peers together.
    reading: Arc<AtomicUsize>,
}

/// The part of the budget that an answer occupies while it is read.
struct Reservation<'a> {
    reading: &'a AtomicUsize,
    bytes: usize,
}

impl<'a> Reservation<'a> {
    fn take(reading: &'a AtomicUsize, bytes: usize) -> io::Result<Self> {
        let bytes = if bytes > SHORT_BYTES { bytes } else { 0 };
        let before = reading.fetch_add(bytes, Ordering::Relaxed);
        let reservation = Self { reading, bytes };
        if before + bytes > RESPONSES_BYTES_MAX {
            return Err(io::ErrorKind::OutOfMemory.into());
        }
        Ok(reservation)
    }
}

impl Drop for Reservation<'_> {
    fn drop(&mut self) {
        self.reading.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

impl request_response::Codec for RequestCodec {
    type Protocol = StreamProtocol;
    type Request = Question;
    type Response = Vec<u8>;

    async fn read_request<T>(&mut self, _: &StreamProtocol, stream: &mut T) -> io::Result<Question>
    where
        T: AsyncRead + Unpin + Send,
    {
        let mut kind = [0];
        stream.read_exact(&mut kind).await?;
        let read = match kind {
            [0] => read(stream, REQUEST_BYTES_MAX)
                .await
                .map(Question::Application),
            [1] => read(stream, 0).await.map(|_| Question::Addresses),
            _ => Ok(Question::Malformed),
        };
        match read {
            Err(error) if error.kind() == io::ErrorKind::InvalidData => Ok(Question::Malformed),
            read => read,
        }
    }

    async fn read_response<T>(&mut self, _: &StreamProtocol, stream: &mut T) -> io::Result<Vec<u8>>
    where
        T: AsyncRead + Unpin + Send,
    {
        let length = read_length(stream, RESPONSE_BYTES_MAX).await?;
        let _reservation = Reservation::take(&self.reading, length)?;
        read_bytes(stream, length).await
    }

    async fn write_request<T>(
        &mut self,
        _: &StreamProtocol,
        stream: &mut T,
        question: Question,
    ) -> io::Result<()>
    where
        T: AsyncWrite + Unpin + Send,
    {
        match question {
            Question::Application(bytes) => {
                stream.write_all(&[0]).await?;
                write(stream, &bytes).await
            }
            Question::Addresses => {
                stream.write_all(&[1]).await?;
                write(stream, &[]).await
            }
            Question::Malformed => Err(invalid("nothing is asked")),
        }
    }

    async fn write_response<T>(
        &mut self,
        _: &StreamProtocol,
        stream: &mut T,
        answer: Vec<u8>,
    ) -> io::Result<()>
    where
        T: AsyncWrite + Unpin + Send,
    {
        write(stream, &answer).await
    }
}

async fn read<T: AsyncRead + Unpin + Send>(stream: &mut T, max: usize) -> io::Result<Vec<u8>> {
    let length = read_length(stream, max).await?;
    read_bytes(stream, length).await
}

async fn read_length<T: AsyncRead + Unpin + Send>(stream: &mut T, max: usize) -> io::Result<usize> {
    let mut length = [0; 4];
    stream.read_exact(&mut length).await?;
    let length = u32::from_be_bytes(length) as usize;
    if length > max {
        return Err(invalid("it is longer than allowed"));
    }
    Ok(length)
}

async fn read_bytes<T: AsyncRead + Unpin + Send>(
    stream: &mut T,
    length: usize,
) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(length.min(FIRST_ROOM_BYTES));
    let read = stream.take(length as u64).read_to_end(&mut bytes).await?;
    if read < length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(bytes)
}

async fn write<T: AsyncWrite + Unpin + Send>(stream: &mut T, bytes: &[u8]) -> io::Result<()> {
    let length = u32::try_from(bytes.len()).map_err(|_| invalid("it is longer than 4 GiB"))?;
    stream.write_all(&length.to_be_bytes()).await?;
    stream.write_all(bytes).await
}

fn invalid(why: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::io::Cursor;
    use libp2p_request_response::Codec;
    use proptest::prelude::*;
    use tokio::runtime::Builder;

    const PROTOCOL: StreamProtocol = StreamProtocol::new("/test");

    fn run<T>(future: impl Future<Output = T>) -> T {
        let runtime = Builder::new_current_thread().build();
        runtime.expect("a runtime").block_on(future)
    }

    fn request(bytes: &[u8]) -> io::Result<Question> {
        run(RequestCodec::default().read_request(&PROTOCOL, &mut Cursor::new(bytes)))
    }

    fn response(bytes: &[u8]) -> io::Result<Vec<u8>> {
        run(RequestCodec::default().read_response(&PROTOCOL, &mut Cursor::new(bytes)))
    }

    #[test]
    fn requests_and_answers_go_there_and_back() {
        for (question, shown) in [
            (Question::Application(vec![]), "00 00000000"),
            (Question::Application(vec![0xab]), "00 00000001 ab"),
            (Question::Addresses, "01 00000000"),
        ] {
            let mut stream = Cursor::new(Vec::new());
            run(RequestCodec::default().write_request(&PROTOCOL, &mut stream, question.clone()))
                .expect("room");
            let bytes = stream.into_inner();
            assert_eq!(primitives::hex::encode(&bytes), shown.replace(' ', ""));
            assert_eq!(request(&bytes).expect("good"), question);
        }
        let mut stream = Cursor::new(Vec::new());
        run(RequestCodec::default().write_response(&PROTOCOL, &mut stream, vec![1, 2]))
            .expect("room");
        assert_eq!(stream.get_ref()[..], [0, 0, 0, 2, 1, 2]);
        assert_eq!(response(stream.get_ref()).expect("good"), [1, 2]);
    }

    #[test]
    fn long_answers_are_read_while_there_is_room_and_short_ones_always() {
        let answer = |length: usize| {
            let mut bytes = (length as u32).to_be_bytes().to_vec();
            bytes.resize(4 + length, 7);
            bytes
        };
        let mut codec = RequestCodec::default();
        let other = codec.clone();
        let full = Reservation::take(&other.reading, RESPONSES_BYTES_MAX).expect("room");
        for (length, fits) in [(SHORT_BYTES, true), (SHORT_BYTES + 1, false)] {
            let bytes = answer(length);
            let read = run(codec.read_response(&PROTOCOL, &mut Cursor::new(&bytes)));
            let expected = if fits {
                Ok(length)
            } else {
                Err(io::ErrorKind::OutOfMemory)
            };
            let read = read.map(|bytes| bytes.len()).map_err(|error| error.kind());
            assert_eq!(read, expected, "{length}");
        }
        drop(full);
        let bytes = answer(SHORT_BYTES + 1);
        let read = run(codec.read_response(&PROTOCOL, &mut Cursor::new(&bytes)));
        assert_eq!(read.expect("room again").len(), SHORT_BYTES + 1);
        assert_eq!(codec.reading.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn what_is_cut_too_long_or_unknown_is_refused_before_room_is_made() {
        const CUT: Result<Question, io::ErrorKind> = Err(io::ErrorKind::UnexpectedEof);
        const MALFORMED: Result<Question, io::ErrorKind> = Ok(Question::Malformed);
        for (bytes, expected) in [
            (&[][..], CUT),
            (&[0, 0, 0], CUT),
            (&[0, 0, 0, 0, 2, 1], CUT),
            (&[0, 0, 8, 0, 1], MALFORMED),
            (&[0, 255, 255, 255, 255], MALFORMED),
            (&[1, 0, 0, 0, 1, 7], MALFORMED),
            (&[2, 0, 0, 0, 0], MALFORMED),
        ] {
            assert_eq!(request(bytes).map_err(|error| error.kind()), expected);
        }
        let longer = u32::try_from(RESPONSE_BYTES_MAX + 1)
            .expect("small")
            .to_be_bytes();
        let refused = response(&longer).map_err(|error| error.kind());
        assert_eq!(refused, Err(io::ErrorKind::InvalidData));
    }

    proptest! {
        #![proptest_config(properties::config!(256))]

        #[test]
        fn any_bytes_are_read_without_harm(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            let _ = request(&bytes);
            let _ = response(&bytes);
        }
    }
}
