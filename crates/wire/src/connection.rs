//! One connection: the handshake, then frames in both directions until either side has enough.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use ledger::PartyId;
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::Notify;
use tokio::time::timeout;

use crate::frame::{FrameError, HEADER_BYTES, Header, Kind, unpack};
use crate::hello::{HELLO_BYTES_MAX, Hello};
use crate::incoming::Assembly;
use crate::outgoing::Outgoing;
use crate::stats::{NetStats, add};
use crate::transport::Consumer;

/// For TLS and the hellos.
pub(crate) const HANDSHAKE: Duration = Duration::from_secs(10);
/// A peer that says nothing for so long is gone.
const SILENCE: Duration = Duration::from_secs(45);
/// So often something is said.
const PING: Duration = Duration::from_secs(15);
/// A peer that takes nothing for so long is gone.
const WRITE: Duration = Duration::from_secs(60);
/// Bytes of messages that may be on their way before the receiver grants more.
const WINDOW_BYTES: i64 = 16 << 20;
/// Credit is granted in a frame of its own when so much has gathered.
const GRANT_BYTES: u64 = 4 << 20;
/// While the consumer is full, look again after this.
const FULL: Duration = Duration::from_millis(2);

/// Why a connection ended or was refused.
#[derive(Debug, Error)]
pub(crate) enum ConnectionError {
    /// The socket or TLS.
    #[error("{0}")]
    Io(#[from] std::io::Error),
    /// A frame that makes no sense.
    #[error("{0}")]
    Frame(#[from] FrameError),
    /// It took too long.
    #[error("{0} took too long")]
    TooSlow(&'static str),
    /// The other side is not who it should be.
    #[error("{0}")]
    Identity(String),
}

impl ConnectionError {
    pub(crate) fn code(&self) -> &'static str {
        match self {
            ConnectionError::Io(_) => "net.connection_lost",
            ConnectionError::Frame(_) => "net.frame_invalid",
            ConnectionError::TooSlow(_) => "net.too_slow",
            ConnectionError::Identity(_) => "net.identity_refused",
        }
    }
}

/// Sends a hello.
pub(crate) async fn send_hello(
    stream: &mut (impl AsyncWrite + Unpin),
    hello: &Hello,
) -> Result<(), ConnectionError> {
    let payload = hello.to_bytes();
    let mut bytes = Header::new(Kind::Hello, payload.len() as u32).to_bytes().to_vec();
    bytes.extend_from_slice(&payload);
    stream.write_all(&bytes).await?;
    stream.flush().await?;
    Ok(())
}

/// Receives a hello.
pub(crate) async fn receive_hello(
    stream: &mut (impl AsyncRead + Unpin),
) -> Result<Hello, ConnectionError> {
    let mut header = [0; HEADER_BYTES];
    stream.read_exact(&mut header).await?;
    let header = Header::parse(&header)?;
    let length = header.length as usize;
    if header.kind != Kind::Hello || length > HELLO_BYTES_MAX {
        return Err(FrameError::Damaged("the first frame is no hello").into());
    }
    let mut payload = vec![0; length];
    stream.read_exact(&mut payload).await?;
    Hello::parse(&payload).map_err(|why| ConnectionError::Identity(format!("a hello: {why}")))
}

/// What both directions of a connection share.
pub(crate) struct Link {
    pub(crate) peer: PartyId,
    pub(crate) outgoing: Arc<Outgoing>,
    pub(crate) consumer: Arc<dyn Consumer>,
    pub(crate) stats: Arc<NetStats>,
    pub(crate) compress: bool,
    pub(crate) linger: Duration,
    pub(crate) message_bytes_max: usize,
    window: AtomicI64,
    grant: AtomicU64,
    credited: Notify,
}

impl Link {
    pub(crate) fn new(
        peer: PartyId,
        outgoing: Arc<Outgoing>,
        consumer: Arc<dyn Consumer>,
        stats: Arc<NetStats>,
        (compress, linger, message_bytes_max): (bool, Duration, usize),
    ) -> Self {
        Self {
            peer,
            outgoing,
            consumer,
            stats,
            compress,
            linger,
            message_bytes_max,
            window: AtomicI64::new(WINDOW_BYTES),
            grant: AtomicU64::new(0),
            credited: Notify::new(),
        }
    }

    /// Serves the connection until it ends; says why.
    pub(crate) async fn serve<S>(&self, stream: S) -> ConnectionError
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let (reader, writer) = tokio::io::split(stream);
        let ended = tokio::select! {
            ended = self.read(reader) => ended,
            ended = self.write(writer) => ended,
        };
        match ended {
            Ok(never) => match never {},
            Err(error) => error,
        }
    }

    async fn read(
        &self,
        reader: impl AsyncRead + Unpin,
    ) -> Result<std::convert::Infallible, ConnectionError> {
        let mut reader = BufReader::with_capacity(64 << 10, reader);
        let mut assembly = Assembly::default();
        let silent = |_| ConnectionError::TooSlow("the peer's next frame");
        loop {
            let mut header = [0; HEADER_BYTES];
            timeout(SILENCE, reader.read_exact(&mut header)).await.map_err(silent)??;
            let header = Header::parse(&header)?;
            let mut payload = vec![0; header.length as usize];
            timeout(SILENCE, reader.read_exact(&mut payload)).await.map_err(silent)??;
            add(&self.stats.wire_in, HEADER_BYTES + payload.len());
            if header.credit > 0 {
                self.window.fetch_add(i64::from(header.credit), Ordering::AcqRel);
                self.credited.notify_one();
            }
            let payload = unpack(&header, payload)?;
            let messages = assembly.take(&header, &payload, self.message_bytes_max)?;
            // Chunks are granted as they come: an assembled message is bounded by the network's limit.
            let taken = match header.kind {
                Kind::Messages => messages.iter().map(Vec::len).sum(),
                _ => payload.len(),
            };
            if !messages.is_empty() {
                add(&self.stats.messages_in, messages.len());
                add(&self.stats.bytes_in, messages.iter().map(Vec::len).sum());
                while self.consumer.is_full() {
                    tokio::time::sleep(FULL).await;
                }
                self.consumer.messages(self.peer, messages);
            }
            let gathered = self.grant.fetch_add(taken as u64, Ordering::AcqRel) + taken as u64;
            if gathered >= GRANT_BYTES {
                self.outgoing.wake.notify_one();
            }
        }
    }

    async fn write(
        &self,
        mut writer: impl AsyncWrite + Unpin,
    ) -> Result<std::convert::Infallible, ConnectionError> {
        let slow = |_| ConnectionError::TooSlow("the peer's taking of a frame");
        loop {
            while self.window.load(Ordering::Acquire) <= 0 {
                let credited = timeout(PING, self.credited.notified()).await;
                if credited.is_err() || self.grant.load(Ordering::Acquire) >= GRANT_BYTES {
                    timeout(WRITE, self.ping(&mut writer)).await.map_err(slow)??;
                }
            }
            if !self.linger.is_zero() {
                tokio::time::sleep(self.linger).await;
            }
            let credit = self.take_grant();
            match self.outgoing.take(self.compress, credit) {
                Some(batch) => {
                    self.window.fetch_sub(batch.message_bytes as i64, Ordering::AcqRel);
                    let write = async {
                        writer.write_all(&batch.frames).await?;
                        writer.flush().await
                    };
                    timeout(WRITE, write).await.map_err(slow)??;
                    add(&self.stats.wire_out, batch.frames.len());
                }
                None => {
                    self.grant.fetch_add(u64::from(credit), Ordering::AcqRel);
                    let idle = timeout(PING, self.outgoing.wake.notified()).await.is_err();
                    if idle || self.grant.load(Ordering::Acquire) >= GRANT_BYTES {
                        timeout(WRITE, self.ping(&mut writer)).await.map_err(slow)??;
                    }
                }
            }
        }
    }

    async fn ping(&self, writer: &mut (impl AsyncWrite + Unpin)) -> Result<(), ConnectionError> {
        let header = Header { credit: self.take_grant(), ..Header::new(Kind::Ping, 0) };
        writer.write_all(&header.to_bytes()).await?;
        writer.flush().await?;
        Ok(())
    }

    fn take_grant(&self) -> u32 {
        let gathered = self.grant.swap(0, Ordering::AcqRel);
        let grant = u32::try_from(gathered).unwrap_or(u32::MAX);
        self.grant.fetch_add(gathered - u64::from(grant), Ordering::AcqRel);
        grant
    }
}
