//! The state: who owes whom how much.

use finance::IssuedToken;
use ledger::Party;
use primitives::{Hash, Timestamp};

/// An IOU. Encoded as an array of its fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Iou {
    /// The same in every version of one IOU.
    pub id: Hash,
    /// Who is owed.
    pub lender: Party,
    /// Who owes.
    pub borrower: Party,
    /// The cash it is settled in.
    pub token: IssuedToken,
    /// How much is still owed, in minor units.
    pub quantity: u64,
    /// When the borrower's node pays what is owed then, by itself.
    pub due: Option<Timestamp>,
}

primitives::record!(Iou {
    id,
    lender,
    borrower,
    token,
    quantity,
    due
});
