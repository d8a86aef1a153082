//! Proof that a notary has signed two transactions that consume the same state.

use std::collections::BTreeSet;

use primitives::{
    Coded, Decode, DecodeError, Decoder, Encode, Encoder, PublicKey, SignatureChecker,
};
use thiserror::Error;

use crate::limits::NOTARY_SIGNATURES_MAX;
use crate::{
    CheckedTearOff, FilteredTransaction, Party, SignedTransaction, StateRef, TearOffError,
    TransactionSignature, TxId, errors,
};

/// A transaction that its notary signed, without its contents: the tear-off that a notary gets, and the notary's signatures.
///
/// Encoded as `[tear-off, [signature, ...]]`, with at most 100 signatures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotarisedTearOff {
    /// Shows inputs, references, time window and notary, whole.
    pub tear_off: FilteredTransaction,
    /// The batch signatures of the notary's keys.
    pub signatures: Vec<TransactionSignature>,
}

impl NotarisedTearOff {
    /// Takes the notary's part of a transaction.
    pub fn of(transaction: &SignedTransaction) -> Self {
        let signatures = transaction.signatures().iter();
        let batches = signatures.filter(|signature| signature.batch.is_some());
        Self {
            tear_off: FilteredTransaction::for_notary(transaction.wire()),
            signatures: batches.take(NOTARY_SIGNATURES_MAX).cloned().collect(),
        }
    }

    /// Checks the proofs of the tear-off and that the notary has signed the transaction.
    ///
    /// # Errors
    /// See [`EquivocationError`].
    pub fn verify(
        &self,
        checker: &mut SignatureChecker,
    ) -> Result<CheckedTearOff, EquivocationError> {
        let shown = self.tear_off.verify()?;
        let messages = self.signatures.iter().filter(|s| s.batch.is_some());
        let messages = messages.filter_map(|s| s.signed_message(&shown.id()).ok());
        let messages: Vec<_> = messages.collect();
        let verdicts = checker.check_batch(&messages);
        let good = messages.iter().zip(verdicts).filter(|(_, good)| *good);
        let signers: BTreeSet<&PublicKey> = good.map(|(message, _)| &message.key).collect();
        if !shown.notary().key.is_fulfilled_by(&signers) {
            return Err(EquivocationError::NotSigned(shown.id()));
        }
        Ok(shown)
    }
}

impl Encode for NotarisedTearOff {
    fn encode(&self, e: &mut Encoder) {
        e.array(2);
        self.tear_off.encode(e);
        self.signatures.encode(e);
    }
}

impl Decode for NotarisedTearOff {
    fn decode(d: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        d.expect_array(2)?;
        Ok(Self {
            tear_off: FilteredTransaction::decode(d)?,
            signatures: d.vec_of(NOTARY_SIGNATURES_MAX)?,
        })
    }
}

/// Proof of equivocation: two different transactions of one notary that consume the same state, both with its signature.
/// Any holder of the notary's key can check it. It reveals nothing of the contents of the transactions.
///
/// Encoded as `[first, second]`, each a [`NotarisedTearOff`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EquivocationProof {
    /// The transaction that was known first.
    pub first: NotarisedTearOff,
    /// The transaction that contradicts it.
    pub second: NotarisedTearOff,
}

primitives::record!(EquivocationProof { first, second });

/// Facts that a proof of equivocation establishes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Equivocation {
    /// The notary that signed both.
    pub notary: Party,
    /// The transactions, the one known first at the front.
    pub transactions: [TxId; 2],
    /// The states that both consume, at least one.
    pub states: Vec<StateRef>,
}

/// Reasons why two transactions prove no equivocation.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum EquivocationError {
    /// A tear-off proves nothing.
    #[error(transparent)]
    TearOff(#[from] TearOffError),
    /// The notary has not signed one of them.
    #[error("transaction {0} lacks a valid batch signature of its notary")]
    NotSigned(TxId),
    /// Both are the same transaction.
    #[error("both parts of the proof show transaction {0}; expected two transactions")]
    SameTransaction(TxId),
    /// They belong to different notaries.
    #[error("the transactions belong to the notaries {0} and {1}; expected one notary")]
    TwoNotaries(Party, Party),
    /// They consume no state in common.
    #[error("the transactions {0} and {1} consume no state in common")]
    NothingInCommon(TxId, TxId),
}

impl Coded for EquivocationError {
    fn code(&self) -> &'static str {
        match self {
            EquivocationError::TearOff(error) => error.code(),
            _ => "notary.no_equivocation",
        }
    }

    fn hint(&self) -> &'static str {
        errors::action(self.code())
    }
}

