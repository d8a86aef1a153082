//! The users of a running node: whose token is this, and may this password log in.

use std::collections::HashMap;
use std::net::IpAddr;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, Instant};

use api::SecretText;
use primitives::{ErrorInfo, Hash, Seed, hex};
use tokio::sync::Semaphore;

use super::attempts::{Attempt, Attempts};
use super::clock::now_s;
use super::error::UsersError;
use super::file::{FILE, UserRecord, UsersFile};
use super::network::network_of;
use super::options::UserLimits;
use super::password::{PASSWORD_BYTES_MAX, PasswordHash};
use super::permission::Permissions;
use super::quota::StartQuota;
use super::sessions::{Session, Sessions};
use crate::http::place;

/// Minimum interval between checks of the file.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// A caller, with its permissions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// The user's name.
    pub name: Arc<str>,
    /// The user's permissions.
    pub permissions: Arc<Permissions>,
    /// The bounds of the user's starts of flows.
    pub quota: StartQuota,
}

/// The reason of a failed login.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoginError {
    /// No such user, not this password, or the user is disabled.
    Wrong,
    /// Too many failed; try again after this.
    Limited(Duration),
    /// Too many at once.
    Busy,
    /// The system gives no random bytes.
    NoRandomness,
}

/// The users of a node.
#[derive(Debug)]
pub struct Users {
    pub(super) folder: PathBuf,
    limits: UserLimits,
    pub(super) known: RwLock<Accounts>,
    pub(super) looked: Mutex<(Instant, Stamp)>,
    /// The fault of the file when it was read last, if it had one.
    pub(super) fault: Mutex<Option<(ErrorInfo, String)>>,
    pub(super) sessions: RwLock<Sessions>,
    attempts: Mutex<Attempts>,
    pub(super) waiting: Semaphore,
    pub(super) checks: Arc<Semaphore>,
}

/// Tells versions of the file apart: its inode, size and time of change.
pub(super) type Stamp = Option<(u64, u64, i64, i64)>;

#[derive(Debug, Default)]
pub(super) struct Accounts {
    by_name: HashMap<Arc<str>, Account>,
    /// The expiry and the user of each login, by the hash of its token.
    by_token: HashMap<[u8; 32], (u64, Arc<str>)>,
}

#[derive(Debug)]
struct Account {
    caller: Caller,
    password: Option<PasswordHash>,
}

impl Accounts {
    pub(super) fn new(file: UsersFile) -> Self {
        let mut known = Self::default();
        for user in file.users.into_iter().filter(|user| user.enabled) {
            let UserRecord {
                name,
                password,
                permissions,
                tokens,
                starts_per_s,
                start_bytes_max,
                ..
            } = user;
            let name: Arc<str> = name.into();
            for token in tokens {
                let entry = (token.expires_s, Arc::clone(&name));
                known.by_token.insert(token.sha256.0, entry);
            }
            let caller = Caller {
                name: Arc::clone(&name),
                permissions: Arc::new(Permissions::new(permissions)),
                quota: StartQuota {
                    starts_per_s,
                    start_bytes_max,
                },
            };
            known.by_name.insert(name, Account { caller, password });
        }
        known
    }
}

impl Users {
    /// The users of a node's folder.
    ///
    /// # Errors
    /// Something is wrong with the file.
    pub fn open(folder: &Path, limits: UserLimits) -> Result<Self, UsersError> {
        let seen = stamp(folder);
        Ok(Self {
            folder: folder.to_owned(),
            limits,
            known: RwLock::new(Accounts::new(UsersFile::read(folder)?)),
            looked: Mutex::new((Instant::now(), seen)),
            fault: Mutex::new(None),
            sessions: RwLock::new(Sessions::new(limits.logins_per_user_max)),
            attempts: Mutex::new(Attempts::new(limits)),
            waiting: Semaphore::new(limits.password_waits_max),
            checks: Arc::new(Semaphore::new(limits.password_checks_max)),
        })
    }

    /// Returns the user of the token with this SHA-256.
    pub fn caller(&self, hash: &[u8; 32]) -> Option<Caller> {
        self.look(Instant::now());
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let now_s = now_s();
        if let Some((expires_s, name)) = known.by_token.get(hash) {
            let account = known.by_name.get(name).filter(|_| now_s < *expires_s)?;
            return Some(account.caller.clone());
        }
        let sessions = self.sessions.read().unwrap_or_else(PoisonError::into_inner);
        let session = sessions.get(hash, now_s)?;
        let account = known.by_name.get(&session.user)?;
        (account.password.as_ref() == Some(&session.password)).then(|| account.caller.clone())
    }

