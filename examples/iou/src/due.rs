//! Settles an IOU on its due date.

use flow::{Flow, FlowContext, FlowError};
use ledger::StateRef;

use crate::contract::SETTLE_DUE;
use crate::flows::{IouResult, SettleIou, SettleIouArgs, iou_of, no_iou};

/// Pays all that is still owed. IOUs schedule it themselves; its argument is the IOU.
#[derive(Debug)]
pub struct SettleDue;

impl Flow for SettleDue {
    const NAME: &'static str = SETTLE_DUE;
    const VERSION: u32 = 1;
    type Args = StateRef;
    type Output = Option<IouResult>;
    const STEPS: &'static [&'static str] =
        &["selecting cash", "verifying", "notarising", "recording"];

    async fn run(ctx: FlowContext, state: StateRef) -> Result<Option<IouResult>, FlowError> {
        let made = ctx.transaction(&state.tx).await?.ok_or_else(no_iou)?;
        let (_, iou) = iou_of(&made)?;
        // Every participant's node starts this flow; only the borrower pays.
        if iou.borrower != *ctx.me() {
            return Ok(None);
        }
        let all = SettleIouArgs {
            transaction: state.tx,
            quantity: None,
        };
        ctx.sub_flow::<SettleIou>(all).await.map(Some)
    }
}
