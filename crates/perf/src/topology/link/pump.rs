//! One way of a connection: bytes are written when they are due.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::time::{Instant, sleep_until};

use super::pace::Pace;
use super::speed::LinkSpeed;

/// The size of one read.
const CHUNK_BYTES: usize = 64 * 1024;
/// Reads per second on a narrow link: a read is at most a millisecond's bytes, so that bytes come out evenly.
const CHUNKS_PER_S: f64 = 1_000.0;
/// Minimum size of a read. A buffer with less room is replaced.
const CHUNK_BYTES_MIN: usize = 512;
/// Upper limit on bytes in flight each way of a connection, like a TCP window: 1 Gbit/s over 100 ms fits.
const UNDER_WAY_MAX: usize = 16 << 20;

/// Bytes in flight.
struct Piece {
    due: Instant,
    bytes: Bytes,
    room: OwnedSemaphorePermit,
}

/// Carries bytes until the reading end closes, and passes the close on after them. Fails if either end does.
pub(super) async fn pump(
    from: OwnedReadHalf,
    to: OwnedWriteHalf,
    speed: impl Fn() -> LinkSpeed,
    carried: &AtomicU64,
) -> io::Result<()> {
    // Permits bound the bytes in the channel.
    let (sender, receiver) = mpsc::unbounded_channel();
    let taken = take(from, speed, sender);
    let given = give(to, receiver, carried);
    tokio::try_join!(taken, given).map(|_| ())
}

async fn take(
    mut from: OwnedReadHalf,
    speed: impl Fn() -> LinkSpeed,
    to: mpsc::UnboundedSender<Piece>,
) -> io::Result<()> {
    let room = Arc::new(Semaphore::new(UNDER_WAY_MAX));
    let mut pace = Pace::default();
    let mut buffer = BytesMut::new();
    loop {
        let most = chunk(speed());
        // Small pieces share an allocation.
        if buffer.capacity() < CHUNK_BYTES_MIN {
            buffer.reserve(CHUNK_BYTES);
        }
        let read = (&mut from).take(most as u64).read_buf(&mut buffer).await?;
        if read == 0 {
            return Ok(());
        }
        let permits = u32::try_from(read).expect("a chunk is small");
        // The semaphore is never closed.
        let permit = Arc::clone(&room).acquire_many_owned(permits).await;
        let permit = permit.map_err(io::Error::other)?;
        let now = Instant::now();
        let piece = Piece {
            due: pace.due(now, read, speed()),
            bytes: buffer.split().freeze(),
            room: permit,
        };
        if to.send(piece).is_err() {
            return Ok(());
        }
        let open_at = pace.open_at(now);
        if open_at > now {
            sleep_until(open_at).await;
        }
    }
}

async fn give(
    mut to: OwnedWriteHalf,
    mut from: mpsc::UnboundedReceiver<Piece>,
    carried: &AtomicU64,
) -> io::Result<()> {
    while let Some(Piece { due, bytes, room }) = from.recv().await {
        if due > Instant::now() {
            sleep_until(due).await;
        }
        to.write_all(&bytes).await?;
        carried.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        drop(room);
    }
    to.shutdown().await
}

/// Returns the size of one read.
fn chunk(speed: LinkSpeed) -> usize {
    speed.bytes_per_s.map_or(CHUNK_BYTES, |per_s| {
        ((per_s / CHUNKS_PER_S) as usize).clamp(CHUNK_BYTES_MIN, CHUNK_BYTES)
    })
}