    /// Checks a password and gives a token and when it ends, in seconds since the Unix epoch. A client that shows a token of
    /// the user, also one of an earlier login, waits for no failures but its own. `shown` is the token's SHA-256.
    ///
    /// # Errors
    /// See [`LoginError`]. An unknown user takes as long as a wrong password.
    pub async fn login(
        &self,
        user: &str,
        password: SecretText,
        ttl_s: Option<u64>,
        address: IpAddr,
        shown: Option<[u8; 32]>,
    ) -> Result<(SecretText, u64), LoginError> {
        self.look(Instant::now());
        let _waiting = self.waiting.try_acquire().map_err(|_| LoginError::Busy)?;
        let attempt = Attempt {
            user,
            network: network_of(address),
            token_hash: shown,
        };
        let is_own = |token: &[u8; 32]| self.caller(token).is_some_and(|c| *c.name == *user);
        let own = shown.filter(is_own);
        {
            let mut attempts = lock(&self.attempts);
            if let Some(token) = own {
                attempts.vouch(user, token, Instant::now());
            }
            let begun = attempts.begin(attempt, Instant::now());
            begun.map_err(LoginError::Limited)?;
        }
        let (found, kept) = {
            let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
            match known.by_name.get(user) {
                Some(Account {
                    caller,
                    password: Some(password),
                }) => (Some(Arc::clone(&caller.name)), password.clone()),
                _ => (None, PasswordHash::of_nobody()),
            }
        };
        let undone = || lock(&self.attempts).undone(attempt);
        let Ok(check) = Arc::clone(&self.checks).acquire_owned().await else {
            undone();
            return Err(LoginError::Busy);
        };
        let fits = password.expose().len() <= PASSWORD_BYTES_MAX;
        let checked = place::blocking(move || {
            // Held until the check ends, even if the client goes before.
            let _check = check;
            (fits && kept.verify(password.expose().as_bytes())).then_some(kept)
        });
        let (Some(name), Ok(Some(password))) = (found, checked.await) else {
            return Err(LoginError::Wrong);
        };
        let token = fresh_token().ok_or(LoginError::NoRandomness)?;
        let hash = *Hash::plain(token.expose().as_bytes()).as_bytes();
        lock(&self.attempts).succeeded(attempt, hash, Instant::now());
        let now_s = now_s();
        // Without a wish, a login lasts as long as usual.
        let ttl_s = ttl_s.unwrap_or(self.limits.login_s);
        let ttl_s = ttl_s.clamp(1, self.limits.login_s_max.max(1));
        let expires_s = now_s + ttl_s;
        let session = Session {
            user: name,
            password,
            expires_s,
        };
        let mut sessions = self
            .sessions
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        if sessions.add(hash, session, now_s) {
            Ok((token, expires_s))
        } else {
            Err(LoginError::Busy)
        }
    }

    /// Ends the login of a token, by its SHA-256; `false` if it is no login's.
    pub fn logout(&self, hash: &[u8; 32]) -> bool {
        let mut sessions = self
            .sessions
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        sessions.remove(hash)
    }

    /// Returns the fault of the users' file, if it has one: the users are those of before.
    pub fn fault(&self) -> Option<(ErrorInfo, String)> {
        self.look(Instant::now());
        lock(&self.fault).clone()
    }

    /// Reads the file again if it has changed. An invalid file changes nothing and is logged once.
    fn look(&self, now: Instant) {
        // While another thread reads the file, the known users stay valid.
        let Ok(mut looked) = self.looked.try_lock() else {
            return;
        };
        if now.saturating_duration_since(looked.0) < LOOK_EVERY {
            return;
        }
        let seen = stamp(&self.folder);
        let changed = seen != looked.1;
        *looked = (now, seen);
        if changed {
            self.read_again();
        }
    }

    fn read_again(&self) {
        match UsersFile::read(&self.folder) {
            Ok(file) => {
                let known = Accounts::new(file);
                tracing::info!(users = known.by_name.len(), "users.toml was read again");
                *self.known.write().unwrap_or_else(PoisonError::into_inner) = known;
                *lock(&self.fault) = None;
            }
            Err(error) => {
                let info = error.info();
                let (code, hint) = (info.code, info.action);
                *lock(&self.fault) = Some((info, error.to_string()));
                tracing::error!(code, hint, %error, "users.toml has changed and is no good; users stay as they were");
            }
        }
    }
}

pub(super) fn stamp(folder: &Path) -> Stamp {
    let data = std::fs::metadata(folder.join(FILE)).ok()?;
    Some((data.ino(), data.size(), data.mtime(), data.mtime_nsec()))
}

