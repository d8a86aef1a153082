//! Strangers and peers that break the rules are refused with one log line, and harm no other peer.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use net::frame::{Flags, Header, Hello, Kind};
use net::{NetLimits, Options, Sent};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig, ServerConnection};

use crate::peers::fixture::{Certified, Network, Node, limits, party, peer, until};
use crate::peers::intruder::{Intruder, batch, frame, hello, plain};
use crate::peers::log;

/// Two nodes that talk with each other while an intruder disturbs node 9; it also knows party 3, which is not
/// running.
struct Scene {
    network: Network,
    friend: Node,
    node: Node,
}

impl Scene {
    fn new() -> Self {
        Self::with(limits())
    }

    fn with(limits: NetLimits) -> Self {
        let network = Network::new();
        let friend = network.node(1);
        let node = Node::start(Options {
            limits,
            ..network.options(9)
        });
        node.net.set_peers(vec![
            peer(friend.id, friend.address()),
            peer(party(3), friend.address()),
        ]);
        friend.know(&[&node]);
        friend.inbox.wait_up(node.id, node.epoch);
        node.inbox.wait_up(friend.id, friend.epoch);
        Self {
            network,
            friend,
            node,
        }
    }

    /// Checks that one log line with the code names the intruder, and that the other peers are not affected.
    fn refused(&self, address: &str, code: &str) {
        let lines = log::wait_for(&["connection refused", address]);
        assert_eq!(lines.len(), 1, "{lines:#?}");
        assert!(
            lines[0].contains("WARN") && lines[0].contains(code),
            "{code}: {}",
            lines[0]
        );
        assert!(lines[0].contains("hint="), "{}", lines[0]);
        self.unharmed();
    }

    fn unharmed(&self) {
        assert_eq!(
            self.friend.net.send(&self.node.id, 0, b"ping".to_vec()),
            Sent::Queued
        );
        assert_eq!(self.node.inbox.message(), b"ping");
        assert_eq!(
            self.node.net.send(&self.friend.id, 0, b"pong".to_vec()),
            Sent::Queued
        );
        assert_eq!(self.friend.inbox.message(), b"pong");
        let friend = self.friend.net.figures();
        assert_eq!((friend.connected, friend.disconnected), (1, 0));
    }
}

#[test]
fn what_is_not_tls() {
    let scene = Scene::new();
    let mut noise = vec![0x16, 3, 1, 0x40, 0];
    noise.extend((0..60_000u32).map(|i| (i * 7) as u8));
    for garbage in [
        &b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"[..],
        &[0; 5_000],
        &noise,
        &[0x16, 3, 1, 0, 4, 1, 0, 0, 0],
    ] {
        let mut socket = plain(&scene.node);
        let address = socket.local_addr().expect("connected").to_string();
        // It may hang up in the middle.
        let _ = socket.write_all(garbage);
        scene.refused(&address, "net.not_tls");
        let _ = socket.read_to_end(&mut Vec::new());
    }
    // A port scan.
    let socket = plain(&scene.node);
    let address = socket.local_addr().expect("connected").to_string();
    drop(socket);
    scene.refused(&address, "net.handshake_failed");
}

#[test]
fn who_does_not_belong_here() {
    let scene = Scene::new();
    let (network, node) = (&scene.network, &scene.node);
    let stranger = Network::new();
    let ours = |number| Some(network.certify(party(number)));
    let peer_protocol = b"tally-peer/1";
    let table: [(Option<Certified>, &[u8], u8, &str); 8] = [
        (None, peer_protocol, 3, "net.wrong_certificate"),
        (
            Some(stranger.certify(party(3))),
            peer_protocol,
            3,
            "net.wrong_certificate",
        ),
        (
            Some(network.certify_until(party(3), 2020)),
            peer_protocol,
            3,
            "net.wrong_certificate",
        ),
        (ours(3), b"h2", 3, "net.not_tls"),
        (ours(4), peer_protocol, 3, "net.wrong_name"),
        (ours(4), peer_protocol, 1, "net.wrong_name"),
        (ours(4), peer_protocol, 4, "net.unknown_peer"),
        (ours(20), peer_protocol, 20, "net.wrong_direction"),
    ];
    for (certificate, alpn, claim, code) in table {
        let mut intruder = Intruder::with(certificate, alpn, network, node);
        let body = hello(party(claim)).to_bytes();
        intruder.send(&frame(Header::new(Kind::Hello, body.len()), &body));
        scene.refused(&intruder.address(), code);
        intruder.wait_closed();
    }
}

