//! Alarms: linear states that schedule a flow, which makes their next version or ends them.

use std::sync::{Arc, OnceLock};

use flow::{Flow, FlowContext, FlowError, Responder, Session};
use ledger::{
    Constraint, Contract, ContractName, ContractRegistry, ContractRejection, LedgerTransaction,
    PartyId, Scheduled, SignedTransaction, StateAndRef, StateFacts, StateRef, TransactionBuilder,
    TransactionSignature,
};
use primitives::{Decode, DecodeError, Encode, Hash, PublicKey, SignatureContext, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An alarm.
#[derive(Clone, Debug)]
pub struct Alarm {
    pub id: Hash,
    pub owner: PublicKey,
    /// The time at which it rings. `None` means never.
    pub at: Option<Timestamp>,
    pub flow: String,
    /// The number of further times that it rings.
    pub again: u64,
}

primitives::record!(Alarm {
    id,
    owner,
    at,
    flow,
    again
});

/// Accepts everything.
pub struct AlarmContract;

pub fn alarm_name() -> &'static ContractName {
    static NAME: OnceLock<ContractName> = OnceLock::new();
    NAME.get_or_init(|| ContractName::new("test.alarm").expect("a name"))
}

fn code() -> (Hash, Constraint) {
    let mut registry = ContractRegistry::new();
    registry.register(Arc::new(AlarmContract)).expect("one");
    registry.current(alarm_name()).expect("registered")
}

impl Contract for AlarmContract {
    fn name(&self) -> &str {
        alarm_name().as_str()
    }

    fn version(&self) -> u32 {
        1
    }

    fn verify(&self, _: &LedgerTransaction) -> Result<(), ContractRejection> {
        Ok(())
    }

    fn describe(&self, data: &[u8]) -> Result<StateFacts, DecodeError> {
        let alarm = Alarm::from_bytes(data)?;
        Ok(StateFacts {
            participants: vec![alarm.owner],
            linear_id: Some(alarm.id),
            scheduled: alarm.at.map(|at| Scheduled {
                at,
                flow: alarm.flow,
            }),
            ..StateFacts::default()
        })
    }
}

/// Arguments of [`SetAlarm`].
#[derive(Serialize, Deserialize, JsonSchema)]
pub struct SetArgs {
    /// The time until it rings, in milliseconds.
    pub in_ms: u64,
    pub flow: String,
    pub again: u64,
    /// The number of alarms.
    pub count: u64,
}

primitives::record!(SetArgs {
    in_ms,
    flow,
    again,
    count
});

/// Sets alarms.
pub struct SetAlarm;

impl Flow for SetAlarm {
    const NAME: &'static str = "test.set";
    const VERSION: u32 = 1;
    type Args = SetArgs;
    type Output = u64;

    async fn run(ctx: FlowContext, args: SetArgs) -> Result<u64, FlowError> {
        let at = Timestamp::from_ms(ctx.now().as_ms() + args.in_ms);
        let mut alarms = Vec::new();
        for number in 0..args.count {
            alarms.push(Alarm {
                id: Hash::from_bytes(ctx.random32()?),
                owner: ctx.me().key.clone(),
                at: Some(Timestamp::from_ms(at.as_ms() + number)),
                flow: args.flow.clone(),
                again: args.again,
            });
        }
        put(&ctx, None, alarms).await?;
        Ok(args.count)
    }
}

/// Takes an alarm away.
pub struct Unset;

impl Flow for Unset {
    const NAME: &'static str = "test.unset";
    const VERSION: u32 = 1;
    type Args = StateRef;
    type Output = u64;

    async fn run(ctx: FlowContext, alarm: StateRef) -> Result<u64, FlowError> {
        let states = ctx.lock_states(vec![alarm]).await?;
        put(&ctx, states.first(), Vec::new()).await?;
        Ok(1)
    }
}

/// The flow that a scheduled alarm starts. It makes the alarm's next version while rings remain.
pub struct Ring;

impl Flow for Ring {
    const NAME: &'static str = "test.ring";
    const VERSION: u32 = 1;
    type Args = StateRef;
    type Output = u64;

