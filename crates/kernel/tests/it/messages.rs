//! The encoding of messages between nodes: every message decodes to its original, and no bytes make a decoder panic.

use flow::FlowId;
use flow::messaging::RequestId;
use kernel::message::{
    Answer, DELIVER_TRANSACTIONS_MAX, DELIVERED_IDS_MAX, FETCH_WANTED_MAX, FetchRequest,
    FetchResponse, PeerMessage,
};
use ledger::{Rejection, TxId};
use primitives::{Decode, Encode};
use proptest::prelude::*;

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), 0..60)
}

fn list() -> impl Strategy<Value = Vec<Vec<u8>>> {
    prop::collection::vec(bytes(), 0..5)
}

fn id() -> impl Strategy<Value = TxId> {
    any::<[u8; 32]>().prop_map(TxId::from_array)
}

fn ids() -> impl Strategy<Value = Vec<TxId>> {
    prop::collection::vec(id(), 0..9)
}

fn request_id() -> impl Strategy<Value = RequestId> {
    (any::<[u8; 16]>(), any::<u32>()).prop_map(|(flow, effect)| RequestId {
        flow: FlowId(flow),
        effect,
    })
}

fn rejection() -> impl Strategy<Value = Rejection> {
    let texts = ("[a-z]{1,9}\\.[a-z_]{1,20}", ".{0,60}", ".{0,60}");
    texts.prop_map(|(code, message, hint)| Rejection::new(code, message, hint))
}

fn answer() -> impl Strategy<Value = Answer> {
    prop_oneof![
        bytes().prop_map(Answer::Done),
        rejection().prop_map(Answer::Failed),
        any::<u64>().prop_map(Answer::Wait),
    ]
}

fn message() -> impl Strategy<Value = PeerMessage> {
    prop_oneof![
        (any::<u64>(), bytes()).prop_map(|(seq, body)| PeerMessage::Session { seq, body }),
        any::<u64>().prop_map(|upto| PeerMessage::SessionAck { upto }),
        (request_id(), any::<u8>(), bytes()).prop_map(|(id, service, body)| PeerMessage::Request {
            id,
            service,
            body
        }),
        (request_id(), answer()).prop_map(|(id, answer)| PeerMessage::Response { id, answer }),
        (list(), list()).prop_map(|(transactions, dependencies)| PeerMessage::Deliver {
            transactions,
            dependencies
        }),
        ids().prop_map(|ids| PeerMessage::Delivered { ids }),
        (id(), rejection()).prop_map(|(id, rejection)| PeerMessage::Refused { id, rejection }),
    ]
}

fn request() -> impl Strategy<Value = FetchRequest> {
    (id(), ids(), any::<u32>(), any::<u32>()).prop_map(
        |(root, wanted, transactions_max, bytes_max)| FetchRequest {
            root,
            wanted,
            transactions_max,
            bytes_max,
        },
    )
}

fn response() -> impl Strategy<Value = FetchResponse> {
    let transactions = prop::collection::vec((any::<u64>(), bytes()), 0..5);
    (transactions, ids()).prop_map(|(transactions, unknown)| FetchResponse {
        transactions,
        unknown,
    })
}

/// Checks that a value that decodes is canonical: it encodes to the same bytes.
fn read<T: Encode + Decode>(bytes: &[u8]) {
    if let Ok(value) = T::from_bytes(bytes) {
        assert_eq!(value.to_bytes(), bytes);
    }
}

fn read_as_anything(bytes: &[u8]) {
    read::<PeerMessage>(bytes);
    read::<FetchRequest>(bytes);
    read::<FetchResponse>(bytes);
    read::<Answer>(bytes);
}

/// Cuts the bytes at a place and changes some.
fn spoil(mut bytes: Vec<u8>, keep: usize, changes: &[(usize, u8)]) -> Vec<u8> {
    bytes.truncate(keep);
    for (place, value) in changes {
        let len = bytes.len().max(1);
        if let Some(byte) = bytes.get_mut(place % len) {
            *byte = *value;
        }
    }
    bytes
}

proptest! {
    #![proptest_config(properties::config!(1_000))]

    #[test]
    fn every_peer_message_comes_back_as_it_was(message in message()) {
        prop_assert_eq!(PeerMessage::from_bytes(&message.to_bytes()), Ok(message));
    }

    #[test]
    fn every_answer_and_fetch_comes_back_as_it_was(
        answer in answer(),
        request in request(),
        response in response(),
    ) {
        prop_assert_eq!(Answer::from_bytes(&answer.to_bytes()), Ok(answer));
        prop_assert_eq!(FetchRequest::from_bytes(&request.to_bytes()), Ok(request));
        prop_assert_eq!(FetchResponse::from_bytes(&response.to_bytes()), Ok(response));
    }

    #[test]
    fn bytes_that_mean_nothing_are_an_error_and_no_panic(
        noise in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        read_as_anything(&noise);
    }

    #[test]
    fn spoilt_messages_are_an_error_or_another_message(
        message in message(),
        request in request(),
        response in response(),
        keep in 0usize..400,
        changes in prop::collection::vec((any::<usize>(), any::<u8>()), 0..4),
    ) {
        for bytes in [message.to_bytes(), request.to_bytes(), response.to_bytes()] {
            read_as_anything(&spoil(bytes, keep, &changes));
        }
    }
}

#[test]
fn lists_are_read_up_to_their_limits() {
    let ids = |count| vec![TxId::from_array([1; 32]); count];
    let delivered = |count| PeerMessage::Delivered { ids: ids(count) };
    let deliver = |transactions, dependencies| PeerMessage::Deliver {
        transactions: vec![Vec::new(); transactions],
        dependencies: vec![Vec::new(); dependencies],
    };
    let (most_ids, most) = (DELIVERED_IDS_MAX, DELIVER_TRANSACTIONS_MAX);
    let table = [
        (delivered(most_ids), true),
        (delivered(most_ids + 1), false),
        (deliver(most, most), true),
        (deliver(most + 1, 0), false),
        (deliver(0, most + 1), false),
    ];
    for (message, fits) in table {
        assert_eq!(PeerMessage::from_bytes(&message.to_bytes()).is_ok(), fits);
    }
    for (count, fits) in [(FETCH_WANTED_MAX, true), (FETCH_WANTED_MAX + 1, false)] {
        let request = FetchRequest {
            root: TxId::from_array([1; 32]),
            wanted: ids(count),
            transactions_max: 1,
            bytes_max: 1,
        };
        assert_eq!(FetchRequest::from_bytes(&request.to_bytes()).is_ok(), fits);
        let response = FetchResponse {
            transactions: Vec::new(),
            unknown: ids(count),
        };
        assert_eq!(
            FetchResponse::from_bytes(&response.to_bytes()).is_ok(),
            fits
        );
    }
}

#[test]
fn a_message_that_claims_more_than_it_holds_costs_nothing() {
    // Heads of arrays and byte strings that promise four thousand million items, at every place of every kind of message.
    let promise = [0x9a, 0xff, 0xff, 0xff, 0xff];
    let string = [0x5a, 0xff, 0xff, 0xff, 0xff];
    for kind in 0..8u8 {
        for fields in 0x82..=0x84u8 {
            for head in [promise, string] {
                read_as_anything(&[&[fields, kind], &head[..]].concat());
                read_as_anything(&[&[fields], &head[..]].concat());
                read_as_anything(&[&head[..], &[fields, kind]].concat());
            }
        }
    }
}