#[test]
fn a_bad_hello() {
    let scene = Scene::new();
    let good = hello(party(3)).to_bytes();
    let of = |body: &[u8]| frame(Header::new(Kind::Hello, body.len()), body);
    let mut other_version = good.clone();
    other_version[1] = 2;
    let mut too_large = Header::new(Kind::Hello, 0).to_bytes();
    too_large[0..4].copy_from_slice(&u32::MAX.to_be_bytes());
    let no_window = Hello {
        window: 0,
        ..hello(party(3))
    }
    .to_bytes();
    for (bytes, code) in [
        (of(&other_version), "net.version_mismatch"),
        (of(&good[..20]), "net.bad_hello"),
        (of(&no_window), "net.bad_hello"),
        (of(&[]), "net.bad_hello"),
        (of(&vec![0; 5_000]), "net.frame_too_large"),
        (too_large.to_vec(), "net.frame_too_large"),
        (batch(0, b"too early"), "net.bad_frame"),
        (b"GET / HTTP/1.1\r\n\r\n".to_vec(), "net.bad_frame"),
    ] {
        let mut intruder = Intruder::of(&scene.network, party(3), &scene.node);
        intruder.send(&bytes);
        scene.refused(&intruder.address(), code);
        intruder.wait_closed();
    }
}

#[test]
fn bad_frames() {
    let strict = NetLimits {
        message_bytes_max: 100_000,
        queue_bytes_max: 200_000,
        window_bytes: 10_000,
        ..limits()
    };
    let scene = Scene::with(strict);
    let id = party(3);
    let chunk = |first, last, body: &[u8]| {
        let flags = Flags {
            compressed: false,
            first,
            last,
        };
        frame(
            Header {
                flags,
                ..Header::new(Kind::Chunk, body.len())
            },
            body,
        )
    };
    let sized = |size: u32, bytes: &[u8]| [&size.to_be_bytes()[..], bytes].concat();
    let mut too_large = Header::new(Kind::Batch, 0).to_bytes();
    too_large[..4].copy_from_slice(&(1u32 << 20 | 1).to_be_bytes());
    let mut bad_stream = batch(0, b"x");
    bad_stream[11] = 16;
    let bomb = zstd::bulk::compress(&vec![0xff; 1 << 20], 1).expect("compresses");
    let compressed = Flags {
        compressed: true,
        ..Flags::default()
    };
    let bomb = |claims| {
        let header = Header {
            flags: compressed,
            ..Header::new(Kind::Batch, bomb.len())
        };
        frame(
            Header {
                raw_length: claims,
                ..header
            },
            &bomb,
        )
    };
    let spent = [batch(1, &[0; 20_000]), batch(1, b"one more")].concat();
    let again = hello(id).to_bytes();
    let grants = [&[0; 4][..], &[0xff; 4]].concat().repeat(17);
    for (bytes, code) in [
        (too_large.to_vec(), "net.frame_too_large"),
        (vec![0xff; 16], "net.bad_frame"),
        (b"GET / HTTP/1.1\r\n\r\n".to_vec(), "net.bad_frame"),
        (bad_stream, "net.bad_frame"),
        (frame(Header::new(Kind::Batch, 0), &[]), "net.bad_frame"),
        (
            frame(Header::new(Kind::Batch, 3), &[0, 0, 0]),
            "net.bad_frame",
        ),
        (
            frame(Header::new(Kind::Batch, 5), &[0, 0, 0, 2, 1]),
            "net.bad_frame",
        ),
        (
            frame(Header::new(Kind::Hello, again.len()), &again),
            "net.bad_frame",
        ),
        (frame(Header::new(Kind::Ping, 3), &[0; 3]), "net.bad_frame"),
        (
            frame(Header::new(Kind::Credit, 7), &[0; 7]),
            "net.bad_frame",
        ),
        (
            frame(Header::new(Kind::Credit, grants.len()), &grants),
            "net.bad_frame",
        ),
        (bomb(1_000), "net.bad_frame"),
        (bomb(1 << 20), "net.bad_frame"),
        (bomb((1 << 20) + 1), "net.frame_too_large"),
        (batch(0, &[0; 100_001]), "net.message_too_large"),
        (
            chunk(true, false, &sized(u32::MAX, b"x")),
            "net.message_too_large",
        ),
        (chunk(false, true, b"x"), "net.bad_frame"),
        (chunk(true, true, &sized(2, b"x")), "net.bad_frame"),
        (chunk(true, false, &sized(1, b"x")), "net.bad_frame"),
        (chunk(true, false, b"x"), "net.bad_frame"),
        (
            [chunk(true, false, &sized(2, b"x")), batch(0, b"x")].concat(),
            "net.bad_frame",
        ),
        (spent, "net.credit_exceeded"),
    ] {
        scene.node.inbox.set_full(code == "net.credit_exceeded");
        let mut intruder = Intruder::of(&scene.network, id, &scene.node);
        intruder.greet(id);
        scene.node.inbox.wait_up(id, 1);
        intruder.send(&bytes);
        if code == "net.credit_exceeded" {
            assert_eq!(scene.node.inbox.message().len(), 20_000);
        }
        scene.node.inbox.wait_down(id);
        let lines = log::wait_for(&["disconnected", &intruder.address()]);
        assert_eq!(lines.len(), 1, "{lines:#?}");
        assert!(
            lines[0].contains("WARN") && lines[0].contains(code),
            "{code}: {}",
            lines[0]
        );
        intruder.wait_closed();
        scene.node.inbox.set_full(false);
        scene.unharmed();
    }
}

