//! Messages arrive, whole and in order.

use net::{Compression, Options, Sent};

use crate::peers::fixture::{Network, Node, party, until};

fn numbered(number: u32, size: usize) -> Vec<u8> {
    let mut message = vec![0x5a; size.max(4)];
    message[..4].copy_from_slice(&number.to_be_bytes());
    message
}

fn number(message: &[u8]) -> u32 {
    u32::from_be_bytes(*message.first_chunk().expect("numbered"))
}

#[test]
fn both_ways_in_order_and_of_all_sizes() {
    for compression in [Compression::Off, Compression::On] {
        let network = Network::new();
        let options = |number| Options {
            compression,
            ..network.options(number)
        };
        let (one, two) = network.pair_of(options(1), options(2));
        let sizes = [
            0,
            4,
            5,
            1_000,
            65_536,
            65_537,
            200_000,
            3,
            131_072,
            1 << 20,
            7,
        ];
        for (from, to) in [(&one, &two), (&two, &one)] {
            let messages = (0u32..)
                .zip(sizes)
                .map(|(i, size)| (to.id, 0, numbered(i, size)));
            let report = from.net.send_many(messages);
            assert_eq!(
                (report.queued, report.full, report.down),
                (sizes.len(), 0, 0)
            );
        }
        for node in [&one, &two] {
            for (i, size) in (0u32..).zip(sizes) {
                assert!(node.inbox.message() == numbered(i, size), "message {i}");
            }
        }
        let (sent, received) = (one.net.figures(), two.net.figures());
        assert_eq!(sent.messages_out, sizes.len() as u64);
        assert_eq!(
            (sent.messages_out, sent.bytes_out),
            (received.messages_in, received.bytes_in)
        );
        let halved = sent.wire_bytes_out < sent.bytes_out / 2;
        assert_eq!(halved, compression == Compression::On, "{sent:?}");
    }
}

#[test]
fn many_threads_at_once_lose_nothing_and_keep_their_own_order() {
    const EACH: u32 = 5_000;
    let network = Network::new();
    let (one, two) = network.pair();
    std::thread::scope(|scope| {
        // A lane for each thread, so that order can be told.
        for priority in 0..4u8 {
            let (one, two) = (&one, &two);
            scope.spawn(move || {
                for i in 0..EACH {
                    let message = numbered(i * 4 + u32::from(priority), 40);
                    // Everything that one round trip of credit can hold at most waits.
                    while one.net.is_full(&two.id, 40) {
                        std::thread::yield_now();
                    }
                    assert_eq!(one.net.send(&two.id, priority, message), Sent::Queued);
                }
            });
        }
        let mut next = [0, 1, 2, 3];
        for _ in 0..4 * EACH {
            let number = number(&two.inbox.message());
            let lane = &mut next[number as usize % 4];
            assert_eq!(number, *lane);
            *lane += 4;
        }
    });
}

#[test]
fn small_messages_overtake_large_ones() {
    let network = Network::new();
    let (one, two) = network.pair();
    const LARGE: usize = 8 << 20;
    let large = (0..2).map(|i| (two.id, 1, numbered(i, LARGE)));
    assert_eq!(one.net.send_many(large).queued, 2);
    for i in 10..20 {
        assert_eq!(one.net.send(&two.id, 0, numbered(i, 100)), Sent::Queued);
    }
    let order: Vec<u32> = (0..12).map(|_| number(&two.inbox.message())).collect();
    let large: Vec<usize> = [0, 1]
        .iter()
        .map(|n| order.iter().position(|m| m == n).expect("it came"))
        .collect();
    let small: Vec<u32> = order.iter().copied().filter(|n| *n >= 10).collect();
    assert_eq!(small, (10..20).collect::<Vec<u32>>());
    assert!(large[0] < large[1]);
    assert_eq!(order.last(), Some(&1), "the small ones passed: {order:?}");
}

#[test]
fn what_cannot_be_sent_is_told() {
    let network = Network::new();
    let (one, two) = network.pair();
    let limit = two.net.send(&one.id, 0, vec![0; (10 << 20) + 1]);
    assert_eq!(limit, Sent::TooLarge);
    assert_eq!(one.net.send(&party(9), 0, vec![]), Sent::Unknown);
    let alone = network.node(5);
    alone.know(&[&one]);
    assert_eq!(alone.net.send(&one.id, 0, vec![]), Sent::Down);
    assert!(!alone.net.is_connected(&one.id) && one.net.is_connected(&two.id));
    let figures = alone.net.figures();
    assert_eq!((figures.dropped_down, figures.dropped_full), (1, 0));
    assert_eq!(two.net.figures().dropped_too_large, 1);
}

#[test]
fn a_linger_gathers() {
    let network = Network::new();
    let one = Options {
        linger_us: 2_000,
        ..network.options(1)
    };
    let (one, two) = network.pair_of(one, network.options(2));
    let before = one.net.figures().writes;
    for i in 0..200 {
        assert_eq!(one.net.send(&two.id, 0, numbered(i, 10)), Sent::Queued);
    }
    for i in 0..200 {
        assert_eq!(number(&two.inbox.message()), i);
    }
    let writes = one.net.figures().writes - before;
    assert!(writes < 100, "{writes} writes for 200 messages");
}

#[test]
fn a_network_of_five() {
    let network = Network::new();
    let nodes: Vec<Node> = (1..=5).map(|number| network.node(number)).collect();
    let all: Vec<&Node> = nodes.iter().collect();
    nodes.iter().for_each(|node| node.know(&all));
    until("all nodes are connected", || {
        nodes.iter().all(|a| {
            a.net.peers().len() == 4 && a.net.peers().iter().all(|peer| peer.address.is_some())
        })
    });
    for node in &nodes {
        for _ in 0..4 {
            node.inbox.next();
        }
    }
    for from in &nodes {
        let others = nodes.iter().filter(|to| to.id != from.id);
        let report = from
            .net
            .send_many(others.map(|to| (to.id, 0, b"hello".to_vec())));
        assert_eq!(report.queued, 4);
    }
    for node in &nodes {
        for _ in 0..4 {
            assert_eq!(node.inbox.message(), b"hello");
        }
    }
}
