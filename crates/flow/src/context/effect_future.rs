//! The future that waits for an effect.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use crate::shared::Shared;
use crate::{EffectKind, EffectResult, FlowError};

/// A future for the result of one effect. A failed effect becomes an error.
pub(super) struct EffectFuture<'a> {
    shared: &'a Shared,
    kind: EffectKind,
    state: Waiting,
}

enum Waiting {
    For(u32),
    Failed(FlowError),
    Over,
}

impl<'a> EffectFuture<'a> {
    pub(super) fn new(
        shared: &'a Shared,
        issued: Result<u32, FlowError>,
        kind: EffectKind,
    ) -> EffectFuture<'a> {
        let state = match issued {
            Ok(effect) => Waiting::For(effect),
            Err(error) => Waiting::Failed(error),
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
        match std::mem::replace(&mut self.state, Waiting::Over) {
            Waiting::For(effect) => match self.shared.cell().take(effect) {
                Some(EffectResult::Failed(error)) => Poll::Ready(Err(error)),
                Some(result) => Poll::Ready(Ok(result)),
                None => {
                    self.state = Waiting::For(effect);
                    Poll::Pending
                }
            },
            Waiting::Failed(error) => Poll::Ready(Err(error)),
            Waiting::Over => Poll::Ready(Err(FlowError::mismatched(self.kind))),
        }
    }
}

impl Drop for EffectFuture<'_> {
    fn drop(&mut self) {
        if let Waiting::For(effect) = self.state {
            self.shared.cell().abandon(effect);
        }
    }
}
