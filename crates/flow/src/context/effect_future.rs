//! The future that waits for an effect.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use crate::flow_state::FlowState;
use crate::{EffectKind, EffectResult, FlowError};

/// A future for the result of one effect. A failed effect becomes an error.
pub(super) struct EffectFuture<'a> {
    shared: &'a FlowState,
    kind: EffectKind,
    state: EffectState,
}

enum EffectState {
    For(u32),
    Failed(FlowError),
    Over,
}

impl<'a> EffectFuture<'a> {
    pub(super) fn new(
        shared: &'a FlowState,
        issued: Result<u32, FlowError>,
        kind: EffectKind,
    ) -> EffectFuture<'a> {
        let state = match issued {
            Ok(effect) => EffectState::For(effect),
            Err(error) => EffectState::Failed(error),
        };
        EffectFuture {
            shared,
            kind,
            state,
        }
    }
}

impl Future for EffectFuture<'_> {
    type Output = Result<EffectResult, FlowError>;

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Self::Output> {
        match std::mem::replace(&mut self.state, EffectState::Over) {
            EffectState::For(effect) => match self.shared.cell().take(effect) {
                Some(EffectResult::Failed(error)) => Poll::Ready(Err(error)),
                Some(result) => Poll::Ready(Ok(result)),
                None => {
                    self.state = EffectState::For(effect);
                    Poll::Pending
                }
            },
            EffectState::Failed(error) => Poll::Ready(Err(error)),
            EffectState::Over => Poll::Ready(Err(FlowError::mismatched(self.kind))),
        }
    }
}

impl Drop for EffectFuture<'_> {
    fn drop(&mut self) {
        if let EffectState::For(effect) = self.state {
            self.shared.cell().abandon(effect);
        }
    }
}
