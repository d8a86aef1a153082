//! `ledger.upgrade`: moves states to newer code.

use ledger::limits::INPUTS_AND_REFERENCES_MAX;
use ledger::{StateRef, Transition, TransitionGoal};
use primitives::{Decode, DecodeError, Decoder, Encode, Encoder, Hash};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::moving::{CONVERSATION, Moved, move_states, respond};
use crate::{Flow, FlowContext, FlowError, Responder, Session};

/// Arguments of `ledger.upgrade`. Encoded as an array of the fields in their order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UpgradeArgs {
    /// The states, all of one notary: `{"tx": ..., "index": ...}`. The first determines their current code. States that
    /// encumber them move along.
    pub states: Vec<StateRef>,
    /// The hash of the new code's descriptor.
    pub to: Hash,
}

impl Encode for UpgradeArgs {
    fn encode(&self, e: &mut Encoder) {
        e.array(2);
        self.states.encode(e);
        self.to.encode(e);
    }
}

impl Decode for UpgradeArgs {
    fn decode(d: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        d.expect_array(2)?;
        Ok(Self {
            states: d.vec_of(INPUTS_AND_REFERENCES_MAX)?,
            to: Hash::decode(d)?,
        })
    }
}

/// Moves states to newer code. Every party that the states concern has to sign.
#[derive(Debug)]
pub struct Upgrade;

impl Flow for Upgrade {
    const NAME: &'static str = "ledger.upgrade";
    const VERSION: u32 = 2;
    type Args = UpgradeArgs;
    type Output = Moved;
    const STEPS: &'static [&'static str] = &[
        "locking",
        "planning",
        "collecting signatures",
        "verifying",
        "notarising",
        "recording",
    ];

    async fn run(ctx: FlowContext, args: UpgradeArgs) -> Result<Moved, FlowError> {
        move_states(&ctx, args.states, TransitionGoal::Code(args.to)).await
    }
}

/// Signs an upgrade that this node's operator has authorised.
#[derive(Debug)]
pub struct UpgradeResponder;

impl Responder for UpgradeResponder {
    const NAME: &'static str = Upgrade::NAME;
    const VERSION: u32 = CONVERSATION;

    async fn run(ctx: FlowContext, session: Session) -> Result<(), FlowError> {
        respond(&ctx, &session, |transition| {
            matches!(transition, Transition::Upgrade { .. })
        })
        .await
    }
}
