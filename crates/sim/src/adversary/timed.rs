//! The flow whose transactions have a time window: one that is open now, or one in which no transaction can be notarised.

use finance::flows::TokenArgs;
use finance::{IssuedToken, Portion, cash_builder};
use flow::library::{build_and_sign, finality, window_of_ms};
use flow::{Flow, FlowContext, FlowError};
use ledger::{SelectionRequest, TimeWindow, TxId};
use primitives::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::stories::Steps;

/// Length of a window that opens now, in milliseconds.
const WINDOW_MS: u64 = 20_000;
/// The error of a notary that refuses a window that is not open.
const REFUSED: &str = "notary.time_window_invalid";
/// Attempts with a window that opens now, and the pause between them in milliseconds. They repeat because this node's clock may
/// be wrong for a while.
const ATTEMPTS_MAX: u32 = 30;
const AGAIN_MS: u64 = 700;
/// The flow's wait for cash, in milliseconds.
const DEADLINE_MS: u64 = 600_000;

/// A payment of a node to itself, with its time window.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TimedArgs {
    /// The cash.
    pub token: TokenArgs,
    /// Start of the window, if it does not open at once.
    pub from: Option<Timestamp>,
    /// End of the window. If both are `None`, the window opens now.
    pub until: Option<Timestamp>,
}

primitives::record!(TimedArgs { token, from, until });

/// Pays cash to its own node within a window. Returns the transaction, or none if the requested window was refused.
#[derive(Debug)]
pub struct Timed;

impl Flow for Timed {
    const NAME: &'static str = "sim.timed";
    const VERSION: u32 = 1;
    type Args = TimedArgs;
    type Output = Steps;

    async fn run(ctx: FlowContext, args: TimedArgs) -> Result<Steps, FlowError> {
        let unknown = || FlowError::new("sim.unknown", "no such issuer", "");
        let issuer = args.token.issuer.as_ref().ok_or_else(unknown)?;
        let token = IssuedToken {
            issuer: ctx.party(&issuer.party_id())?.clone(),
            reference: args.token.reference.clone().unwrap_or_default(),
            currency: args.token.currency,
        };
        let notary = ctx.notary()?.clone();
        let request = SelectionRequest {
            token: token.id(),
            quantity: 1,
            notary: Some(notary.id()),
            deadline_ms: DEADLINE_MS,
        };
        let coins = ctx.select_states(request).await?;
        let me = ctx.me().key.clone();
        let portion = Portion {
            owner: me.clone(),
            quantity: 1,
            states: 1,
        };
        let mut attempt = 0;
        loop {
            let portions = std::slice::from_ref(&portion);
            let spending = cash_builder::pay(notary.clone(), &coins, portions, &me)?;
            let window = match (args.from, args.until) {
                (Some(from), _) => TimeWindow::from(from),
                (None, Some(until)) => TimeWindow::until(until),
                (None, None) => window_of_ms(&ctx, WINDOW_MS),
            };
            let builder = spending.builder.time_window(window);
            let signed = build_and_sign(&ctx, builder, &spending.owners).await?;
            let id: TxId = signed.id();
            let ended = finality(&ctx, signed, &[]).await;
            let fixed = args.from.is_some() || args.until.is_some();
            match ended {
                Ok(_) => return Ok(Steps(vec![id])),
                Err(error) if error.code == REFUSED && fixed => return Ok(Steps(Vec::new())),
                Err(error) if error.code == REFUSED && attempt < ATTEMPTS_MAX => {
                    ctx.sleep_ms(AGAIN_MS).await?;
                    attempt += 1;
                }
                Err(error) => return Err(error),
            }
        }
    }
}
