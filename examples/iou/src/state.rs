//! The state: lender, borrower and amount.

use finance::IssuedToken;
use ledger::Party;
use primitives::{Hash, Timestamp};

/// An IOU. Encoded as an array of its fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Iou {
    /// The same in every version of one IOU.
    pub id: Hash,
    /// The creditor.
    pub lender: Party,
    /// The debtor.
    pub borrower: Party,
    /// The cash it is settled in.
    pub token: IssuedToken,
    /// How much is still owed, in minor units.
    pub quantity: u64,
    /// Time at which the borrower's node pays the remaining debt automatically.
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
