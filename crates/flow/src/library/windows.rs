//! Time windows of transactions that others sign: how long they are open, and when they can no longer become final.

use ledger::{TimeWindow, WireTransaction};
use primitives::Timestamp;

use crate::{Deadline, FlowContext};

/// Maximum time for one answer of a counterparty, in milliseconds. It is also the length of the time window of a transaction
/// that is proposed to a counterparty.
pub const ANSWER_MS_MAX: u64 = 300_000;

/// Maximum time that a flow without commitments waits for a proposal, and then for its back chain, in milliseconds.
pub const PROPOSAL_MS_MAX: u64 = 900_000;

/// Time after the end of a window, by this node's clock, during which the notary may still sign, in milliseconds. It covers the
/// difference of the clocks, and the time that a request which arrived inside the window waits in the notary's queue. The inputs
/// of a transaction stay locked for this long after its window.
pub const NOTARY_ALLOWANCE_MS: u64 = 60_000;

/// Returns the window for a transaction that is about to be proposed to others: open from now on, for [`ANSWER_MS_MAX`].
pub fn window_for_answers(ctx: &FlowContext) -> TimeWindow {
    window_of_ms(ctx, ANSWER_MS_MAX)
}

/// Returns a window that is open from now on, for this many milliseconds.
pub fn window_of_ms(ctx: &FlowContext, ms: u64) -> TimeWindow {
    let end = ctx.now().plus_ms(ms);
    // A window beyond the end of time does not end.
    TimeWindow::until(end.unwrap_or(Timestamp::MAX))
}

/// Returns the deadline of a wait that keeps the inputs of a transaction locked: the time at which the window has ended for the
/// notary as well. `None` if the window has no end. Then the transaction can be notarised at any time, and its inputs must stay
/// locked.
pub fn until_void(transaction: &WireTransaction) -> Option<Deadline> {
    let end = transaction.time_window().and_then(TimeWindow::end)?;
    let void = end.plus_ms(NOTARY_ALLOWANCE_MS);
    // A window that ends so late keeps its inputs locked until the end of time.
    Some(Deadline::At(void.unwrap_or(Timestamp::MAX)))
}
