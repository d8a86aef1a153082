//! A member that opens as many sessions as it can, sends no message on them, and leaves after a while.

use flow::{Flow, FlowContext, FlowError, Responder, Session};
use ledger::LegalName;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Sessions of one swarm. This exceeds a peer's share of [`RESPONDERS_MAX`].
pub const SESSIONS: u64 = 240;
/// Responders that a node with small limits admits.
pub const RESPONDERS_MAX: usize = 400;

/// The arguments of a swarm.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SwarmArgs {
    /// The victim.
    pub around: LegalName,
    /// Number of sessions.
    pub sessions: u64,
    /// Duration of the sessions, in milliseconds.
    pub ms: u64,
}

primitives::record!(SwarmArgs {
    around,
    sessions,
    ms
});

/// Opens sessions and sends no message on them. Returns the number of sessions, admitted or not.
#[derive(Debug)]
pub struct Swarm;

impl Flow for Swarm {
    const NAME: &'static str = "sim.swarm";
    const VERSION: u32 = 1;
    type Args = SwarmArgs;
    type Output = u64;

    async fn run(ctx: FlowContext, args: SwarmArgs) -> Result<u64, FlowError> {
        let unknown = || FlowError::new("sim.unknown", "no such party", "");
        let victim = ctx.network().by_name(&args.around).ok_or_else(unknown)?;
        let victim = victim.id();
        let mut sessions = Vec::new();
        for _ in 0..args.sessions {
            sessions.push(ctx.open_session(&victim)?);
        }
        ctx.sleep_ms(args.ms).await?;
        Ok(sessions.len() as u64)
    }
}

/// The victim's side. It waits for a message that never comes.
#[derive(Debug)]
pub struct Swarmed;

impl Responder for Swarmed {
    const NAME: &'static str = Swarm::NAME;
    const VERSION: u32 = 1;

    async fn run(_ctx: FlowContext, session: Session) -> Result<(), FlowError> {
        session.receive::<u64>().await.map(drop)
    }
}
