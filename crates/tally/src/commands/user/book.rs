//! The place where users are kept: in a node's folder, running or not, or behind its API.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use api::{LoggedIn, NewUser, SecretText, UserChange, UserView};
use node::users::{
    AuditFile, AuditLine, BadPermission, FILE, Permission, Sha256Text, TokenRecord, UserRecord,
    UsersError, UsersFile, name_fault, now_s,
};
use primitives::{Coded, Hash, Seed};

use super::password;
use crate::failure::Failure;
use crate::folder;
use crate::target::Target;

const DAY_S: u64 = 24 * 3_600;
/// Users requested at once.
const PAGE: u32 = 1_000;

/// The place of a node's users.
pub enum Book<'a> {
    Folder(&'a Path),
    Api(&'a Target),
}

impl From<UsersError> for Failure {
    fn from(error: UsersError) -> Self {
        Failure::coded(&error)
    }
}

impl From<BadPermission> for Failure {
    fn from(error: BadPermission) -> Self {
        Failure::local(
            "api.bad_user",
            error.to_string(),
            "docs/reference/users.md lists permissions.",
        )
    }
}

impl<'a> Book<'a> {
    /// Returns the place that a target names. A folder must be a node's, because changes write files into it.
    pub fn of(target: &'a Target) -> Result<Self, Failure> {
        let Some(folder) = target.folder() else {
            return Ok(Self::Api(target));
        };
        folder::holds_node(folder)?;
        Ok(Self::Folder(folder))
    }

    pub fn list(&self) -> Result<Vec<UserView>, Failure> {
        match self {
            Self::Folder(folder) => Ok(UsersFile::read(folder)?
                .users
                .iter()
                .map(UserRecord::view)
                .collect()),
            Self::Api(target) => target.with_client(async |client| {
                let mut users = Vec::new();
                let mut after: Option<String> = None;
                loop {
                    let page = client.users(after.as_deref(), PAGE).await?;
                    users.extend(page.users);
                    after = page.next;
                    if after.is_none() {
                        return Ok(users);
                    }
                }
            }),
        }
    }

    pub fn show(&self, name: &str) -> Result<UserView, Failure> {
        match self {
            Self::Folder(folder) => {
                let mut file = UsersFile::read(folder)?;
                let user = file.user_mut(name).map(|user| user.view());
                user.ok_or_else(|| unknown(name))
            }
            Self::Api(target) => target.with_client(async |client| Ok(client.user(name).await?)),
        }
    }

    /// Writes an empty list into a folder without one.
    ///
    /// Returns the path of the list.
    pub fn init(&self) -> Result<PathBuf, Failure> {
        match self {
            Self::Folder(folder) => noted(folder, "user.init", None, || {
                UsersFile::init(folder).map_err(Failure::from)?;
                Ok(folder.join(FILE))
            }),
            Self::Api(_) => Err(Failure::usage(
                "tally.folder_needed",
                "an empty list is written into the node's folder, which --url does not give",
                "Give the folder with --node.",
            )),
        }
    }

    /// Refuses a name that no user can have, or that one has in this folder. Over the API, the node compares it with the others.
    pub fn check_new_name(&self, name: &str) -> Result<(), Failure> {
        if let Some(fault) = name_fault(name) {
            let hint = "Choose another name.";
            return Err(Failure::usage(
                "tally.bad_user_name",
                format!("'{name}': {fault}"),
                hint,
            ));
        }
        match self {
            Self::Folder(folder) if UsersFile::read(folder)?.user_mut(name).is_some() => {
                Err(exists(name))
            }
            Self::Folder(_) | Self::Api(_) => Ok(()),
        }
    }

    pub fn add(&self, new: NewUser) -> Result<UserView, Failure> {
        match self {
            Self::Folder(folder) => {
                let password = new.password.as_ref().map(password::hash).transpose()?;
                let user = UserRecord {
                    name: new.name,
                    password,
                    permissions: parsed(&new.permissions)?,
                    enabled: true,
                    starts_per_s: new.starts_per_s,
                    start_bytes_max: new.start_bytes_max,
                    tokens: Vec::new(),
                };
                noted(folder, "user.add", Some(&user.name), || {
                    UsersFile::change(folder, |file| {
                        if file.user_mut(&user.name).is_some() {
                            return Err(exists(&user.name));
                        }
                        file.users.push(user.clone());
                        Ok(())
                    })
                })?;
                Ok(user.view())
            }
            Self::Api(target) => {
                target.with_client(async |client| Ok(client.add_user(&new).await?))
            }
        }
    }

    pub fn change(&self, name: &str, change: UserChange) -> Result<UserView, Failure> {
        match self {
            Self::Folder(folder) => {
                let password = change.password.as_ref().map(password::hash).transpose()?;
                let permissions = change.permissions.as_deref().map(parsed).transpose()?;
                change_record(folder, action_of(&change), name, |user| {
                    // A field that is left out stays as it is.
                    user.enabled = change.enabled.unwrap_or(user.enabled);
                    user.bound(&change);
                    if let Some(permissions) = permissions {
                        user.permissions = permissions;
                    }
                    if password.is_some() {
                        user.password = password;
                    }
                    Ok(())
                })
            }
            Self::Api(target) => {
                target.with_client(async |client| Ok(client.change_user(name, &change).await?))
            }
        }
    }

    /// Changes the list of permissions.
    pub fn permit(
        &self,
        name: &str,
        change: impl FnOnce(&mut Vec<String>),
    ) -> Result<UserView, Failure> {
        match self {
            Self::Folder(folder) => change_record(folder, "user.permissions", name, |user| {
                let mut texts: Vec<String> =
                    user.permissions.iter().map(ToString::to_string).collect();
                change(&mut texts);
                user.permissions = parsed(&texts)?;
                Ok(())
            }),
            Self::Api(_) => {
                let mut permissions = self.show(name)?.permissions;
                change(&mut permissions);
                self.change(
                    name,
                    UserChange {
                        permissions: Some(permissions),
                        ..UserChange::default()
                    },
                )
            }
        }
    }

    pub fn remove(&self, name: &str) -> Result<(), Failure> {
        match self {
            Self::Folder(folder) => noted(folder, "user.remove", Some(name), || {
                UsersFile::change(folder, |file| {
                    let before = file.users.len();
                    file.users.retain(|user| user.name != name);
                    if file.users.len() == before {
                        return Err(unknown(name));
                    }
                    Ok(())
                })
            }),
            Self::Api(target) => {
                target.with_client(async |client| Ok(client.remove_user(name).await?))
            }
        }
    }

    pub fn add_token(&self, name: &str, days: u32) -> Result<LoggedIn, Failure> {
        let folder = match self {
            Self::Folder(folder) => folder,
            Self::Api(target) => {
                return target.with_client(async |client| Ok(client.add_token(name, days).await?));
            }
        };
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes).map_err(|error| password::no_randomness(&error))?;
        let token = SecretText::from(primitives::hex::encode(Seed::new(bytes).expose()));
        let now_s = now_s();
        let expires_s = now_s + u64::from(days) * DAY_S;
        change_record(folder, "user.token", name, |user| {
            user.tokens.retain(|token| now_s < token.expires_s);
            user.tokens.push(TokenRecord {
                sha256: Sha256Text(*Hash::plain(token.expose().as_bytes()).as_bytes()),
                expires_s,
            });
            Ok(())
        })?;
        let expires_ms = 1_000 * expires_s;
        Ok(LoggedIn { token, expires_ms })
    }

    /// Revokes a user's tokens. Logins are in the memory of the node, so only the API can end them without a new password.
    pub fn revoke_tokens(&self, name: &str) -> Result<UserView, Failure> {
        match self {
            Self::Folder(folder) => change_record(folder, "user.revoke_tokens", name, |user| {
                user.tokens.clear();
                Ok(())
            }),
            Self::Api(target) => {
                target.with_client(async |client| Ok(client.revoke_tokens(name).await?))
            }
        }
    }
}

