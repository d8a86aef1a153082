//! Connections come back, and there is never more than one of a pair.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ledger::PartyId;
use net::{NetLimits, Options, PeerAddress, Sent};

use crate::peers::fixture::{Network, Node, limits, party, peer, until};
use crate::peers::intruder::Intruder;
use crate::peers::log;

#[test]
fn after_either_side_was_away() {
    let network = Network::new();
    let (mut one, mut two) = network.pair();
    // The one that is connected to goes away, and comes back with another store at the same address.
    let address = two.address();
    two.stop();
    one.inbox.wait_down(two.id);
    assert_eq!(one.net.send(&two.id, 0, vec![]), Sent::Down);
    let options = Options {
        listen: address,
        epoch: 7,
        ..network.options(2)
    };
    two = Node::start(options);
    two.know(&[&one]);
    one.inbox.wait_up(two.id, 7);
    two.inbox.wait_up(one.id, one.epoch);
    assert_eq!(one.net.send(&two.id, 0, b"a".to_vec()), Sent::Queued);
    assert_eq!(two.inbox.message(), b"a");
    // The one that connects goes away.
    one.stop();
    two.inbox.wait_down(one.id);
    one = network.node(1);
    one.know(&[&two]);
    two.inbox.wait_up(one.id, one.epoch);
    one.inbox.wait_up(two.id, 7);
    assert_eq!(two.net.send(&one.id, 3, b"b".to_vec()), Sent::Queued);
    assert_eq!(one.inbox.message(), b"b");
}

#[test]
fn a_peer_that_moves_is_found_and_one_that_leaves_is_let_go() {
    let network = Network::new();
    let one = network.node(1);
    let two = network.node(2);
    two.know(&[&one]);
    // No node listens there.
    let nowhere = ([127, 0, 0, 1], 1).into();
    one.net.set_peers(vec![peer(two.id, nowhere)]);
    log::wait_for(&["net.unreachable", &two.id.to_string(), "127.0.0.1:1"]);
    one.net.set_peers(vec![peer(two.id, two.address())]);
    one.inbox.wait_up(two.id, two.epoch);
    two.inbox.wait_up(one.id, one.epoch);
    two.net.set_peers(vec![]);
    two.inbox.wait_down(one.id);
    one.inbox.wait_down(two.id);
    assert!(two.net.peers().is_empty());
}

#[test]
fn a_newer_connection_takes_the_place_of_the_older() {
    let network = Network::new();
    let node = network.node(5);
    let id = party(1);
    node.net.set_peers(vec![peer(id, node.address())]);
    let mut first = Intruder::of(&network, id, &node);
    first.greet(id);
    node.inbox.wait_up(id, 1);
    let mut second = Intruder::of(&network, id, &node);
    second.greet(id);
    node.inbox.wait_down(id);
    node.inbox.wait_up(id, 1);
    first.wait_closed();
    second.send_message(b"still here");
    assert_eq!(node.inbox.message(), b"still here");
    log::wait_for(&["net.replaced", &id.to_string()]);
}

#[test]
fn a_silent_peer_is_pinged_and_then_given_up() {
    let network = Network::new();
    let quick = NetLimits {
        ping_after: Duration::from_millis(20),
        silence_max: Duration::from_millis(200),
        ..limits()
    };
    let node = Node::start(Options {
        limits: quick,
        ..network.options(5)
    });
    let id: PartyId = party(2);
    node.net.set_peers(vec![peer(id, node.address())]);
    let mut silent = Intruder::of(&network, id, &node);
    silent.greet(id);
    node.inbox.wait_up(id, 1);
    assert_eq!(silent.next_frame_kind(), 5, "a ping");
    node.inbox.wait_down(id);
    log::wait_for(&["net.idle", &id.to_string()]);
}

#[test]
fn idle_nodes_keep_their_connection() {
    let network = Network::new();
    let quick = || NetLimits {
        ping_after: Duration::from_millis(5),
        silence_max: Duration::from_secs(1),
        ..limits()
    };
    let one = Options {
        limits: quick(),
        ..network.options(1)
    };
    let two = Options {
        limits: quick(),
        ..network.options(2)
    };
    let (one, two) = network.pair_of(one, two);
    // Frames without messages: pings and pongs, for longer than the longest silence.
    until("they ping each other", || two.net.figures().frames_in > 500);
    assert_eq!(
        (
            one.net.figures().disconnected,
            two.net.figures().disconnected
        ),
        (0, 0)
    );
}

