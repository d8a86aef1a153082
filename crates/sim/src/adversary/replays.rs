//! The flow that replays a recorded session under a new session id.

use flow::{Deadline, Flow, FlowContext, FlowError};
use ledger::LegalName;
use primitives::{Decode, DecodeError, Decoder, Encode, Encoder};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Answers that a replay waits for.
const ANSWERS_MAX: usize = 6;
/// Wait for each answer, in milliseconds.
const ANSWER_MS: u64 = 1_500;

/// A recorded session and the party to replay it to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReplayArgs {
    /// The flow that opened the session.
    pub flow: String,
    /// The versions of the flow that the initiator offered.
    pub versions: Vec<u32>,
    /// The party that receives the replay.
    pub with: LegalName,
    /// The initiator's messages, in order.
    pub said: Vec<Vec<u8>>,
}

primitives::record!(ReplayArgs {
    flow,
    versions,
    with,
    said
});

/// A message in its original bytes.
struct Raw(Vec<u8>);

impl Encode for Raw {
    fn encode(&self, e: &mut Encoder) {
        e.raw(&self.0);
    }
}

impl Decode for Raw {
    fn decode(d: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        d.raw().map(|bytes| Self(bytes.to_vec()))
    }
}

/// Sends all messages in one session, then waits for answers for a while.
async fn say(ctx: &FlowContext, args: &ReplayArgs) -> Result<(), FlowError> {
    let session = ctx.open_session_offering(&args.with.party_id(), &args.versions)?;
    for message in &args.said {
        session.send(&Raw(message.clone())).await?;
    }
    for _ in 0..ANSWERS_MAX {
        let wait = Deadline::AfterMs(ANSWER_MS);
        let _: Raw = ctx.within(wait, "an answer", session.receive()).await?;
    }
    Ok(())
}

/// Defines a flow under each name, because a session carries the name of its flow.
macro_rules! impostors {
    ($($impostor:ident as $flow:literal),*) => {
        $(
            struct $impostor;

            impl Flow for $impostor {
                const NAME: &'static str = $flow;
                const VERSION: u32 = 1;
                type Args = ReplayArgs;
                type Output = ();

                async fn run(ctx: FlowContext, args: ReplayArgs) -> Result<(), FlowError> {
                    say(&ctx, &args).await
                }
            }
        )*

        /// Flows whose sessions are replayed, because their responders decide by evidence. Responders of other flows obey every
        /// order, so a replay is an ordinary order to them.
        pub(super) const REPLAYED: &[&str] = &[$($flow),*];

        async fn present(ctx: &FlowContext, args: ReplayArgs) -> Result<(), FlowError> {
            match args.flow.as_str() {
                $($flow => ctx.sub_flow::<$impostor>(args).await,)*
                _ => Ok(()),
            }
        }
    };
}

impostors!(
    Reissues as "cash.reissue",
    Redeems as "paper.redeem",
    Nets as "obligation.net",
    Sells as "trade.sell",
    Swaps as "swap.run",
    ChangesNotary as "ledger.change_notary",
    Upgrades as "ledger.upgrade",
    ProvesKey as "ledger.prove_key"
);

/// Replays a session. The way in which the responder ends it makes no difference.
#[derive(Debug)]
pub(crate) struct Replay;

impl Flow for Replay {
    const NAME: &'static str = "sim.replay";
    const VERSION: u32 = 1;
    type Args = ReplayArgs;
    type Output = ();

    async fn run(ctx: FlowContext, args: ReplayArgs) -> Result<(), FlowError> {
        present(&ctx, args).await
    }
}