impl EquivocationProof {
    /// Makes a proof from two transactions without checking it. [`verify`](Self::verify) tells whether they prove equivocation.
    pub fn of(first: &SignedTransaction, second: &SignedTransaction) -> Self {
        Self {
            first: NotarisedTearOff::of(first),
            second: NotarisedTearOff::of(second),
        }
    }

    /// Checks the proof.
    ///
    /// # Errors
    /// The two prove no equivocation.
    pub fn verify(
        &self,
        checker: &mut SignatureChecker,
    ) -> Result<Equivocation, EquivocationError> {
        let first = self.first.verify(checker)?;
        let second = self.second.verify(checker)?;
        if first.id() == second.id() {
            return Err(EquivocationError::SameTransaction(first.id()));
        }
        if first.notary() != second.notary() {
            let (one, other) = (first.notary().clone(), second.notary().clone());
            return Err(EquivocationError::TwoNotaries(one, other));
        }
        let consumed: BTreeSet<StateRef> = first.inputs().iter().copied().collect();
        let inputs = second.inputs().iter();
        let states: Vec<StateRef> = inputs.filter(|i| consumed.contains(i)).copied().collect();
        if states.is_empty() {
            return Err(EquivocationError::NothingInCommon(first.id(), second.id()));
        }
        Ok(Equivocation {
            notary: first.notary().clone(),
            transactions: [first.id(), second.id()],
            states,
        })
    }
}

#[cfg(test)]
mod tests {
    use primitives::{KeyPair, Scheme};

    use super::*;
    use crate::{Constraint, ContractName, StateAndRef, TransactionBuilder, TransactionState};

    fn pair(seed: u8) -> KeyPair {
        KeyPair::from_seed(Scheme::Ed25519, [seed; 32])
    }

    fn party(seed: u8) -> Party {
        Party {
            name: format!("O=Party {seed}, L=London, C=GB").parse().unwrap(),
            key: pair(seed).public().clone(),
        }
    }

    fn state(byte: u8) -> StateRef {
        StateRef::new(TxId::from_array([byte; 32]), 0)
    }

    /// Returns a transaction of a notary that consumes a state. Transactions with different `salt` differ.
    fn consuming(input: StateRef, notary: u8, salt: u8) -> SignedTransaction {
        let contract: ContractName = "tally.test".parse().unwrap();
        let state = TransactionState {
            data: vec![salt],
            contract: contract.clone(),
            notary: party(notary),
            encumbrance: None,
            constraint: Constraint::AlwaysAccept,
        };
        let consumed = StateAndRef {
            state: state.clone(),
            reference: input,
        };
        let builder = TransactionBuilder::new(party(notary))
            .input(consumed)
            .output(state)
            .command(contract, Vec::new(), vec![pair(9).public().clone()]);
        let wire = builder.build([salt; 32]).unwrap();
        SignedTransaction::new(wire, [])
    }

    fn notarised(transaction: SignedTransaction, by: u8) -> SignedTransaction {
        let signature = TransactionSignature::sign_batch(&[transaction.id()], &pair(by));
        transaction.with(signature[0].clone())
    }

    #[test]
    fn proves_two_consumers_of_a_state_and_nothing_else() {
        let mut checker = SignatureChecker::new();
        let one = notarised(consuming(state(1), 5, 1), 5);
        let two = notarised(consuming(state(1), 5, 2), 5);
        let proof = EquivocationProof::of(&one, &two);
        let decoded = EquivocationProof::from_bytes(&proof.to_bytes()).unwrap();
        let found = decoded.verify(&mut checker).unwrap();
        assert_eq!(found.notary, party(5));
        assert_eq!(found.transactions, [one.id(), two.id()]);
        assert_eq!(found.states, [state(1)]);

        let other_state = notarised(consuming(state(2), 5, 3), 5);
        let other_notary = notarised(consuming(state(1), 6, 4), 6);
        let unsigned = consuming(state(1), 5, 5);
        let by_another = notarised(consuming(state(1), 5, 6), 6);
        let alone = consuming(state(1), 5, 7).signed_by(&pair(5));
        for (what, second, code) in [
            ("the same", &one, "notary.no_equivocation"),
            ("another state", &other_state, "notary.no_equivocation"),
            ("another notary", &other_notary, "notary.no_equivocation"),
            ("unsigned", &unsigned, "notary.no_equivocation"),
            ("another signer", &by_another, "notary.no_equivocation"),
            ("signed as a party", &alone, "notary.no_equivocation"),
        ] {
            let error = EquivocationProof::of(&one, second).verify(&mut checker);
            assert_eq!(error.unwrap_err().code(), code, "{what}");
        }
    }
}