fn change_record(
    folder: &Path,
    action: &str,
    name: &str,
    change: impl FnOnce(&mut UserRecord) -> Result<(), Failure>,
) -> Result<UserView, Failure> {
    noted(folder, action, Some(name), || {
        UsersFile::change(folder, |file| {
            let user = file.user_mut(name).ok_or_else(|| unknown(name))?;
            change(user)?;
            Ok::<_, Failure>(user.view())
        })
    })
}

/// Makes a change and records it in the folder's audit log, even if it was refused. The log says first that the change begins:
/// what it does not say is not done.
fn noted<T>(
    folder: &Path,
    action: &str,
    subject: Option<&str>,
    change: impl FnOnce() -> Result<T, Failure>,
) -> Result<T, Failure> {
    let mut audit = AuditFile::open(folder)?;
    let actor: Arc<str> = operator().into();
    let line = || {
        let line = AuditLine::new(Arc::clone(&actor), None, action);
        match subject {
            Some(subject) => line.of(subject),
            None => line,
        }
    };
    audit.write(&line().begun())?;
    let changed = change();
    let noted = audit.write(&match &changed {
        Ok(_) => line(),
        Err(failure) => line().refused(failure.code()),
    });
    match (changed, noted) {
        (Ok(_), Err(error)) => Err(Failure::local(
            error.code(),
            format!("the change was made, but the audit log says only that it was begun: {error}"),
            error.hint(),
        )),
        (changed, _) => changed,
    }
}

