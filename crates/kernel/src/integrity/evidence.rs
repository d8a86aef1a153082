//! The proof that this node's data is an older copy.

use std::cmp::Ordering;

use ledger::{DataMark, PartyId, TxId};
use primitives::{Timestamp, record, variants};

/// Something that this node has signed and that its data does not justify.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// A data mark of a life, or of a number, that the data does not have.
    Mark(DataMark),
    /// A transaction that this notary has signed and does not know.
    Notarised(TxId),
}

variants!(Evidence { 0 => Mark(mark), 1 => Notarised(transaction) });

/// The row that keeps a node stopped over restarts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RollbackRow {
    /// The proof.
    pub evidence: Evidence,
    /// The peer that showed it.
    pub shown_by: PartyId,
    /// The time of that.
    pub at: Timestamp,
    /// The ordinal of the node's life then.
    pub ordinal: u64,
    /// The number that its data had reached then.
    pub number: u64,
    /// The time at which the last transaction was recorded in the copy.
    pub data_until: Timestamp,
    /// The highest ordinal of all marks shown since.
    pub highest: u64,
}

impl RollbackRow {
    /// Describes the proof, and the difference between it and this node's data.
    #[must_use]
    pub fn describe(&self) -> String {
        let mark = match &self.evidence {
            Evidence::Mark(mark) => mark,
            Evidence::Notarised(id) => {
                return format!(
                    "this notary's signature on transaction {id}, which its data does not contain"
                );
            }
        };
        let (ordinal, number) = (self.ordinal, self.number);
        let difference = match mark.ordinal.cmp(&ordinal) {
            Ordering::Greater => format!("the data has not got further than life {ordinal}"),
            // A mark of the present life is never ahead of the data, so this one is of another life.
            Ordering::Equal => format!(
                "another start made that life {ordinal}: this data was copied before it, and began a life {ordinal} of its own"
            ),
            Ordering::Less => format!(
                "the life {} of this data is another one, or ended before that number",
                mark.ordinal
            ),
        };
        format!(
            "this node's signed mark of life {} at {}, and the data is in life {ordinal} at {number}: {difference}",
            mark.ordinal, mark.number
        )
    }
}

record!(RollbackRow {
    evidence,
    shown_by,
    at,
    ordinal,
    number,
    data_until,
    highest
});

#[cfg(test)]
mod tests {
    use primitives::{Hash, KeyPair, Scheme};

    use super::*;

    #[test]
    fn the_difference_between_mark_and_data_is_named() {
        let key = KeyPair::from_seed(Scheme::Ed25519, [1; 32]);
        let peer = PartyId::from_hash(Hash::ZERO);
        for (life, number, expected) in [
            (4, 12, "the data has not got further than life 3"),
            (3, 10, "another start made that life 3"),
            (2, 9, "the life 2 of this data is another one"),
        ] {
            let row = RollbackRow {
                evidence: Evidence::Mark(DataMark::sign(&peer, life, [7; 16], number, &key)),
                shown_by: peer,
                at: Timestamp::EPOCH,
                ordinal: 3,
                number: 10,
                data_until: Timestamp::EPOCH,
                highest: life,
            };
            let text = row.describe();
            let head =
                format!("mark of life {life} at {number}, and the data is in life 3 at 10: ");
            assert!(text.contains(&format!("{head}{expected}")), "{text}");
        }
    }
}
