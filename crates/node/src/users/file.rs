//! `users.toml`: the users of a node.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use toml::Spanned;

use super::error::UsersError;
use super::password::PasswordHash;
use super::permission::Permission;

/// Its name in the node's folder.
pub const FILE: &str = "users.toml";
/// Users of a node at most.
pub const USERS_MAX: usize = 10_000;
/// Long-lived tokens of a user at most.
pub const TOKENS_PER_USER_MAX: usize = 16;
/// Permissions of a user at most.
const PERMISSIONS_MAX: usize = 256;
/// Largest file, in bytes.
const FILE_BYTES_MAX: u64 = 16 << 20;
/// Longest name of a user, in bytes.
const NAME_BYTES_MAX: usize = 64;
const HEAD: &str =
    "# The node's users; written by 'tally user'. A running node reads it again when it changes.\n";

/// The content of the file.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UsersFile {
    /// In the order of the file.
    #[serde(default, rename = "user")]
    pub users: Vec<UserRecord>,
}

/// `[[user]]`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UserRecord {
    /// 1 to 64 letters, digits and any of `.`, `_`, `-`, `@`.
    pub name: String,
    /// Without it the user has tokens only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub password: Option<PasswordHash>,
    /// The user's permissions.
    #[serde(default)]
    pub permissions: Vec<Permission>,
    /// Whether the user may do anything at all.
    #[serde(default = "yes")]
    pub enabled: bool,
    /// Flows that the user may start in a second. 0 means unlimited; if it is left out, the node's settings apply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub starts_per_s: Option<u32>,
    /// The largest start of a flow, in bytes. 0 means unlimited; if it is left out, the node's settings apply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_bytes_max: Option<u32>,
    /// Long-lived tokens.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tokens: Vec<TokenRecord>,
}

/// `[[user.tokens]]`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TokenRecord {
    /// SHA-256 of the token, in hexadecimal.
    pub sha256: Sha256Text,
    /// The expiry, in seconds since the Unix epoch.
    pub expires_s: u64,
}

/// A SHA-256 in hexadecimal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Sha256Text(pub [u8; 32]);

impl TryFrom<String> for Sha256Text {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, &'static str> {
        primitives::hex::decode(&text)
            .and_then(|bytes| bytes.try_into().ok())
            .map(Self)
            .ok_or("a SHA-256 has 64 hexadecimal digits")
    }
}

impl From<Sha256Text> for String {
    fn from(hash: Sha256Text) -> Self {
        primitives::hex::encode(&hash.0)
    }
}

fn yes() -> bool {
    true
}

/// The file as it is parsed: each user with the position of the entry, for error messages.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Placed {
    #[serde(default, rename = "user")]
    users: Vec<Spanned<UserRecord>>,
}

