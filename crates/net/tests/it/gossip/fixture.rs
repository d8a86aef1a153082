//! Nodes and their events. Waits have deadlines.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use net::gossip::{
    self, GossipEvent, GossipEvents, GossipHandle, GossipLimits, GossipOptions, MessageId, PeerId,
    PeerView, Topic, Verdict,
};

/// Long enough for anything that should happen at all.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// Options of the node of a number, which listens on any port and knows no other node.
pub fn options(number: u8) -> GossipOptions {
    GossipOptions {
        key_seed: [number; 32].into(),
        network: [9; 32],
        listen: (Ipv4Addr::LOCALHOST, 0).into(),
        seeds: vec![],
        software: format!("test {number}"),
        ban_time: Duration::from_secs(600),
        limits: GossipLimits {
            back_off_min: Duration::from_millis(20),
            back_off_max: Duration::from_millis(200),
            ..GossipLimits::default()
        },
    }
}

pub fn id(number: u8) -> PeerId {
    PeerId::of_seed(&[number; 32])
}

/// A running node; the test is the application.
pub struct Node {
    pub net: GossipHandle,
    pub events: GossipEvents,
}

impl Node {
    pub async fn start(options: GossipOptions) -> Self {
        let (net, events) = gossip::start(options).await.expect("starts");
        Self { net, events }
    }

    /// A node that knows some addresses.
    pub async fn of(number: u8, seeds: &[SocketAddr]) -> Self {
        Self::start(GossipOptions {
            seeds: seeds.to_vec(),
            ..options(number)
        })
        .await
    }

    pub fn address(&self) -> SocketAddr {
        self.net.local_address()
    }

    /// The next event.
    pub async fn next(&mut self) -> GossipEvent {
        let next = tokio::time::timeout(PATIENCE, self.events.next()).await;
        next.expect("something happens").expect("it runs")
    }

    /// The next event of a kind; others are passed over.
    pub async fn next_of<T>(&mut self, mut wanted: impl FnMut(GossipEvent) -> Option<T>) -> T {
        loop {
            if let Some(wanted) = wanted(self.next().await) {
                return wanted;
            }
        }
    }

    /// Waits until a peer is connected.
    pub async fn wait_connected(&mut self, peer: PeerId) {
        self.next_of(|event| {
            matches!(event, GossipEvent::Connected { peer: own, .. } if own == peer).then_some(())
        })
        .await;
    }

    pub async fn wait_disconnected(&mut self, peer: PeerId) {
        self.next_of(|event| (event == GossipEvent::Disconnected { peer }).then_some(()))
            .await;
    }

    /// The next message.
    pub async fn message(&mut self) -> (MessageId, Topic, Vec<u8>) {
        self.next_of(|event| match event {
            GossipEvent::Message {
                id, topic, bytes, ..
            } => Some((id, topic, bytes)),
            _ => None,
        })
        .await
    }

    /// The next message, which is passed on.
    pub async fn accepted(&mut self) -> (Topic, Vec<u8>) {
        let (id, topic, bytes) = self.message().await;
        self.net.verdict(id, Verdict::Accept).expect("room");
        (topic, bytes)
    }

    pub fn view(&self, peer: PeerId) -> Option<PeerView> {
        let views: BTreeMap<_, _> = self.net.peers().into_iter().map(|v| (v.id, v)).collect();
        views.get(&peer).cloned()
    }

    /// Returns the connected peers.
    pub fn connected(&self) -> Vec<PeerId> {
        let views = self.net.peers().into_iter();
        views.filter(|v| v.since.is_some()).map(|v| v.id).collect()
    }
}

/// Waits until something is so, looking again after each small pause.
pub async fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let waiting = async {
        while !is_so() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    let waited = tokio::time::timeout(PATIENCE, waiting).await;
    assert!(waited.is_ok(), "{what} did not come about");
}

/// Two nodes, 1 and 2, connected with each other.
pub async fn pair() -> (Node, Node) {
    pair_of(options(1), options(2)).await
}

pub async fn pair_of(one: GossipOptions, two: GossipOptions) -> (Node, Node) {
    let ids = [&one, &two].map(|options| PeerId::of_seed(options.key_seed.expose()));
    let mut one = Node::start(one).await;
    let mut two = Node::start(GossipOptions {
        seeds: vec![one.address()],
        ..two
    })
    .await;
    one.wait_connected(ids[1]).await;
    two.wait_connected(ids[0]).await;
    (one, two)
}
