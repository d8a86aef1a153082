//! Coins, parties and requests for tests, named by small numbers.

use std::sync::Arc;

use ledger::{
    Constraint, ContractName, Fungible, LegalName, Party, SelectionRequest, StateAndRef,
    StateFacts, StateRef, TokenId, TransactionState, TxId,
};
use primitives::{Domain, Hash, Monotonic, PublicKey};
use vault::{CoinRow, Consumed, Produced, ViewChange};

pub fn at(ms: u64) -> Monotonic {
    Monotonic::from_ms(ms)
}

fn hash(kind: u8, number: u64) -> Hash {
    Hash::of(Domain::Derive, &[&[kind], &number.to_be_bytes()])
}

pub fn token(number: u64) -> TokenId {
    TokenId::from_hash(hash(1, number))
}

pub fn flow(number: u64) -> [u8; 16] {
    u128::from(number).to_be_bytes()
}

pub fn notary(number: u64) -> Party {
    let name = format!("Notary {number}");
    let name = LegalName::new(&name, "London", "GB").expect("a legal name");
    Party::new(name, PublicKey::Ed25519([number as u8; 32]))
}

/// Output `index` of the transaction recorded at `seq`.
pub fn coin_ref(seq: u64, index: u32) -> StateRef {
    StateRef::new(TxId::from_hash(hash(2, seq)), index)
}

/// A coin: output `index` of the transaction recorded at `seq`.
pub fn row(seq: u64, index: u32, quantity: u64, of_notary: &Party) -> CoinRow {
    let state = TransactionState {
        data: quantity.to_be_bytes().to_vec(),
        contract: ContractName::new("tally.cash").expect("a name"),
        constraint: Constraint::AlwaysAccept,
        notary: of_notary.clone(),
        encumbrance: None,
    };
    let reference = coin_ref(seq, index);
    CoinRow {
        coin: StateAndRef { state, reference },
        quantity,
        seq,
    }
}

pub fn produced(of: TokenId, row: CoinRow) -> ViewChange {
    ViewChange::Produced(Arc::new(Produced {
        seq: row.seq,
        facts: StateFacts {
            fungible: Some(Fungible {
                token: of,
                symbol: "GBP".into(),
                issuer: row.coin.state.notary.clone(),
                quantity: row.quantity,
            }),
            ..StateFacts::default()
        },
        state: row.coin,
    }))
}

pub fn consumed(reference: StateRef, seq: u64) -> ViewChange {
    ViewChange::Consumed(Consumed { seq, reference })
}

pub fn wish(of: TokenId, quantity: u64, at_notary: Option<&Party>, ms: u64) -> SelectionRequest {
    SelectionRequest {
        token: of,
        quantity,
        notary: at_notary.map(Party::id),
        deadline_ms: ms,
    }
}
