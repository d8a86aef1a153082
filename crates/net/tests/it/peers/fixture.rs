//! A network's root, its nodes, and the messages they receive.

use std::collections::VecDeque;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use ledger::PartyId;
use net::{
    Compression, Handle, Inbound, NetLimits, Options, PeerAddress, Sink, TlsMaterial, Transport,
};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair, date_time_ymd};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};

/// Long enough for anything that should happen at all.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// A party by a number; the smaller one connects.
pub fn party(number: u8) -> PartyId {
    PartyId::from_array([number; 32])
}

/// A network's root.
pub struct Network {
    root: CertifiedIssuer<'static, KeyPair>,
}

/// A certificate with its key.
pub struct Certified {
    pub chain: Vec<CertificateDer<'static>>,
    pub key: PrivateKeyDer<'static>,
}

impl Network {
    pub fn new() -> Self {
        crate::peers::log::record();
        let mut params = CertificateParams::new(vec![]).expect("no names");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        Self {
            root: CertifiedIssuer::self_signed(params, key).expect("signs"),
        }
    }

    pub fn root(&self) -> CertificateDer<'static> {
        self.root.der().clone()
    }

    pub fn certify(&self, id: PartyId) -> Certified {
        self.certify_until(id, 2100)
    }

    pub fn certify_until(&self, id: PartyId, year: i32) -> Certified {
        let mut params = CertificateParams::new(vec![id.dns_name()]).expect("a name");
        params.not_before = date_time_ymd(2000, 1, 1);
        params.not_after = date_time_ymd(year, 1, 1);
        let key = KeyPair::generate().expect("a key");
        let certificate = params.signed_by(&key, &self.root).expect("signs");
        Certified {
            chain: vec![certificate.der().clone()],
            key: PrivatePkcs8KeyDer::from(key.serialize_der()).into(),
        }
    }

    pub fn tls(&self, id: PartyId) -> TlsMaterial {
        let Certified { chain, key } = self.certify(id);
        TlsMaterial {
            chain,
            key,
            root: self.root(),
        }
    }

    /// Options of a node that listens on any port and connects to no peer.
    pub fn options(&self, number: u8) -> Options {
        Options {
            me: party(number),
            epoch: u64::from(number) * 100,
            software: "test 1".into(),
            listen: (Ipv4Addr::LOCALHOST, 0).into(),
            tls: self.tls(party(number)),
            peers: vec![],
            compression: Compression::Auto,
            linger_us: 0,
            limits: limits(),
        }
    }

    pub fn node(&self, number: u8) -> Node {
        Node::start(self.options(number))
    }

    /// Two nodes, 1 and 2, connected with each other.
    pub fn pair(&self) -> (Node, Node) {
        self.pair_of(self.options(1), self.options(2))
    }

    pub fn pair_of(&self, one: Options, two: Options) -> (Node, Node) {
        let (one, two) = (Node::start(one), Node::start(two));
        two.know(&[&one]);
        one.know(&[&two]);
        one.inbox.wait_up(two.id, two.epoch);
        two.inbox.wait_up(one.id, one.epoch);
        (one, two)
    }
}

/// The usual limits, with short pauses.
pub fn limits() -> NetLimits {
    NetLimits {
        back_off_min: Duration::from_millis(5),
        back_off_max: Duration::from_millis(50),
        ..NetLimits::default()
    }
}

/// A running node.
pub struct Node {
    pub id: PartyId,
    pub epoch: u64,
    pub inbox: Arc<Inbox>,
    pub net: Handle,
    transport: Option<Transport>,
}

impl Node {
    pub fn start(options: Options) -> Self {
        let (id, epoch, inbox) = (options.me, options.epoch, Arc::new(Inbox::default()));
        let sink: Arc<dyn Sink> = inbox.clone();
        let transport = Transport::start(options, sink).expect("starts");
        Self {
            id,
            epoch,
            inbox,
            net: transport.handle().clone(),
            transport: Some(transport),
        }
    }

    pub fn address(&self) -> SocketAddr {
        self.net.local_address()
    }

    pub fn know(&self, others: &[&Node]) {
        let address = |node: &&Node| peer(node.id, node.address());
        self.net.set_peers(others.iter().map(address).collect());
    }

    pub fn stop(&mut self) {
        self.transport = None;
    }
}

pub fn peer(id: PartyId, address: SocketAddr) -> PeerAddress {
    PeerAddress {
        name: id.to_string(),
        id,
        addresses: vec![address.to_string()],
    }
}

/// The messages of a node; the test is the consumer.
#[derive(Default)]
pub struct Inbox {
    received: Mutex<VecDeque<Inbound>>,
    arrived: Condvar,
    full: AtomicBool,
}

impl Sink for Inbox {
    fn deliver(&self, batch: &mut Vec<Inbound>) {
        self.lock().extend(batch.drain(..));
        self.arrived.notify_all();
    }

    fn has_room(&self) -> bool {
        !self.full.load(Ordering::SeqCst)
    }
}

impl Inbox {
    fn lock(&self) -> MutexGuard<'_, VecDeque<Inbound>> {
        self.received.lock().expect("no test panics here")
    }

    pub fn set_full(&self, full: bool) {
        self.full.store(full, Ordering::SeqCst);
    }

    /// The next thing received.
    pub fn next(&self) -> Inbound {
        self.next_within(PATIENCE).expect("something arrives")
    }

    pub fn next_within(&self, patience: Duration) -> Option<Inbound> {
        let deadline = Instant::now() + patience;
        let mut received = self.lock();
        loop {
            if let Some(next) = received.pop_front() {
                return Some(next);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return None;
            }
            received = self
                .arrived
                .wait_timeout(received, left)
                .expect("no test panics here")
                .0;
        }
    }

    /// The next message.
    pub fn message(&self) -> Vec<u8> {
        match self.next() {
            Inbound::Message { bytes, .. } => bytes,
            other => panic!("{other:?} instead of a message"),
        }
    }

    pub fn wait_up(&self, peer: PartyId, epoch: u64) {
        assert_eq!(self.next(), Inbound::PeerUp { peer, epoch });
    }

    pub fn wait_down(&self, peer: PartyId) {
        assert_eq!(self.next(), Inbound::PeerDown { peer });
    }

    /// Bytes of messages received and not looked at.
    pub fn bytes(&self) -> usize {
        let size = |inbound: &Inbound| match inbound {
            Inbound::Message { bytes, .. } => bytes.len(),
            _ => 0,
        };
        self.lock().iter().map(size).sum()
    }
}

/// Waits until a condition holds that no condition variable signals.
pub fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < deadline, "{what} did not come about");
        std::thread::yield_now();
    }
}
