//! The other end of a connection, done by hand, so that a test can send any bytes.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};

use ledger::PartyId;
use net::frame::{HEADER_BYTES, Header, Hello, Kind};
use rustix::net::{AddressFamily, SocketType, bind, connect, socket};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use crate::peers::fixture::{Certified, Network, Node, PATIENCE};

/// A hand-made connection to a node. Reads and writes block, with a bound.
pub struct Intruder {
    stream: StreamOwned<ClientConnection, TcpStream>,
}

/// A plain socket to a node. Each one connects from a loopback address of its own, because the log of all tests is searched for it,
/// and the system gives a port of one address away again.
pub fn plain(node: &Node) -> TcpStream {
    static CONNECTIONS: AtomicU16 = AtomicU16::new(0);
    let [high, low] = CONNECTIONS.fetch_add(1, Ordering::Relaxed).to_be_bytes();
    let from = SocketAddrV4::new(Ipv4Addr::new(127, 9, high, low), 0);
    let SocketAddr::V4(to) = node.address() else {
        unreachable!("nodes of tests listen on IPv4");
    };
    let socket = socket(AddressFamily::INET, SocketType::STREAM, None).expect("a socket");
    bind(&socket, &from).expect("a loopback address");
    connect(&socket, &to).expect("it listens");
    let socket = TcpStream::from(socket);
    socket.set_read_timeout(Some(PATIENCE)).expect("a bound");
    socket.set_write_timeout(Some(PATIENCE)).expect("a bound");
    socket
}

/// A hello of a party.
pub fn hello(party: PartyId) -> Hello {
    Hello {
        party,
        epoch: 1,
        software: "by hand".into(),
        takes_zstd: false,
        window: 1 << 20,
        max_message_bytes: 1 << 20,
        clock_ms: 0,
    }
}

/// A frame with this body.
pub fn frame(header: Header, body: &[u8]) -> Vec<u8> {
    let mut bytes = header.to_bytes().to_vec();
    bytes.extend_from_slice(body);
    bytes
}

/// A batch of one message on a stream.
pub fn batch(stream: u32, message: &[u8]) -> Vec<u8> {
    let mut body = u32::try_from(message.len())
        .expect("small")
        .to_be_bytes()
        .to_vec();
    body.extend_from_slice(message);
    frame(
        Header {
            stream,
            ..Header::new(Kind::Batch, body.len())
        },
        &body,
    )
}

impl Intruder {
    /// Connects with a certificate of the network for a party.
    pub fn of(network: &Network, id: PartyId, node: &Node) -> Self {
        Self::with(Some(network.certify(id)), b"tally-peer/1", network, node)
    }

    /// Connects with a certificate or none, and a protocol in mind.
    pub fn with(own: Option<Certified>, alpn: &[u8], network: &Network, node: &Node) -> Self {
        let mut roots = RootCertStore::empty();
        roots.add(network.root()).expect("a root");
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_root_certificates(roots);
        let mut config = match own {
            Some(own) => config
                .with_client_auth_cert(own.chain, own.key)
                .expect("a certificate"),
            None => config.with_no_client_auth(),
        };
        config.alpn_protocols = vec![alpn.to_vec()];
        let name = ServerName::try_from(node.id.dns_name()).expect("a name");
        let tls = ClientConnection::new(Arc::new(config), name).expect("a connection");
        Self {
            stream: StreamOwned::new(tls, plain(node)),
        }
    }

    /// Its own address, as the node logs it.
    pub fn address(&self) -> String {
        self.stream
            .sock
            .local_addr()
            .expect("connected")
            .to_string()
    }

    /// Sends bytes; the node may have hung up.
    pub fn send(&mut self, bytes: &[u8]) {
        let _ = self.stream.write_all(bytes);
        let _ = self.stream.flush();
    }

    /// Only agrees on TLS.
    pub fn agree(&mut self) {
        while self.stream.conn.is_handshaking() {
            if self.stream.conn.complete_io(&mut self.stream.sock).is_err() {
                return;
            }
        }
    }

    /// Exchanges hellos.
    pub fn greet(&mut self, id: PartyId) {
        let body = hello(id).to_bytes();
        self.send(&frame(Header::new(Kind::Hello, body.len()), &body));
        assert_eq!(self.next_frame_kind(), Kind::Hello as u8);
    }

    pub fn send_message(&mut self, message: &[u8]) {
        self.send(&batch(0, message));
    }

    /// Reads a frame; returns its kind.
    pub fn next_frame_kind(&mut self) -> u8 {
        let mut header = [0; HEADER_BYTES];
        self.stream.read_exact(&mut header).expect("a frame");
        let header = Header::parse(&header).expect("a good header");
        let mut body = vec![0; header.length as usize];
        self.stream.read_exact(&mut body).expect("its body");
        header.kind as u8
    }

    /// Reads until the node hangs up.
    pub fn wait_closed(&mut self) {
        let mut sink = Vec::new();
        let ended = self.stream.read_to_end(&mut sink);
        let timed_out = ended.as_ref().is_err_and(|error| {
            matches!(
                error.kind(),
                std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut
            )
        });
        assert!(!timed_out, "the node hangs up: {ended:?}");
    }
}
