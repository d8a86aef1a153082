//! The decisions of the mandate contract, one transaction per row, and the swaps that a mandate allows.

use finance::ERRORS;
use finance::stock::StockToken;
use finance::swap::{
    Mandate, MandateCommand, MandateContract, Market, Side, mandate_code, mandate_name,
};
use ledger::{Contract, TransactionState};
use primitives::{Coded, Decode, Encode, ErrorInfo, hex};

use crate::fixtures::*;

fn market(side: Side) -> Market {
    Market {
        side,
        cash: token("A GBP"),
        stock: StockToken {
            issuer: party('A'),
            symbol: "TLY".parse().unwrap(),
        },
    }
}

fn mandate(owner: char) -> Mandate {
    Mandate {
        owner: party(owner),
        coordinator: party('X'),
        market: market(Side::Buy),
        price: 12,
        quantity_max: 50,
        until: Some(at(9)),
    }
}

/// `"A B"`: mandates of A and of B; `x` is data that is not a mandate.
fn states(text: &str) -> Vec<TransactionState> {
    let parse = |word: &str| TransactionState {
        contract: mandate_name().clone(),
        constraint: mandate_code().1.clone(),
        ..state(match word {
            "x" => vec![0xff],
            _ => mandate(word.chars().next().unwrap()).to_bytes(),
        })
    };
    text.split_whitespace().map(parse).collect()
}

fn value(verb: &str) -> Vec<u8> {
    match verb {
        "give" => MandateCommand::Give.to_bytes(),
        "revoke" => MandateCommand::Revoke.to_bytes(),
        _ => vec![0xff],
    }
}

#[test]
fn accepted_and_rejected_transactions() {
    #[rustfmt::skip]
    let table = [
        ("", "A", "give by A", ""),
        ("", "A B", "give by AB", ""),
        ("A", "", "revoke by A", ""),
        ("A", "A", "revoke by A, give by A", ""),
        ("", "A", "give by X", "mandate.owner_must_sign"),
        ("", "A B", "give by A", "mandate.owner_must_sign"),
        ("", "A", "", "mandate.owner_must_sign"),
        ("A", "", "revoke by X", "mandate.owner_must_sign"),
        ("A", "A", "give by A", "mandate.owner_must_sign"),
        ("", "A", "give by A, give by A", "mandate.command_repeated"),
        ("", "A", "give by A, revoke by A", "mandate.command_without_mandate"),
        ("", "x", "give by A", "mandate.state_malformed"),
        ("", "A", "x by A", "mandate.command_malformed"),
    ];
    for row in table {
        let (inputs, outputs, commands, code) = row;
        let commands = orders(mandate_name(), value, commands);
        let tx = transaction(states(inputs), states(outputs), commands);
        match MandateContract.verify(&tx) {
            Ok(()) => assert_eq!(code, "", "accepted: {row:?}"),
            Err(rejection) => {
                assert_eq!(rejection.code, code, "{row:?}: {rejection}");
                assert_ne!(ErrorInfo::action_of(ERRORS, code), "", "{code} has a hint");
            }
        }
    }
}

#[test]
fn what_a_mandate_allows() {
    let max = u64::MAX;
    #[rustfmt::skip]
    let table = [
        // Side, limit price, maximum quantity; quantity, price, time; code.
        (Side::Buy, 12, 50, 10, 120, 0, ""),
        (Side::Buy, 12, 50, 10, 1, 0, ""),
        (Side::Buy, 12, 50, 50, 600, 8, ""),
        (Side::Buy, 12, 50, 10, 121, 0, "swap.over_mandate"),
        (Side::Buy, 12, 50, 51, 1, 0, "swap.over_mandate"),
        (Side::Buy, 12, 50, 0, 0, 0, "swap.over_mandate"),
        (Side::Buy, 12, 50, 10, 120, 9, "swap.mandate_ended"),
        (Side::Buy, max, max, max, max, 0, ""),
        (Side::Sell, 12, 50, 10, 120, 0, ""),
        (Side::Sell, 12, 50, 10, 1_000, 0, ""),
        (Side::Sell, 12, 50, 10, 119, 0, "swap.over_mandate"),
        (Side::Sell, 12, 50, 51, 1_000, 0, "swap.over_mandate"),
        (Side::Sell, max, max, max, max, 0, "swap.over_mandate"),
        (Side::Sell, max, max, 1, max, 0, ""),
    ];
    for row in table {
        let (side, limit, quantity_max, quantity, price, now, code) = row;
        let mandate = Mandate {
            market: market(side),
            price: limit,
            quantity_max,
            ..mandate('A')
        };
        let allowed = mandate.allows(quantity, price, at(now));
        let found = allowed.as_ref().map_or_else(Coded::code, |()| "");
        assert_eq!(found, code, "{row:?}");
    }
}

#[test]
fn its_id_names_owner_coordinator_and_market() {
    let this = mandate('A');
    let mut ids = vec![this.id()];
    let change = |change: &dyn Fn(&mut Mandate)| {
        let mut other = this.clone();
        change(&mut other);
        other.id()
    };
    ids.push(change(&|other| other.owner = party('B')));
    ids.push(change(&|other| other.coordinator = party('Y')));
    ids.push(change(&|other| other.market.side = Side::Sell));
    ids.push(change(&|other| other.market.cash = token("A USD")));
    ids.push(change(&|other| other.market.stock.issuer = party('B')));
    for (index, id) in ids.iter().enumerate() {
        assert!(!ids[..index].contains(id), "{index}");
    }
    let replaced = change(&|other| (other.price, other.quantity_max, other.until) = (1, 1, None));
    assert_eq!(replaced, ids[0], "limits are no part of it");
    let facts = MandateContract.describe(&this.to_bytes()).unwrap();
    assert_eq!(facts.linear_id, Some(ids[0]));
    assert_eq!(facts.participants, [public(b'A')], "nobody else sees it");
    assert_eq!(facts.columns.len(), 7);
}

/// Ledgers hold these encodings, so they must never change.
#[test]
fn golden() {
    let bytes = mandate('A').to_bytes();
    assert_eq!(Mandate::from_bytes(&bytes).unwrap().to_bytes(), bytes);
    let found = [hex::encode(&bytes), mandate('A').id().to_string()];
    assert_eq!(found, GOLDEN);
}

const GOLDEN: [&str; 2] = [
    "868278184f3d42616e6b20412c204c3d4c6f6e646f6e2c20433d474282015820db995fe25169d141cab9bbba92baa01f9f2e1ece7df4cb2ac05190f37fcc1f9d8278184f3d42616e6b20582c204c3d4c6f6e646f6e2c20433d474282015820dac31ebca159d283f8341fd90d7fa1cd95bf5eccab657f7952662e67e56afbe3838100838278184f3d42616e6b20412c204c3d4c6f6e646f6e2c20433d474282015820db995fe25169d141cab9bbba92baa01f9f2e1ece7df4cb2ac05190f37fcc1f9d4063474250828278184f3d42616e6b20412c204c3d4c6f6e646f6e2c20433d474282015820db995fe25169d141cab9bbba92baa01f9f2e1ece7df4cb2ac05190f37fcc1f9d63544c590c183209",
    "e289daa7dd49505b6a4fbd80bb48fbd0ab55a49eed8547a3c23da024e42c653e",
];