/// Returns the audit log's name for a change of a user.
fn action_of(change: &UserChange) -> &'static str {
    match change {
        UserChange {
            password: Some(_), ..
        } => "user.passwd",
        UserChange {
            enabled: Some(true),
            ..
        } => "user.enable",
        UserChange {
            enabled: Some(false),
            ..
        } => "user.disable",
        _ => "user.limit",
    }
}

/// Returns the operating system user of the command. No user of a node has a colon in its name.
fn operator() -> String {
    let uid = rustix::process::getuid().as_raw();
    // Without the file, the user is known by number.
    let passwd = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    match name_of(uid, &passwd) {
        Some(name) => format!("os:{name}"),
        None => format!("os:{uid}"),
    }
}

fn name_of(uid: u32, passwd: &str) -> Option<&str> {
    passwd.lines().find_map(|line| {
        let mut fields = line.split(':');
        let (name, id) = (fields.next()?, fields.nth(1)?);
        (id.parse() == Ok(uid)).then_some(name)
    })
}

fn parsed(texts: &[String]) -> Result<Vec<Permission>, Failure> {
    let parsed: Result<Vec<Permission>, BadPermission> =
        texts.iter().map(|text| text.parse()).collect();
    Ok(parsed?)
}

fn exists(name: &str) -> Failure {
    Failure::local(
        api::codes::USER_EXISTS.code,
        format!("there is a user '{name}' already"),
        "Choose another name, or change the user: see 'tally user --help'.",
    )
}

fn unknown(name: &str) -> Failure {
    Failure::local(
        "tally.unknown_user",
        format!("there is no user '{name}'"),
        "See 'tally user list'.",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_without_a_node_stays_as_it_is() {
        let folder = tempfile::tempdir().expect("a folder");
        let target = Target::of(folder.path());
        let refused = Book::of(&target).map(drop).expect_err("no node");
        assert_eq!(refused.code(), "tally.wrong_folder");
        let inside = std::fs::read_dir(folder.path()).expect("readable").count();
        assert_eq!(inside, 0);
        std::fs::write(folder.path().join("node.toml"), "").expect("written");
        let book = Book::of(&target).expect("a node");
        let path = book.init().expect("an empty list");
        assert_eq!(path, folder.path().join("users.toml"));
    }

    #[test]
    fn a_name_that_exists_is_refused_and_changes_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        let book = Book::Folder(folder.path());
        book.init().expect("an empty list");
        let ann = |permission: &str| NewUser {
            name: "ann".to_owned(),
            password: None,
            permissions: vec![permission.to_owned()],
            starts_per_s: None,
            start_bytes_max: None,
        };
        book.add(ann("flow.read")).expect("added");
        let refused = book.add(ann("vault.query")).expect_err("there is one");
        assert_eq!(refused.code(), "api.user_exists");
        let text = format!("{refused:?}");
        assert!(text.contains("'ann'"), "{text}");
        let users = book.list().expect("readable");
        assert_eq!(users.len(), 1);
        assert_eq!(users[0].permissions, ["flow.read"]);
    }

    #[test]
    fn finds_the_name_of_a_system_user() {
        let passwd = "root:x:0:0:root:/root:/bin/sh\nbad line\nann:x:1000:7::/home/ann:/bin/sh\n";
        for (uid, name) in [(0, Some("root")), (1_000, Some("ann")), (7, None)] {
            assert_eq!(name_of(uid, passwd), name, "{uid}");
        }
    }
}
