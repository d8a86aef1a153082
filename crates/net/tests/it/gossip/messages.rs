//! Messages to all.

use std::collections::BTreeSet;
use std::time::Duration;

use net::gossip::{GossipEvent, GossipOptions, SendError, Topic, Verdict};

use crate::gossip::fixture::{Node, id, options, pair, until};

/// Returns a chain of nodes where only neighbours are connected: the last knows the middle one, the middle one the
/// first.
async fn line() -> [Node; 3] {
    let mut one = Node::of(1, &[]).await;
    // No node tells another of a third one: room for one dialled peer, and one that dials.
    let mut two = Node::of(2, &[one.address()]).await;
    two.wait_connected(id(1)).await;
    one.wait_connected(id(2)).await;
    let mut limits = options(3).limits;
    limits.peers_max = 1;
    let mut three = Node::start(GossipOptions {
        seeds: vec![two.address()],
        limits,
        ..options(3)
    })
    .await;
    three.wait_connected(id(2)).await;
    two.wait_connected(id(3)).await;
    assert_eq!(three.connected(), [id(2)]);
    [one, two, three]
}

#[tokio::test]
async fn four_nodes_of_one_seed_find_each_other_and_hear_each_broadcast_once() {
    let seed = Node::of(1, &[]).await;
    let mut nodes = vec![seed];
    for number in 2..=4 {
        nodes.push(Node::of(number, &[nodes[0].address()]).await);
    }
    until("all to all", || {
        nodes.iter().all(|node| node.connected().len() == 3)
    })
    .await;
    const EACH: usize = 50;
    for round in 0..EACH {
        for (from, node) in nodes.iter().enumerate() {
            let topic = Topic::ALL[round % 2];
            let bytes = format!("{round} of {from}").into_bytes();
            node.net.broadcast(topic, bytes).expect("room");
        }
    }
    for (at, node) in nodes.iter_mut().enumerate() {
        let mut heard = Vec::new();
        while heard.len() < 3 * EACH {
            heard.push(node.accepted().await);
        }
        heard.sort();
        let mut expected: Vec<_> = (0..EACH)
            .flat_map(|round| (0..4).map(move |from| (round, from)))
            .filter(|(_, from)| *from != at)
            .map(|(round, from)| {
                (
                    Topic::ALL[round % 2],
                    format!("{round} of {from}").into_bytes(),
                )
            })
            .collect();
        expected.sort();
        assert_eq!(heard, expected);
    }
    // No message arrives twice: the next one heard is the next one sent.
    nodes[0]
        .net
        .broadcast(Topic::Blocks, b"last".to_vec())
        .expect("room");
    for node in &mut nodes[1..] {
        assert_eq!(node.accepted().await, (Topic::Blocks, b"last".to_vec()));
    }
    let figures = nodes[0].net.figures();
    assert_eq!(figures.peers, 3);
    assert_eq!(figures.transactions_in + figures.blocks_in, 3 * EACH as u64);
    assert_eq!(
        figures.transactions_out + figures.blocks_out,
        EACH as u64 + 1
    );
    assert!(figures.bytes_in > 0 && figures.bytes_out > 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sixteen_nodes_of_one_seed_hear_all_though_each_sends_to_a_few() {
    const NODES: u8 = 16;
    const EACH: usize = 5;
    let mut nodes = vec![Node::of(1, &[]).await];
    for number in 2..=NODES {
        nodes.push(Node::of(number, &[nodes[0].address()]).await);
    }
    let enough = |node: &Node| node.connected().len() >= 8;
    until("each has peers", || nodes.iter().all(enough)).await;
    let nets: Vec<_> = nodes.iter().map(|node| node.net.clone()).collect();
    let hearing: Vec<_> = nodes
        .into_iter()
        .map(|mut node| {
            tokio::spawn(async move {
                let mut heard = BTreeSet::new();
                while heard.len() < EACH * (usize::from(NODES) - 1) {
                    let (_, bytes) = node.accepted().await;
                    assert!(heard.insert(bytes), "{heard:?} comes twice");
                }
                // The node keeps running, to pass on messages that others still lack.
                node
            })
        })
        .collect();
    for round in 0..EACH {
        for (from, net) in nets.iter().enumerate() {
            let bytes = format!("{round} of {from}").into_bytes();
            net.broadcast(Topic::Transactions, bytes).expect("room");
        }
    }
    let mut done = Vec::new();
    for node in hearing {
        done.push(node.await.expect("it hears all"));
    }
}

#[tokio::test]
async fn only_what_is_accepted_goes_on() {
    let [one, mut two, mut three] = line().await;
    let words = ["wrong", "useless", "unjudged", "good"].map(|word| word.as_bytes().to_vec());
    for word in &words {
        one.net
            .broadcast(Topic::Transactions, word.clone())
            .expect("room");
    }
    let mut left = words.to_vec();
    while !left.is_empty() {
        let (message, _, bytes) = two.message().await;
        let verdict = match bytes.as_slice() {
            b"wrong" => Some(Verdict::Reject),
            b"useless" => Some(Verdict::Ignore),
            b"good" => Some(Verdict::Accept),
            _ => None,
        };
        if let Some(verdict) = verdict {
            two.net.verdict(message, verdict).expect("room");
        }
        left.retain(|word| *word != bytes);
    }
    assert_eq!(three.accepted().await.1, b"good");
    let view = two.view(id(1)).expect("known");
    assert_eq!((view.rejected, view.messages_in), (1, 4));
    assert!(view.points > 0 && view.reason.is_some(), "{view:?}");
    let figures = two.net.figures();
    assert_eq!(
        (figures.accepted, figures.ignored, figures.rejected),
        (1, 1, 1)
    );
    // The other end hears nothing else, even after more has passed.
    one.net
        .broadcast(Topic::Blocks, b"more".to_vec())
        .expect("room");
    assert_eq!(two.accepted().await.1, b"more");
    assert_eq!(three.accepted().await.1, b"more");
}

#[tokio::test]
async fn who_sends_wrong_messages_is_banned_and_the_ban_expires() {
    let mut strict = options(1);
    strict.ban_time = Duration::from_millis(1_500);
    let (mut one, mut two) = crate::gossip::fixture::pair_of(strict, options(2)).await;
    let mut messages = Vec::new();
    for number in 0..12 {
        let bytes = format!("wrong {number}").into_bytes();
        two.net.broadcast(Topic::Transactions, bytes).expect("room");
        messages.push(one.message().await.0);
    }
    for message in messages {
        one.net.verdict(message, Verdict::Reject).expect("room");
    }
    one.wait_disconnected(id(2)).await;
    two.wait_disconnected(id(1)).await;
    let view = one.view(id(2)).expect("remembered");
    assert!(
        view.since.is_none() && view.banned_until.is_some(),
        "{view:?}"
    );
    assert_eq!(
        view.reason.as_deref(),
        Some("it sent a message that is wrong")
    );
    until("it is kept away", || one.net.figures().refused > 0).await;
    // It has no end of trying, and is let in again.
    one.wait_connected(id(2)).await;
    two.wait_connected(id(1)).await;
    let view = one.view(id(2)).expect("known");
    assert!(
        view.since.is_some() && view.banned_until.is_none(),
        "{view:?}"
    );
}

#[tokio::test]
async fn a_ban_can_be_spoken_and_taken_back() {
    let (mut one, mut two) = pair().await;
    one.net
        .ban(id(2), Duration::from_secs(3_600), "by hand")
        .expect("room");
    two.wait_disconnected(id(1)).await;
    one.wait_disconnected(id(2)).await;
    until("it is kept away", || one.net.figures().refused > 0).await;
    let reason = one.view(id(2)).and_then(|view| view.reason);
    assert_eq!(reason.as_deref(), Some("by hand"));
    one.net.unban(id(2)).expect("room");
    one.wait_connected(id(2)).await;
    two.wait_connected(id(1)).await;
    one.net.penalise(id(2), 40, "twice").expect("room");
    until("points count", || {
        one.view(id(2)).is_some_and(|view| view.points >= 39)
    })
    .await;
    one.net.penalise(id(2), 80, "twice").expect("room");
    two.wait_disconnected(id(1)).await;
    let view = one.view(id(2)).expect("known");
    assert!(
        view.banned_until.is_some() && view.reason.as_deref() == Some("twice"),
        "{view:?}"
    );
}

#[tokio::test]
async fn large_messages_pass_and_larger_ones_are_refused_at_once() {
    let (one, mut two) = pair().await;
    for topic in Topic::ALL {
        let bytes = vec![7; topic.bytes_max()];
        one.net.broadcast(topic, bytes.clone()).expect("room");
        assert!(two.accepted().await == (topic, bytes));
        let max = topic.bytes_max();
        let refused = one.net.broadcast(topic, vec![7; max + 1]);
        assert_eq!(
            refused,
            Err(SendError::TooLarge {
                bytes: max + 1,
                max
            })
        );
    }
}

#[tokio::test]
async fn a_stopped_service_says_so_and_its_events_end() {
    let (mut one, mut two) = pair().await;
    let address = one.address();
    one.net.shutdown().await;
    two.wait_disconnected(id(1)).await;
    while let Some(event) = one.events.next().await {
        assert!(!matches!(event, GossipEvent::Message { .. }));
    }
    assert_eq!(
        one.net.broadcast(Topic::Blocks, vec![]),
        Err(SendError::Stopped)
    );
    let port_is_free = std::net::TcpListener::bind(address);
    assert!(port_is_free.is_ok(), "{port_is_free:?}");
}
