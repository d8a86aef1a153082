//! Flows that compute a sum by sending numbers back and forth, so that a message that is lost, repeated or out of order changes
//! the result.

use flow::{Flow, FlowContext, FlowError, Responder, Session};
use ledger::LegalName;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The other party, and the number of rounds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConverseArgs {
    /// The other node.
    pub with: LegalName,
    /// Number of rounds.
    pub rounds: u64,
}

primitives::record!(ConverseArgs { with, rounds });

/// Computes one step of the sum. The order of steps matters.
fn next(sum: u64, number: u64) -> u64 {
    sum.wrapping_mul(31).wrapping_add(number)
}

/// Returns the result of [`Converse`] if nothing goes wrong.
pub fn expected(rounds: u64) -> u64 {
    let mut theirs = 0;
    (0..rounds).fold(0, |ours, number| {
        theirs = next(theirs, number);
        next(ours, theirs)
    })
}

/// Sends numbers and sums up the answers, some in lockstep and some ahead.
#[derive(Debug)]
pub struct Converse;

impl Flow for Converse {
    const NAME: &'static str = "sim.converse";
    const VERSION: u32 = 1;
    type Args = ConverseArgs;
    type Output = u64;

    async fn run(ctx: FlowContext, args: ConverseArgs) -> Result<u64, FlowError> {
        let unknown = || FlowError::new("sim.unknown", "no such party", "");
        let other = ctx.network().by_name(&args.with).ok_or_else(unknown)?.id();
        let session = ctx.open_session(&other)?;
        session.send(&args.rounds).await?;
        let mut ours = 0;
        let mut asked = 0;
        for answered in 0..args.rounds {
            // Keep up to three numbers in flight. Sleep after every fifth answer.
            while asked < args.rounds && asked < answered + 3 {
                session.send(&asked).await?;
                asked += 1;
            }
            if answered % 5 == 4 {
                ctx.sleep_ms(20).await?;
            }
            ours = next(ours, session.receive::<u64>().await?);
        }
        Ok(ours)
    }
}

/// Answers each number with the sum so far.
#[derive(Debug)]
pub struct Echo;

impl Responder for Echo {
    const NAME: &'static str = "sim.converse";
    const VERSION: u32 = 1;

    async fn run(_ctx: FlowContext, session: Session) -> Result<(), FlowError> {
        let rounds = session.receive::<u64>().await?;
        let mut sum = 0;
        for _ in 0..rounds {
            sum = next(sum, session.receive::<u64>().await?);
            session.send(&sum).await?;
        }
        Ok(())
    }
}