/// Draws a token: 32 random bytes in hexadecimal digits. `None` if the system gives no random bytes.
pub(super) fn fresh_token() -> Option<SecretText> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).ok()?;
    Some(hex::encode(Seed::new(bytes).expose()).into())
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::future::Future;

    use super::*;
    use crate::users::file::{Sha256Text, TokenRecord};

    fn write(folder: &Path, change: impl FnOnce(&mut UsersFile)) {
        let written: Result<(), UsersError> = UsersFile::change(folder, |file| {
            change(file);
            Ok(())
        });
        written.expect("written");
    }

    fn user(name: &str) -> UserRecord {
        UserRecord {
            name: name.to_owned(),
            password: PasswordHash::new(b"good"),
            permissions: vec!["tx.read".parse().expect("good")],
            enabled: true,
            starts_per_s: None,
            start_bytes_max: None,
            tokens: vec![TokenRecord {
                sha256: Sha256Text([7; 32]),
                expires_s: u64::MAX >> 1,
            }],
        }
    }

    /// The thread for blocking work is busy until the test goes on. A client that goes away meanwhile frees no place of a check.
    #[test]
    fn a_check_of_a_password_holds_its_place_until_it_ends() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .max_blocking_threads(1)
            .build();
        runtime.expect("a runtime").block_on(async {
            let folder = tempfile::tempdir().expect("a folder");
            UsersFile::init(folder.path()).expect("none so far");
            let users = Users::open(folder.path(), UserLimits::default()).expect("no users");
            let address = IpAddr::from([127, 0, 0, 1]);
            let free = || users.checks.available_permits();
            let before = free();
            let (go_on, wait) = std::sync::mpsc::channel::<()>();
            let busy = tokio::task::spawn_blocking(move || wait.recv());
            {
                let login = users.login("ann", "good".into(), None, address, None);
                let mut login = std::pin::pin!(login);
                let waker = std::task::Waker::noop();
                let polled = login
                    .as_mut()
                    .poll(&mut std::task::Context::from_waker(waker));
                assert!(polled.is_pending(), "it waits for the check");
            }
            assert_eq!(free(), before - 1);
            go_on.send(()).expect("it waits");
            busy.await.expect("no panic").expect("it was told to go on");
            tokio::task::spawn_blocking(|| ()).await.expect("no panic");
            assert_eq!(free(), before);
        });
    }

    #[tokio::test]
    async fn logins_last_until_logout_a_new_password_or_the_user_s_end() {
        let folder = tempfile::tempdir().expect("a folder");
        let missing = Users::open(folder.path(), UserLimits::default());
        assert!(matches!(missing, Err(UsersError::Missing { .. })));
        UsersFile::init(folder.path()).expect("none so far");
        let users = Users::open(folder.path(), UserLimits::default()).expect("no users");
        let address = IpAddr::from([127, 0, 0, 1]);
        let login = async |name: &str, password: &str| {
            users
                .login(name, password.into(), Some(60), address, None)
                .await
        };
        let known = |token: &SecretText| {
            let hash = Hash::plain(token.expose().as_bytes());
            users.caller(hash.as_bytes()).is_some()
        };
        assert_eq!(login("ann", "good").await, Err(LoginError::Wrong));
        write(folder.path(), |file| file.users.push(user("ann")));
        users.look(Instant::now() + LOOK_EVERY);
        assert!(users.caller(&[7; 32]).is_some());
        assert_eq!(login("ann", "bad").await, Err(LoginError::Wrong));
        let (first, _) = login("ann", "good").await.expect("good");
        assert!(known(&first) && users.logout(Hash::plain(first.expose().as_bytes()).as_bytes()));
        assert!(!known(&first));
        let (second, _) = login("ann", "good").await.expect("good");
        write(folder.path(), |file| {
            file.users[0].password = PasswordHash::new(b"good")
        });
        users.look(Instant::now() + LOOK_EVERY * 2);
        assert!(!known(&second), "another password");
        // A file that is no good changes nothing.
        let path = folder.path().join(FILE);
        std::fs::write(&path, "[[user]]\nnam = 1").expect("ours");
        users.look(Instant::now() + LOOK_EVERY * 3);
        assert!(users.caller(&[7; 32]).is_some());
        // Nor does one that is gone.
        std::fs::remove_file(&path).expect("ours");
        users.look(Instant::now() + LOOK_EVERY * 4);
        assert!(users.caller(&[7; 32]).is_some());
        UsersFile::init(folder.path()).expect("there is none");
        write(folder.path(), |file| {
            file.users.push(UserRecord {
                enabled: false,
                ..user("ann")
            });
        });
        users.look(Instant::now() + LOOK_EVERY * 5);
        assert!(users.caller(&[7; 32]).is_none());
        assert_eq!(login("ann", "good").await, Err(LoginError::Wrong));
    }
}
