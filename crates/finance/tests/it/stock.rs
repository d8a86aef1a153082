//! The decisions of the stock contract, one transaction per row, and its symbols and encodings.

use finance::ERRORS;
use finance::Portion;
use finance::stock::{
    StockCommand, StockContract, StockState, StockToken, Symbol, builder, stock_name,
};
use ledger::{Contract, LedgerTransaction, StateAndRef, StateRef, TransactionState, TxId};
use primitives::{Coded, Decode, Encode, ErrorInfo, hex};
use proptest::prelude::*;

use crate::fixtures::*;

/// `"A TLY"`: the issuer's letter and the symbol.
fn stock(text: &str) -> StockToken {
    let (issuer, symbol) = text.split_once(' ').unwrap();
    StockToken {
        issuer: party(issuer.chars().next().unwrap()),
        symbol: symbol.parse().unwrap(),
    }
}

fn held(token: &StockToken, quantity: u64, owner: char) -> TransactionState {
    let data = StockState {
        token: token.clone(),
        quantity,
        owner: public(owner as u8),
    };
    of_contract(data.to_bytes())
}

fn of_contract(data: Vec<u8>) -> TransactionState {
    TransactionState {
        contract: stock_name().clone(),
        constraint: builder::stock_code().1.clone(),
        ..state(data)
    }
}

/// `"A TLY:100:B"` is 100 of the stock `A TLY` owned by B; `x` is data that is not stock, `cash` is cash.
fn states(text: &str) -> Vec<TransactionState> {
    list(text, |word| match word {
        "x" => of_contract(vec![0xff]),
        "cash" => cash(&token("A GBP"), 5, 'B'),
        word => {
            let parts: Vec<&str> = word.split(':').collect();
            let owner = parts[2].chars().next().unwrap();
            held(&stock(parts[0]), parts[1].parse().unwrap(), owner)
        }
    })
}

/// `"issue A TLY:100 by A"`, `"move by B"`, `"exit A TLY:100 by AB"`.
fn value(what: &str) -> Vec<u8> {
    let words: Vec<&str> = what.splitn(2, ' ').collect();
    let amount = words.get(1).map(|amount| {
        let (name, quantity) = amount.split_once(':').unwrap();
        (stock(name).id(), quantity.parse().unwrap())
    });
    match (words[0], amount) {
        ("move", None) => StockCommand::Move.to_bytes(),
        ("issue", Some((token, quantity))) => StockCommand::Issue { token, quantity }.to_bytes(),
        ("exit", Some((token, quantity))) => StockCommand::Exit { token, quantity }.to_bytes(),
        _ => vec![0xff],
    }
}

fn tx(inputs: &str, outputs: &str, commands: &str) -> LedgerTransaction {
    let commands = orders(stock_name(), value, commands);
    transaction(states(inputs), states(outputs), commands)
}

