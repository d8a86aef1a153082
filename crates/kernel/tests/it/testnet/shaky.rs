//! Flows that fall at a moment of the test's choice: the n-th time that any of them is polled.

use std::cell::Cell;
use std::future::poll_fn;
use std::marker::PhantomData;
use std::task::Poll;

use finance::flows::obligation::{IssueObligation, NetObligations, NetsObligations};
use finance::flows::obligation::{MoveObligation, SettleObligation};
use finance::flows::{IssueAndPayCash, IssueCash, LockCash, OffersKey, PayCash, UnlockCash};
use flow::{Flow, FlowContext, FlowError, FlowRegistry, Responder, Session};

/// A failure of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fall {
    /// A panic.
    Panic,
    /// A transient error.
    Moment,
}

thread_local! {
    /// Whether nodes that start run these flows.
    pub static SHAKY: Cell<bool> = const { Cell::new(false) };
    /// The number of polls of these flows.
    pub static POLLS: Cell<u64> = const { Cell::new(0) };
    /// The poll at which one of them fails, and the kind of failure.
    pub static FALL: Cell<Option<(u64, Fall)>> = const { Cell::new(None) };
}

/// Counts a poll. Returns the failure if this is the poll for it.
fn falls() -> Option<Fall> {
    POLLS.set(POLLS.get() + 1);
    let (at, fall) = FALL.get()?;
    (at == POLLS.get()).then_some(fall)
}

/// Polls the inner future, unless the flow is to fail at this poll.
async fn shaken<T>(
    inner: impl Future<Output = Result<T, FlowError>> + Send,
) -> Result<T, FlowError> {
    let mut inner = Box::pin(inner);
    poll_fn(move |cx| match falls() {
        Some(Fall::Panic) => panic!("the test wants it"),
        Some(Fall::Moment) => {
            let error = FlowError::new("test.moment", "not now", "wait");
            Poll::Ready(Err(error.transient()))
        }
        None => inner.as_mut().poll(cx),
    })
    .await
}

/// A flow or a responder that may fall.
pub struct Shaky<F>(PhantomData<F>);

impl<F: Flow> Flow for Shaky<F> {
    const NAME: &'static str = F::NAME;
    const VERSION: u32 = F::VERSION;
    type Args = F::Args;
    type Output = F::Output;

    async fn run(ctx: FlowContext, args: F::Args) -> Result<F::Output, FlowError> {
        shaken(F::run(ctx, args)).await
    }
}

/// The responder's side of it.
pub struct ShakyResponder<R>(PhantomData<R>);

impl<R: Responder> Responder for ShakyResponder<R> {
    const NAME: &'static str = R::NAME;
    const VERSION: u32 = R::VERSION;

    async fn run(ctx: FlowContext, session: Session) -> Result<(), FlowError> {
        shaken(R::run(ctx, session)).await
    }
}

/// Returns the flows of such nodes.
pub fn registry() -> FlowRegistry {
    let mut flows = FlowRegistry::new();
    flows.register::<Shaky<IssueCash>>();
    flows.register::<Shaky<PayCash>>();
    flows.register_responder::<ShakyResponder<OffersKey<PayCash>>>();
    flows.register::<Shaky<IssueAndPayCash>>();
    flows.register_responder::<ShakyResponder<OffersKey<IssueCash>>>();
    flows.register::<Shaky<LockCash>>();
    flows.register_responder::<ShakyResponder<OffersKey<LockCash>>>();
    flows.register_scheduled::<Shaky<UnlockCash>>();
    flows.register::<Shaky<IssueObligation>>();
    flows.register_responder::<ShakyResponder<OffersKey<IssueObligation>>>();
    flows.register::<Shaky<MoveObligation>>();
    flows.register::<Shaky<SettleObligation>>();
    flows.register::<Shaky<NetObligations>>();
    flows.register_responder::<ShakyResponder<NetsObligations>>();
    flows
}
