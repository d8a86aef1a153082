//! What an application writes: an ordinary async function over a context.

use std::future::Future;

use primitives::{Decode, Encode};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::{FlowContext, FlowError, Session};

/// A flow that a client starts.
///
/// # Correctness
/// Everything that a run depends on comes from its arguments and its context: the journal replays the results of
/// effects, so code that asks a clock, a random source or an iteration order of its own will not find its way back.
pub trait Flow: 'static {
    /// The name it is started by, `application.verb`.
    const NAME: &'static str;
    /// The version of its code. A flow finishes on the version it started on.
    const VERSION: u32;
    /// What it is started with.
    type Args: Encode + Decode + Serialize + DeserializeOwned + JsonSchema + Send;
    /// What it returns.
    type Output: Encode + Decode + Serialize + DeserializeOwned + JsonSchema + Send;
    /// The steps that it shows, in the order in which they usually come, those of what it calls among them: what
    /// [`FlowContext::progress`] is told. Descriptions of the node's API name them.
    const STEPS: &'static [&'static str] = &[];

    /// Runs the flow.
    fn run(
        ctx: FlowContext,
        args: Self::Args,
    ) -> impl Future<Output = Result<Self::Output, FlowError>> + Send;
}

/// The other side of a flow's sessions: started by the first message of a session.
pub trait Responder: 'static {
    /// The name of the flow it answers.
    const NAME: &'static str;
    /// The version of that flow it answers.
    const VERSION: u32;

    /// Runs the responder over the session that started it.
    fn run(
        ctx: FlowContext,
        session: Session,
    ) -> impl Future<Output = Result<(), FlowError>> + Send;
}
