//! Time windows of transactions that others sign: how long they are open, and when nothing can come of them any more.

use ledger::{TimeWindow, WireTransaction};
use primitives::Timestamp;

use crate::{Deadline, FlowContext};

/// How long a counterparty may take for one answer, in milliseconds, and how long the transaction that waits for it can be
/// notarised.
pub const ANSWER_MS_MAX: u64 = 300_000;

/// How long a flow that has promised nothing waits for a proposal, and then for its back chain, in milliseconds.
pub const PROPOSAL_MS_MAX: u64 = 900_000;

/// Time after the end of a window during which the notary may still sign, by this node's clock, in milliseconds: the difference of
/// the clocks, and the time that a request which arrived inside the window waits in the notary's queue. What a transaction consumes
/// stays locked for so long after its window.
pub const NOTARY_ALLOWANCE_MS: u64 = 60_000;

/// The window of a transaction that is about to be proposed to others: open from now on, for [`ANSWER_MS_MAX`].
pub fn window_for_answers(ctx: &FlowContext) -> TimeWindow {
    window_of_ms(ctx, ANSWER_MS_MAX)
}

/// A window that is open from now on, for so many milliseconds.
pub fn window_of_ms(ctx: &FlowContext, ms: u64) -> TimeWindow {
    let end = ctx.now().plus_ms(ms);
    TimeWindow::until(end.unwrap_or(Timestamp::MAX))
}

/// The deadline of a wait that keeps the inputs of a transaction locked: when its window has ended for the notary as well. `None` if
/// it has no end. Then the transaction can be notarised at any time, and nothing may be freed.
pub fn until_void(transaction: &WireTransaction) -> Option<Deadline> {
    let end = transaction.time_window().and_then(TimeWindow::end)?;
    let void = end.plus_ms(NOTARY_ALLOWANCE_MS);
    Some(Deadline::At(void.unwrap_or(Timestamp::MAX)))
}