    async fn run(ctx: FlowContext, alarm: StateRef) -> Result<u64, FlowError> {
        let states = ctx.lock_states(vec![alarm]).await?;
        let old = Alarm::from_bytes(&states[0].state.data)?;
        let left = old.again;
        let next = Alarm {
            at: old.at.filter(|_| left > 0).and_then(|at| at.plus_ms(1_000)),
            again: left.saturating_sub(1),
            ..old
        };
        put(&ctx, states.first(), vec![next]).await?;
        Ok(left)
    }
}

/// Arguments of [`Refer`].
#[derive(Serialize, Deserialize, JsonSchema)]
pub struct ReferArgs {
    /// The node that owns the alarm.
    pub node: u64,
    /// The id of the alarm.
    pub id: Hash,
    /// This version, whether it is the newest or not.
    #[serde(default)]
    pub known: Option<StateRef>,
    /// The node that gets a silent alarm.
    pub to: u64,
}

primitives::record!(ReferArgs {
    node,
    id,
    known,
    to
});

/// Makes an alarm for a third node, referring to an alarm of a second one.
pub struct Refer;

impl Flow for Refer {
    const NAME: &'static str = "test.refer";
    const VERSION: u32 = 1;
    type Args = ReferArgs;
    type Output = StateRef;

    async fn run(ctx: FlowContext, args: ReferArgs) -> Result<StateRef, FlowError> {
        let reference = match args.known {
            Some(known) => known,
            None => {
                let session = ctx.open_session(&super::flows::name(args.node).party_id())?;
                session.send(&args.id).await?;
                flow::library::receive_state(&ctx, &session)
                    .await?
                    .reference
            }
        };
        let to = ctx.network().by_name(&super::flows::name(args.to));
        let to = to.expect("a node").clone();
        let silent = Alarm {
            id: Hash::from_bytes(ctx.random32()?),
            owner: to.key.clone(),
            at: None,
            flow: String::new(),
            again: 0,
        };
        let draft = draft(&ctx)?.reference(reference);
        finish(&ctx, draft, vec![silent], &[to.id()]).await?;
        Ok(reference)
    }
}

/// The responder of [`Refer`].
pub struct Shows;

impl Responder for Shows {
    const NAME: &'static str = "test.refer";
    const VERSION: u32 = 1;

    async fn run(ctx: FlowContext, session: Session) -> Result<(), FlowError> {
        let id: Hash = session.receive().await?;
        let versions = ctx.linear(alarm_name(), &id).await?;
        match versions.first() {
            Some(newest) => flow::library::show_state(&ctx, &session, &newest.reference).await,
            None => Err(FlowError::new("test.no_alarm", "no such alarm", "set one")),
        }
    }
}

fn draft(ctx: &FlowContext) -> Result<TransactionBuilder, FlowError> {
    let signers = vec![ctx.me().key.clone()];
    Ok(TransactionBuilder::new(ctx.notary()?.clone())
        .attachment(code().0)
        .command(alarm_name().clone(), Vec::new(), signers)
        .parameters(ctx.network().parameters_hash()))
}

async fn put(
    ctx: &FlowContext,
    input: Option<&StateAndRef>,
    alarms: Vec<Alarm>,
) -> Result<(), FlowError> {
    let mut builder = draft(ctx)?;
    if let Some(input) = input {
        builder = builder.input(input);
    }
    finish(ctx, builder, alarms, &[]).await
}

async fn finish(
    ctx: &FlowContext,
    mut builder: TransactionBuilder,
    alarms: Vec<Alarm>,
    to: &[PartyId],
) -> Result<(), FlowError> {
    let (_, constraint) = code();
    let me = ctx.me().key.clone();
    for alarm in alarms {
        builder = builder.output_data(alarm_name().clone(), constraint.clone(), alarm.to_bytes());
    }
    let wire = builder.build(ctx.random32()?)?;
    let context = SignatureContext::Transaction;
    let signature = ctx.sign(&me, context, wire.id().hash()).await?;
    let signature = TransactionSignature {
        by: me,
        signature,
        batch: None,
    };
    let signed = SignedTransaction::new(wire, vec![signature]);
    flow::library::finality(ctx, signed, to).await?;
    Ok(())
}
