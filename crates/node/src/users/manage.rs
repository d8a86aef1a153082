//! Changes of users by a running node: in the audit log first, then in the file, in force before they are answered.

use std::sync::{Arc, PoisonError};
use std::time::Instant;

use api::SecretText;
use primitives::Hash;

use super::audit::ChangeIntent;
use super::clock::now_s;
use super::directory::{Accounts, Caller, Users, fresh_token, lock, stamp};
use super::error::UsersError;
use super::file::{Sha256Text, TokenRecord, UserRecord, UsersFile};
use super::password::{PASSWORD_BYTES_MAX, PasswordHash};
use crate::http::place;

/// Longest life of a long-lived token, in days.
pub const TOKEN_DAYS_MAX: u32 = 3_650;
const DAY_S: u64 = 24 * 3_600;

/// Why users were not changed.
#[derive(Debug)]
pub enum ManageError {
    /// There is no such user.
    Unknown,
    /// There is one of this name.
    Exists,
    /// Empty, or longer than [`PASSWORD_BYTES_MAX`].
    Password,
    /// The caller lacks this permission, which the change grants or the user has.
    Beyond(String),
    /// Too many passwords are hashed.
    Busy,
    /// The node stops, or the system gives no random bytes.
    Stopping,
    /// The file.
    File(UsersError),
}

impl From<UsersError> for ManageError {
    fn from(error: UsersError) -> Self {
        Self::File(error)
    }
}

impl Users {
    /// All users, as the file has them.
    ///
    /// # Errors
    /// The file can't be read, or something is wrong with it.
    pub async fn records(&self) -> Result<Vec<UserRecord>, ManageError> {
        let folder = self.folder.clone();
        let read = place::blocking(move || UsersFile::read(&folder));
        let file = read.await.map_err(|_| ManageError::Stopping)??;
        Ok(file.users)
    }

    /// Hashes a password; as many at once as passwords are checked.
    ///
    /// # Errors
    /// No password, too long a one, or too many at once.
    pub async fn hash(&self, password: SecretText) -> Result<PasswordHash, ManageError> {
        if !(1..=PASSWORD_BYTES_MAX).contains(&password.expose().len()) {
            return Err(ManageError::Password);
        }
        let _waiting = self.waiting.try_acquire().map_err(|_| ManageError::Busy)?;
        let check = Arc::clone(&self.checks).acquire_owned().await;
        let check = check.map_err(|_| ManageError::Stopping)?;
        let hashed = place::blocking(move || {
            // Held until the work ends, even if the client goes before.
            let _check = check;
            PasswordHash::new(password.expose().as_bytes())
        });
        hashed.await.ok().flatten().ok_or(ManageError::Stopping)
    }

    /// Adds a user.
    ///
    /// # Errors
    /// There is one of this name, or the file does not take it.
    pub async fn add(
        self: &Arc<Self>,
        intent: ChangeIntent,
        user: UserRecord,
    ) -> Result<(), ManageError> {
        self.write(intent, move |file| {
            if file.user_mut(&user.name).is_some() {
                return Err(ManageError::Exists);
            }
            file.users.push(user);
            Ok(())
        })
        .await
    }

    /// Changes a user and returns the result.
    ///
    /// # Errors
    /// There is no such user, the user has a permission that the caller lacks, or the file cannot be written.
    pub async fn change(
        self: &Arc<Self>,
        (caller, intent): (&Caller, ChangeIntent),
        name: String,
        change: impl FnOnce(&mut UserRecord) + Send + 'static,
    ) -> Result<UserRecord, ManageError> {
        let caller = caller.clone();
        self.write(intent, move |file| {
            let user = file.user_mut(&name).ok_or(ManageError::Unknown)?;
            within(&caller, user)?;
            change(user);
            Ok(user.clone())
        })
        .await
    }

    /// Removes a user.
    ///
    /// # Errors
    /// See [`Users::change`].
    pub async fn remove(
        self: &Arc<Self>,
        (caller, intent): (&Caller, ChangeIntent),
        name: String,
    ) -> Result<(), ManageError> {
        let caller = caller.clone();
        self.write(intent, move |file| {
            let user = file.user_mut(&name).ok_or(ManageError::Unknown)?;
            within(&caller, user)?;
            file.users.retain(|user| user.name != name);
            Ok(())
        })
        .await
    }

    /// A new long-lived token, and when it ends in seconds since the Unix epoch; those that have ended go.
    ///
    /// # Errors
    /// See [`Users::change`].
    pub async fn add_token(
        self: &Arc<Self>,
        (caller, intent): (&Caller, ChangeIntent),
        name: String,
        days: u32,
    ) -> Result<(SecretText, u64), ManageError> {
        let token = fresh_token().ok_or(ManageError::Stopping)?;
        let sha256 = Sha256Text(*Hash::plain(token.expose().as_bytes()).as_bytes());
        let now_s = now_s();
        let expires_s = now_s + u64::from(days.min(TOKEN_DAYS_MAX)) * DAY_S;
        let changed = self.change((caller, intent), name, move |user| {
            user.tokens.retain(|token| now_s < token.expires_s);
            user.tokens.push(TokenRecord { sha256, expires_s });
        });
        changed.await.map(|_| (token, expires_s))
    }

    /// Ends all logins of a user.
    pub fn end_logins(&self, user: &str) {
        let sessions = self.sessions.write();
        let mut sessions = sessions.unwrap_or_else(PoisonError::into_inner);
        sessions.remove_user(user);
    }

    /// Changes the file and the known users as one step, once the intent is durable. A reader of the file finds it locked meanwhile.
    async fn write<T: Send + 'static>(
        self: &Arc<Self>,
        intent: ChangeIntent,
        change: impl FnOnce(&mut UsersFile) -> Result<T, ManageError> + Send + 'static,
    ) -> Result<T, ManageError> {
        let users = Arc::clone(self);
        let written = place::blocking(move || {
            let mut looked = lock(&users.looked);
            let begin = || Ok(intent.begin()?);
            let given = UsersFile::change_noted(&users.folder, change, begin)?;
            // The command line may have changed the file since; the next look finds that.
            let seen = stamp(&users.folder);
            let known = Accounts::new(UsersFile::read(&users.folder)?);
            *users.known.write().unwrap_or_else(PoisonError::into_inner) = known;
            *lock(&users.fault) = None;
            *looked = (Instant::now(), seen);
            Ok(given)
        });
        written.await.map_err(|_| ManageError::Stopping)?
    }
}

/// Refuses to change a user that has a permission which the caller lacks.
fn within(caller: &Caller, user: &UserRecord) -> Result<(), ManageError> {
    let beyond = |held: &&super::permission::Permission| !caller.permissions.cover(held);
    match user.permissions.iter().find(beyond) {
        Some(permission) => Err(ManageError::Beyond(permission.to_string())),
        None => Ok(()),
    }
}
