//! A part of a back chain whose signatures are being checked.

use std::collections::VecDeque;
use std::sync::Arc;

use ledger::{PartyId, Rejection, SignedTransaction};

/// The oldest transactions of a chain that are not recorded yet.
#[derive(Debug)]
pub(super) struct ChainPart {
    /// The transactions, oldest first, with the verdicts on their signatures.
    transactions: VecDeque<(Arc<SignedTransaction>, Option<bool>)>,
    /// The number of verdicts that are still to come.
    open: usize,
    /// The fault of the transaction after these, if its signatures cannot be checked.
    pub(super) fault: Option<Rejection>,
    /// Nothing is left of the chain after this.
    pub(super) is_last: bool,
}

impl ChainPart {
    /// Creates a part without a transaction.
    pub(super) fn new(is_last: bool) -> Self {
        Self {
            transactions: VecDeque::new(),
            open: 0,
            fault: None,
            is_last,
        }
    }

    /// Returns the place of the next transaction.
    pub(super) fn next_place(&self) -> usize {
        self.transactions.len()
    }

    /// Adds a transaction. Its verdict comes later if it has checks, otherwise its signatures are known to be good.
    pub(super) fn push(&mut self, transaction: SignedTransaction, has_checks: bool) {
        self.open += usize::from(has_checks);
        let verdict = (!has_checks).then_some(true);
        self.transactions
            .push_back((Arc::new(transaction), verdict));
    }

    /// Notes the verdict on the signatures of a transaction.
    pub(super) fn note(&mut self, place: usize, is_good: bool) {
        let Some((_, verdict)) = self.transactions.get_mut(place) else {
            return;
        };
        assert_eq!(*verdict, None, "each transaction has one verdict");
        *verdict = Some(is_good);
        self.open -= 1;
    }

    /// Returns whether all verdicts are known.
    pub(super) fn is_checked(&self) -> bool {
        self.open == 0
    }

    /// Takes the next transaction, and whether its signatures are good.
    pub(super) fn pop(&mut self) -> Option<(Arc<SignedTransaction>, bool)> {
        assert!(
            self.is_checked(),
            "a transaction is taken before its verdict"
        );
        let (transaction, verdict) = self.transactions.pop_front()?;
        Some((transaction, verdict == Some(true)))
    }
}

/// A part of a chain that is recorded in this round. Its signatures are checked.
#[derive(Debug)]
pub(super) struct Verifying {
    pub(super) number: u64,
    pub(super) peer: PartyId,
    pub(super) part: ChainPart,
}
