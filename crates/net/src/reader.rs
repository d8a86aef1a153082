//! The receiving side of a connection, on the net thread only: one read of the socket, decrypted, cut into frames and
//! messages, handed to the sink as one batch.

use std::io::{self, BufRead};

use tokio::io::Interest;

use crate::assembly::grants;
use crate::frame::{FrameError, HEADER_BYTES, Header, Kind};
use crate::link::{Link, LinkState};
use crate::refusal::{Refusal, describe};
use crate::sink::{Inbound, Sink};

/// Buffer size of one read of a socket, in bytes.
const READ_BYTES: usize = 128 << 10;
/// Maximum reads of one socket before the others get their turn.
const READS_MAX: usize = 4;
/// Bytes of a connection's own frames that may wait; a peer that pings beyond that gets no pongs.
const CONTROLS_BYTES_MAX: usize = 4 << 10;

/// Buffers of the net thread, shared by all connections.
pub(crate) struct Buffers {
    read: Vec<u8>,
    batch: Vec<Inbound>,
}

/// The outcome of a turn of reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Turn {
    /// Something came.
    pub(crate) heard: bool,
    /// The socket may hold more bytes.
    pub(crate) more: bool,
    /// Bytes of messages delivered to the sink.
    pub(crate) bytes: usize,
    /// The peer is owed credit, which is granted once the sink has room.
    pub(crate) owing: bool,
}

impl Buffers {
    pub(crate) fn new() -> Self {
        Self {
            read: vec![0; READ_BYTES],
            batch: Vec::new(),
        }
    }
}

impl Link {
    /// Takes the bytes that the handshake has already read beyond its own end.
    pub(crate) fn begin(&self, buffers: &mut Buffers, sink: &dyn Sink) -> Result<Turn, Refusal> {
        let mut turn = Turn {
            heard: true,
            more: false,
            bytes: 0,
            owing: false,
        };
        self.take(0, buffers, sink, &mut turn)?;
        Ok(turn)
    }

    /// Reads the available bytes, within a turn's bound.
    pub(crate) fn read(&self, buffers: &mut Buffers, sink: &dyn Sink) -> Result<Turn, Refusal> {
        let mut turn = Turn {
            heard: false,
            more: true,
            bytes: 0,
            owing: false,
        };
        for _ in 0..READS_MAX {
            let Some((count, more)) = self.read_socket(&mut buffers.read)? else {
                turn.more = false;
                break;
            };
            turn.heard = true;
            turn.more = more;
            self.take(count, buffers, sink, &mut turn)?;
            if !more {
                break;
            }
        }
        Ok(turn)
    }

    /// One read. Returns the number of bytes and whether there may be more, or nothing if there is nothing.
    fn read_socket(&self, buffer: &mut [u8]) -> Result<Option<(usize, bool)>, Refusal> {
        let mut read = None;
        let done = self.socket.try_io(Interest::READABLE, || {
            let count = rustix::io::retry_on_intr(|| rustix::io::read(&self.socket, &mut *buffer))?;
            read = Some(count);
            // A short read has emptied the socket: this error makes the runtime wait for the next arrival, and saves
            // the read that would only find out.
            if count > 0 && count < buffer.len() {
                Err(io::ErrorKind::WouldBlock.into())
            } else {
                Ok(())
            }
        });
        match (read, done) {
            (Some(0), _) => Err(Refusal::Lost("closed by the peer".to_owned())),
            (Some(count), _) => {
                self.counters.reads.add(1);
                self.counters.wire_bytes_in.add(count as u64);
                Ok(Some((count, count == buffer.len())))
            }
            (None, Err(error)) if error.kind() != io::ErrorKind::WouldBlock => {
                Err(Refusal::Lost(describe(&error)))
            }
            (None, _) => Ok(None),
        }
    }

    /// Takes the first `count` bytes of the buffer.
    fn take(
        &self,
        count: usize,
        buffers: &mut Buffers,
        sink: &dyn Sink,
        turn: &mut Turn,
    ) -> Result<(), Refusal> {
        let mut state = self.lock()?;
        let taken = state.decrypt(self, &buffers.read[..count], &mut buffers.batch);
        if taken.is_err() {
            // The alert that says why; the connection ends anyway.
            let _ = state.flush(self);
        } else if sink.has_room() {
            let LinkState {
                assembly, controls, ..
            } = &mut *state;
            assembly.grant(controls);
        }
        turn.owing = state.assembly.owes();
        drop(state);
        turn.bytes += self.hand_over(&mut buffers.batch, sink);
        taken
    }

