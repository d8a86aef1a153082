//! Parties, a contract that does as its command says, and a transaction to start from.

use std::sync::Arc;

use ledger::{
    CommandFacts, Constraint, Contract, ContractName, ContractRegistry, ContractRejection, Group,
    LedgerTransaction, LegalName, NetworkRules, Party, StateAndRef, StateFacts, StateRef,
    TimeWindow, TransactionBuilder, TransactionState, TxId, WireTransaction,
};
use primitives::{Coded, DecodeError, Encoder, Hash, KeyPair, PublicKey, Scheme, Timestamp};

pub const SALT: [u8; 32] = [7; 32];

/// The code is as expected and the hint says something of use.
#[track_caller]
pub fn check_error(error: &(impl Coded + ?Sized), code: &str, hint_part: &str) {
    assert_eq!(error.code(), code, "{error}");
    assert!(
        error.hint().contains(hint_part),
        "the hint of {code} is '{}', which lacks '{hint_part}'",
        error.hint()
    );
}

pub fn key(n: u8) -> KeyPair {
    KeyPair::from_seed(Scheme::Ed25519, [n; 32])
}

pub fn public(n: u8) -> PublicKey {
    key(n).public().clone()
}

pub fn party(name: &str, n: u8) -> Party {
    Party::new(LegalName::new(name, "London", "GB").unwrap(), public(n))
}

pub fn notary() -> Party {
    party("Notary", 100)
}

pub fn other_notary() -> Party {
    party("Other Notary", 101)
}

pub fn coin() -> ContractName {
    ContractName::new("test.coin").unwrap()
}

/// Accepts, rejects or panics as the first command to it says.
pub struct Obedient {
    pub name: &'static str,
    pub version: u32,
}

impl Contract for Obedient {
    fn name(&self) -> &str {
        self.name
    }

    fn version(&self) -> u32 {
        self.version
    }

    fn verify(&self, tx: &LedgerTransaction) -> Result<(), ContractRejection> {
        let name = ContractName::new(self.name).unwrap();
        let command = tx.commands_of(&name).next();
        match command.map(|command| command.value.as_slice()) {
            Some(b"accept") => Ok(()),
            Some(b"panic") => panic!("as the command said"),
            _ => Err(ContractRejection::new(
                "coin.rejected",
                "the command did not say accept",
            )),
        }
    }

    fn describe(&self, data: &[u8]) -> Result<StateFacts, DecodeError> {
        if data == b"panic" {
            panic!("as the data said");
        }
        let mut d = primitives::Decoder::new(data);
        let linear_id = Some(Hash::plain(&d.u64()?.to_be_bytes()));
        d.finish()?;
        Ok(StateFacts {
            linear_id,
            ..StateFacts::default()
        })
    }

    fn describe_command(&self, value: &[u8]) -> Result<Option<CommandFacts>, DecodeError> {
        match value {
            b"accept" => Ok(Some(
                CommandFacts::new("accept").field("version", self.version),
            )),
            b"panic" => panic!("as the command said"),
            b"" => Ok(None),
            value => Err(primitives::Decoder::new(value).invalid("not a command")),
        }
    }
}

pub fn registry() -> ContractRegistry {
    let mut registry = ContractRegistry::new();
    registry
        .register(Arc::new(Obedient {
            name: "test.coin",
            version: 1,
        }))
        .unwrap();
    registry
}

pub fn rules() -> NetworkRules {
    NetworkRules {
        notaries: vec![notary(), other_notary()],
        allow_always_accept: false,
    }
}

pub fn descriptor() -> Hash {
    registry().current(&coin()).unwrap().0
}

pub fn state(notary: Party) -> TransactionState {
    TransactionState {
        data: vec![5],
        contract: coin(),
        constraint: Constraint::Descriptor(descriptor()),
        notary,
        encumbrance: None,
    }
}

pub fn reference(n: u8, index: u32) -> StateRef {
    StateRef::new(TxId::from_array([n; 32]), index)
}

pub fn input(n: u8, index: u32) -> StateAndRef {
    StateAndRef {
        state: state(notary()),
        reference: reference(n, index),
    }
}

pub fn window() -> TimeWindow {
    TimeWindow::until(Timestamp::from_ms(1_000_000))
}

/// One command, signed by key 1, and the contract attached.
pub fn base() -> TransactionBuilder {
    TransactionBuilder::new(notary())
        .command(coin(), b"accept".to_vec(), vec![public(1)])
        .attachment(descriptor())
}

/// One state in, two out, and a component in every group.
pub fn full() -> WireTransaction {
    base()
        .input(input(1, 0))
        .input(input(2, 3))
        .reference(reference(3, 1))
        .output(state(notary()))
        .output(state(notary()))
        .command(coin(), b"more".to_vec(), vec![public(1), public(2)])
        .time_window(window())
        .parameters(Hash::plain(b"parameters"))
        .build(SALT)
        .unwrap()
}

/// The components of each group.
pub fn groups(wire: &WireTransaction) -> Vec<Vec<Vec<u8>>> {
    Group::ALL
        .iter()
        .map(|group| wire.components(*group).map(<[u8]>::to_vec).collect())
        .collect()
}

/// Encodes components as a transaction without asking whether it is one.
pub fn assemble(version: u64, salt: &[u8], groups: &[Vec<Vec<u8>>]) -> Vec<u8> {
    let mut e = Encoder::new();
    e.array(3);
    e.u64(version);
    e.bytes(salt);
    e.array(groups.len());
    for group in groups {
        e.array(group.len());
        for component in group {
            e.bytes(component);
        }
    }
    e.into_bytes()
}
