//! Peers that are not nodes, or that are malicious.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use libp2p_request_response as request_response;
use libp2p_swarm::SwarmEvent;
use net::gossip::{Direction, GossipEvent, GossipOptions, RequestError, Topic};

use crate::gossip::fixture::{Node, PATIENCE, id, options, pair_of, until};
use crate::gossip::raw::{self, RawEvent};

fn plain(node: &Node) -> TcpStream {
    let socket = TcpStream::connect(node.address()).expect("it listens");
    socket.set_read_timeout(Some(PATIENCE)).expect("a bound");
    socket.set_write_timeout(Some(PATIENCE)).expect("a bound");
    socket
}

/// Reads until the node hangs up; a wait on another thread.
async fn wait_closed(mut socket: TcpStream) {
    let waited = tokio::task::spawn_blocking(move || {
        let mut sink = Vec::new();
        let ended = socket.read_to_end(&mut sink);
        ended.err().map(|error| error.kind())
    });
    let error = waited.await.expect("no panic");
    let timed_out = matches!(
        error,
        Some(std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut)
    );
    assert!(!timed_out, "the node hangs up");
}

/// The frame that libp2p's choice of a protocol begins with, and a choice that no node offers.
const OTHER_PROTOCOL: &[u8] = b"\x13/multistream/1.0.0\n\x0d/tls/1.0.0/x\n";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rubbish_is_hung_up_on_and_the_node_goes_on() {
    let mut brief = options(1);
    brief.limits.handshake_timeout = Duration::from_millis(700);
    let mut one = Node::start(brief).await;
    let mut large = b"\x13/multistream/1.0.0\n".to_vec();
    large.extend(std::iter::repeat_n(0xff, 1 << 20));
    for rubbish in [
        &b""[..],
        b"\0",
        b"GET / HTTP/1.1\r\nhost: x\r\n\r\n",
        &[0xff; 4_096],
        b"\x13/multistream/1.0.0\n",
        b"\x13/multistream/1.0.0\n\x07/noise\n",
        b"\x13/multistream/1.0.0\n\x07/noise\n\x00\x04abcd\xff\xff",
        OTHER_PROTOCOL,
        &large,
    ] {
        let before = one.net.figures().refused;
        let mut socket = plain(&one);
        // The node may have hung up.
        let _ = socket.write_all(rubbish);
        wait_closed(socket).await;
        until("it is counted", || one.net.figures().refused > before).await;
    }
    let mut two = Node::of(2, &[one.address()]).await;
    one.wait_connected(id(2)).await;
    two.wait_connected(id(1)).await;
    two.net.broadcast(Topic::Blocks, vec![1]).expect("room");
    assert_eq!(one.accepted().await.1, [1]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_opens_and_stalls_is_hung_up_on_and_takes_only_its_share_of_the_room() {
    let mut narrow = options(1);
    narrow.limits.handshake_timeout = Duration::from_secs(2);
    narrow.limits.per_ip_max = 5;
    let mut one = Node::start(narrow).await;
    let began = Instant::now();
    let stalled: Vec<TcpStream> = (0..20).map(|_| plain(&one)).collect();
    until("most have no room", || one.net.figures().refused >= 15).await;
    for socket in stalled {
        wait_closed(socket).await;
    }
    assert!(began.elapsed() < PATIENCE);
    until("all are refused", || one.net.figures().refused >= 20).await;
    let mut two = Node::of(2, &[one.address()]).await;
    one.wait_connected(id(2)).await;
    two.wait_connected(id(1)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_floods_loses_what_is_too_much_and_is_banned() {
    let mut strict = options(1);
    strict.limits.messages_per_second_max = 1;
    let (mut one, mut two) = pair_of(strict, options(2)).await;
    for number in 0..400_u32 {
        let bytes = number.to_be_bytes().to_vec();
        two.net.broadcast(Topic::Transactions, bytes).expect("room");
    }
    one.wait_disconnected(id(2)).await;
    two.wait_disconnected(id(1)).await;
    let figures = one.net.figures();
    assert!(figures.transactions_in <= 20, "{figures:?}");
    assert!(
        figures.dropped_rate >= 90 && figures.bans == 1,
        "{figures:?}"
    );
    let view = one.view(id(2)).expect("remembered");
    assert_eq!(view.reason.as_deref(), Some("it sends more than it may"));
    assert!(view.banned_until.is_some());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn there_is_no_room_for_more_peers_than_allowed() {
    let mut narrow = options(1);
    narrow.limits.peers_max = 2;
    let mut one = Node::start(narrow).await;
    let mut others = Vec::new();
    for number in 2..=3 {
        others.push(Node::of(number, &[one.address()]).await);
        one.wait_connected(id(number)).await;
    }
    let late = Node::of(4, &[one.address()]).await;
    until("it is refused", || one.net.figures().refused > 0).await;
    assert!(!one.connected().contains(&id(4)));
    // Other peers have room for it, and learn of it when a node that has it is asked.
    others[0].net.shutdown().await;
    one.wait_disconnected(id(2)).await;
    one.wait_connected(id(4)).await;
    drop(late);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_seed_gets_a_place_though_inbound_peers_fill_all_others() {
    // A seed that does not run yet.
    let seed = Node::of(9, &[]).await;
    let address = seed.address();
    seed.net.shutdown().await;
    let mut narrow = options(1);
    narrow.limits.peers_max = 8;
    narrow.seeds = vec![address];
    let mut one = Node::start(narrow).await;
    let mut others = Vec::new();
    for number in 20..32 {
        others.push(Node::of(number, &[one.address()]).await);
    }
    until("the inbound places are taken", || {
        one.connected().len() >= 6
    })
    .await;
    until("the others are refused", || one.net.figures().refused > 10).await;
    let seed = Node::start(GossipOptions {
        listen: address,
        ..options(9)
    })
    .await;
    one.wait_connected(id(9)).await;
    let view = one.view(id(9)).expect("connected");
    assert_eq!(view.direction, Some(Direction::Outbound));
    assert!(one.connected().len() <= 9, "{}", one.connected().len());
    drop((seed, others));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dismissed_peer_is_disconnected_and_not_banned() {
    let (mut one, mut two) = pair_of(options(1), options(2)).await;
    one.net.disconnect(id(2), "of no use").expect("room");
    one.wait_disconnected(id(2)).await;
    two.wait_disconnected(id(1)).await;
    assert_eq!(
        (one.net.figures().dismissed, one.net.figures().bans),
        (1, 0)
    );
    // It may come back: two dialled, and dials again.
    one.wait_connected(id(2)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn malformed_requests_find_no_answer_and_end_in_a_ban() {
    let one = Node::of(1, &[]).await;
    let mut peer = raw::swarm();
    let node = raw::connect(&mut peer, one.address()).await;
    for cut in [&b"\0"[..], b"\0\0\0\0\x08cut"] {
        let answer = raw::ask(&mut peer, node, cut.to_vec()).await;
        assert_eq!(answer.unwrap_or_default(), b"", "{cut:?}");
    }
    assert_eq!(one.net.figures().bans, 0, "what is cut may be an accident");
    let mut asked = 0;
    while one.net.figures().bans == 0 {
        assert!(asked < 20, "{:?}", one.net.figures());
        let malformed = [
            b"\x07\0\0\0\0".to_vec(),
            b"\x00\xff\xff\xff\xff".to_vec(),
            b"\x01\0\0\0\x01x".to_vec(),
        ];
        let answer = raw::ask(&mut peer, node, malformed[asked % 3].clone()).await;
        assert_eq!(answer.unwrap_or_default(), b"");
        asked += 1;
        until("it is counted", || {
            one.net.figures().requests_refused >= asked as u64
        })
        .await;
    }
    // Ten, or a few more if they took long.
    assert!((10..15).contains(&asked), "{asked}");
    // The last request may have seen the end already.
    if peer.is_connected(&node) {
        let closed = |event| matches!(event, SwarmEvent::ConnectionClosed { .. }).then_some(());
        raw::next(&mut peer, closed).await;
    }
    let views = one.net.peers();
    let reason = views[0].reason.as_deref();
    assert_eq!(reason, Some("it sent a malformed request"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rubbish_for_an_answer_is_no_answer() {
    let mut one = Node::of(1, &[]).await;
    let mut peer = raw::swarm();
    let node = raw::connect(&mut peer, one.address()).await;
    // A peer that asks is one of ours, though it never listened to a topic.
    let asking = tokio::spawn(async move {
        let answer = raw::ask(&mut peer, node, b"\0\0\0\0\x02hi".to_vec()).await;
        assert_eq!(answer, Ok(b"\0\0\0\x05hello".to_vec()));
        for rubbish in [
            &b"\xff\xff\xff\xff"[..],
            b"\0\0\0\x05cut",
            b"",
            b"\0\x80\0\x01",
        ] {
            let channel = raw::next(&mut peer, |event| match event {
                SwarmEvent::Behaviour(RawEvent::Requests(request_response::Event::Message {
                    message:
                        request_response::Message::Request {
                            request, channel, ..
                        },
                    ..
                })) if request.first() == Some(&0) => Some(channel),
                _ => None,
            })
            .await;
            let requests = &mut peer.behaviour_mut().requests;
            requests
                .send_response(channel, rubbish.to_vec())
                .expect("it waits");
        }
        // Sends the last one.
        raw::next(&mut peer, |_| None::<()>).await;
    });
    let (peer, ticket) = one
        .next_of(|event| match event {
            GossipEvent::Request {
                peer,
                ticket,
                bytes,
            } => {
                assert_eq!(bytes, b"hi");
                Some((peer, ticket))
            }
            _ => None,
        })
        .await;
    one.net.respond(ticket, b"hello".to_vec()).expect("room");
    for _ in 0..4 {
        let asked = one.net.request(peer, vec![1], PATIENCE).expect("room");
        let (request, result) = one
            .next_of(|event| match event {
                GossipEvent::Response {
                    request, result, ..
                } => Some((request, result)),
                _ => None,
            })
            .await;
        assert_eq!(request, asked);
        assert!(
            matches!(result, Err(RequestError::NoAnswer(_))),
            "{result:?}"
        );
    }
    asking.abort();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_shakes_hands_and_then_does_nothing_is_hung_up_on_with_the_reason() {
    let mut brief = options(1);
    brief.limits.handshake_timeout = Duration::from_secs(1);
    let mut one = Node::start(brief).await;
    let mut peer = raw::swarm();
    raw::connect(&mut peer, one.address()).await;
    let closed = |event| matches!(event, SwarmEvent::ConnectionClosed { .. }).then_some(());
    raw::next(&mut peer, closed).await;
    until("it is counted", || one.net.figures().refused == 1).await;
    let views = one.net.peers();
    let reason = views[0].reason.as_deref();
    assert_eq!(reason, Some("it was not ready within 1000 ms"));
    assert!(one.events.try_next().is_none(), "no event may announce it");
}
