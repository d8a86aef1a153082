//! Bytes sent and received by all clients of this process. The operating system counts traffic by machine only.

use std::sync::atomic::{AtomicU64, Ordering};

use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::io::{InspectReader, InspectWriter};

static SENT: AtomicU64 = AtomicU64::new(0);
static RECEIVED: AtomicU64 = AtomicU64::new(0);

/// See [`traffic`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Bytes sent to nodes.
    pub sent_bytes: u64,
    /// Bytes received from nodes.
    pub received_bytes: u64,
}

/// Bytes on the connections of all clients of this process so far, TLS included.
#[must_use]
pub fn traffic() -> Traffic {
    Traffic {
        sent_bytes: SENT.load(Ordering::Relaxed),
        received_bytes: RECEIVED.load(Ordering::Relaxed),
    }
}

/// A connection that counts its bytes.
pub(crate) fn counted<C: AsyncRead + AsyncWrite>(connection: C) -> impl AsyncRead + AsyncWrite {
    let connection = InspectWriter::new(connection, |bytes: &[u8]| add(&SENT, bytes));
    InspectReader::new(connection, |bytes: &[u8]| add(&RECEIVED, bytes))
}

fn add(sum: &AtomicU64, bytes: &[u8]) {
    sum.fetch_add(bytes.len() as u64, Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    /// Other tests of this process may send at the same time, so the counters grow by at least the bytes sent here.
    #[tokio::test]
    async fn bytes_count_in_both_directions() {
        let before = traffic();
        let (near, mut far) = tokio::io::duplex(64);
        let mut near = std::pin::pin!(counted(near));
        near.write_all(b"seven..").await.expect("it takes that");
        far.write_all(b"four").await.expect("it takes that");
        let mut read = [0; 4];
        near.read_exact(&mut read).await.expect("it is there");
        let after = traffic();
        assert!(after.sent_bytes - before.sent_bytes >= 7);
        assert!(after.received_bytes - before.received_bytes >= 4);
    }
}
