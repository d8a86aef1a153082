//! `ledger.change_notary`: moves states to another notary.

use ledger::limits::INPUTS_AND_REFERENCES_MAX;
use ledger::{LegalName, StateRef, Transition, TransitionGoal};
use primitives::{Decode, DecodeError, Decoder, Encode, Encoder};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::moving::{CONVERSATION, Moved, move_states, respond};
use crate::error::{NOT_A_NOTARY, UNKNOWN_PARTY};
use crate::{Flow, FlowContext, FlowError, Responder, Session};

/// Arguments of `ledger.change_notary`. Encoded as an array of the fields in their order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChangeNotaryArgs {
    /// The states, all of one notary: `{"tx": ..., "index": ...}`. States that encumber them move along.
    pub states: Vec<StateRef>,
    /// The new notary.
    pub to: LegalName,
}

impl Encode for ChangeNotaryArgs {
    fn encode(&self, e: &mut Encoder) {
        e.array(2);
        self.states.encode(e);
        self.to.encode(e);
    }
}

impl Decode for ChangeNotaryArgs {
    fn decode(d: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        d.expect_array(2)?;
        Ok(Self {
            states: d.vec_of(INPUTS_AND_REFERENCES_MAX)?,
            to: LegalName::decode(d)?,
        })
    }
}

/// Moves states to another notary. Every party that the states concern has to sign.
#[derive(Debug)]
pub struct ChangeNotary;

impl Flow for ChangeNotary {
    const NAME: &'static str = "ledger.change_notary";
    const VERSION: u32 = 2;
    type Args = ChangeNotaryArgs;
    type Output = Moved;
    const STEPS: &'static [&'static str] = &[
        "locking",
        "planning",
        "collecting signatures",
        "verifying",
        "notarising",
        "recording",
    ];

    async fn run(ctx: FlowContext, args: ChangeNotaryArgs) -> Result<Moved, FlowError> {
        let network = ctx.network();
        let to = network.by_name(&args.to).ok_or_else(|| {
            let text = format!("the network map does not list {}", args.to);
            FlowError::listed(&UNKNOWN_PARTY, text)
        })?;
        if !network.is_notary(&to.id()) {
            let text = format!("{} is no notary of the network", args.to);
            return Err(FlowError::listed(&NOT_A_NOTARY, text));
        }
        let goal = TransitionGoal::Notary(to.clone());
        move_states(&ctx, args.states, goal).await
    }
}

/// Signs a change of notary if this node agrees.
#[derive(Debug)]
pub struct ChangeNotaryResponder;

impl Responder for ChangeNotaryResponder {
    const NAME: &'static str = ChangeNotary::NAME;
    const VERSION: u32 = CONVERSATION;

    async fn run(ctx: FlowContext, session: Session) -> Result<(), FlowError> {
        respond(&ctx, &session, |transition| {
            matches!(transition, Transition::NotaryChange { .. })
        })
        .await
    }
}