    fn hand_over(&self, batch: &mut Vec<Inbound>, sink: &dyn Sink) -> usize {
        if batch.is_empty() {
            return 0;
        }
        let size = |inbound: &Inbound| match inbound {
            Inbound::Message { bytes, .. } => bytes.len(),
            _ => 0,
        };
        let bytes = batch.iter().map(size).sum();
        self.counters.messages_in.add(batch.len() as u64);
        self.counters.bytes_in.add(bytes as u64);
        sink.deliver(batch);
        batch.clear();
        bytes
    }

    /// Queues a frame that grants the peer its owed credit.
    pub(crate) fn grant(&self) -> Result<(), Refusal> {
        let mut state = self.lock()?;
        let LinkState {
            assembly, controls, ..
        } = &mut *state;
        assembly.grant(controls);
        Ok(())
    }

    /// Sends a ping, and frees memory of a connection that seems idle.
    pub(crate) fn ping(&self) -> Result<(), Refusal> {
        let mut state = self.lock()?;
        state.control(Kind::Ping, &[0; 8]);
        state.shrink();
        Ok(())
    }
}

impl LinkState {
    fn decrypt(
        &mut self,
        link: &Link,
        mut bytes: &[u8],
        batch: &mut Vec<Inbound>,
    ) -> Result<(), Refusal> {
        loop {
            let io = self.tls.process_new_packets().map_err(Refusal::Tls)?;
            if io.plaintext_bytes_to_read() > 0 {
                self.cut(link, batch)?;
            }
            if io.peer_has_closed() {
                return Err(Refusal::Lost("closed by the peer".to_owned()));
            }
            if bytes.is_empty() {
                return Ok(());
            }
            let read = self.tls.read_tls(&mut bytes);
            if read.map_err(|error| Refusal::Lost(describe(&error)))? == 0 {
                return Err(Refusal::Lost("closed by the peer".to_owned()));
            }
        }
    }

    /// Cuts the decrypted bytes into frames.
    fn cut(&mut self, link: &Link, batch: &mut Vec<Inbound>) -> Result<(), Refusal> {
        loop {
            // The decoder and the reader borrow the state apart from the fields that a frame changes.
            let Self {
                tls,
                decoder,
                assembly,
                unpacker,
                controls,
                ..
            } = self;
            let mut reader = tls.reader();
            let bytes = match reader.fill_buf() {
                Ok([]) => return Ok(()),
                Ok(bytes) => bytes,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(Refusal::Lost(describe(&error))),
            };
            let count = bytes.len();
            let mut frames = 0;
            decoder.feed(bytes, |header, body| -> Result<(), FrameError> {
                frames += 1;
                let body = unpacker.unpack(&header, body)?;
                let peer = link.peer;
                let lane = u8::try_from(header.stream).expect("a header's stream is below 16");
                let mut message = |bytes| batch.push(Inbound::Message { peer, lane, bytes });
                match header.kind {
                    Kind::Batch => assembly.batch(&header, body, message)?,
                    Kind::Chunk => {
                        if let Some(bytes) = assembly.chunk(&header, body)? {
                            message(bytes);
                        }
                    }
                    Kind::Credit => {
                        let mut outbox = link.outbox.lock();
                        for (stream, bytes) in grants(body)? {
                            outbox.grant(stream, bytes)?;
                        }
                    }
                    Kind::Ping if body.len() == 8 => append(controls, Kind::Pong, body),
                    Kind::Pong if body.len() == 8 => {}
                    Kind::Ping | Kind::Pong => return Err(FrameError::Body("ping")),
                    Kind::Hello => return Err(FrameError::Kind(Kind::Hello as u8)),
                }
                Ok(())
            })?;
            link.counters.frames_in.add(frames);
            reader.consume(count);
        }
    }

    fn control(&mut self, kind: Kind, body: &[u8]) {
        append(&mut self.controls, kind, body);
    }
}

fn append(controls: &mut Vec<u8>, kind: Kind, body: &[u8]) {
    if controls.len() + HEADER_BYTES + body.len() <= CONTROLS_BYTES_MAX {
        controls.extend_from_slice(&Header::new(kind, body.len()).to_bytes());
        controls.extend_from_slice(body);
    }
}
