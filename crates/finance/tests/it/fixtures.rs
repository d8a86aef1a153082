//! Parties, tokens and transactions to test with.

use std::collections::BTreeMap;

use finance::{CASH_NAME, CashCommand, CashState, IssuedToken, Reference, cash_builder, cash_name};
use ledger::{
    Command, ContractName, LedgerTransaction, LegalName, Party, StateAndRef, StateRef, TimeWindow,
    TransactionState, TxId,
};
use primitives::{Encode, KeyPair, PublicKey, Scheme, Timestamp};

pub fn key(n: u8) -> KeyPair {
    KeyPair::from_seed(Scheme::Ed25519, [n; 32])
}

pub fn public(n: u8) -> PublicKey {
    key(n).public().clone()
}

/// Returns a party whose key has the number of its letter.
pub fn party(letter: char) -> Party {
    let name = LegalName::new(&format!("Bank {letter}"), "London", "GB").unwrap();
    Party::new(name, public(letter as u8))
}

pub fn notary() -> Party {
    party('N')
}

/// `"A GBP"`, `"A GBP 01"`: the issuer's letter, the currency and perhaps a reference.
pub fn token(text: &str) -> IssuedToken {
    let mut words = text.split(' ');
    let issuer = party(words.next().unwrap().chars().next().unwrap());
    let currency = words.next().unwrap().parse().unwrap();
    let reference: Reference = words.next().unwrap_or_default().parse().unwrap();
    IssuedToken {
        issuer,
        reference,
        currency,
    }
}

pub fn cash(token: &IssuedToken, quantity: u64, owner: char) -> TransactionState {
    let data = CashState {
        token: token.clone(),
        quantity,
        owner: public(owner as u8),
    };
    state(data.to_bytes())
}

pub fn state(data: Vec<u8>) -> TransactionState {
    let (_, constraint) = cash_builder::cash_code();
    TransactionState {
        data,
        contract: cash_name().clone(),
        constraint: constraint.clone(),
        notary: notary(),
        encumbrance: None,
    }
}

pub fn command(value: &CashCommand, signers: &str) -> Command {
    Command {
        contract: ContractName::new(CASH_NAME).unwrap(),
        value: value.to_bytes(),
        signers: signers.chars().map(|letter| public(letter as u8)).collect(),
    }
}

pub fn transaction(
    inputs: Vec<TransactionState>,
    outputs: Vec<TransactionState>,
    commands: Vec<Command>,
) -> LedgerTransaction {
    let inputs = (0u32..)
        .zip(inputs)
        .map(|(index, state)| StateAndRef {
            state,
            reference: StateRef::new(TxId::from_array([1; 32]), index),
        })
        .collect();
    LedgerTransaction {
        id: TxId::from_array([2; 32]),
        inputs,
        references: Vec::new(),
        outputs,
        commands,
        attachments: vec![cash_builder::cash_code().0],
        notary: Some(notary()),
        time_window: None,
        parameters: None,
        origins: BTreeMap::new(),
    }
}

pub fn at(ms: u64) -> Timestamp {
    Timestamp::from_ms(ms)
}

/// Parses `"500..1000"`; either end may be left out. An empty text is no window.
pub fn window(text: &str) -> Option<TimeWindow> {
    let (from, until) = text.split_once("..")?;
    let end = |ms: &str| ms.parse().ok().map(at);
    Some(TimeWindow::new(end(from), end(until)).unwrap())
}

/// Parses the words of a list such as `"a, b"`.
pub fn list<T>(text: &str, parse: impl Fn(&str) -> T) -> Vec<T> {
    let words = text.split(", ").filter(|word| !word.is_empty());
    words.map(parse).collect()
}

/// Parses `"move by AB, x by C"`: commands to a contract, with their values by the verbs.
pub fn orders(
    contract: &ContractName,
    value: impl Fn(&str) -> Vec<u8>,
    text: &str,
) -> Vec<Command> {
    list(text, |word| {
        let (verb, signers) = word.split_once(" by ").unwrap();
        Command {
            contract: contract.clone(),
            value: value(verb),
            signers: signers.chars().map(|letter| public(letter as u8)).collect(),
        }
    })
}
