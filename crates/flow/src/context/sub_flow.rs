//! Sub-flows: another flow as a part of this one.

use std::future::poll_fn;
use std::task::Poll;

use primitives::{Decode, Encode};

use super::FlowContext;
use crate::cell::SubFlowStart;
use crate::digest::Digest;
use crate::error::BAD_OUTPUT;
use crate::flow_state::FlowState;
use crate::{EffectKind, Flow, FlowError};

impl FlowContext {
    /// Runs another flow as a part of this one. Once it has ended, its result replaces all its journal entries on
    /// replay.
    pub async fn sub_flow<F: Flow>(&self, args: F::Args) -> Result<F::Output, FlowError> {
        let digest = Digest::new(EffectKind::SubFlow as u64)
            .bytes(F::NAME.as_bytes())
            .word(F::VERSION.into())
            .bytes(&args.to_bytes())
            .value();
        let started = self.shared.cell().start_sub_flow(self.scope, digest)?;
        match started {
            SubFlowStart::Skip { effect } => {
                let result = poll_fn(|_| match self.shared.cell().take_sub_flow(effect) {
                    Some(result) => Poll::Ready(result),
                    None => Poll::Pending,
                });
                F::Output::from_bytes(&result.await?)
                    .map_err(|error| FlowError::listed(&BAD_OUTPUT, error.to_string()))
            }
            SubFlowStart::Run {
                effect,
                scope,
                digest,
            } => {
                let mut guard = ScopeGuard {
                    shared: &self.shared,
                    effect,
                    scope,
                    digest,
                    running: true,
                };
                let ctx = FlowContext {
                    shared: self.shared.clone(),
                    scope,
                    name: F::NAME,
                    version: F::VERSION,
                };
                let result = Box::pin(F::run(ctx, args))
                    .await
                    .map_err(FlowError::journaled);
                guard.end(&result);
                result
            }
        }
    }
}

/// Ends a sub-flow's scope, even if its future is dropped.
struct ScopeGuard<'a> {
    shared: &'a FlowState,
    effect: u32,
    scope: u16,
    digest: u64,
    running: bool,
}

impl ScopeGuard<'_> {
    fn end<T: Encode>(&mut self, result: &Result<T, FlowError>) {
        self.running = false;
        let bytes = result.as_ref().map(Encode::to_bytes);
        let journaled = bytes.as_ref().map(Vec::as_slice).map_err(|error| *error);
        self.shared
            .cell()
            .end_sub_flow(self.effect, self.scope, self.digest, Some(journaled));
    }
}

impl Drop for ScopeGuard<'_> {
    fn drop(&mut self) {
        if self.running {
            self.shared
                .cell()
                .end_sub_flow(self.effect, self.scope, self.digest, None);
        }
    }
}
