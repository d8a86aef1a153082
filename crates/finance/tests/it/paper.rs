//! The decisions of the commercial paper contract, one transaction per row, and its builders.

use finance::lock::lock_name;
use finance::paper::{PaperCommand, PaperContract, PaperState, builder, paper_name};
use finance::{ERRORS, Portion, cash_builder};
use ledger::{
    Command, Contract, ContractRegistry, LedgerTransaction, NetworkMap, NetworkParameters,
    StateAndRef, StateRef, TimeWindow, TransactionBuilder, TransactionState, TxId,
};
use primitives::{Encode, ErrorInfo, Timestamp};

use crate::fixtures::*;

const MATURITY_MS: u64 = 1_000;

fn paper(reference: &str, face: u64, owner: char) -> PaperState {
    PaperState {
        issuer: party('A'),
        reference: reference.parse().unwrap(),
        token: token("C GBP"),
        face,
        maturity: at(MATURITY_MS),
        owner: public(owner as u8),
    }
}

fn paper_state(data: Vec<u8>) -> TransactionState {
    TransactionState {
        contract: paper_name().clone(),
        constraint: builder::paper_code().1.clone(),
        ..state(data)
    }
}

/// Parses states: `"01:100:B"` is a paper of A with reference 01 and face value 100 owned by B. `"C GBP:100:B"` is cash.
/// `x` is data that is not a paper. `lock` is a state of another contract.
fn states(text: &str) -> Vec<TransactionState> {
    let parse = |word: &str| {
        let parts: Vec<&str> = word.split(':').collect();
        let [name, quantity, owner] = parts[..] else {
            let contract = match word {
                "lock" => lock_name(),
                _ => paper_name(),
            };
            return TransactionState {
                contract: contract.clone(),
                ..paper_state(vec![0xff])
            };
        };
        let (quantity, owner) = (quantity.parse().unwrap(), owner.chars().next().unwrap());
        if name.contains(' ') {
            cash(&token(name), quantity, owner)
        } else {
            paper_state(paper(name, quantity, owner).to_bytes())
        }
    };
    list(text, parse)
}

fn commands(text: &str) -> Vec<Command> {
    let value = |verb: &str| match verb {
        "issue" => PaperCommand::Issue.to_bytes(),
        "move" => PaperCommand::Move.to_bytes(),
        "redeem" => PaperCommand::Redeem.to_bytes(),
        _ => vec![0xff],
    };
    orders(paper_name(), value, text)
}

#[test]
fn accepted_and_rejected_transactions() {
    // Inputs, outputs, commands, time window, and the code of the rejection or an empty text.
    let table = [
        ("", "01:100:A", "issue by A", "..1000", ""),
        ("", "01:100:B", "issue by A", "0..999", ""),
        ("", "01:100:B, 01:100:C, 02:7:B", "issue by A", "..5", ""),
        (
            "",
            "01:100:B",
            "issue by A",
            "..1001",
            "paper.issued_after_maturity",
        ),
        (
            "",
            "01:100:B",
            "issue by A",
            "5..",
            "paper.issued_after_maturity",
        ),
        (
            "",
            "01:100:B",
            "issue by A",
            "",
            "paper.issued_after_maturity",
        ),
        (
            "",
            "01:100:B",
            "issue by B",
            "..1000",
            "paper.issuer_must_sign",
        ),
        ("", "01:100:B", "", "..1000", "paper.not_conserved"),
        ("", "01:100:B", "move by A", "..1000", "paper.not_conserved"),
        (
            "",
            "01:100:B",
            "issue by A, issue by A",
            "..1000",
            "paper.command_repeated",
        ),
        ("", "x", "issue by A", "..1000", "paper.state_malformed"),
        (
            "",
            "01:100:B",
            "x by A",
            "..1000",
            "paper.command_malformed",
        ),
        (
            "",
            "",
            "issue by A",
            "..1000",
            "paper.command_without_paper",
        ),
        ("01:100:B", "01:100:C", "move by B", "", ""),
        ("01:100:B, 02:7:C", "01:100:C, 02:7:B", "move by BC", "", ""),
        (
            "01:100:B",
            "01:100:C, 02:7:B",
            "move by B, issue by A",
            "..9",
            "",
        ),
        (
            "01:100:B",
            "01:100:C",
            "move by A",
            "",
            "paper.owner_must_sign",
        ),
        ("01:100:B", "01:100:C", "", "", "paper.owner_must_sign"),
        (
            "01:100:B, 01:100:C",
            "01:100:C, 01:100:B",
            "move by B",
            "",
            "paper.owner_must_sign",
        ),
        (
            "01:100:B",
            "01:101:B",
            "move by B",
            "",
            "paper.not_conserved",
        ),
        (
            "01:100:B",
            "02:100:B",
            "move by B",
            "",
            "paper.not_conserved",
        ),
        (
            "01:100:B",
            "01:100:C, 01:100:C",
            "move by B",
            "",
            "paper.not_conserved",
        ),
        (
            "01:100:B",
            "01:100:C, 01:100:C",
            "move by B, issue by A",
            "..9",
            "paper.not_conserved",
        ),
        (
            "01:100:B, 01:100:B",
            "01:100:B",
            "redeem by B",
            "1000..",
            "paper.not_conserved",
        ),
        ("01:100:B", "", "move by B", "1000..", "paper.not_conserved"),
        (
            "01:100:B",
            "01:100:C",
            "move by B, redeem by B",
            "1000..",
            "paper.command_without_paper",
        ),
        (
            "01:100:B, C GBP:100:A",
            "C GBP:100:B",
            "redeem by B",
            "1000..",
            "",
        ),
        (
            "01:100:B, C GBP:150:A",
            "C GBP:100:B, C GBP:50:A",
            "redeem by B",
            "1000..",
            "",
        ),
        (
            "01:100:B, 02:7:B, C GBP:107:A",
            "C GBP:107:B",
            "redeem by B",
            "2000..3000",
            "",
        ),
        (
            "01:100:B, 02:7:D, C GBP:107:A",
            "C GBP:100:B, C GBP:7:D",
            "redeem by BD",
            "1000..",
            "",
        ),
        ("01:100:A", "", "redeem by A", "1000..", ""),
        (
            "01:100:B, C GBP:100:A",
            "C GBP:100:B",
            "redeem by B",
            "999..",
            "paper.not_mature",
        ),
        (
            "01:100:B, C GBP:100:A",
            "C GBP:100:B",
            "redeem by B",
            "..9999",
            "paper.not_mature",
        ),
        (
            "01:100:B, C GBP:100:A",
            "C GBP:100:B",
            "redeem by B",
            "",
            "paper.not_mature",
        ),
        (
            "01:100:B, C GBP:100:A",
            "C GBP:100:B",
            "redeem by A",
            "1000..",
            "paper.owner_must_sign",
        ),
        ("01:100:B", "", "redeem by B", "1000..", "paper.not_paid"),
        (
            "01:100:B, C GBP:100:A",
            "C GBP:99:B, C GBP:1:A",
            "redeem by B",
            "1000..",
            "paper.not_paid",
        ),
        (
            "01:100:B, C GBP:100:B",
            "C GBP:100:B",
            "redeem by B",
            "1000..",
            "paper.not_paid",
        ),
        (
            "01:100:B, C GBP:100:A",
            "C GBP:100:D",
            "redeem by B",
            "1000..",
            "paper.not_paid",
        ),
        (
            "01:100:B, C USD:100:A",
            "C USD:100:B",
            "redeem by B",
            "1000..",
            "paper.not_paid",
        ),
        (
            "01:100:B, A GBP:100:A",
            "A GBP:100:B",
            "redeem by B",
            "1000..",
            "paper.not_paid",
        ),
        (
            "01:100:B, 02:7:B, C GBP:100:A",
            "C GBP:100:B",
            "redeem by B",
            "1000..",
            "paper.not_paid",
        ),
        (
            "01:100:B, C GBP:100:A, lock",
            "C GBP:100:B",
            "redeem by B",
            "1000..",
            "paper.not_alone",
        ),
        ("01:100:A, lock", "", "redeem by A", "1000..", ""),
        (
            "01:18446744073709551615:B, 02:1:B",
            "",
            "redeem by B",
            "1000..",
            "paper.overflow",
        ),
    ];
    for row in table {
        let (inputs, outputs, orders, times, code) = row;
        let mut tx = transaction(states(inputs), states(outputs), commands(orders));
        tx.time_window = window(times);
        match PaperContract.verify(&tx) {
            Ok(()) => assert_eq!(code, "", "accepted: {row:?}"),
            Err(rejection) => {
                assert_eq!(rejection.code, code, "{row:?}: {rejection}");
                assert_ne!(ErrorInfo::action_of(ERRORS, code), "", "{code} has a hint");
            }
        }
    }
}