#[test]
fn the_slow() {
    let scene = Scene::with(NetLimits {
        handshake_timeout: Duration::from_millis(500),
        ..limits()
    });
    // Slow at TLS, and slow to say hello.
    let socket = plain(&scene.node);
    let mut intruder = Intruder::of(&scene.network, party(3), &scene.node);
    intruder.agree();
    let address = socket.local_addr().expect("connected").to_string();
    scene.refused(&address, "net.handshake_timeout");
    scene.refused(&intruder.address(), "net.handshake_timeout");
}

#[test]
fn the_many() {
    let scene = Scene::with(NetLimits {
        handshakes_max: 3,
        ..limits()
    });
    // If there are too many, the oldest goes. A peer that completes the handshake still gets in.
    let many: Vec<_> = (0..10).map(|_| plain(&scene.node)).collect();
    let mut known = Intruder::of(&scene.network, party(3), &scene.node);
    known.greet(party(3));
    scene.node.inbox.wait_up(party(3), 1);
    let oldest = many[0].local_addr().expect("connected").to_string();
    scene.refused(&oldest, "net.too_many_handshakes");
    drop(many);
    until("all are refused", || scene.node.net.figures().refused == 10);
}

#[test]
fn a_server_that_is_not_the_peer() {
    let network = Network::new();
    let stranger = Network::new();
    let node = network.node(1);
    for (number, certified, code) in [
        (2, network.certify(party(3)), "net.wrong_name"),
        (3, stranger.certify(party(3)), "net.wrong_certificate"),
        (
            4,
            network.certify_until(party(4), 2020),
            "net.wrong_certificate",
        ),
    ] {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("bound");
        let server = std::thread::spawn({
            let config = server_config(&network, certified);
            move || {
                let (mut socket, _) = listener.accept().expect("it connects");
                let mut tls = ServerConnection::new(config).expect("a connection");
                while tls.is_handshaking() && tls.complete_io(&mut socket).is_ok() {}
            }
        });
        node.net.set_peers(vec![peer(party(number), address)]);
        let lines = log::wait_for(&["peer not reached", &party(number).to_string(), code]);
        assert!(lines[0].contains("WARN"), "{lines:#?}");
        node.net.set_peers(vec![]);
        server.join().expect("no panic");
    }
    assert!(node.inbox.next_within(Duration::ZERO).is_none());
}

fn server_config(network: &Network, certified: Certified) -> Arc<ServerConfig> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut roots = RootCertStore::empty();
    roots.add(network.root()).expect("a root");
    let verifier = WebPkiClientVerifier::builder_with_provider(roots.into(), provider.clone());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_client_cert_verifier(verifier.build().expect("a verifier"))
        .with_single_cert(certified.chain, certified.key)
        .expect("a certificate");
    config.alpn_protocols = vec![b"tally-peer/1".to_vec()];
    Arc::new(config)
}

#[test]
fn what_does_not_start() {
    use net::{StartError, Transport};
    use primitives::Coded;

    let network = Network::new();
    let start = |options: Options| {
        let inbox = Arc::new(crate::peers::fixture::Inbox::default());
        Transport::start(options, inbox).err().expect("refused")
    };
    let node = network.node(1);
    let taken = Options {
        listen: node.address(),
        ..network.options(2)
    };
    let others = Options {
        tls: network.tls(party(3)),
        ..network.options(2)
    };
    let mut mixed = network.options(2);
    mixed.tls.key = network.certify(party(2)).key;
    let mut tiny = network.options(2);
    tiny.limits.queue_bytes_max = 1;
    for (options, code) in [
        (taken, "net.listen_failed"),
        (others, "net.bad_tls_material"),
        (mixed, "net.bad_tls_material"),
        (tiny, "net.bad_option"),
    ] {
        let error: StartError = start(options);
        assert_eq!(error.code(), code, "{error}");
        assert!(!error.hint().is_empty());
    }
}