/// Where a process listens that has been stopped: the system takes connections for it, and nothing answers.
fn stopped_process() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("bound").to_string();
    (listener, address)
}

#[test]
fn the_next_address_is_tried_while_the_first_is_silent() {
    let network = Network::new();
    let one = network.node(1);
    let two = network.node(2);
    two.know(&[&one]);
    let (_listener, silent) = stopped_process();
    one.net.set_peers(vec![PeerAddress {
        addresses: vec![silent, two.address().to_string()],
        ..peer(two.id, two.address())
    }]);
    one.inbox.wait_up(two.id, two.epoch);
    two.inbox.wait_up(one.id, one.epoch);
}

#[test]
fn a_process_that_takes_over_is_dialled_at_once() {
    let network = Network::new();
    // Without the announcement, the silent connection would stay for as long as the test waits.
    let patient = NetLimits {
        ping_after: Duration::from_secs(3_600),
        silence_max: Duration::from_secs(7_200),
        back_off_min: Duration::from_secs(3_600),
        back_off_max: Duration::from_secs(3_600),
        ..NetLimits::default()
    };
    let one = Node::start(Options {
        limits: patient,
        ..network.options(1)
    });
    let (former, next) = (network.node(2), network.options(2));
    let next = Node::start(Options { epoch: 7, ..next });
    let (proxy, is_frozen) = freezable(former.address());
    former.know(&[&one]);
    let addresses = vec![proxy.to_string(), next.address().to_string()];
    one.net.set_peers(vec![PeerAddress {
        addresses,
        ..peer(next.id, proxy)
    }]);
    one.inbox.wait_up(former.id, former.epoch);
    is_frozen.store(true, Ordering::SeqCst);
    next.know(&[&one]);
    next.net.announce();
    one.inbox.wait_down(next.id);
    one.inbox.wait_up(next.id, 7);
    next.inbox.wait_up(one.id, one.epoch);
    log::wait_for(&["net.idle", &next.id.to_string()]);
}

#[test]
fn an_announcement_spares_a_connection_that_answers() {
    let network = Network::new();
    let (one, two) = network.pair();
    let other = Node::start(Options {
        epoch: 7,
        ..network.options(2)
    });
    other.know(&[&one]);
    let heard = one.net.figures().frames_in;
    other.net.announce();
    until("the peer answers", || one.net.figures().frames_in > heard);
    assert_eq!(
        two.net.send(&one.id, 0, b"still here".to_vec()),
        Sent::Queued
    );
    assert_eq!(one.inbox.message(), b"still here");
}

/// Forwards connections until it is told to be frozen. It then accepts further ones, and says nothing.
fn freezable(to: SocketAddr) -> (SocketAddr, Arc<AtomicBool>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("bound");
    let is_frozen = Arc::new(AtomicBool::new(false));
    let frozen = Arc::clone(&is_frozen);
    std::thread::spawn(move || {
        for near in listener.incoming().map_while(Result::ok) {
            let Ok(far) = TcpStream::connect(to) else {
                return;
            };
            let ends = [near, far].map(Arc::new);
            for (from, to) in [(0, 1), (1, 0)] {
                let (from, to) = (Arc::clone(&ends[from]), Arc::clone(&ends[to]));
                let frozen = Arc::clone(&frozen);
                std::thread::spawn(move || forward(&from, &to, &frozen));
            }
        }
    });
    (address, is_frozen)
}

fn forward(mut from: &TcpStream, mut to: &TcpStream, frozen: &AtomicBool) {
    let mut buffer = [0; 4_096];
    while let Ok(read @ 1..) = from.read(&mut buffer) {
        if frozen.load(Ordering::SeqCst) {
            // It keeps both connections open.
            return std::thread::park();
        }
        if to.write_all(&buffer[..read]).is_err() {
            return;
        }
    }
}
