//! Tests of the choice of peers.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::time::Duration;

use net::gossip::{self, Direction, GossipError, GossipOptions, Topic};
use primitives::Coded;

use crate::gossip::fixture::{Node, id, options, pair, until};

#[tokio::test]
async fn a_node_that_restarts_with_its_seed_and_address_is_found_again() {
    let (one, mut two) = pair().await;
    let address = one.address();
    one.net.shutdown().await;
    drop(one);
    two.wait_disconnected(id(1)).await;
    until("it is tried in vain", || two.net.figures().unreachable > 0).await;
    let mut one = Node::start(GossipOptions {
        listen: address,
        ..options(1)
    })
    .await;
    two.wait_connected(id(1)).await;
    one.wait_connected(id(2)).await;
    two.net
        .broadcast(Topic::Blocks, b"again".to_vec())
        .expect("room");
    assert_eq!(one.accepted().await.1, b"again");
    let view = two.view(id(1)).expect("known");
    assert_eq!(view.direction, Some(Direction::Outbound));
    assert_eq!(view.address, Some(address));
    let view = one.view(id(2)).expect("known");
    assert_eq!(view.direction, Some(Direction::Inbound));
    assert_eq!(view.address, Some(two.address()));
    assert_eq!(view.software, "test 2");
}

#[tokio::test]
async fn nodes_of_other_networks_are_refused_with_the_reason() {
    let one = Node::of(1, &[]).await;
    let other = Node::start(GossipOptions {
        network: [8; 32],
        seeds: vec![one.address()],
        ..options(2)
    })
    .await;
    until("both refuse", || {
        one.net.figures().refused + other.net.figures().refused > 1
    })
    .await;
    until("the reason can be asked for", || {
        let told = |node: &Node, peer, other: &str| {
            let view = node.view(id(peer));
            view.and_then(|view| view.reason)
                .is_some_and(|reason| reason.contains("another network") && reason.contains(other))
        };
        told(&one, 2, "network 0808") || told(&other, 1, "network 0909")
    })
    .await;
    assert_eq!((one.net.figures().peers, other.net.figures().peers), (0, 0));
    assert!(one.connected().is_empty() && other.connected().is_empty());
}

#[tokio::test]
async fn a_node_among_its_own_seeds_does_not_mind() {
    let mut one = Node::of(1, &[]).await;
    let address = one.address();
    one.net.shutdown().await;
    one = Node::start(GossipOptions {
        listen: address,
        seeds: vec![address],
        ..options(1)
    })
    .await;
    let mut two = Node::of(2, &[address]).await;
    one.wait_connected(id(2)).await;
    two.wait_connected(id(1)).await;
    assert_eq!(one.connected(), [id(2)]);
}

#[tokio::test]
async fn two_that_dial_each_other_at_once_stay_connected() {
    let one = Node::of(1, &[]).await;
    let two = Node::of(2, &[]).await;
    let addresses = [one.address(), two.address()];
    for node in [&one, &two] {
        node.net.shutdown().await;
    }
    let start = |number: u8| {
        Node::start(GossipOptions {
            listen: addresses[usize::from(number) - 1],
            seeds: addresses.to_vec(),
            ..options(number)
        })
    };
    let (mut one, mut two) = tokio::join!(start(1), start(2));
    one.wait_connected(id(2)).await;
    two.wait_connected(id(1)).await;
    for number in 0..20 {
        one.net
            .broadcast(Topic::Blocks, vec![number])
            .expect("room");
        assert_eq!(two.accepted().await.1, [number]);
    }
}

#[tokio::test]
async fn what_cannot_be_is_refused_at_the_start() {
    let one = Node::of(1, &[]).await;
    let taken = gossip::start(GossipOptions {
        listen: one.address(),
        ..options(2)
    });
    let error = taken.await.expect_err("the port is taken");
    assert!(matches!(error, GossipError::Listen { .. }));
    assert_eq!(error.code(), "gossip.listen_failed");
    for spoil in [
        |options: &mut GossipOptions| options.ban_time = Duration::ZERO,
        |options: &mut GossipOptions| options.limits.peers_max = 0,
        |options: &mut GossipOptions| options.limits.queue_max = 0,
        |options: &mut GossipOptions| options.limits.events_bytes_max = 1,
        |options: &mut GossipOptions| options.limits.back_off_min = Duration::ZERO,
    ] {
        let mut options = options(3);
        spoil(&mut options);
        let error = gossip::start(options).await.expect_err("refused");
        assert_eq!(error.code(), "gossip.bad_option");
        assert!(!error.hint().is_empty());
    }
}

#[tokio::test]
async fn a_node_may_listen_on_all_addresses_of_either_kind() {
    for listen in ["0.0.0.0:0", "[::]:0", "[::1]:0"] {
        let listen: SocketAddr = listen.parse().expect("an address");
        if TcpListener::bind(listen).is_err() {
            // A system without IPv6.
            continue;
        }
        let mut one = Node::start(GossipOptions {
            listen,
            ..options(1)
        })
        .await;
        let (ip, port) = (one.address().ip(), one.address().port());
        assert!(ip == listen.ip() && port != 0);
        let near: SocketAddr = match ip {
            IpAddr::V4(_) => (Ipv4Addr::LOCALHOST, port).into(),
            IpAddr::V6(_) => (Ipv6Addr::LOCALHOST, port).into(),
        };
        let mut two = Node::of(2, &[near]).await;
        one.wait_connected(id(2)).await;
        two.wait_connected(id(1)).await;
        assert_eq!(two.view(id(1)).and_then(|view| view.address), Some(near));
    }
}
