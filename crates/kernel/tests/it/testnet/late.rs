//! A flow that issues cash later, marked with the time: each run of it makes another issue.

use finance::flows::{IssueArgs, IssueCash};
use finance::{Currency, Reference};
use flow::{Flow, FlowContext, FlowError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Arguments of [`LateIssue`].
#[derive(Serialize, Deserialize, JsonSchema)]
pub struct LateArgs {
    /// The sleep before it begins, in milliseconds.
    pub ms: u64,
    /// The node that gets the cash.
    pub to: u64,
}

primitives::record!(LateArgs { ms, to });

/// Sleeps, then issues 100 to another node under a reference that is the time.
pub struct LateIssue;

impl Flow for LateIssue {
    const NAME: &'static str = "test.late_issue";
    const VERSION: u32 = 1;
    type Args = LateArgs;
    type Output = u64;

    async fn run(ctx: FlowContext, args: LateArgs) -> Result<u64, FlowError> {
        ctx.sleep_ms(args.ms).await?;
        let at = ctx.now().as_ms();
        let reference = Reference::new(at.to_be_bytes().to_vec()).expect("8 bytes");
        let issue = IssueArgs {
            currency: "GBP".parse::<Currency>().expect("a currency"),
            quantity: 100,
            reference: Some(reference),
            outputs: None,
            recipient: Some(super::flows::name(args.to)),
            notary: None,
            anonymous: None,
        };
        ctx.sub_flow::<IssueCash>(issue).await?;
        Ok(at)
    }
}