#[test]
fn accepted_and_rejected_transactions() {
    #[rustfmt::skip]
    let table = [
        // Issues.
        ("", "A TLY:100:B", "issue A TLY:100 by A", ""),
        ("", "A TLY:60:B, A TLY:40:C", "issue A TLY:100 by A", ""),
        ("", "A TLY:1:B, B TLY:2:B, A X:3:A", "issue A TLY:1 by A, issue B TLY:2 by B, issue A X:3 by A", ""),
        ("A TLY:5:B", "A TLY:7:B", "issue A TLY:2 by A, move by B", ""),
        ("", "A TLY:100:B", "issue A TLY:99 by A", "stock.not_conserved"),
        ("", "A TLY:100:B", "issue A TLY:100 by B", "stock.issuer_must_sign"),
        ("", "A TLY:100:B", "issue B TLY:100 by B", "stock.not_conserved"),
        ("", "A TLY:100:B", "", "stock.not_conserved"),
        ("", "A TLY:1:B", "issue A TLY:0 by A", "stock.zero_quantity"),
        ("", "A TLY:2:B", "issue A TLY:1 by A, issue A TLY:1 by A", "stock.command_repeated"),
        ("", "A TLY:2:B", "issue A TLY:1 by A, exit A TLY:1 by A", "stock.command_repeated"),
        ("", "A TLY:2:B", "issue A TLY:2 by A, issue A X:1 by A", "stock.command_without_stock"),
        ("A TLY:5:B", "A TLY:7:B", "issue A TLY:2 by A", "stock.owner_must_sign"),
        // Moves: split, merged, several owners, among other contracts.
        ("A TLY:5:B", "A TLY:5:C", "move by B", ""),
        ("A TLY:5:B", "A TLY:2:C, A TLY:3:B", "move by B", ""),
        ("A TLY:5:B, A TLY:6:C", "A TLY:11:D", "move by BC", ""),
        ("A TLY:5:B, B TLY:6:C, cash", "B TLY:6:B, A TLY:5:C, cash", "move by BC", ""),
        ("A TLY:5:B", "A TLY:4:C", "move by B", "stock.not_conserved"),
        ("A TLY:5:B", "A TLY:6:C", "move by B", "stock.not_conserved"),
        ("A TLY:5:B", "B TLY:5:C", "move by B", "stock.not_conserved"),
        ("A TLY:5:B", "A TLX:5:C", "move by B", "stock.not_conserved"),
        ("A TLY:5:B", "A TLY:5:C", "move by C", "stock.owner_must_sign"),
        ("A TLY:5:B, A TLY:6:C", "A TLY:11:D", "move by B", "stock.owner_must_sign"),
        ("A TLY:5:B", "A TLY:5:C", "", "stock.owner_must_sign"),
        ("A TLY:5:B", "A TLY:5:C", "move by B, move by B", "stock.command_repeated"),
        ("cash", "cash", "move by B", "stock.command_without_stock"),
        ("", "A TLY:5:B", "issue A TLY:5 by A, move by A", "stock.command_without_stock"),
        ("A TLY:18446744073709551615:B, A TLY:1:B", "A TLY:1:B", "move by B", "stock.overflow"),
        // Exits.
        ("A TLY:5:B", "", "exit A TLY:5 by AB", ""),
        ("A TLY:5:A", "A TLY:3:A", "exit A TLY:2 by A", ""),
        ("A TLY:5:B", "", "exit A TLY:5 by A", "stock.owner_must_sign"),
        ("A TLY:5:B", "", "exit A TLY:5 by B", "stock.issuer_must_sign"),
        ("A TLY:5:B", "", "exit A TLY:4 by AB", "stock.not_conserved"),
        ("A TLY:5:B", "", "move by B", "stock.not_conserved"),
        // Values that do not decode.
        ("x", "", "move by B", "stock.state_malformed"),
        ("", "x", "issue A TLY:5 by A", "stock.state_malformed"),
        ("A TLY:5:B", "A TLY:5:C", "y by B", "stock.command_malformed"),
    ];
    for row in table {
        let (inputs, outputs, commands, code) = row;
        match StockContract.verify(&tx(inputs, outputs, commands)) {
            Ok(()) => assert_eq!(code, "", "accepted: {row:?}"),
            Err(rejection) => {
                assert_eq!(rejection.code, code, "{row:?}: {rejection}");
                assert_ne!(ErrorInfo::action_of(ERRORS, code), "", "{code} has a hint");
            }
        }
    }
}

#[test]
fn symbols() {
    for (text, good) in [
        ("TLY", true),
        ("A", true),
        ("BRK.B", true),
        ("X-1", true),
        ("ABCDEFGHIJKLMNOP", true),
        ("ABCDEFGHIJKLMNOPQ", false),
        ("", false),
        ("tly", false),
        ("1X", false),
        (".X", false),
        ("A B", false),
        ("Ä", false),
    ] {
        let parsed = text.parse::<Symbol>();
        assert_eq!(parsed.is_ok(), good, "'{text}'");
        match parsed {
            Ok(symbol) => assert_eq!(Symbol::from_bytes(&symbol.to_bytes()), Ok(symbol)),
            Err(error) => assert_eq!(error.code(), "stock.symbol_invalid"),
        }
        let mut encoded = primitives::Encoder::new();
        encoded.text(text);
        assert_eq!(Symbol::from_bytes(encoded.as_bytes()).is_ok(), good);
    }
}

