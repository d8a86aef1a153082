//! Flows for tests.

use std::cell::Cell;

use super::alarms::{Refer, Ring, SetAlarm, Shows, Unset};
use flow::{Flow, FlowContext, FlowError, FlowRegistry, Responder, Session};
use ledger::{LegalName, StateRef};
use primitives::{Hash, SignatureContext};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

thread_local! {
    /// Whether the code of [`Fickle`] has changed. Each test has its own thread.
    pub static CODE_CHANGED: Cell<bool> = const { Cell::new(false) };
    /// Whether the binary lacks the flow that alarms schedule.
    pub static RING_MISSING: Cell<bool> = const { Cell::new(false) };
    /// Whether the binary still starts the first version of `swap.run`.
    pub static SWAPS_OF_VERSION_1: Cell<bool> = const { Cell::new(false) };
    /// The fault that [`Frail`] currently has.
    pub static TROUBLE: Cell<Trouble> = const { Cell::new(Trouble::None) };
}

/// Returns the registry of all flows of the test network's nodes.
pub fn registry() -> FlowRegistry {
    let mut flows = FlowRegistry::new();
    flow::transitions::register_flows(&mut flows);
    flow::identities::register_flows(&mut flows);
    finance::register_flows(&mut flows);
    super::swaps::register(&mut flows);
    if SWAPS_OF_VERSION_1.get() {
        flows.register::<finance::flows::swap::SwapVersion1>();
    }
    flows.register::<Nap>();
    flows.register::<super::late::LateIssue>();
    flows.register::<Double>();
    flows.register_responder::<Doubles>();
    flows.register::<Fickle>();
    flows.register::<Hold>();
    flows.register::<SetAlarm>();
    flows.register::<Unset>();
    flows.register::<Refer>();
    flows.register_responder::<Shows>();
    if !RING_MISSING.get() {
        flows.register_scheduled::<Ring>();
    }
    flows.register::<Frail>();
    flows.register::<super::deeds::MakeDeed>();
    flows.register::<super::deeds::UseBond>();
    flows.register::<super::papers::Cosign>();
    flows.register_responder::<super::papers::Cosigns>();
    super::forgers::register(&mut flows);
    flows
}

/// Returns the legal name of a node.
pub fn name(node: u64) -> LegalName {
    let name = format!("O=Node {node}, L=London, C=GB");
    name.parse().expect("a legal name")
}

/// Sleeps for a number of milliseconds.
pub struct Nap;

impl Flow for Nap {
    const NAME: &'static str = "test.nap";
    const VERSION: u32 = 1;
    type Args = u64;
    type Output = u64;

    async fn run(ctx: FlowContext, ms: u64) -> Result<u64, FlowError> {
        ctx.progress("sleeping");
        ctx.sleep_ms(ms).await?;
        Ok(ms)
    }
}

/// Faults of a flow's code or environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// None.
    None,
    /// A transient failure of the environment.
    Moment,
    /// A panic of the code.
    Panic,
}

/// Sleeps a moment, fails as [`TROUBLE`] says, and asks the other node for a double.
pub struct Frail;

impl Flow for Frail {
    const NAME: &'static str = "test.frail";
    const VERSION: u32 = 1;
    type Args = u64;
    type Output = u64;

    async fn run(ctx: FlowContext, node: u64) -> Result<u64, FlowError> {
        ctx.sleep_ms(1).await?;
        match TROUBLE.get() {
            Trouble::None => {}
            Trouble::Moment => return Err(FlowError::new("test.moment", "", "").transient()),
            Trouble::Panic => panic!("frail"),
        }
        ctx.sub_flow::<Double>(node).await
    }
}

/// Arguments of [`Hold`].
#[derive(Serialize, Deserialize, JsonSchema)]
pub struct HoldArgs {
    /// The state to be held.
    pub state: StateRef,
    /// For how long, in milliseconds.
    pub ms: u64,
}

primitives::record!(HoldArgs { state, ms });

/// Locks a state by its reference for a while.
pub struct Hold;

impl Flow for Hold {
    const NAME: &'static str = "test.hold";
    const VERSION: u32 = 1;
    type Args = HoldArgs;
    type Output = u64;

    async fn run(ctx: FlowContext, args: HoldArgs) -> Result<u64, FlowError> {
        let states = ctx.lock_states(vec![args.state]).await?;
        ctx.sleep_ms(args.ms).await?;
        Ok(states.len() as u64)
    }
}

/// Asks a node over a session, twice, for the double of a number.
pub struct Double;

impl Flow for Double {
    const NAME: &'static str = "test.double";
    const VERSION: u32 = 1;
    type Args = u64;
    type Output = u64;

    async fn run(ctx: FlowContext, node: u64) -> Result<u64, FlowError> {
        let session = ctx.open_session(&name(node).party_id())?;
        let twice: u64 = session.send_and_receive(&node).await?;
        session.send_and_receive(&twice).await
    }
}

/// The responder of [`Double`].
pub struct Doubles;

impl Responder for Doubles {
    const NAME: &'static str = "test.double";
    const VERSION: u32 = 1;

    async fn run(_: FlowContext, session: Session) -> Result<(), FlowError> {
        for _ in 0..2 {
            let number: u64 = session.receive().await?;
            session.send(&(number * 2)).await?;
        }
        Ok(())
    }
}

/// Can't be replayed once [`CODE_CHANGED`] is set.
pub struct Fickle;

impl Flow for Fickle {
    const NAME: &'static str = "test.fickle";
    const VERSION: u32 = 1;
    type Args = u64;
    type Output = u64;

    async fn run(ctx: FlowContext, ms: u64) -> Result<u64, FlowError> {
        if CODE_CHANGED.get() {
            let key = ctx.me().key.clone();
            let context = SignatureContext::NotaryRequest;
            ctx.sign(&key, context, Hash::ZERO).await?;
        } else {
            ctx.sleep_ms(1).await?;
        }
        ctx.sleep_ms(ms).await?;
        Ok(ms)
    }
}
