//! Requests to one.

use std::time::Duration;

use net::gossip::{
    GossipEvent, PeerId, REQUEST_BYTES_MAX, RESPONSE_BYTES_MAX, RequestError, RequestId, SendError,
    Ticket,
};

use crate::gossip::fixture::{Node, id, options, pair, pair_of, until};

const SOON: Duration = Duration::from_secs(20);

async fn request(node: &mut Node) -> (PeerId, Ticket, Vec<u8>) {
    node.next_of(|event| match event {
        GossipEvent::Request {
            peer,
            ticket,
            bytes,
        } => Some((peer, ticket, bytes)),
        _ => None,
    })
    .await
}

async fn response(node: &mut Node) -> (RequestId, Result<Vec<u8>, RequestError>) {
    node.next_of(|event| match event {
        GossipEvent::Response {
            request, result, ..
        } => Some((request, result)),
        _ => None,
    })
    .await
}

#[tokio::test]
async fn questions_are_answered_whatever_their_size() {
    let (mut one, mut two) = pair().await;
    let sizes = [
        (0, 0),
        (1, 1),
        (REQUEST_BYTES_MAX, 100_000),
        (1_000, RESPONSE_BYTES_MAX),
    ];
    for (question, answer) in sizes {
        let asked = one
            .net
            .request(id(2), vec![1; question], SOON)
            .expect("room");
        let (peer, ticket, bytes) = request(&mut two).await;
        assert_eq!((peer, bytes.len()), (id(1), question));
        two.net.respond(ticket, vec![2; answer]).expect("room");
        let (which, result) = response(&mut one).await;
        assert_eq!(which, asked);
        assert_eq!(result.map(|bytes| bytes.len()), Ok(answer));
    }
    let (max, bytes) = (REQUEST_BYTES_MAX, REQUEST_BYTES_MAX + 1);
    let refused = one.net.request(id(2), vec![0; bytes], SOON);
    assert_eq!(refused, Err(SendError::TooLarge { bytes, max }));
    let view = two.view(id(1)).expect("known");
    assert_eq!(view.requests_in, sizes.len() as u64);
}

#[tokio::test]
async fn a_request_without_an_answer_ends_at_its_deadline() {
    let (mut one, mut two) = pair().await;
    let deadline = Duration::from_millis(300);
    let asked = one.net.request(id(2), vec![1], deadline).expect("room");
    let (_, ticket, _) = request(&mut two).await;
    assert_eq!(
        response(&mut one).await,
        (asked, Err(RequestError::Deadline(deadline)))
    );
    // The answer comes late: it is dropped without an event, and the next request is not confused.
    two.net.respond(ticket, vec![9]).expect("room");
    let again = one.net.request(id(2), vec![2], SOON).expect("room");
    let (_, ticket, bytes) = request(&mut two).await;
    assert_eq!(bytes, [2]);
    two.net.respond(ticket, vec![3]).expect("room");
    assert_eq!(response(&mut one).await, (again, Ok(vec![3])));
}

#[tokio::test]
async fn a_refused_request_and_one_to_nobody_end_at_once() {
    let (mut one, mut two) = pair().await;
    let asked = one.net.request(id(2), vec![1], SOON).expect("room");
    let (_, ticket, _) = request(&mut two).await;
    two.net.refuse(ticket).expect("room");
    let (which, result) = response(&mut one).await;
    assert_eq!(which, asked);
    assert!(
        matches!(result, Err(RequestError::NoAnswer(_))),
        "{result:?}"
    );
    let asked = one.net.request(id(3), vec![1], SOON).expect("room");
    assert_eq!(
        response(&mut one).await,
        (asked, Err(RequestError::NotConnected))
    );
}

#[tokio::test]
async fn requests_of_a_peer_that_goes_end_at_once() {
    let (mut one, mut two) = pair().await;
    let asked = one.net.request(id(2), vec![1], SOON).expect("room");
    request(&mut two).await;
    two.net.shutdown().await;
    assert_eq!(
        response(&mut one).await,
        (asked, Err(RequestError::NotConnected))
    );
}

#[tokio::test]
async fn requests_are_bounded_on_both_sides() {
    let mut narrow = options(2);
    narrow.limits.requests_in_max = 3;
    let mut asking = options(1);
    asking.limits.requests_out_max = 5;
    let (mut one, mut two) = pair_of(asking, narrow).await;
    for number in 0..6 {
        one.net.request(id(2), vec![number], SOON).expect("room");
    }
    // The sixth is not even sent, and of five only three are taken.
    let mut refused = Vec::new();
    while refused.len() < 3 {
        refused.push(response(&mut one).await.1.expect_err("no room"));
    }
    assert_eq!(
        refused
            .iter()
            .filter(|error| **error == RequestError::TooMany(5))
            .count(),
        1
    );
    let refused = two.net.figures().requests_refused;
    assert_eq!(refused, 2);
    let mut tickets = Vec::new();
    for _ in 0..3 {
        tickets.push(request(&mut two).await.1);
    }
    for ticket in tickets {
        two.net.respond(ticket, vec![1]).expect("room");
        assert_eq!(response(&mut one).await.1, Ok(vec![1]));
    }
    until("the peer has points", || {
        two.view(id(1)).is_some_and(|view| view.reason.is_some())
    })
    .await;
}
