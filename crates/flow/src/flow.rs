//! The traits that an application implements: a flow is an ordinary async function over a context.

use std::future::Future;

use primitives::{Decode, Encode};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::{FlowContext, FlowError, Session};

/// A flow that a client starts.
///
/// # Correctness
/// A run must depend only on its arguments and its context. The journal replays the results of effects, so code that
/// reads a clock, a random source or an unstable iteration order diverges on replay.
pub trait Flow: 'static {
    /// The name under which it is started, `application.verb`.
    const NAME: &'static str;
    /// The version of its code. A flow finishes on the version it started on.
    const VERSION: u32;
    /// The arguments of a start.
    type Args: Encode + Decode + Serialize + DeserializeOwned + JsonSchema + Send;
    /// The result of the flow.
    type Output: Encode + Decode + Serialize + DeserializeOwned + JsonSchema + Send;
    /// The progress steps of the flow and of the functions it calls, as passed to [`FlowContext::progress`], in their
    /// usual order. The descriptions of the node's API list them.
    const STEPS: &'static [&'static str] = &[];

    /// Runs the flow.
    fn run(
        ctx: FlowContext,
        args: Self::Args,
    ) -> impl Future<Output = Result<Self::Output, FlowError>> + Send;
}

/// The other side of a flow's sessions, started by the first message of a session.
pub trait Responder: 'static {
    /// The name of the flow it answers.
    const NAME: &'static str;
    /// The version of that flow.
    const VERSION: u32;

    /// Runs the responder over the session that started it.
    fn run(
        ctx: FlowContext,
        session: Session,
    ) -> impl Future<Output = Result<(), FlowError>> + Send;
}