impl UsersFile {
    /// Reads a node's folder.
    ///
    /// # Errors
    /// The file is missing or empty, can't be read, is open to others, or something in it is wrong: the message names the line.
    pub fn read(folder: &Path) -> Result<Self, UsersError> {
        let path = folder.join(FILE);
        let failed = |source| UsersError::File {
            path: path.clone(),
            source,
        };
        let file = match File::open(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Err(UsersError::Missing { path });
            }
            opened => opened.map_err(failed)?,
        };
        let mode = file.metadata().map_err(failed)?.permissions().mode() & 0o777;
        if mode & 0o077 != 0 {
            return Err(UsersError::Exposed { path, mode });
        }
        let mut bytes = Vec::new();
        // One byte more than allowed, so that a file that is too long is refused and not cut.
        let read = file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes);
        read.map_err(failed)?;
        let text = crate::config::text_of(bytes).map_err(|message| UsersError::Invalid {
            path: path.clone(),
            message,
        })?;
        if is_blank(&text) {
            return Err(UsersError::Missing { path });
        }
        Self::parse(&text, &path)
    }

    /// Reads the text of a file; `path` is for the message.
    ///
    /// # Errors
    /// See [`UsersFile::read`].
    pub fn parse(text: &str, path: &Path) -> Result<Self, UsersError> {
        let invalid = |message: String| UsersError::Invalid {
            path: path.to_owned(),
            message,
        };
        if text.len() as u64 > FILE_BYTES_MAX {
            let message = format!("the file has more than {FILE_BYTES_MAX} bytes");
            return Err(invalid(message));
        }
        let placed: Placed = crate::config::parse_toml(text, path).map_err(|error| {
            let message = match error {
                crate::config::ConfigError::Invalid { message, .. } => message,
                other => other.to_string(),
            };
            invalid(message)
        })?;
        if placed.users.len() > USERS_MAX {
            return Err(invalid(format!("there are more than {USERS_MAX} users")));
        }
        let mut names = std::collections::BTreeSet::new();
        for user in &placed.users {
            let start = user.span().start.min(text.len());
            let line = 1 + text.as_bytes()[..start]
                .iter()
                .filter(|byte| **byte == b'\n')
                .count();
            let user = user.get_ref();
            let fault = user.fault().or_else(|| {
                (!names.insert(user.name.clone())).then(|| "there are two of this name".to_owned())
            });
            if let Some(fault) = fault {
                let name = user.name.escape_debug();
                return Err(invalid(format!("line {line}: user '{name}': {fault}")));
            }
        }
        let users = placed.users.into_iter().map(Spanned::into_inner).collect();
        Ok(Self { users })
    }

    /// Writes an empty list into a folder without one, or in place of a file without content.
    ///
    /// # Errors
    /// There is a list, or it can't be written.
    pub fn init(folder: &Path) -> Result<(), UsersError> {
        let path = folder.join(FILE);
        let failed = |source| UsersError::File {
            path: path.clone(),
            source,
        };
        let _lock = lock(folder)?;
        match Self::read(folder) {
            Err(UsersError::Missing { .. }) => {}
            _ => return Err(UsersError::Exists { path }),
        }
        write(&path, HEAD.as_bytes()).map_err(failed)
    }

    /// Reads, changes and writes a folder's file; others who do the same at the same time wait.
    ///
    /// # Errors
    /// See [`UsersFile::read`]. Also the errors of `change`, and then nothing is written.
    pub fn change<T, E: From<UsersError>>(
        folder: &Path,
        change: impl FnOnce(&mut Self) -> Result<T, E>,
    ) -> Result<T, E> {
        Self::change_noted(folder, change, || Ok(()))
    }

    /// The same. `begin` runs before the changed file is written, and can prevent that.
    ///
    /// # Errors
    /// See [`UsersFile::change`]. Also the error of `begin`, and then nothing is written.
    pub fn change_noted<T, E: From<UsersError>>(
        folder: &Path,
        change: impl FnOnce(&mut Self) -> Result<T, E>,
        begin: impl FnOnce() -> Result<(), E>,
    ) -> Result<T, E> {
        let path = folder.join(FILE);
        let _lock = lock(folder)?;
        let mut file = Self::read(folder)?;
        let given = change(&mut file)?;
        let text = toml::to_string(&file).map_err(|error| UsersError::Invalid {
            path: path.clone(),
            message: error.to_string(),
        })?;
        let text = format!("{HEAD}{text}");
        // A text that could not be read back is not written.
        Self::parse(&text, &path)?;
        begin()?;
        let written = write(&path, text.as_bytes());
        written.map_err(|source| UsersError::File { path, source })?;
        Ok(given)
    }

    /// A user by name.
    pub fn user_mut(&mut self, name: &str) -> Option<&mut UserRecord> {
        self.users.iter_mut().find(|user| user.name == name)
    }
}

/// Returns whether nothing is in a file. A list without users has a first line, so this is no list.
fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}

