//! Tests with a slow node.

use net::gossip::{GossipEvent, SendError, Topic, Verdict};

use crate::gossip::fixture::{id, options, pair_of, until};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_application_that_takes_nothing_holds_a_bounded_amount_and_loses_nothing_of_it() {
    const SIZE: usize = 100_000;
    const ROOM: usize = 2 << 20;
    let mut slow = options(1);
    slow.limits.events_bytes_max = ROOM;
    slow.limits.ping_after = std::time::Duration::from_secs(60);
    let (mut one, two) = pair_of(slow, options(2)).await;
    let message = |number: u32| {
        let mut bytes = vec![0; SIZE];
        bytes[..4].copy_from_slice(&number.to_be_bytes());
        bytes
    };
    // The application of one takes no events. Writes to it come to a standstill, and messages that cannot be sent are
    // dropped there.
    let mut sent = 0;
    until("the sender notices", || {
        for _ in 0..4 {
            match two.net.broadcast(Topic::Transactions, message(sent)) {
                Ok(()) => sent += 1,
                Err(error) => assert_eq!(error, SendError::Busy),
            }
        }
        let figures = two.net.figures();
        figures.dropped_full + figures.dropped_slow > 0
    })
    .await;
    // The messages that arrived without being taken fill the room and the bytes in flight: 1 MiB of window and some frames.
    let figures = one.net.figures();
    let held = figures.transactions_in * SIZE as u64;
    assert!(held <= (ROOM + 2 * SIZE) as u64, "{figures:?}");
    assert!(figures.bytes_in < 16 * ROOM as u64, "{figures:?}");
    // Once it takes events again, all that came is there, in order, and messages flow.
    let mut last = None;
    for _ in 0..figures.transactions_in {
        let (id, _, bytes) = one.message().await;
        one.net.verdict(id, Verdict::Accept).expect("room");
        let number = u32::from_be_bytes(bytes[..4].try_into().expect("four"));
        assert!(last < Some(number), "{last:?} {number}");
        last = Some(number);
    }
    let mut newest = 0;
    until("a newer one arrives", || {
        newest += 1;
        // The queue may still be full: each try sends another message, because a dropped one counts as sent.
        let newest = message(newest);
        let _ = two.net.broadcast(Topic::Blocks, newest);
        while let Some(event) = one.events.try_next() {
            if matches!(
                &event,
                GossipEvent::Message {
                    topic: Topic::Blocks,
                    ..
                }
            ) {
                return true;
            }
        }
        false
    })
    .await;
    assert_eq!(one.connected(), [id(2)]);
}

#[tokio::test]
async fn calls_wait_in_a_bounded_queue() {
    let mut narrow = options(1);
    narrow.limits.calls_bytes_max = 2 << 20;
    narrow.limits.calls_max = 4;
    let (one, _two) = pair_of(narrow, options(2)).await;
    // The service runs on this test's thread, which does not let go of it here.
    let sent: Vec<_> = (0..6)
        .map(|number| one.net.broadcast(Topic::Transactions, vec![number]))
        .collect();
    assert_eq!(sent.iter().filter(|sent| sent.is_ok()).count(), 4);
    assert_eq!(sent[5], Err(SendError::Busy));
    until("they are carried out", || {
        one.net.figures().transactions_out == 4
    })
    .await;
    let large = vec![0; 1 << 20];
    let sent: Vec<_> = (0..3_u8)
        .map(|number| {
            let mut bytes = large.clone();
            bytes[0] = number;
            one.net.broadcast(Topic::Blocks, bytes)
        })
        .collect();
    assert_eq!(sent, [Ok(()), Err(SendError::Busy), Err(SendError::Busy)]);
}
