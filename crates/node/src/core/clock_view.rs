//! The view of the node's clock, and its confirmation by an operator.

use api::{ClockView, HealthWarning};
use kernel::{Event, Figures, Reply, Token};

use super::refusals::stopping;
use super::service::Service;
use crate::http::{Refusal, Ticket};

/// A notary's clock that is further behind its latest judgement does not judge. Less is made up by waiting.
const BEHIND_TOLD_MS: u64 = 2_000;

/// The clock as the kernel watched it.
pub(super) fn clock_view(figures: &Figures) -> ClockView {
    let clock = &figures.clock;
    ClockView {
        in_doubt: clock.in_doubt,
        jumps: clock.jumps,
        last_jump_ms: clock.last.map(|jump| jump.by_ms),
        peers_ahead_ms: clock.peers_ahead_ms,
        notary_behind_ms: figures.notary_clock_behind_ms,
    }
}

/// Returns the warnings about the clock. Requests for health need no token, so the warnings name no peer.
pub(super) fn clock_warnings(figures: &Figures) -> Vec<HealthWarning> {
    let info = kernel::errors::CLOCK_JUMPED;
    let warning = |message: String| HealthWarning {
        code: info.code.to_owned(),
        message,
        hint: info.action.to_owned(),
    };
    let mut warnings = Vec::new();
    if figures.clock.in_doubt {
        warnings.push(warning(match figures.clock.last {
            Some(jump) => format!("the clock jumped by {:+} ms and is in doubt", jump.by_ms),
            None => "the clock was set before the start and is in doubt".to_owned(),
        }));
    }
    let behind_ms = figures.notary_clock_behind_ms;
    if behind_ms > BEHIND_TOLD_MS {
        warnings.push(warning(format!(
            "the clock is {behind_ms} ms behind the latest time window that this notary judged; it judges none until then"
        )));
    }
    warnings
}

impl Service {
    /// Confirms the clock in the name of a user.
    pub(super) async fn vouch_for_clock(&self, user: String) -> Result<ClockView, Refusal> {
        let token = Token(Ticket::next_id());
        let reply = self.shared.replies.once(token);
        self.shared.kernel.tell(Event::ConfirmClock { user, token });
        match reply.await {
            Ok(Reply::Done) => Ok(clock_view(&self.shared.figures())),
            Ok(Reply::Rejected(rejection)) => Err(rejection.into()),
            _ => Err(stopping()),
        }
    }
}