#[test]
fn facts_are_those_of_something_fungible() {
    let token = stock("A TLY");
    let facts = StockContract.describe(&held(&token, 7, 'B').data).unwrap();
    let fungible = facts.fungible.unwrap();
    assert_eq!((fungible.token, fungible.quantity), (token.id(), 7));
    assert_eq!(
        (fungible.symbol.as_str(), &fungible.issuer),
        ("TLY", &party('A'))
    );
    assert_eq!(facts.owner, Some(public(b'B')));
    assert_eq!(facts.participants, [public(b'B')]);
}

/// Ledgers hold these encodings, so they must never change.
#[test]
fn golden() {
    let token = stock("A TLY");
    let state = held(&token, 1_000, 'B').data;
    let (id, quantity) = (token.id(), 1_000);
    let commands = [
        StockCommand::Issue {
            token: id,
            quantity,
        }
        .to_bytes(),
        StockCommand::Move.to_bytes(),
        StockCommand::Exit {
            token: id,
            quantity,
        }
        .to_bytes(),
    ];
    let found = [
        hex::encode(&state),
        id.to_string(),
        hex::encode(&commands[0]),
        hex::encode(&commands[1]),
        hex::encode(&commands[2]),
    ];
    assert_eq!(found, GOLDEN);
}

const GOLDEN: [&str; 5] = [
    "83828278184f3d42616e6b20412c204c3d4c6f6e646f6e2c20433d474282015820db995fe25169d141cab9bbba92baa01f9f2e1ece7df4cb2ac05190f37fcc1f9d63544c591903e8820158202152f8d19b791d24453242e15f2eab6cb7cffa7b6a5ed30097960e069881db12",
    "e696315b053c5e4fbd0e8521ad202a55bb2fa73d5721633d7d7b2508ba1b3177",
    "83005820e696315b053c5e4fbd0e8521ad202a55bb2fa73d5721633d7d7b2508ba1b31771903e8",
    "8101",
    "83025820e696315b053c5e4fbd0e8521ad202a55bb2fa73d5721633d7d7b2508ba1b31771903e8",
];

fn inputs(quantities: &[u64]) -> Vec<StateAndRef> {
    (0u32..)
        .zip(quantities)
        .map(|(index, quantity)| StateAndRef {
            state: held(&stock("A TLY"), *quantity, 'B'),
            reference: StateRef::new(TxId::from_array([1; 32]), index),
        })
        .collect()
}

proptest! {
    #![proptest_config(properties::config!(256))]

    /// Every built transfer is accepted, moves the requested quantity, and loses nothing.
    #[test]
    fn built_transfers_are_accepted(
        quantities in prop::collection::vec(1u64..50, 1..5),
        wanted in 0u64..120,
        states in 0u32..6,
    ) {
        let held: u64 = quantities.iter().sum();
        let inputs = inputs(&quantities);
        let portion = Portion { owner: public(b'C'), quantity: wanted, states };
        match builder::transfer(notary(), &inputs, &portion, &public(b'B')) {
            Ok(giving) => {
                prop_assert!(wanted <= held && states > 0 && u64::from(states) <= wanted);
                prop_assert_eq!(giving.change, held - wanted);
                let wire = giving.builder.build([7; 32]).expect("a transaction");
                let resolved = LedgerTransaction::resolve(&wire, |reference| {
                    let of = |input: &&StateAndRef| input.reference == *reference;
                    inputs.iter().find(of).map(|input| input.state.clone())
                });
                let resolved = resolved.expect("all inputs are known");
                StockContract.verify(&resolved).expect("accepted");
                let outputs = states as usize + usize::from(wanted < held);
                prop_assert_eq!(resolved.outputs.len(), outputs);
            }
            Err(error) => {
                prop_assert!(wanted > held || wanted == 0 || states == 0 || u64::from(states) > wanted, "{error}");
            }
        }
    }
}
