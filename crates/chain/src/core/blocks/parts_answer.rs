//! An answer with parts of an announced block.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::TxId;
use crate::core::limits::ANSWER_BYTES;
use crate::transaction::Carried;

/// The parts of an announced block that a peer sent, compared with the question.
#[derive(Debug)]
pub(super) struct PartsAnswer {
    /// Requested transactions with unchecked signatures, each once.
    pub(super) parts: Vec<Arc<Carried>>,
    /// Requested ids that did not come.
    missing: BTreeSet<TxId>,
    /// Length of the answer, as the peer counts it.
    bytes: usize,
}

impl PartsAnswer {
    /// Returns the empty answer to a question for these ids.
    pub(super) fn new(asked: &[TxId]) -> Self {
        Self {
            parts: Vec::new(),
            missing: asked.iter().copied().collect(),
            bytes: 0,
        }
    }

    /// Adds a transaction that came with a list of ids of this length in bytes. Returns false if it was not requested or has
    /// come already.
    pub(super) fn add(&mut self, part: &Arc<Carried>, list_bytes: usize) -> bool {
        if !self.missing.remove(&part.id) {
            return false;
        }
        self.bytes += part.bytes as usize + list_bytes;
        self.parts.push(part.clone());
        true
    }

    /// Returns whether the peer does not have the rest: requested transactions are missing, although an answer has room for
    /// more.
    pub(super) fn lacks_rest(&self) -> bool {
        !self.missing.is_empty() && self.bytes < ANSWER_BYTES
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pool::tests::Pay;

    #[test]
    fn an_answer_is_compared_with_its_question() {
        let [one, two, other] = [1, 2, 3].map(|amount| {
            Pay {
                amount,
                ..Pay::default()
            }
            .carried()
        });
        let mut answer = PartsAnswer::new(&[one.id, two.id]);
        assert!(answer.lacks_rest(), "an empty one");
        assert!(!answer.add(&other, 0), "not requested");
        assert!(answer.add(&one, 0));
        assert!(!answer.add(&one, 0), "twice");
        assert!(answer.lacks_rest());
        let mut full = PartsAnswer::new(&[one.id, two.id]);
        assert!(full.add(&one, ANSWER_BYTES));
        assert!(!full.lacks_rest(), "no room for more");
        assert!(answer.add(&two, 0));
        assert!(!answer.lacks_rest(), "complete");
        assert_eq!(answer.parts, [one, two]);
    }
}
