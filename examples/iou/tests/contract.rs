//! Transactions that the contract accepts or rejects, one per row.

use std::collections::BTreeMap;

use finance::{CashState, IssuedToken, Reference, cash_builder, cash_name};
use iou::{Iou, IouCommand, IouContract, iou_code, iou_name};
use ledger::{
    Command, Contract, ContractName, LedgerTransaction, LegalName, Party, StateAndRef, StateRef,
    TransactionState, TxId,
};
use primitives::{Encode, Hash, KeyPair, PublicKey, Scheme, Timestamp};

fn key(letter: char) -> PublicKey {
    KeyPair::from_seed(Scheme::Ed25519, [letter as u8; 32])
        .public()
        .clone()
}

fn party(letter: char) -> Party {
    let name = LegalName::new(&format!("Bank {letter}"), "London", "GB").expect("a name");
    Party::new(name, key(letter))
}

fn gbp(issuer: char) -> IssuedToken {
    IssuedToken {
        issuer: party(issuer),
        reference: Reference::default(),
        currency: "GBP".parse().expect("a currency"),
    }
}

fn state(contract: &ContractName, data: Vec<u8>) -> TransactionState {
    let code = if contract == cash_name() {
        cash_builder::cash_code()
    } else {
        iou_code()
    };
    TransactionState {
        data,
        contract: contract.clone(),
        constraint: code.1.clone(),
        notary: party('N'),
        encumbrance: None,
    }
}

/// `iou 100` (B owes L), `iou 100 M` (B owes M), `iou 100 B`, `iou 100 L due`; `cash 100 L` (L's money, owned by L), `cash 100 L X`
/// (X's money); `junk` and `other`.
fn read(text: &str) -> TransactionState {
    let words: Vec<&str> = text.split(' ').collect();
    let number = || words[1].parse().expect("a number");
    let letter = |at: usize, default| {
        let word = words.get(at).and_then(|word| word.chars().next());
        word.unwrap_or(default)
    };
    match words[0] {
        "iou" => {
            let lender = letter(2, 'L');
            let iou = Iou {
                id: Hash::from_bytes([7; 32]),
                lender: party(lender),
                borrower: party('B'),
                token: gbp(lender),
                quantity: number(),
                due: words.get(3).map(|_| Timestamp::from_ms(9)),
            };
            state(iou_name(), iou.to_bytes())
        }
        "cash" | "locked" => {
            let cash = CashState {
                token: gbp(letter(3, 'L')),
                quantity: number(),
                owner: key(letter(2, 'L')),
            };
            let encumbrance = (words[0] == "locked").then_some(0);
            TransactionState {
                encumbrance,
                ..state(cash_name(), cash.to_bytes())
            }
        }
        "junk" => state(iou_name(), vec![0xff]),
        _ => state(
            &ContractName::new("example.other").expect("a name"),
            vec![1],
        ),
    }
}

fn states(text: &str) -> Vec<TransactionState> {
    let words = text.split(", ").filter(|word| !word.is_empty());
    words.map(read).collect()
}

/// `issue by BL`, `settle by B`, `junk by B`.
fn commands(text: &str) -> Vec<Command> {
    let words = text.split(", ").filter(|word| !word.is_empty());
    let command = |word: &str| {
        let (verb, signers) = word.split_once(" by ").expect("signers");
        Command {
            contract: iou_name().clone(),
            value: match verb {
                "issue" => IouCommand::Issue.to_bytes(),
                "settle" => IouCommand::Settle.to_bytes(),
                _ => vec![0xff],
            },
            signers: signers.chars().map(key).collect(),
        }
    };
    words.map(command).collect()
}

