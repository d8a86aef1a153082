//! Which starts a user's bounds let in.

use std::time::Instant;

use api::codes::{BODY_TOO_LARGE, RATE_LIMITED};
use primitives::whole_ms;

use super::refusal::Refusal;
use super::state::ApiState;
use crate::users::Caller;

/// Maximum suggested delay in milliseconds. A longer one is cut to this.
const RETRY_MS_MAX: u64 = 60_000;

impl ApiState {
    /// Counts a start of this size for a user. Refuses it if it is too large or exceeds the user's rate limit.
    pub(super) fn admit(&self, caller: &Caller, bytes: usize) -> Result<(), Refusal> {
        self.fits(caller, bytes)?;
        self.count(caller).map_err(limited)
    }

    /// Counts a start for a user. If it exceeds the rate limit, it is not counted, and the delay before a retry is returned in milliseconds.
    pub(super) fn count(&self, caller: &Caller) -> Result<(), u64> {
        let Some(per_s) = caller.quota.or(self.options.start_quota).starts_per_s else {
            return Ok(());
        };
        let taken = self.start_rates.take(&caller.name, per_s, Instant::now());
        taken.map_err(|wait| whole_ms(wait).clamp(1, RETRY_MS_MAX))
    }

    /// Refuses a start of more bytes than the user may send.
    pub(super) fn fits(&self, caller: &Caller, bytes: usize) -> Result<(), Refusal> {
        let most = caller.quota.or(self.options.start_quota).start_bytes_max;
        match most {
            Some(most) if bytes > most as usize => {
                let text = format!("a start of this user may have {most} bytes (start_bytes_max)");
                Err(Refusal::listed(&BODY_TOO_LARGE, text))
            }
            _ => Ok(()),
        }
    }
}

/// Too many starts of one user.
pub(super) fn limited(retry_after_ms: u64) -> Refusal {
    let text = "this user makes more starts a second than allowed";
    Refusal {
        retry_after_ms: Some(retry_after_ms),
        ..Refusal::listed(&RATE_LIMITED, text)
    }
}