impl UserRecord {
    /// Returns the public part of a user, without hashes.
    pub fn view(&self) -> api::UserView {
        let ends = self.tokens.iter().map(|token| token.expires_s);
        api::UserView {
            name: self.name.clone(),
            enabled: self.enabled,
            password: self.password.is_some(),
            permissions: self.permissions.iter().map(ToString::to_string).collect(),
            starts_per_s: self.starts_per_s,
            start_bytes_max: self.start_bytes_max,
            // A token whose end is clipped does not expire.
            tokens_expire_ms: ends.map(|end| end.saturating_mul(1_000)).collect(),
        }
    }

    /// Changes the bounds of the user's starts, as requested.
    pub fn bound(&mut self, asked: &api::UserChange) {
        if asked.reset_bounds == Some(true) {
            (self.starts_per_s, self.start_bytes_max) = (None, None);
        }
        self.starts_per_s = asked.starts_per_s.or(self.starts_per_s);
        self.start_bytes_max = asked.start_bytes_max.or(self.start_bytes_max);
    }

    fn fault(&self) -> Option<String> {
        if let Some(fault) = name_fault(&self.name) {
            return Some(fault.to_owned());
        }
        if self.tokens.len() > TOKENS_PER_USER_MAX {
            return Some(format!("there are more than {TOKENS_PER_USER_MAX} tokens"));
        }
        (self.permissions.len() > PERMISSIONS_MAX)
            .then(|| format!("there are more than {PERMISSIONS_MAX} permissions"))
    }
}

/// Returns why a user cannot have this name.
pub fn name_fault(name: &str) -> Option<&'static str> {
    let good = |byte: u8| byte.is_ascii_alphanumeric() || b"._-@".contains(&byte);
    if name.is_empty() || name.len() > NAME_BYTES_MAX || !name.bytes().all(good) {
        return Some("a name has 1 to 64 letters, digits and any of '.', '_', '-', '@'");
    }
    (name == kernel::SCHEDULE_USER)
        .then_some("the name stands for flows that states have scheduled")
}

/// Takes the lock of a folder's list, which is held until the result is dropped.
fn lock(folder: &Path) -> Result<File, UsersError> {
    let path: PathBuf = folder.join(format!("{FILE}.lock"));
    let failed = |source| UsersError::File {
        path: path.clone(),
        source,
    };
    let mut options = OpenOptions::new();
    let options = options.write(true).create(true).truncate(false).mode(0o600);
    let lock = options.open(&path).map_err(failed)?;
    lock.lock().map_err(failed)?;
    Ok(lock)
}

