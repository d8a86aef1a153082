//! The place in memory of a stream's unfinished line.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use super::claim::{BodyPlace, Claim, SMALL_BODY_BYTES};

/// A wait for the place of a large body.
type Wait = Pin<Box<dyn Future<Output = Option<BodyPlace>> + Send>>;

/// The place of a stream's line. Lines up to [`SMALL_BODY_BYTES`] need no place: the number of streams bounds them.
pub(super) struct LinePlace {
    claim: Claim,
    wait: Option<Wait>,
    held: Option<BodyPlace>,
}

impl LinePlace {
    /// A place for a stream that draws on these shares.
    pub(super) fn new(claim: Claim) -> Self {
        Self {
            claim,
            wait: None,
            held: None,
        }
    }

    /// Returns whether more may be read while this number of bytes waits for the end of its line. Pending until there is a place. `false` if the
    /// line may not wait for one.
    pub(super) fn poll_covers(&mut self, waiting: usize, cx: &mut Context<'_>) -> Poll<bool> {
        if waiting <= SMALL_BODY_BYTES {
            (self.wait, self.held) = (None, None);
            return Poll::Ready(true);
        }
        if self.held.is_some() {
            return Poll::Ready(true);
        }
        let claim = &self.claim;
        let wait = self.wait.get_or_insert_with(|| {
            let mut place = BodyPlace::new(claim.clone());
            Box::pin(async move {
                // The line has no length, so it may fill the stream's window.
                place.covered(waiting, usize::MAX).await.then_some(place)
            })
        });
        match wait.as_mut().poll(cx) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(place) => {
                (self.wait, self.held) = (None, place);
                Poll::Ready(self.held.is_some())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::task::Waker;

    use super::*;
    use crate::http::share::{Share, ShareLimits};
    use crate::http::waiting::WaitingBytes;
    use crate::http::windows::Window;

    #[test]
    fn long_lines_wait_for_a_large_place() {
        let whole = Share::new(ShareLimits::unbounded().large_bodies(1));
        let claim = Claim::new(whole, Share::new(ShareLimits::unbounded()));
        let (mut one, mut two) = (LinePlace::new(claim.clone()), LinePlace::new(claim));
        let mut cx = Context::from_waker(Waker::noop());
        let long = SMALL_BODY_BYTES + 1;
        // The line, its bytes, and whether more may be read.
        for (is_first, waiting, more) in [
            (true, 0, true),
            (true, SMALL_BODY_BYTES, true),
            (true, long, true),
            (true, 10 * long, true),
            (false, SMALL_BODY_BYTES, true),
            (false, long, false),
            (false, long, false),
            // The first line has ended.
            (true, 3, true),
            (false, long, true),
            (true, long, false),
        ] {
            let line = if is_first { &mut one } else { &mut two };
            let polled = line.poll_covers(waiting, &mut cx);
            assert_eq!(polled == Poll::Ready(true), more, "{is_first} {waiting}");
        }
    }

    #[test]
    fn a_line_that_may_not_wait_is_refused() {
        let claim = |waiting: &Arc<WaitingBytes>| {
            let share = || Share::new(ShareLimits::unbounded().large_bodies(0));
            Claim::new(share(), share()).waiting_within(waiting)
        };
        let waiting = WaitingBytes::unbounded();
        let mut cx = Context::from_waker(Waker::noop());
        let mut polled =
            || LinePlace::new(claim(&waiting)).poll_covers(SMALL_BODY_BYTES + 1, &mut cx);
        assert_eq!(polled(), Poll::Pending);
        waiting.set(Window::ANONYMOUS);
        assert_eq!(polled(), Poll::Ready(false));
    }
}
