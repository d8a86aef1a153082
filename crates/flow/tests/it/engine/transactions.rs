//! Transactions of the tests.

use ledger::{
    Constraint, ContractName, SignedTransaction, StateAndRef, StateRef, TransactionBuilder,
    TransactionState, TxId,
};
use primitives::Hash;

use crate::engine::parties::{key, party};

pub fn coin(n: u8) -> StateAndRef {
    let state = TransactionState {
        data: vec![n],
        contract: contract(),
        constraint: Constraint::Descriptor(Hash::ZERO),
        notary: party('N'),
        encumbrance: None,
    };
    StateAndRef {
        state,
        reference: StateRef::new(TxId::from_hash(Hash::from_bytes([n; 32])), 0),
    }
}

fn contract() -> ContractName {
    ContractName::new("test.coin").unwrap()
}

/// Consumes coins into one; only A has to sign.
pub fn spend(coins: &[StateAndRef]) -> SignedTransaction {
    make(coins, 1, "A")
}

/// Makes a transaction that requires signatures of some parties, signed by A.
pub fn make(coins: &[StateAndRef], outputs: u8, signers: &str) -> SignedTransaction {
    let keys = signers.chars().map(|letter| party(letter).key).collect();
    let mut builder = TransactionBuilder::new(party('N'))
        .inputs(coins)
        .command(contract(), vec![1], keys)
        .attachment(Hash::ZERO);
    for n in 0..outputs {
        builder = builder.output(coin(n).state);
    }
    let wire = builder.build([7; 32]).unwrap();
    SignedTransaction::new(wire, []).signed_by(&key('A'))
}