/// Writes a file whole or not at all, for the owner alone.
fn write(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let new = path.with_extension("toml.new");
    let mut options = OpenOptions::new();
    let options = options.write(true).create(true).truncate(true).mode(0o600);
    let mut out = options.open(&new)?;
    out.write_all(bytes)?;
    out.sync_all()?;
    fs::rename(&new, path)?;
    // The name is durable with the folder only.
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => File::open(folder)?.sync_all(),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use primitives::Coded;

    use super::*;

    #[test]
    fn a_file_is_read_whole_or_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join(FILE);
        let read = || UsersFile::read(folder.path()).map_err(|error| error.code());
        assert_eq!(read().err(), Some("users.missing"), "no file");
        let user = "[[user]]\nname = \"ann\"\n";
        let too_long = format!("{user}{}", "#".repeat(FILE_BYTES_MAX as usize));
        for (text, expected) in [
            ("", Err("users.missing")),
            (" \n", Err("users.missing")),
            (HEAD, Ok(0)),
            (user, Ok(1)),
            (&too_long[..FILE_BYTES_MAX as usize], Ok(1)),
            (&too_long, Err("users.invalid")),
        ] {
            write(&path, text.as_bytes()).expect("written");
            let count = read().map(|file| file.users.len());
            assert_eq!(count, expected, "{} bytes", text.len());
        }
        write(&path, b"\n").expect("written");
        UsersFile::init(folder.path()).expect("an emptied file is replaced");
        assert_eq!(read().map(|file| file.users.len()), Ok(0));
        let again = UsersFile::init(folder.path()).map_err(|error| error.code());
        assert_eq!(again, Err("users.exists"));
    }

    #[test]
    fn mistakes_are_named_with_their_line() {
        let path = Path::new("users.toml");
        for (text, message) in [
            ("", ""),
            (
                "[[user]]\nname = \"ann\"\npermissions = [\"flow.strat\"]",
                "line 3",
            ),
            ("[[user]]\nname = \"ann\"\npassword = \"x\"", "line 3"),
            ("[[user]]\nname = \"ann\"\nenable = true", "`enabled`"),
            (
                "[[user]]\nname = \"ann\"\n[[user]]\nname = \"ann\"",
                "line 3: user 'ann': there are two",
            ),
            (
                "[[user]]\nname = \"\"",
                "line 1: user '': a name has 1 to 64",
            ),
            (
                "[[user]]\nname = \"schedule\"",
                "line 1: user 'schedule': the name stands for",
            ),
            (
                "[[user]]\nname = \"ann\"\n[[user.tokens]]\nsha256 = \"00\"\nexpires_s = 1",
                "line 4",
            ),
        ] {
            match UsersFile::parse(text, path) {
                Ok(_) => assert_eq!(message, "", "{text}"),
                Err(error) => {
                    let error = error.to_string();
                    assert!(!message.is_empty() && error.contains(message), "{error}");
                }
            }
        }
    }

    #[test]
    fn a_missing_list_is_no_empty_one() {
        let folder = tempfile::tempdir().expect("a folder");
        let read = || UsersFile::read(folder.path()).map(|file| file.users.len());
        let change = || UsersFile::change(folder.path(), |_| Ok::<_, UsersError>(()));
        let code = |error: UsersError| primitives::Coded::code(&error);
        assert_eq!(read().map_err(code), Err("users.missing"));
        assert_eq!(change().map_err(code), Err("users.missing"));
        UsersFile::init(folder.path()).expect("there is none");
        assert_eq!(
            (read().map_err(code), change().map_err(code)),
            (Ok(0), Ok(()))
        );
        let again = UsersFile::init(folder.path());
        assert_eq!(again.map_err(code), Err("users.exists"));
        fs::remove_file(folder.path().join(FILE)).expect("ours");
        let error = UsersFile::read(folder.path()).expect_err("gone");
        assert!(error.to_string().contains("users.toml"), "{error}");
        assert!(primitives::Coded::hint(&error).contains("tally user init"));
    }

    #[test]
    fn what_is_written_comes_back() {
        let folder = tempfile::tempdir().expect("a folder");
        UsersFile::init(folder.path()).expect("none so far");
        let ann = UserRecord {
            name: "ann".to_owned(),
            password: Some(PasswordHash::of_nobody()),
            permissions: vec!["flow.start:cash.*".parse().expect("good")],
            enabled: true,
            starts_per_s: Some(50),
            start_bytes_max: Some(0),
            tokens: vec![TokenRecord {
                sha256: Sha256Text([7; 32]),
                expires_s: 9,
            }],
        };
        let added: Result<(), UsersError> = UsersFile::change(folder.path(), |file| {
            file.users.push(ann.clone());
            Ok(())
        });
        added.expect("written");
        let read = UsersFile::read(folder.path()).expect("read");
        assert_eq!(read.users, std::slice::from_ref(&ann));
        // A change that makes no good file is refused, and the file stays.
        let twice: Result<(), UsersError> = UsersFile::change(folder.path(), |file| {
            file.users.push(ann);
            Ok(())
        });
        assert!(twice.is_err());
        assert_eq!(UsersFile::read(folder.path()).expect("read").users.len(), 1);
        let path = folder.path().join(FILE);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).expect("ours");
        let exposed = UsersFile::read(folder.path());
        assert!(matches!(exposed, Err(UsersError::Exposed { .. })));
    }
}
