//! The decisions of the bid contract, one transaction per row.

use finance::ERRORS;
use finance::trade::{BidCommand, BidContract, BidState, bid_code, bid_name};
use ledger::{Command, Contract, TransactionState};
use primitives::{Decode, Encode, ErrorInfo, Timestamp};

use crate::fixtures::*;

fn bid(buyer: char) -> BidState {
    BidState {
        buyer: party(buyer),
        seller: party('S'),
        contract: finance::paper::paper_name().clone(),
        asset: vec![1, 2, 3],
        token: token("C GBP"),
        price_max: 5,
        until: Timestamp::from_ms(9),
    }
}

/// `"A B"`: bids of A and of B; `x` is data that is not a bid.
fn states(text: &str) -> Vec<TransactionState> {
    let parse = |word: &str| TransactionState {
        contract: bid_name().clone(),
        constraint: bid_code().1.clone(),
        ..state(match word {
            "x" => vec![0xff],
            _ => bid(word.chars().next().unwrap()).to_bytes(),
        })
    };
    text.split_whitespace().map(parse).collect()
}

fn order(text: &str) -> Command {
    let (verb, signers) = text.split_once(" by ").unwrap();
    Command {
        contract: bid_name().clone(),
        value: match verb {
            "place" => BidCommand::Place.to_bytes(),
            "close" => BidCommand::Close.to_bytes(),
            _ => vec![0xff],
        },
        signers: signers.chars().map(|letter| public(letter as u8)).collect(),
    }
}

#[test]
fn accepted_and_rejected_transactions() {
    #[rustfmt::skip]
    let table = [
        ("", "A", "place by A", ""),
        ("", "A B", "place by AB", ""),
        ("A", "", "close by A", ""),
        ("A", "A", "close by A, place by A", ""),
        ("", "A", "place by B", "bid.buyer_must_sign"),
        ("", "A B", "place by A", "bid.buyer_must_sign"),
        ("", "A", "", "bid.buyer_must_sign"),
        ("A", "", "close by S", "bid.buyer_must_sign"),
        ("A", "", "", "bid.buyer_must_sign"),
        ("A", "A", "place by A", "bid.buyer_must_sign"),
        ("", "A", "place by A, place by A", "bid.command_repeated"),
        ("", "A", "place by A, close by A", "bid.command_without_bid"),
        ("", "x", "place by A", "bid.state_malformed"),
        ("", "A", "x by A", "bid.command_malformed"),
    ];
    for row in table {
        let (inputs, outputs, orders, code) = row;
        let tx = transaction(states(inputs), states(outputs), list(orders, order));
        match BidContract.verify(&tx) {
            Ok(()) => assert_eq!(code, "", "accepted: {row:?}"),
            Err(rejection) => {
                assert_eq!(rejection.code, code, "{row:?}: {rejection}");
                assert_ne!(ErrorInfo::action_of(ERRORS, code), "", "{code} has a hint");
            }
        }
    }
}

#[test]
fn facts_name_the_buyer_and_the_seller() {
    let facts = BidContract.describe(&bid('A').to_bytes()).unwrap();
    assert_eq!(facts.participants, [public(b'A'), public(b'S')]);
    assert_eq!(facts.owner, Some(public(b'A')));
    let bytes = bid('A').to_bytes();
    assert_eq!(BidState::from_bytes(&bytes).unwrap().to_bytes(), bytes);
}
