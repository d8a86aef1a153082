//! `ledger.prove_key`: proves to one other party that a fresh key is this node's.

use ledger::LegalName;
use primitives::PublicKey;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::UNKNOWN_PARTY;
use crate::library::{ANSWER_MS_MAX, request_key};
use crate::{Deadline, Flow, FlowContext, FlowError, FlowRegistry, Responder, Session};

/// Registers the flow and its responder.
pub fn register_flows(registry: &mut FlowRegistry) {
    registry.register::<ProveKey>();
    registry.register_responder::<LearnsKey>();
}

/// Arguments of `ledger.prove_key`. Encoded as an array of the fields in their order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProveKeyArgs {
    /// The fresh key, such as `ed25519:` and its digits.
    pub key: PublicKey,
    /// The party that learns that it is this node's.
    pub to: LegalName,
}

primitives::record!(ProveKeyArgs { key, to });

/// Proves a fresh key to a party that needs to know its owner, for example the issuer of a paper that the key holds. Returns the
/// key.
#[derive(Debug)]
pub struct ProveKey;

impl Flow for ProveKey {
    const NAME: &'static str = "ledger.prove_key";
    const VERSION: u32 = 1;
    type Args = ProveKeyArgs;
    type Output = PublicKey;
    const STEPS: &'static [&'static str] = &["proving"];

    async fn run(ctx: FlowContext, args: ProveKeyArgs) -> Result<PublicKey, FlowError> {
        let party = ctx.network().by_name(&args.to).ok_or_else(|| {
            let text = format!("the network map does not list {}", args.to);
            FlowError::listed(&UNKNOWN_PARTY, text)
        })?;
        let party = party.id();
        ctx.progress("proving");
        let proof = ctx.prove_key(&args.key, &party).await?;
        let session = ctx.open_session(&party)?;
        // The other side confirms the key, so that this flow fails if the proof was refused.
        let wait = Deadline::AfterMs(ANSWER_MS_MAX);
        let learnt = session.send_and_receive(&proof);
        ctx.within(wait, "the answer to a proof", learnt).await
    }
}

/// The other side: checks the proof and remembers the owner of the key.
#[derive(Debug)]
pub struct LearnsKey;

impl Responder for LearnsKey {
    const NAME: &'static str = ProveKey::NAME;
    const VERSION: u32 = 1;

    async fn run(ctx: FlowContext, session: Session) -> Result<(), FlowError> {
        let key = request_key(&ctx, &session).await?;
        session.send(&key).await
    }
}
