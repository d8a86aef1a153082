//! The second stage of verification: the signatures.
//!
//! [`SignedTransaction::check_signatures`] decides everything but the cryptography and lists the checks that remain; the
//! caller runs them, gathered with those of other transactions, and concludes with the verdicts.

use std::collections::BTreeSet;

use primitives::{Coded, PublicKey, SignatureChecker, SignedMessage};
use thiserror::Error;

use crate::{BatchProofError, SignedTransaction, TxId, errors};

/// Reasons why a transaction's signatures are refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SignatureError {
    /// Required signatures are missing.
    #[error("transaction {id} lacks signatures that fulfil {}", list(.keys))]
    Missing {
        /// The transaction.
        id: TxId,
        /// The required keys that are not fulfilled.
        keys: Vec<PublicKey>,
    },
    /// A signature by a key that is not required.
    #[error("transaction {id} carries a signature by {key}, which is not required")]
    Superfluous {
        /// The transaction.
        id: TxId,
        /// The key.
        key: PublicKey,
    },
    /// A signature is not its key's on this transaction.
    #[error("the signature by {key} on transaction {id} is not valid")]
    Bad {
        /// The transaction.
        id: TxId,
        /// The key.
        key: PublicKey,
    },
    /// A signature over a batch by a key that is not the notary's.
    #[error(
        "the signature by {key} on transaction {id} covers a batch, but the key is not the notary's"
    )]
    BatchNotByNotary {
        /// The transaction.
        id: TxId,
        /// The key.
        key: PublicKey,
    },
    /// A batch proof leads nowhere.
    #[error(transparent)]
    BatchProof(#[from] BatchProofError),
}

fn list(keys: &[PublicKey]) -> String {
    let shown: Vec<String> = keys.iter().take(5).map(ToString::to_string).collect();
    let more = if keys.len() > shown.len() {
        ", ..."
    } else {
        ""
    };
    format!("{}{more}", shown.join(", "))
}

impl Coded for SignatureError {
    fn code(&self) -> &'static str {
        match self {
            SignatureError::Missing { .. } => "tx.signature_missing",
            SignatureError::Superfluous { .. } => "tx.signature_superfluous",
            SignatureError::Bad { .. } => "tx.signature_bad",
            SignatureError::BatchNotByNotary { .. } => "tx.batch_not_by_notary",
            SignatureError::BatchProof(error) => error.code(),
        }
    }

    fn hint(&self) -> &'static str {
        errors::action(self.code())
    }
}

/// The signatures of a transaction that come from the required keys, with the cryptographic checks that are still to run. Pass
/// their results to [`conclude`](Self::conclude).
#[derive(Clone, Debug)]
#[must_use = "the signatures are not checked yet"]
pub struct PendingSignatures {
    id: TxId,
    messages: Vec<SignedMessage>,
    missing: Vec<PublicKey>,
}

/// Proof that the signatures of a transaction are valid, and that no signature is missing except those that were allowed to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckedSignatures {
    id: TxId,
    missing: Vec<PublicKey>,
}

impl CheckedSignatures {
    /// Returns the transaction.
    pub fn id(&self) -> TxId {
        self.id
    }

    /// Returns the required keys whose signatures are still missing.
    pub fn missing(&self) -> &[PublicKey] {
        &self.missing
    }
}

impl PendingSignatures {
    /// Returns the checks to run.
    pub fn messages(&self) -> &[SignedMessage] {
        &self.messages
    }

    /// Takes the results of the checks, in the order of [`messages`](Self::messages). A missing result counts as an invalid
    /// signature.
    pub fn conclude(self, verdicts: &[bool]) -> Result<CheckedSignatures, SignatureError> {
        let mut verdicts = verdicts.iter();
        for message in &self.messages {
            if verdicts.next() != Some(&true) {
                return Err(SignatureError::Bad {
                    id: self.id,
                    key: message.key.clone(),
                });
            }
        }
        Ok(CheckedSignatures {
            id: self.id,
            missing: self.missing,
        })
    }

    /// Runs the checks of this transaction as one batch, and concludes.
    pub fn check_with(
        self,
        checker: &mut SignatureChecker,
    ) -> Result<CheckedSignatures, SignatureError> {
        let verdicts = checker.check_batch(&self.messages);
        self.conclude(&verdicts)
    }
}

impl SignedTransaction {
    /// Checks that the right keys signed. The keys that signed must fulfil every required key that is not in `missing_allowed`.
    /// A required key in that list may be fulfilled in part or not at all. No key may have signed that is not part of a
    /// required one. Signers of commands sign this transaction alone, and the notary signs a batch. Neither signature counts as
    /// the other, even if the key is the same.
    pub fn check_signatures(
        &self,
        missing_allowed: &[PublicKey],
    ) -> Result<PendingSignatures, SignatureError> {
        let id = self.id();
        let wire = self.wire();
        // A key may sign if a command requires it, or a composite key that contains it.
        let signers = wire.command_signers();
        let mut parts = BTreeSet::new();
        for composite in signers.iter().filter(|key| key.scheme().is_none()) {
            parts.extend(composite.leaf_keys());
        }
        let is_welcome = |key: &PublicKey| {
            let is_simple = key.scheme().is_some();
            (is_simple && signers.binary_search(&key).is_ok()) || parts.contains(key)
        };
        let mut messages = Vec::with_capacity(self.signatures().len());
        for signature in self.signatures() {
            let key = &signature.by;
            let by_notary = wire.notary_key().is_some_and(|n| is_part_of(key, n));
            let key = || key.clone();
            match signature.batch {
                Some(_) if by_notary => {}
                Some(_) => return Err(SignatureError::BatchNotByNotary { id, key: key() }),
                None if is_welcome(&signature.by) => {}
                None => return Err(SignatureError::Superfluous { id, key: key() }),
            }
            messages.push(signature.signed_message(&id)?);
        }
        let missing = self.missing_signers();
        let keys: Vec<PublicKey> = missing
            .iter()
            .filter(|key| !missing_allowed.contains(key))
            .cloned()
            .collect();
        if !keys.is_empty() {
            return Err(SignatureError::Missing { id, keys });
        }
        Ok(PendingSignatures {
            id,
            messages,
            missing,
        })
    }
}

fn is_part_of(key: &PublicKey, whole: &PublicKey) -> bool {
    key == whole || (whole.scheme().is_none() && whole.leaf_keys().contains(key))
}
