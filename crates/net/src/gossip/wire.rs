//! Counts the bytes that each connection reads and writes, below encryption.

use std::collections::HashMap;
use std::io::{self, IoSlice, IoSliceMut};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::task::{Context, Poll};

use futures_util::{AsyncRead, AsyncWrite};
use libp2p_core::ConnectedPoint;
use libp2p_core::multiaddr::{Multiaddr, Protocol};

use super::metrics::Counters;

/// The bytes that one connection has read and written.
#[derive(Debug, Default)]
pub(super) struct Wire {
    read: AtomicU64,
    written: AtomicU64,
}

impl Wire {
    pub(super) fn read(&self) -> u64 {
        self.read.load(Ordering::Relaxed)
    }

    pub(super) fn count_read(&self, bytes: u64) {
        self.read.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(super) fn written(&self) -> u64 {
        self.written.load(Ordering::Relaxed)
    }
}

/// The open connections by remote address. The bytes of a connection are counted before its peer is known.
#[derive(Debug, Default)]
pub(super) struct Wires(Mutex<HashMap<Multiaddr, Weak<Wire>>>);

impl Wires {
    /// Returns the counts of a new connection, and forgets those of ended ones.
    pub(super) fn open(&self, point: &ConnectedPoint) -> Arc<Wire> {
        let wire = Arc::new(Wire::default());
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|_, wire| wire.strong_count() > 0);
        open.insert(point.get_remote_address().clone(), Arc::downgrade(&wire));
        wire
    }

    /// The counts of the connection.
    pub(super) fn of(&self, point: &ConnectedPoint) -> Arc<Wire> {
        let open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let wire = open.get(point.get_remote_address());
        // A connection whose entry was replaced is not counted.
        wire.and_then(Weak::upgrade).unwrap_or_default()
    }
}

/// The address that a multiaddress begins with, if it is IP and TCP.
pub(super) fn socket_address(address: &Multiaddr) -> Option<SocketAddr> {
    let mut parts = address.iter();
    let ip = match parts.next()? {
        Protocol::Ip4(ip) => ip.into(),
        Protocol::Ip6(ip) => ip.into(),
        _ => return None,
    };
    match parts.next()? {
        Protocol::Tcp(port) => Some(SocketAddr::new(ip, port)),
        _ => None,
    }
}

/// Converts an address to libp2p's form, `/ip4/ADDRESS/tcp/PORT`.
pub(super) fn multiaddress(address: &SocketAddr) -> Multiaddr {
    Multiaddr::from(address.ip()).with(Protocol::Tcp(address.port()))
}

/// A stream that counts its bytes.
pub(super) struct Counted<S> {
    stream: S,
    wire: Arc<Wire>,
    all: Arc<Counters>,
}

impl<S> Counted<S> {
    pub(super) fn new(stream: S, wire: Arc<Wire>, all: Arc<Counters>) -> Self {
        Self { stream, wire, all }
    }

    fn did_read(&self, done: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if let Poll::Ready(Ok(bytes)) = done {
            self.wire.count_read(bytes as u64);
            self.all.bytes_in.add(bytes as u64);
        }
        done
    }

    fn did_write(&self, done: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if let Poll::Ready(Ok(bytes)) = done {
            self.wire.written.fetch_add(bytes as u64, Ordering::Relaxed);
            self.all.bytes_out.add(bytes as u64);
        }
        done
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Counted<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        let done = Pin::new(&mut self.stream).poll_read(cx, into);
        self.did_read(done)
    }

    fn poll_read_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut [IoSliceMut<'_>],
    ) -> Poll<io::Result<usize>> {
        let done = Pin::new(&mut self.stream).poll_read_vectored(cx, into);
        self.did_read(done)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Counted<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        from: &[u8],
    ) -> Poll<io::Result<usize>> {
        let done = Pin::new(&mut self.stream).poll_write(cx, from);
        self.did_write(done)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        from: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let done = Pin::new(&mut self.stream).poll_write_vectored(cx, from);
        self.did_write(done)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_close(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_close(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_go_there_and_back() {
        for text in ["127.0.0.1:1", "[::1]:65535"] {
            let address: SocketAddr = text.parse().expect("an address");
            assert_eq!(socket_address(&multiaddress(&address)), Some(address));
        }
        for text in [
            "/ip4/127.0.0.1/udp/1",
            "/dns4/x/tcp/1",
            "/ip4/127.0.0.1",
            "/tcp/1",
        ] {
            let address: Multiaddr = text.parse().expect("a multiaddress");
            assert_eq!(socket_address(&address), None, "{text}");
        }
    }
}