#[test]
fn facts_name_the_owner_and_the_issuer() {
    let facts = |owner| {
        PaperContract
            .describe(&paper("01", 5, owner).to_bytes())
            .unwrap()
    };
    assert_eq!(facts('B').participants, [public(b'B'), public(b'A')]);
    assert_eq!(facts('B').owner, Some(public(b'B')));
    assert_eq!(facts('A').participants, [public(b'A')]);
    assert_eq!((facts('B').fungible, facts('B').linear_id), (None, None));
    assert!(
        PaperContract
            .describe(&paper("01", 0, 'B').to_bytes())
            .is_err()
    );
}

fn held(n: u8, state: TransactionState) -> StateAndRef {
    let reference = StateRef::new(TxId::from_array([n; 32]), 0);
    StateAndRef { state, reference }
}

#[track_caller]
fn verified(builder: TransactionBuilder, known: &[StateAndRef]) {
    let wire = builder.build([7; 32]).unwrap();
    let find = |reference: &StateRef| known.iter().find(|state| state.reference == *reference);
    let resolved = LedgerTransaction::resolve(&wire, |reference| {
        find(&reference.to_owned()).map(|found| found.state.clone())
    });
    let mut contracts = ContractRegistry::new();
    finance::register_contracts(&mut contracts).unwrap();
    let parameters = NetworkParameters::new(vec![notary()], Timestamp::EPOCH);
    let network = NetworkMap::new(parameters, []);
    resolved
        .unwrap()
        .verify(&contracts, network.rules())
        .unwrap();
}

#[test]
fn what_the_builders_make_verifies() {
    let state = paper("01", 100, 'B');
    verified(
        builder::issue(notary(), &state, TimeWindow::until(at(9))),
        &[],
    );
    let paper = held(1, paper_state(state.to_bytes()));
    let money = held(2, cash(&token("C GBP"), 130, 'A'));
    let known = [paper.clone(), money.clone()];
    let pay = || {
        let portion = Portion {
            owner: public(b'B'),
            quantity: 100,
            states: 1,
        };
        cash_builder::pay(
            notary(),
            std::slice::from_ref(&money),
            &[portion],
            &public(b'A'),
        )
        .unwrap()
    };
    verified(
        builder::transfer(pay().builder, &paper, public(b'A')).unwrap(),
        &known,
    );
    let redemption = builder::redeem(pay(), &paper).unwrap();
    assert_eq!(redemption.owners, [public(b'A'), public(b'B')]);
    verified(redemption.builder, &known);
}
