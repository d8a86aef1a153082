//! The shares of users, made when a user first needs one.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::share::{Share, ShareLimits};

/// Shares kept; beyond, those that nothing draws on are forgotten. There are fewer users than this.
const KEPT_MAX: usize = 16_384;

/// The shares of users, by name.
pub(super) struct UserShares {
    whole: Arc<Share>,
    of_user: ShareLimits,
    known: Mutex<HashMap<Arc<str>, Arc<Share>>>,
}

impl UserShares {
    /// Shares of this size within the whole.
    pub(super) fn new(whole: Arc<Share>, of_user: ShareLimits) -> Self {
        Self {
            whole,
            of_user,
            known: Mutex::default(),
        }
    }

    /// The share of a user.
    pub(super) fn of(&self, user: &Arc<str>) -> Arc<Share> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(share) = known.get(user) {
            return Arc::clone(share);
        }
        if known.len() >= KEPT_MAX {
            known.retain(|_, share| Arc::strong_count(share) > 1);
        }
        let share = Share::within(&self.whole, self.of_user);
        known.insert(Arc::clone(user), Arc::clone(&share));
        share
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::share::Resource;

    #[test]
    fn each_user_has_one_share_and_unused_ones_are_forgotten() {
        let limits = ShareLimits::unbounded().with(Resource::Streams, 1);
        let shares = UserShares::new(Share::new(ShareLimits::unbounded()), limits);
        let name = |n: usize| Arc::from(n.to_string());
        let held = shares.of(&name(0)).take(Resource::Streams, 1);
        assert!(held.is_some() && shares.of(&name(0)).take(Resource::Streams, 1).is_none());
        assert!(shares.of(&name(1)).take(Resource::Streams, 1).is_some());
        for n in 2..=KEPT_MAX {
            shares.of(&name(n));
        }
        assert!(shares.known.lock().expect("whole").len() < KEPT_MAX);
        assert!(shares.of(&name(0)).take(Resource::Streams, 1).is_none());
    }
}
