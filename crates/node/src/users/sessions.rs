//! Tokens of logins, in memory only and by their hashes.

use std::collections::HashMap;
use std::sync::Arc;

use super::password::PasswordHash;

/// Logins of all users at once.
const ALL_MAX: usize = 65_536;

/// A login.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) user: Arc<str>,
    /// The password it was made with: a new password ends it.
    pub(super) password: PasswordHash,
    pub(super) expires_s: u64,
}

/// All logins.
#[derive(Debug)]
pub(super) struct Sessions {
    by_hash: HashMap<[u8; 32], Session>,
    per_user_max: usize,
}

impl Sessions {
    /// Creates an empty set of logins. A user has at most this number at a time.
    pub(super) fn new(per_user_max: usize) -> Self {
        Self {
            by_hash: HashMap::new(),
            per_user_max,
        }
    }

    /// The login of a token, if it has not ended.
    pub(super) fn get(&self, hash: &[u8; 32], now_s: u64) -> Option<&Session> {
        self.by_hash
            .get(hash)
            .filter(|session| now_s < session.expires_s)
    }

    /// Adds a login; `false` when there is no room.
    pub(super) fn add(&mut self, hash: [u8; 32], session: Session, now_s: u64) -> bool {
        let of_user = |known: &Session| known.user == session.user;
        if self.by_hash.len() >= ALL_MAX
            || self.by_hash.values().filter(|s| of_user(s)).count() >= self.per_user_max
        {
            self.by_hash.retain(|_, known| now_s < known.expires_s);
        }
        let own = self.by_hash.iter().filter(|(_, known)| of_user(known));
        if own.clone().count() >= self.per_user_max {
            let first = own.min_by_key(|(_, known)| known.expires_s);
            if let Some(first) = first.map(|(hash, _)| *hash) {
                self.by_hash.remove(&first);
            }
        }
        if self.by_hash.len() >= ALL_MAX {
            return false;
        }
        self.by_hash.insert(hash, session);
        true
    }

    /// Ends all logins of a user.
    pub(super) fn remove_user(&mut self, user: &str) {
        self.by_hash.retain(|_, session| &*session.user != user);
    }

    /// Ends a login; `false` if there is none.
    pub(super) fn remove(&mut self, hash: &[u8; 32]) -> bool {
        self.by_hash.remove(hash).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logins_end_in_time_and_are_bounded_per_user() {
        let mut sessions = Sessions::new(16);
        let session = |user: &str, expires_s| Session {
            user: user.into(),
            password: PasswordHash::of_nobody(),
            expires_s,
        };
        assert!(sessions.add([0; 32], session("bob", 1_000), 0));
        for n in 1..=20_u8 {
            assert!(sessions.add([n; 32], session("ann", 100 + u64::from(n)), 0));
        }
        for (n, there) in [(0, true), (1, false), (4, false), (5, true), (20, true)] {
            assert_eq!(sessions.get(&[n; 32], 1).is_some(), there, "{n}");
        }
        assert!(sessions.get(&[20; 32], 119).is_some());
        assert!(sessions.get(&[20; 32], 120).is_none());
        assert!(sessions.remove(&[19; 32]) && !sessions.remove(&[19; 32]));
    }
}