#[test]
fn accepted_and_rejected() {
    // inputs, outputs, commands, the code of the rejection or nothing
    for (inputs, outputs, orders, code) in [
        ("", "iou 100", "issue by BL", ""),
        ("", "iou 100", "issue by BLN", ""),
        ("", "iou 100", "issue by B", "iou.signer_missing"),
        ("", "iou 100", "issue by L", "iou.signer_missing"),
        ("", "iou 0", "issue by BL", "iou.amount_zero"),
        ("", "iou 100 B", "issue by B", "iou.owed_to_oneself"),
        ("", "iou 100, iou 100", "issue by BL", "iou.one_at_a_time"),
        ("iou 100", "iou 200", "issue by BL", "iou.one_at_a_time"),
        ("", "iou 100", "", "iou.one_command"),
        ("", "iou 100", "issue by BL, issue by BL", "iou.one_command"),
        ("", "iou 100", "junk by BL", "iou.command_malformed"),
        ("", "junk", "issue by BL", "iou.state_malformed"),
        ("", "iou 100, other", "issue by BL", "iou.mixed"),
        // settled, whole and in part
        ("iou 100, cash 100 B", "cash 100 L", "settle by B", ""),
        (
            "iou 100, cash 90 B",
            "iou 60, cash 40 L, cash 50 B",
            "settle by B",
            "",
        ),
        (
            "iou 100, cash 100 B, cash 5 L",
            "cash 105 L",
            "settle by BL",
            "",
        ),
        (
            "iou 100, cash 100 B",
            "cash 100 L",
            "settle by L",
            "iou.signer_missing",
        ),
        (
            "iou 100, cash 99 B",
            "cash 99 L",
            "settle by B",
            "iou.not_paid",
        ),
        (
            "iou 100, cash 99 B",
            "iou 2, cash 99 L",
            "settle by B",
            "iou.not_paid",
        ),
        ("iou 100", "iou 100", "settle by B", "iou.not_paid"),
        ("iou 100", "iou 110", "settle by B", "iou.not_paid"),
        ("iou 100", "", "settle by B", "iou.not_paid"),
        (
            "iou 100, cash 100 B",
            "cash 100 M",
            "settle by B",
            "iou.not_paid",
        ),
        // money of another issuer, money that is the lender's already, money that is locked
        (
            "iou 100, cash 100 B X",
            "cash 100 L X",
            "settle by B",
            "iou.not_paid",
        ),
        (
            "iou 100, cash 100 L",
            "cash 100 L",
            "settle by BL",
            "iou.not_paid",
        ),
        (
            "iou 100, cash 100 B",
            "locked 100 L",
            "settle by B",
            "iou.not_paid",
        ),
        (
            "iou 100, cash 100 B",
            "iou 0, cash 100 L",
            "settle by B",
            "iou.amount_zero",
        ),
        (
            "iou 100, cash 40 B",
            "iou 60 M, cash 40 L",
            "settle by B",
            "iou.terms_changed",
        ),
        (
            "iou 100, cash 40 B",
            "iou 60 L due, cash 40 L",
            "settle by B",
            "iou.terms_changed",
        ),
        (
            "iou 100, iou 100, cash 100 B",
            "cash 100 L",
            "settle by B",
            "iou.one_at_a_time",
        ),
        (
            "iou 100, other, cash 100 B",
            "cash 100 L",
            "settle by B",
            "iou.mixed",
        ),
    ] {
        let inputs_read = (0u32..)
            .zip(states(inputs))
            .map(|(index, state)| StateAndRef {
                state,
                reference: StateRef::new(TxId::from_array([1; 32]), index),
            });
        let tx = LedgerTransaction {
            id: TxId::from_array([2; 32]),
            inputs: inputs_read.collect(),
            references: Vec::new(),
            outputs: states(outputs),
            commands: commands(orders),
            attachments: vec![iou_code().0],
            notary: Some(party('N')),
            time_window: None,
            parameters: None,
            origins: BTreeMap::new(),
        };
        let verdict = IouContract
            .verify(&tx)
            .err()
            .map(|rejection| rejection.code);
        let row = format!("[{inputs}] -> [{outputs}] with [{orders}]");
        assert_eq!(verdict.unwrap_or_default(), code, "{row}");
    }
}
